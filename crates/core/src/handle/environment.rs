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
    /// Where it is told what was touched and refused, within a call.
    touches: Option<Touches>,
}

impl ScopedEnvironment {
    pub(crate) const fn new(grant: Arc<Grant>, environment: Environment) -> Self {
        Self { grant, environment, touches: None }
    }

    /// Tells a call what is touched and refused.
    pub(crate) fn telling(mut self, touches: Touches) -> Self {
        self.touches = Some(touches);
        self
    }

    /// Returns the value of a variable; `None` when it is not set.
    ///
    /// # Errors
    ///
    /// `ENVIRONMENT_NOT_DECLARED` for a variable outside the grant, set or not.
    pub fn get(&self, name: &str) -> Result<Option<&str>, Refusal> {
        let judged = self.grant.judge_variable(name);
        if let Some(touches) = &self.touches {
            touches.note("environment", name, judged.as_ref().err().map(|refusal| refusal.code));
        }
        judged?;
        Ok(self.environment.get(name))
    }

    /// Says whether a variable is granted and set.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_ok_and(|value| value.is_some())
    }
}
