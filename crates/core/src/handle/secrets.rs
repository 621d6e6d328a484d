//! Secrets, by exact ref, as far as they were declared.

use std::sync::Arc;

use ringfence_policy::{Code, Grant, Refusal};

use crate::port::{Secret, SecretSource};
use crate::touch::Touches;

/// Resolves granted secret refs and no others.
#[derive(Clone)]
pub struct ScopedSecrets {
    grant: Arc<Grant>,
    source: Arc<dyn SecretSource>,
    touches: Touches,
}

impl ScopedSecrets {
    pub(crate) fn new(grant: Arc<Grant>, source: Arc<dyn SecretSource>, touches: Touches) -> Self {
        Self { grant, source, touches }
    }

    /// Returns the value of a secret.
    ///
    /// # Errors
    ///
    /// `SECRET_NOT_DECLARED` for a ref outside the grant, whether or not it exists; `NOT_AVAILABLE` when the
    /// source has no such secret or cannot be asked; `CALL_ENDED` after the call. No message holds a value.
    pub async fn get(&self, name: &str) -> Result<Secret, Refusal> {
        self.touches.admit("secret", name)?;
        let judged = self.grant.judge_secret(name);
        self.touches.note("secret", name, judged.as_ref().err().map(|refusal| refusal.code));
        judged?;
        match self.source.secret(name).await {
            Ok(Some(secret)) => Ok(secret),
            Ok(None) => Err(Refusal::new(Code::NotAvailable, format!("secret `{name}` has no value"))
                .hint(format!("give `{name}` a value in {}", self.source.describe()))),
            Err(error) => {
                Err(Refusal::new(Code::NotAvailable, format!("secret `{name}` could not be read: {error}")))
            }
        }
    }
}

impl std::fmt::Debug for ScopedSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScopedSecrets").field("granted", &self.grant.secrets).finish_non_exhaustive()
    }
}
