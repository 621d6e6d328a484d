//! Secrets from named environment variables.

use std::collections::BTreeMap;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use ringfence::{Environment, Secret, SecretError, SecretSource};

use super::value;

/// Environment variables: a ref is the variable of the same name, unless it was given another.
#[derive(Clone, Debug)]
pub struct VariableSecrets {
    environment: Environment,
    variables: BTreeMap<String, String>,
}

impl VariableSecrets {
    /// Starts with every ref being the variable of the same name. The process environment is not read.
    pub fn new(environment: Environment) -> Self {
        Self { environment, variables: BTreeMap::new() }
    }

    /// Takes the value of `name` from `variable` and from nowhere else (can be repeated).
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, variable: impl Into<String>) -> Self {
        self.variables.insert(name.into(), variable.into());
        self
    }
}

impl SecretSource for VariableSecrets {
    fn describe(&self) -> String {
        "the environment variables".to_owned()
    }

    fn secret<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, SecretError>> {
        let variable = self.variables.get(name).map_or(name, String::as_str);
        let value = self.environment.get(variable).map(|value| value::exact(value.as_bytes()));
        ready(value.transpose()).boxed()
    }
}
