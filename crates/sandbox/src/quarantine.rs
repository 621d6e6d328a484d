//! What a command left in a writable folder that somebody outside would run or obey.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::error::SandboxError;
use crate::host::{Identity, survey};
use crate::inert::is_inert;
use crate::plan::Plan;
use crate::report::Quarantined;

/// Moves files on the floor out of the way that were not there before, or are other files than before: a protected file
/// cannot be changed, but the folder around it can be exchanged for another.
///
/// # Errors
///
/// A tree cannot be searched, or a file cannot be moved: then it is still there, and the caller must be told.
pub(crate) fn quarantine(plan: &Plan) -> Result<Vec<Quarantined>, SandboxError> {
    let before: HashMap<&Path, Identity> =
        plan.sensitive.iter().map(|(path, identity)| (path.as_path(), *identity)).collect();
    let mut all = Vec::new();
    for tree in &plan.guarded {
        for found in survey(tree, true, &plan.named)? {
            let is_known = before.get(found.path.as_path()) == Some(&found.identity);
            if is_known || is_inert(&found.path) {
                continue;
            }
            let moved = free_name(&found.path);
            std::fs::rename(&found.path, &moved)
                .map_err(|error| SandboxError::Path { path: found.path.clone(), error })?;
            all.push(Quarantined { found: found.path, moved });
        }
    }
    Ok(all)
}

fn free_name(path: &Path) -> PathBuf {
    let named = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".quarantined-{number}"));
        PathBuf::from(name)
    };
    (1..u32::MAX).map(named).find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| named(0))
}
