//! Secrets from the keyring of the operating system.

// Compiled into every test build too, so that it cannot rot on the machines that do not need it.
#[cfg(any(test, not(target_os = "linux")))]
mod absent;
#[cfg(target_os = "linux")]
mod kernel;

#[cfg(not(target_os = "linux"))]
use absent as platform;
#[cfg(target_os = "linux")]
use kernel as platform;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ringfence::{Secret, SecretError, SecretSource};

use super::blocking;

/// Entries of the keyring: the service is the same for all, the user is the ref.
///
/// On Linux this is the kernel's keyring, which needs no desktop: the session keyring and what is linked to it, then
/// the persistent one of the user where the kernel has it. Entries are gone after a reboot at the latest. They have
/// the form that the `keyring` family of crates gives them, so `keyctl add user keyring:<ref>@<service> … @s` makes
/// one too. An entry that expired or was revoked is an error, not an entry that is not there.
///
/// On other systems every ref is refused: this build has no keyring for them.
#[derive(Clone, Debug)]
pub struct KeyringSecrets {
    service: String,
}

impl KeyringSecrets {
    /// Starts with the service `ringfence`.
    pub fn new() -> Self {
        Self { service: "ringfence".to_owned() }
    }

    /// The same for another service.
    ///
    /// # Errors
    ///
    /// The name is empty, or holds a character that would make two entries look the same.
    pub fn for_service(name: impl Into<String>) -> Result<Self, SecretError> {
        let service = name.into();
        if service.is_empty() || service.contains(['@', '\0']) {
            return Err(SecretError::new(
                "the name of a keyring service has at least one character, and no `@` or NUL",
            ));
        }
        Ok(Self { service })
    }
}

impl Default for KeyringSecrets {
    fn default() -> Self {
        Self::new()
    }
}

impl SecretSource for KeyringSecrets {
    fn describe(&self) -> String {
        format!("{} (service `{}`)", platform::NAME, self.service)
    }

    fn secret<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, SecretError>> {
        async move {
            if name.is_empty() || name.contains('\0') {
                return Err(SecretError::new("the ref cannot be the user of a keyring entry"));
            }
            let (service, user) = (self.service.clone(), name.to_owned());
            blocking(move || platform::entry(&service, &user)).await
        }
        .boxed()
    }
}
