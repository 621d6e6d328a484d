//! Where compiled components are kept.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns the folder for compiled code, where there can be one that nobody else can write. Without it everything is compiled again, which
/// takes time and nothing else.
pub(crate) fn component_cache() -> Option<PathBuf> {
    let folder = crate::sandbox::private_folder().join("components");
    crate::book::private_folder(&folder).ok()?;
    // What is in there is run as it is: nobody else may exchange it, or a folder above it.
    is_ours_all_the_way(&folder).unwrap_or(false).then_some(folder)
}

/// Says whether nobody but this user and root can put something else where a folder is.
fn is_ours_all_the_way(folder: &Path) -> std::io::Result<bool> {
    let own = rustix::process::geteuid().as_raw();
    let folder = folder.canonicalize()?;
    let mut held = true;
    for path in folder.ancestors() {
        let found = std::fs::symlink_metadata(path)?;
        let is_known = found.uid() == own || found.uid() == 0;
        // Where others may write, only what is theirs may be exchanged, if the folder says so.
        let is_shut = found.mode() & 0o022 == 0 || (found.mode() & 0o1000 != 0 && path != folder);
        held &= found.is_dir() && is_known && is_shut;
    }
    Ok(held)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn compiled_code_is_kept_only_where_nobody_else_can_exchange_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache/ringfence/components");
        std::fs::create_dir_all(&path).unwrap();
        let mode = |name: &str, mode: u32| {
            std::fs::set_permissions(folder.path().join(name), PermissionsExt::from_mode(mode)).unwrap();
        };
        for name in ["cache", "cache/ringfence", "cache/ringfence/components"] {
            mode(name, 0o755);
        }
        assert!(is_ours_all_the_way(&path).unwrap());
        for (name, wide) in
            [("cache/ringfence", 0o777), ("cache", 0o775), ("cache/ringfence/components", 0o1777)]
        {
            mode(name, wide);
            assert!(!is_ours_all_the_way(&path).unwrap(), "{name}");
            mode(name, 0o755);
        }
        // As in a shared scratch folder: what is ours in it cannot be exchanged by others.
        mode("cache", 0o1777);
        assert!(is_ours_all_the_way(&path).unwrap());
        let link = folder.path().join("link");
        symlink(folder.path().join("cache"), &link).unwrap();
        mode("cache", 0o777);
        assert!(!is_ours_all_the_way(&link.join("ringfence/components")).unwrap());
        mode("cache", 0o755);
        if rustix::process::geteuid().is_root() {
            chown(folder.path().join("cache/ringfence"), Some(65_534), None).unwrap();
            assert!(!is_ours_all_the_way(&path).unwrap(), "a folder of somebody else");
        }
    }
}
