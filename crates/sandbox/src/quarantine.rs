//! What a command left in a writable folder that somebody outside would run or obey.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::error::SandboxError;
use crate::host::survey;
use crate::plan::Plan;
use crate::report::Quarantined;

/// Moves files on the floor that were not there before out of the way.
///
/// # Errors
///
/// A tree cannot be searched, or a file cannot be moved: then it is still there, and the caller must be told.
pub(crate) fn quarantine(plan: &Plan) -> Result<Vec<Quarantined>, SandboxError> {
    let before: HashSet<&Path> = plan.sensitive.iter().map(PathBuf::as_path).collect();
    let mut all = Vec::new();
    for tree in &plan.guarded {
        for new in survey(tree, true, &plan.named)? {
            if before.contains(new.path.as_path()) || is_inert(&new.path) {
                continue;
            }
            let moved = free_name(&new.path);
            std::fs::rename(&new.path, &moved)
                .map_err(|error| SandboxError::Path { path: new.path.clone(), error })?;
            all.push(Quarantined { found: new.path, moved });
        }
    }
    Ok(all)
}

/// A hooks folder that holds nothing but samples, which git never runs.
fn is_inert(path: &Path) -> bool {
    let is_hooks = path.file_name().is_some_and(|name| name == "hooks");
    let only_samples = || {
        let listed = std::fs::read_dir(path).ok()?;
        Some(listed.flatten().all(|entry| {
            entry.path().extension().is_some_and(|extension| extension == "sample")
                && entry.file_type().is_ok_and(|kind| kind.is_file())
        }))
    };
    is_hooks && path.is_dir() && !path.is_symlink() && only_samples().unwrap_or(false)
}

fn free_name(path: &Path) -> PathBuf {
    let named = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".quarantined-{number}"));
        PathBuf::from(name)
    };
    (1..u32::MAX).map(named).find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| named(0))
}
