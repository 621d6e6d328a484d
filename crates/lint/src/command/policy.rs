//! What a server declares, in the policy that fences it.

use std::path::Path;

use ringfence_lint::{EffectSet, declared};
use ringfence_policy::{Toolbox, Variables};

use super::CommandError;

/// Returns what the policy's entry for a server covers.
pub(super) fn declared_by(policy: &Path, server: &str) -> Result<EffectSet, CommandError> {
    let text = std::fs::read_to_string(policy)
        .map_err(|error| CommandError::Read { path: policy.to_path_buf(), error })?;
    let is_json = policy.extension().is_some_and(|extension| extension == "json");
    let toolbox = if is_json { Toolbox::from_json(&text) } else { Toolbox::from_toml(&text) };
    let toolbox = toolbox.map_err(|error| CommandError::Input {
        message: format!("{}:{}:{}: {}", policy.display(), error.line, error.column, error.message),
        hint: None,
    })?;
    // Only whether a surface is declared counts here, so that any folder stands for a variable.
    let anywhere = Some("/ringfence".into());
    let variables = Variables { home: anywhere.clone(), workspace: anywhere.clone(), self_dir: anywhere };
    let (servers, _) = toolbox.servers(&variables);
    let entry = servers.iter().find(|entry| entry.name.as_str() == server);
    let entry = entry.ok_or_else(|| CommandError::Input {
        message: format!("`{}` has no `[[server]]` named `{server}`", policy.display()),
        hint: None,
    })?;
    Ok(declared::effects(&entry.capabilities))
}
