//! The port behind which secrets are kept.

use std::fmt;

use futures_util::future::{BoxFuture, FutureExt, ready};
use zeroize::Zeroizing;

/// A secret value. It is wiped from memory when dropped, and never shown.
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps a value.
    pub fn new(value: String) -> Self {
        Self(Zeroizing::new(value))
    }

    /// Returns the value. Whoever calls this keeps it out of logs, arguments and outputs.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Why a source could not be asked. The sentence never holds a value.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct SecretError(String);

impl SecretError {
    /// Makes an error.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// Where secrets come from. The ref was judged before the source is asked.
pub trait SecretSource: Send + Sync {
    /// Says where the secrets are, for a hint.
    fn describe(&self) -> String;

    /// Returns the value of a ref, or `None` when there is none.
    fn secret<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, SecretError>>;
}

/// A function that looks a secret up at once.
impl<F> SecretSource for F
where
    F: Fn(&str) -> Result<Option<Secret>, SecretError> + Send + Sync,
{
    fn describe(&self) -> String {
        "the function that the program gave".to_owned()
    }

    fn secret<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, SecretError>> {
        ready(self(name)).boxed()
    }
}
