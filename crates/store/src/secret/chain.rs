//! Several sources, asked in order.

use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ringfence::{Secret, SecretError, SecretSource};

/// Asks one source after the other; the first that has a value wins.
///
/// An error ends the search: a source that cannot be asked might have had the value, and the one after it might
/// have a staler one.
#[derive(Clone, Default)]
pub struct ChainedSecrets(Vec<Arc<dyn SecretSource>>);

impl ChainedSecrets {
    /// Starts with no source, which has no secret.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks `source` after those before it.
    #[must_use]
    pub fn then(mut self, source: Arc<dyn SecretSource>) -> Self {
        self.0.push(source);
        self
    }
}

impl SecretSource for ChainedSecrets {
    fn describe(&self) -> String {
        if self.0.is_empty() {
            return "no secret source".to_owned();
        }
        self.0.iter().map(|source| source.describe()).collect::<Vec<_>>().join(", or ")
    }

    fn secret<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, SecretError>> {
        async move {
            for source in &self.0 {
                if let Some(secret) = source.secret(name).await? {
                    return Ok(Some(secret));
                }
            }
            Ok(None)
        }
        .boxed()
    }
}

impl fmt::Debug for ChainedSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChainedSecrets({})", self.describe())
    }
}
