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

use ringfence::{Secret, SecretError};

/// What a source answers.
type Answer = Result<Option<Secret>, SecretError>;

/// Asks on a thread that may block.
async fn blocking(ask: impl FnOnce() -> Answer + Send + 'static) -> Answer {
    // The reason is a panic or a runtime that ends; a panic's own words could hold anything.
    tokio::task::spawn_blocking(ask)
        .await
        .unwrap_or_else(|_| Err(SecretError::new("asking the source was interrupted")))
}
