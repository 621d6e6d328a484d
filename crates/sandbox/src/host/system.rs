//! What is the system's: folders in which nobody but its owner can have put anything.
//!
//! INVARIANT: a path counts only without links, as [`super::path::find`] returns it, and only where nobody else can write on the way.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

/// The folders of the system.
const FOLDERS: &[&str] = &[
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/bin",
    "/sbin",
    "/nix/store",
    "/gnu/store",
    "/System",
    "/Library/Developer",
];
/// Folders below those in which people work.
const WORKPLACES: &[&str] = &["/usr/src", "/usr/local/src", "/usr/home"];
/// Settings of programs, and what the links of the system lead to.
const SETTINGS: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/etc/java",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/magic",
    "/etc/perl",
    "/etc/php",
    "/etc/pki",
    "/etc/ssl",
    "/etc/static",
    "/var/db/timezone",
    "/private/var/db/timezone",
    "/var/lib/ca-certificates",
];
/// How the names of settings begin that end with a version.
const VERSIONED: &[&str] = &["/etc/java-", "/etc/python"];
/// Folders whose links are the system's even for its owner, who could have made others: `/var/run`, `/tmp` of macOS, homes elsewhere.
const LINK_FOLDERS: &[&str] = &["/", "/etc", "/home", "/var", "/run", "/private", "/private/var"];

/// Tells whether a path, which has no link in it, is the system's.
pub(crate) fn is_system(real: &Path) -> bool {
    let below = |folders: &[&str]| folders.iter().any(|folder| real.starts_with(folder));
    (below(FOLDERS) || below(SETTINGS) || is_versioned(real)) && !below(WORKPLACES) && is_kept(real)
}

fn is_versioned(real: &Path) -> bool {
    let bytes = real.as_os_str().as_encoded_bytes();
    VERSIONED.iter().any(|start| {
        bytes.strip_prefix(start.as_bytes()).and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit)
    })
}

/// Tells whether a link is one that the system came with, so that no command can have made it.
pub(crate) fn is_system_link(at: &Path) -> bool {
    let Some(folder) = at.parent() else { return false };
    let is_another = || rustix::process::geteuid().as_raw() != owner();
    let is_known = || is_another() || LINK_FOLDERS.iter().any(|known| folder == Path::new(known));
    let is_owned = || std::fs::symlink_metadata(at).is_ok_and(|found| found.uid() == owner());
    (is_known() && is_kept(folder) || is_system(folder)) && is_owned()
}

/// Tells whether nobody but the owner of the system can change what is on the way to a path, and the path itself.
fn is_kept(real: &Path) -> bool {
    real.ancestors().all(|above| std::fs::symlink_metadata(above).is_ok_and(|found| is_closed(&found)))
}

fn is_closed(found: &std::fs::Metadata) -> bool {
    let mode = found.mode();
    !found.is_symlink()
        && found.uid() == owner()
        && mode & 0o002 == 0
        && (mode & 0o020 == 0 || rustix::process::geteuid().as_raw() == owner() || !is_in_group(found.gid()))
}

fn is_in_group(group: u32) -> bool {
    rustix::process::getegid().as_raw() == group
        || rustix::process::getgroups().is_ok_and(|groups| groups.iter().any(|one| one.as_raw() == group))
}

/// Whoever owns `/usr`: root, or in a container the one who stands for it.
pub(crate) fn owner() -> u32 {
    static OWNER: OnceLock<u32> = OnceLock::new();
    *OWNER.get_or_init(|| std::fs::symlink_metadata("/usr").map_or(0, |found| found.uid()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn is_what_the_machine_came_with() {
        for path in ["/usr", "/usr/bin", "/usr/lib"] {
            assert!(is_system(Path::new(path)), "{path}");
        }
        for path in [
            "/",
            "/home",
            "/tmp",
            "/usr/src",
            "/usr/local/src/x",
            "/etc",
            "/etc/shadow",
            "/etc/pythonic",
            "/usr/nothing",
        ] {
            assert!(!is_system(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn a_link_of_the_root_is_the_systems_and_one_of_a_user_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("/usr", &link).unwrap();
        assert!(!is_system_link(&link));
        if Path::new("/bin").is_symlink() {
            assert!(is_system_link(Path::new("/bin")));
        }
    }

    #[test]
    fn what_everybody_may_change_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        assert!(!is_kept(folder.path()));
    }
}
