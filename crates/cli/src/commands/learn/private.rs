//! What a person is to look at before it is granted: the floor, and names that often hold something private.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ringfence::policy::{Direction, Floor, FloorKind};

use super::ceiling::Ground;

/// Endings of names under which keys and what people typed are kept.
const ENDINGS: &[&str] = &[".kdbx", ".key", ".p12", ".pfx", "_history", ".ovpn"];
/// Names under which they are kept.
const NAMES: &[&str] = &[
    ".env",
    ".envrc",
    ".htpasswd",
    "credentials",
    "credentials.json",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "token.json",
    ".vault_pass",
];
/// Folders of the system, where such names are nobody's own.
const SYSTEM: &[&str] = &["/usr", "/opt", "/bin", "/lib", "/lib64", "/etc/ssl/certs"];
/// Folders of installed packages, where they belong to tests and examples.
const PACKAGES: &[&str] = &["node_modules", "site-packages", "dist-packages"];

/// Says why somebody is to look at a path before it is granted. What `named` names was looked at.
pub(super) fn why(path: &Path, direction: Direction, ground: &Ground, named: &[PathBuf]) -> Option<String> {
    let lifted = named.iter().map(PathBuf::as_path);
    if let Some((line, _)) = Floor::denies_unless_named(path, direction, &lifted) {
        // Git's own files are read-only in any sandbox, and read by git.
        if line.kind != FloorKind::Git || direction == Direction::Write {
            return Some(format!("`{}` ({}) is on the always-deny floor", line.pattern, line.kind));
        }
    }
    if named.iter().any(|named| path.starts_with(named)) {
        return None;
    }
    if has_private_name(path) {
        return Some("its name is one under which private things are kept".into());
    }
    let own = ground.home.iter().chain([&ground.workspace]).chain(&ground.written).chain(&ground.read);
    let is_ours = own.into_iter().any(|own| path.starts_with(own));
    (!is_ours && is_closed(path)).then(|| "only its owner may read it".to_owned())
}

fn has_private_name(path: &Path) -> bool {
    let is_system = SYSTEM.iter().any(|system| path.starts_with(system));
    let in_package = || path.components().any(|part| PACKAGES.iter().any(|name| part.as_os_str() == *name));
    let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|_| !is_system && !in_package())
    else {
        return false;
    };
    let name = name.to_ascii_lowercase();
    NAMES.contains(&name.as_str())
        || name.starts_with(".env.")
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || (name.ends_with(".pem") && (name.contains("key") || name.contains("priv")))
}

/// Tells whether a file may be read by its owner alone, or its group.
fn is_closed(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o004 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_what_is_private() {
        let ground = Ground {
            workspace: "/home/u/w".into(),
            home: Some("/home/u".into()),
            written: vec!["/home/u/w".into()],
            read: Vec::new(),
        };
        #[rustfmt::skip]
        let cases = [
            // path                                    direction           marked
            ("/home/u/.ssh/id_ed25519",                Direction::Read,    true),
            ("/home/u/.aws/credentials",               Direction::Read,    true),
            ("/home/u/w/.env",                         Direction::Read,    true),
            ("/home/u/w/.env.local",                   Direction::Read,    true),
            ("/home/u/w/tls/server-key.pem",           Direction::Read,    true),
            ("/home/u/w/tls/chain.pem",                Direction::Read,    false),
            ("/home/u/.bash_history",                  Direction::Read,    true),
            ("/home/u/w/src/monkey",                   Direction::Read,    false),
            ("/home/u/w/node_modules/x/test/a.key",    Direction::Read,    false),
            ("/usr/share/doc/x/credentials.json",      Direction::Read,    false),
            ("/home/u/w/.git/hooks/pre-commit",        Direction::Read,    false),
            ("/home/u/w/.git/hooks/pre-commit",        Direction::Write,   true),
            ("/home/u/w/.git/config",                  Direction::Write,   true),
            ("/home/u/w/.git/config",                  Direction::Read,    false),
            ("/etc/shadow",                            Direction::Read,    true),
        ];
        for (path, direction, marked) in cases {
            assert_eq!(why(Path::new(path), direction, &ground, &[]).is_some(), marked, "{path} {direction}");
        }
        let named = [PathBuf::from("/home/u/w/.env")];
        assert_eq!(why(&named[0], Direction::Read, &ground, &named), None);
    }
}
