//! Where the command takes secrets from: variables of its own environment, then the keyring.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ringfence::policy::{SecretSet, VariableSet, secret_variable};
use ringfence::{Environment, Secret, SecretError, SecretSource};
use ringfence_store::{ChainedSecrets, KeyringSecrets, VariableSecrets};

use crate::error::CommandError;

/// Returns the environment of this process, as far as it is text.
pub(crate) fn environment() -> Environment {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    Environment::new(std::env::vars_os().filter_map(text))
}

/// Returns the sources, in the order they are asked.
pub(crate) fn source() -> ChainedSecrets {
    ChainedSecrets::new()
        .then(Arc::new(VariableSecrets::new(environment())))
        .then(Arc::new(ShellVariables(VariableSecrets::new(environment()))))
        .then(Arc::new(KeyringSecrets::new()))
}

/// Variables by the name that a shell can export: `github/token` is `GITHUB_TOKEN`.
struct ShellVariables(VariableSecrets);

impl SecretSource for ShellVariables {
    fn describe(&self) -> String {
        "the environment variables, in capitals".to_owned()
    }

    fn secret<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, SecretError>> {
        let variable = secret_variable(name).to_ascii_uppercase();
        Box::pin(async move { self.0.secret(&variable).await })
    }
}

/// Reads `REF=NAME` and looks the secrets up. Returns each with the variable that is to hold it.
pub(crate) fn given(written: &[String]) -> Result<Vec<(String, Secret)>, CommandError> {
    let input = |message: String, hint| CommandError::Input { message, hint };
    if written.is_empty() {
        return Ok(Vec::new());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(CommandError::Start)?;
    let source = source();
    let mut found = Vec::new();
    for one in written {
        let hint = Some("write it as `--secret github/token=GITHUB_TOKEN`: the secret, then the variable");
        let pair = one.split_once('=').filter(|(name, variable)| {
            SecretSet::new([*name]).is_ok() && VariableSet::new([*variable]).is_ok()
        });
        let (name, variable) = pair.ok_or_else(|| input(format!("`{one}` is not REF=NAME"), hint))?;
        let secret = runtime
            .block_on(source.secret(name))
            .map_err(|error| input(format!("the secret `{name}` cannot be read: {error}"), Some("look at the keyring, or set a variable of its name")))?
            .ok_or_else(|| {
                let hint = "secrets are taken from the variable of the same name (or in capitals, `a/b` as `A_B`), then from the keyring";
                input(format!("there is no secret `{name}`"), Some(hint))
            })?;
        found.push((variable.to_owned(), secret));
    }
    Ok(found)
}
