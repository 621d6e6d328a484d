//! Environment variables, as far as they were declared.

use std::sync::Arc;

use ringfence_policy::{Grant, Refusal};

use crate::port::Environment;
use crate::touch::Touches;

/// Reads the granted environment variables and no others.
#[derive(Clone, Debug)]
pub struct ScopedEnvironment {
    grant: Arc<Grant>,
    environment: Environment,
    /// Where it is told what was touched and refused, and whether it may still be used.
    touches: Touches,
}

impl ScopedEnvironment {
    pub(crate) const fn new(grant: Arc<Grant>, environment: Environment, touches: Touches) -> Self {
        Self { grant, environment, touches }
    }

    /// Returns the value of a variable; `None` when it is not set.
    ///
    /// # Errors
    ///
    /// `ENVIRONMENT_NOT_DECLARED` for a variable outside the grant, set or not; `CALL_ENDED` after the call.
    pub fn get(&self, name: &str) -> Result<Option<&str>, Refusal> {
        self.touches.admit("environment", name)?;
        let judged = self.grant.judge_variable(name);
        self.touches.note("environment", name, judged.as_ref().err().map(|refusal| refusal.code));
        judged?;
        Ok(self.environment.get(name))
    }

    /// Says whether a variable is granted and set.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_ok_and(|value| value.is_some())
    }
}
