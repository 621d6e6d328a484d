//! Environment variables, as far as they were declared.

use std::sync::Arc;

use ringfence_policy::{Grant, Refusal};

use crate::port::Environment;

/// Reads the granted environment variables and no others.
#[derive(Clone, Debug)]
pub struct ScopedEnvironment {
    grant: Arc<Grant>,
    environment: Environment,
}

impl ScopedEnvironment {
    pub(crate) const fn new(grant: Arc<Grant>, environment: Environment) -> Self {
        Self { grant, environment }
    }

    /// Returns the value of a variable; `None` when it is not set.
    ///
    /// # Errors
    ///
    /// `ENVIRONMENT_NOT_DECLARED` for a variable outside the grant, set or not.
    pub fn get(&self, name: &str) -> Result<Option<&str>, Refusal> {
        self.grant.judge_variable(name)?;
        Ok(self.environment.get(name))
    }

    /// Says whether a variable is granted and set.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_ok_and(|value| value.is_some())
    }
}
