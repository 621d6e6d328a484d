//! Secret sources.

mod chain;
mod command;
mod directory;
mod keyring;
mod value;
mod variable;

pub use chain::ChainedSecrets;
pub use command::CommandSecrets;
pub use directory::DirectorySecrets;
pub use keyring::KeyringSecrets;
pub use variable::VariableSecrets;

use ringfence::{Secret, SecretError, run_on_thread};

/// What a source answers.
type Answer = Result<Option<Secret>, SecretError>;

/// Asks on a thread of its own: a keyring may wait for a person.
async fn blocking(ask: impl FnOnce() -> Answer + Send + 'static) -> Answer {
    // The reason is a panic or no thread; a panic's own words could hold anything.
    run_on_thread("ringfence-secret", ask)
        .await
        .unwrap_or_else(|_| Err(SecretError::new("asking the source was interrupted")))
}
