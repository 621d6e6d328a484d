//! The keyring of the Linux kernel.

use std::collections::HashMap;

use keyring_core::Error;
use keyring_core::api::CredentialStoreApi as _;
use linux_keyutils_keyring_store::Store;
use ringfence::SecretError;
use zeroize::{Zeroize as _, Zeroizing};

use crate::secret::{Answer, value};

/// How the keyring is called in a hint.
pub(super) const NAME: &str = "the kernel keyring";

/// Reads one entry.
pub(super) fn entry(service: &str, user: &str) -> Answer {
    // The service holds no divider, so the last one in a description is the one between user and service: no ref
    // of one service can name an entry of another.
    let configuration = HashMap::from([("service_no_divider", "true")]);
    let read = Store::new_with_configuration(&configuration)
        .and_then(|store| store.build(service, user, None))
        .and_then(|entry| entry.get_secret());
    match read {
        Ok(bytes) => value::exact(&Zeroizing::new(bytes)).map(Some),
        Err(Error::NoEntry) => Ok(None),
        Err(error) => Err(refused(error)),
    }
}

fn refused(error: Error) -> SecretError {
    match error {
        Error::BadEncoding(mut bytes) | Error::BadDataFormat(mut bytes, _) => {
            bytes.zeroize();
            SecretError::new("the value is not UTF-8 text")
        }
        Error::NoStorageAccess(reason) | Error::PlatformFailure(reason) => {
            SecretError::new(format!("the kernel keyring is not available: `{reason}`"))
        }
        _ => SecretError::new("the kernel keyring does not take the ref as the user of an entry"),
    }
}
