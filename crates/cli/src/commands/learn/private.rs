//! What a person is to look at before it is granted: the floor, and names that often hold something private.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ringfence::policy::{Direction, Floor, FloorKind};
use ringfence::sandbox::Aliases;

use super::ceiling::Ground;

/// Endings of names under which keys and what people typed are kept.
const ENDINGS: &[&str] = &[
    ".agilekeychain",
    ".jks",
    ".kdb",
    ".kdbx",
    ".key",
    ".keychain-db",
    ".keystore",
    ".keytab",
    ".opvault",
    ".ovpn",
    ".p12",
    ".p8",
    ".pfx",
    ".ppk",
    ".tfstate",
    ".tfvars",
    "-credentials.json",
    "_credentials.json",
    "_history",
];
/// Beginnings of the names of private keys.
const KEYS: &[&str] = &["id_dsa", "id_ecdsa", "id_ed25519", "id_rsa", "id_xmss"];
/// Beginnings of the names of files with passwords, where they are data and not code.
const DATA: &[&str] = &[
    "client_secret",
    "credentials",
    "kubeconfig",
    "password",
    "secret",
    "service-account",
    "service_account",
];
const DATA_ENDINGS: &[&str] =
    &[".conf", ".csv", ".ini", ".json", ".properties", ".toml", ".txt", ".xml", ".yaml", ".yml"];
/// Names under which they are kept.
const NAMES: &[&str] = &[
    ".envrc",
    ".htpasswd",
    ".lesshst",
    ".netrc",
    ".pgpass",
    ".secrets",
    ".vault-token",
    ".vault_pass",
    "application_default_credentials.json",
    "auth.json",
    "cookies",
    "cookies.sqlite",
    "credentials",
    "kubeconfig",
    "key3.db",
    "key4.db",
    "login data",
    "logins.json",
    "secring.gpg",
    "token.json",
    "wallet.dat",
];
/// Endings that copies of a file have.
const COPIES: &[&str] = &[".backup", ".bak", ".copy", ".old", ".orig", ".save", ".swp", ".tmp", "~"];
/// What follows `.env.` where nothing is private.
const EXAMPLES: &[&str] = &["defaults", "dist", "example", "sample", "schema", "template"];
/// Parts of the names of certificates, which are for everybody.
const PUBLIC_PARTS: &[&str] = &["bundle", "ca-", "ca.", "cacert", "cert", "chain", "pub", "root"];
/// More files than this are not looked through.
const MOST_LOOKED_AT: usize = 200_000;
/// So many are named.
const MOST_NAMED: usize = 3;
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

/// Says why somebody is to look at a path that links show under a name of the floor: `.config` may lead anywhere.
pub(super) fn why_behind_link(
    path: &Path,
    direction: Direction,
    aliases: &Aliases,
    named: &[PathBuf],
) -> Option<String> {
    if named.iter().any(|named| path.starts_with(named)) {
        return None;
    }
    let lifted = named.iter().map(PathBuf::as_path);
    aliases.of(path).find_map(|alias| {
        let (line, _) = Floor::denies_unless_named(&alias, direction, &lifted)?;
        let counts = line.kind != FloorKind::Git || direction == Direction::Write;
        counts.then(|| {
            format!(
                "a link shows it as `{}`, and `{}` ({}) is on the always-deny floor",
                alias.display(),
                line.pattern,
                line.kind
            )
        })
    })
}

fn has_private_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).filter(|_| !is_nobodys(path));
    name.is_some_and(|name| is_private(&name.to_ascii_lowercase()))
}

/// Tells whether a path belongs to the system or to an installed package.
fn is_nobodys(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
        || path.components().any(|part| PACKAGES.iter().any(|name| part.as_os_str() == *name))
}

/// Tells whether private things are kept under a name in lower case.
fn is_private(name: &str) -> bool {
    if let Some(original) = COPIES.iter().find_map(|copy| name.strip_suffix(copy)) {
        return is_private(original);
    }
    let is_env = name.strip_prefix(".env").is_some_and(|rest| {
        rest.is_empty() || rest.strip_prefix(['.', '-', '_']).is_some_and(|kind| !EXAMPLES.contains(&kind))
    });
    let is_data = DATA.iter().any(|beginning| name.starts_with(beginning))
        && DATA_ENDINGS.iter().any(|ending| name.ends_with(ending));
    let is_key = name.ends_with(".pem")
        && (name.contains("key")
            || name.contains("priv")
            || !PUBLIC_PARTS.iter().any(|part| name.contains(part)));
    is_env
        || is_data
        || is_key
        || NAMES.contains(&name)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || (KEYS.iter().any(|beginning| name.starts_with(beginning)) && !name.ends_with(".pub"))
}

/// Says what a folder holds that nobody has agreed to, so that it is not granted as a whole. What is on the floor is hidden in any
/// sandbox, and what `named` names was looked at.
pub(super) fn held(folder: &Path, named: &[PathBuf], aliases: &Aliases) -> Option<String> {
    let (mut found, mut looked_at) = (Vec::new(), 0_usize);
    let is_own = |folder: &Path| !is_nobodys(folder) && folder.file_name().is_none_or(|name| name != ".git");
    let mut pending: Vec<PathBuf> = is_own(folder).then(|| folder.to_path_buf()).into_iter().collect();
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked_at += 1;
            let path = entry.path();
            let is_on_floor =
                || Floor::denies_unless_named(&path, Direction::Read, &std::iter::empty()).is_some();
            // A sandbox without the link around it would show it.
            let is_behind_link = || why_behind_link(&path, Direction::Read, aliases, named).is_some();
            let is_named = || named.iter().any(|named| path.starts_with(named));
            match entry.file_type() {
                _ if is_behind_link() => found.push(path),
                Ok(kind) if kind.is_dir() => {
                    let is_looked_into = is_own(&path) && !is_on_floor();
                    pending.extend(is_looked_into.then_some(path));
                }
                _ if has_private_name(&path) && !is_named() && !is_on_floor() => found.push(path),
                _ => {}
            }
        }
        if looked_at > MOST_LOOKED_AT {
            return Some(format!(
                "all of it would be granted, and it holds more than {MOST_LOOKED_AT} files"
            ));
        }
    }
    found.sort();
    let shown = |path: &PathBuf| format!("`{}`", path.strip_prefix(folder).unwrap_or(path).display());
    let shown: Vec<String> = found.iter().take(MOST_NAMED).map(shown).collect();
    let more = match found.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!shown.is_empty()).then(|| {
        format!(
            "it holds {}{more}, whose names are ones under which private things are kept; of what lies in it only what was used is granted",
            shown.join(", ")
        )
    })
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
            agreed: Vec::new(),
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
            ("/home/u/w/tls/ca.pem",                   Direction::Read,    false),
            ("/home/u/w/tls/server.pem",               Direction::Read,    true),
            ("/home/u/w/.env.production",              Direction::Read,    true),
            ("/home/u/w/.env.example",                 Direction::Read,    false),
            ("/home/u/w/.env.bak",                     Direction::Read,    true),
            ("/home/u/w/secrets.rs",                   Direction::Read,    false),
            ("/home/u/w/secrets.prod.yaml",            Direction::Read,    true),
            ("/home/u/w/environment.ts",               Direction::Read,    false),
            ("/home/u/w/passwords.kdbx.old",           Direction::Read,    true),
            ("/home/u/w/id_rsa.bak",                   Direction::Read,    true),
            ("/home/u/w/id_rsa.pub",                   Direction::Read,    false),
            ("/home/u/w/auth.json",                    Direction::Read,    true),
            ("/home/u/w/auth.json~",                   Direction::Read,    true),
            ("/home/u/w/profile/Cookies",              Direction::Read,    true),
            ("/home/u/w/key4.db",                      Direction::Read,    true),
            ("/home/u/w/.vault-token",                 Direction::Read,    true),
            ("/home/u/w/main.bak",                     Direction::Read,    false),
            ("/home/u/w/package.json",                 Direction::Read,    false),
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

    #[test]
    fn says_what_a_folder_holds() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let none = Aliases::default();
        let file = |name: &str| {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        file("src/main.rs");
        file("node_modules/x/test.key");
        file(".ssh/id_rsa");
        assert_eq!(held(&root, &[], &none), None);
        file("deep/er/.env");
        assert!(held(&root, &[], &none).unwrap().starts_with("it holds `deep/er/.env`, whose names"));
        assert_eq!(held(&root.join("src"), &[], &none), None);
        assert_eq!(held(&root, &[root.join("deep/er/.env")], &none), None);
        for name in ["a.pem", "b.pem", "c.key"] {
            file(name);
        }
        assert!(
            held(&root, &[], &none).unwrap().starts_with("it holds `a.pem`, `b.pem`, `c.key` and 1 more")
        );
    }

    #[test]
    fn marks_what_a_link_shows_under_a_name_of_the_floor() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for file in
            ["dot/config/gcloud/credentials.db", "dot/config/plain", "dot/fish/config.fish", "dot/netrc"]
        {
            std::fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
            std::fs::write(home.join(file), "").unwrap();
        }
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(home.join(to), home.join(at)).unwrap();
        link("dot/config", ".config");
        link("dot/fish", "dot/config/fish");
        link("dot/netrc", ".netrc");
        link("dot", "dot/config/git");
        let aliases = Aliases::within([home.as_path()]).unwrap();
        let why = |path: &str, direction, named: &[PathBuf]| {
            why_behind_link(&home.join(path), direction, &aliases, named)
        };
        let secret = "dot/config/gcloud/credentials.db";
        assert!(why(secret, Direction::Read, &[]).unwrap().contains("a link shows it as `"));
        assert!(why("dot/fish/config.fish", Direction::Write, &[]).is_some());
        assert!(why("dot/netrc", Direction::Read, &[]).is_some());
        assert_eq!(why("dot/config/plain", Direction::Read, &[]), None);
        assert_eq!(why(secret, Direction::Read, &[home.join(secret)]), None);
        let held_in = |path: &str| held(&home.join(path), &[], &aliases);
        assert!(held_in("dot/config").unwrap().contains("gcloud"));
        assert_eq!(held(&home.join("dot/config"), &[], &Aliases::default()), None);
    }
}
