//! The keyring of the Linux kernel.
//!
//! INVARIANT: asking changes nothing that another thread or a child could see. Entries are not linked anywhere, and
//! the persistent keyring is reached through the thread's own keyring, which ends with the thread: reaching it
//! through the session would replace the session of a thread that has only the user's default one.

use linux_keyutils::{Key, KeyError, KeyRing, KeyRingIdentifier};
use ringfence::{Secret, SecretError};
use zeroize::Zeroizing;

use crate::secret::{Answer, value};

/// How the keyring is called in a hint.
pub(super) const NAME: &str = "the kernel keyring";

/// More than the kernel keeps in an entry of type `user`.
const LIMIT: usize = 64 * 1024;

const NO_SUCH_CALL: i32 = rustix::io::Errno::NOSYS.raw_os_error();

/// Reads one entry.
pub(super) fn entry(service: &str, user: &str) -> Answer {
    // The service holds no `@`, so the last one is the one between user and service: no ref of one service can name
    // an entry of another.
    let description = format!("keyring:{user}@{service}");
    let session = KeyRing::from_special_id(KeyRingIdentifier::Session, false).map_err(unavailable)?;
    if let Some(key) = found(session, &description)? {
        return payload(key).map(Some);
    }
    match KeyRing::get_persistent(KeyRingIdentifier::Thread) {
        Ok(persistent) => match found(persistent, &description)? {
            Some(key) => payload(key).map(Some),
            None => Ok(None),
        },
        // A kernel that was built without it.
        Err(KeyError::OperationNotSupported) => Ok(None),
        Err(error) => Err(unavailable(error)),
    }
}

fn found(keyring: KeyRing, description: &str) -> Result<Option<Key>, SecretError> {
    match keyring.search(description) {
        Ok(key) => Ok(Some(key)),
        Err(KeyError::KeyDoesNotExist) => Ok(None),
        Err(KeyError::KeyExpired) => Err(SecretError::new("its entry has expired")),
        Err(KeyError::KeyRejected) => Err(SecretError::new("its entry was rejected")),
        Err(KeyError::KeyRevoked) => Err(SecretError::new("its entry was revoked")),
        Err(error) => Err(unavailable(error)),
    }
}

fn payload(key: Key) -> Result<Secret, SecretError> {
    let mut buffer = Zeroizing::new(vec![0; LIMIT]);
    let length = key.read(&mut buffer).map_err(unavailable)?;
    // The kernel returns the length of the entry, even where it is more than the buffer takes.
    let bytes = buffer.get(..length).ok_or_else(|| SecretError::new("its entry is larger than 64 KiB"))?;
    value::exact(bytes)
}

fn unavailable(error: KeyError) -> SecretError {
    let reason = match error {
        KeyError::AccessDenied | KeyError::PermissionDenied => "permission denied",
        KeyError::KeyExpired | KeyError::KeyRevoked | KeyError::KeyDoesNotExist => "the session has ended",
        KeyError::OperationNotSupported | KeyError::Unknown(NO_SUCH_CALL) => "this kernel has none",
        KeyError::OutOfMemory | KeyError::QuotaExceeded => "the quota of the user is used up",
        KeyError::InvalidArguments | KeyError::InvalidDescription => "it does not take such a ref",
        _ => "it failed",
    };
    SecretError::new(format!("the kernel keyring is not available: {reason}"))
}
