//! The floor: paths that no list of directories reaches by accident.
//!
//! Keys, credentials, shell start-up files, git's hooks, kernel doors and ringfence's own files are refused in both
//! directions, wherever they lie in a granted tree, until a personality names that very path as a literal. Naming a
//! directory above is not enough, and naming `.ssh` does not give `.ssh/id_rsa`, which is on the floor by itself.
//! Names are compared without regard to ASCII case, since some file systems do.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::sync::LazyLock;

use super::glob::component_in_any_case;
use super::normal::{components, is_within};
use super::pattern::PathPattern;
use super::reach::Direction;
use super::set::PathSet;

/// The always-deny floor, a fixed table.
#[derive(Clone, Copy, Debug)]
pub struct Floor;

/// One line of the floor.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FloorEntry {
    /// Components that a path holds in a row; from the root when it starts with a slash, else anywhere.
    pub pattern: &'static str,
    /// What it protects.
    pub kind: FloorKind,
    /// The only direction denied; both when absent.
    pub only: Option<Direction>,
}

/// What a line of the floor protects.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum FloorKind {
    /// Tokens and passwords of services.
    Credential,
    /// Files that editors and agents run or obey.
    Editor,
    /// Files that git runs or obeys.
    Git,
    /// Private keys.
    Key,
    /// Doors into other processes, the kernel or the whole machine.
    Machine,
    /// Files that a shell runs when it starts.
    Startup,
    /// Ringfence's own state.
    Store,
}

impl fmt::Display for FloorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Credential => "credential",
            Self::Editor => "editor or agent configuration",
            Self::Git => "git",
            Self::Key => "key",
            Self::Machine => "machine",
            Self::Startup => "shell start-up",
            Self::Store => "store",
        })
    }
}

impl Floor {
    /// Returns the whole table.
    pub fn entries() -> &'static [FloorEntry] {
        ENTRIES
    }

    /// Returns the line that denies a normalised `path`, and the path up to the name it matched.
    ///
    /// A line is lifted by a literal of `named` that is at or below that name and at or above the path.
    pub(super) fn denies<'a>(
        path: &'a Path,
        direction: Direction,
        named: &PathSet,
    ) -> Option<(&'static FloorEntry, &'a Path)> {
        let literals = named.iter().filter(|pattern| pattern.is_literal()).map(PathPattern::root);
        Self::denies_unless_named(path, direction, &literals)
    }

    /// The same where the paths that lift a line are given one by one.
    pub fn denies_unless_named<'a, 'n>(
        path: &'a Path,
        direction: Direction,
        named: &(impl Iterator<Item = &'n Path> + Clone),
    ) -> Option<(&'static FloorEntry, &'a Path)> {
        let bytes = path.as_os_str().as_encoded_bytes();
        let mut names = components(path)?;
        let mut depth = 0;
        loop {
            let first = names.clone().next()?.first().map_or(0, u8::to_ascii_lowercase);
            // Nearly every name is dismissed by one look at its first byte.
            let starts = if depth == 0 { ROOT_STARTS | STARTS } else { STARTS };
            let possible = first.is_ascii() && starts >> first & 1 == 1;
            for entry in ENTRIES.iter().filter(|_| possible) {
                let concerned = entry.first() == first
                    && entry.only.is_none_or(|only| only == direction)
                    && (depth == 0 || !entry.pattern.starts_with('/'));
                if !concerned {
                    continue;
                }
                let Some(length) = entry.run(names.clone()) else { continue };
                let anchor = path.ancestors().nth(names.clone().count() - length).unwrap_or(path);
                let at = anchor.as_os_str().as_encoded_bytes();
                let lifted = named.clone().any(|named| {
                    let named = named.as_os_str().as_encoded_bytes();
                    is_within(named, at) && is_within(bytes, named)
                });
                if !lifted {
                    return Some((entry, anchor));
                }
            }
            names.next()?;
            depth += 1;
        }
    }
}

impl Floor {
    /// Tells whether a line of the floor could end with this name. Below a folder that is not on the floor nothing else is on it,
    /// so that whoever walks through many files need not ask about each.
    pub fn may_end_with(name: &OsStr) -> bool {
        let name = name.as_encoded_bytes();
        let first = name.first().map_or(0, u8::to_ascii_lowercase);
        let alike = LAST_NAMES.get(usize::from(first));
        alike.is_some_and(|names| names.iter().any(|last| component_in_any_case(last, name)))
    }

    /// Returns a line of the floor whose first names are the last of `path`, so that it goes on below.
    pub(super) fn begins_in(path: &Path) -> Option<&'static FloorEntry> {
        let mut names = components(path)?;
        let mut depth = 0;
        loop {
            let rest = names.clone();
            let begins = |entry: &&FloorEntry| {
                (depth == 0 || !entry.pattern.starts_with('/')) && entry.starts_with_all(rest.clone())
            };
            if let Some(entry) = ENTRIES.iter().find(begins) {
                return Some(entry);
            }
            names.next()?;
            depth += 1;
        }
    }
}

impl FloorEntry {
    /// Tells whether all of `names` (at least one) match the beginning of the entry, and more of it follows.
    fn starts_with_all<'a>(&self, mut names: impl Iterator<Item = &'a [u8]>) -> bool {
        let mut some = false;
        for wanted in self.pattern.split('/').filter(|wanted| !wanted.is_empty()) {
            match names.next() {
                Some(name) if component_in_any_case(wanted.as_bytes(), name) => some = true,
                Some(_) => return false,
                None => return some,
            }
        }
        false
    }

    /// The first byte of the first name, which is never a wildcard: most lines differ there already.
    const fn first(&self) -> u8 {
        match self.pattern.as_bytes() {
            [b'/', first, ..] | [first, ..] => *first,
            [] => 0,
        }
    }

    /// The last name.
    fn last(&self) -> &'static str {
        self.pattern.rsplit('/').next().unwrap_or(self.pattern)
    }

    /// Returns how many components match when the entry is laid on the first of `names`.
    fn run<'a>(&self, mut names: impl Iterator<Item = &'a [u8]>) -> Option<usize> {
        let mut length = 0;
        for wanted in self.pattern.split('/').filter(|wanted| !wanted.is_empty()) {
            if !component_in_any_case(wanted.as_bytes(), names.next()?) {
                return None;
            }
            length += 1;
        }
        Some(length)
    }
}

/// The first bytes of the lines that hold from the root, and of those that hold anywhere, as bits; all are ASCII.
const ROOT_STARTS: u128 = starts().0;
const STARTS: u128 = starts().1;

/// The last names of all lines by their first byte, which is never a wildcard either.
static LAST_NAMES: LazyLock<[Vec<&'static [u8]>; 128]> = LazyLock::new(|| {
    std::array::from_fn(|first| {
        let names = ENTRIES.iter().map(|entry| entry.last().as_bytes());
        names.filter(|name| name.first().is_some_and(|byte| usize::from(*byte) == first)).collect()
    })
});

const fn starts() -> (u128, u128) {
    let (mut root, mut anywhere) = (0, 0);
    let mut rest = ENTRIES;
    while let [entry, tail @ ..] = rest {
        match entry.pattern.as_bytes() {
            [b'/', ..] => root |= 1 << entry.first(),
            _ => anywhere |= 1 << entry.first(),
        }
        rest = tail;
    }
    (root, anywhere)
}

const fn both(kind: FloorKind, pattern: &'static str) -> FloorEntry {
    FloorEntry { pattern, kind, only: None }
}

const fn writes(kind: FloorKind, pattern: &'static str) -> FloorEntry {
    FloorEntry { pattern, kind, only: Some(Direction::Write) }
}

use FloorKind::{Credential, Editor, Git, Key, Machine, Startup, Store};

const ENTRIES: &[FloorEntry] = &[
    both(Key, ".ssh"),
    both(Key, ".gnupg"),
    both(Key, ".password-store"),
    both(Key, ".age"),
    both(Key, "id_dsa"),
    both(Key, "id_ecdsa"),
    both(Key, "id_ecdsa_sk"),
    both(Key, "id_ed25519"),
    both(Key, "id_ed25519_sk"),
    both(Key, "id_rsa"),
    both(Key, ".local/share/keyrings"),
    both(Key, "/users/*/library/keychains"),
    both(Key, "/etc/ssh/ssh_host_*_key"),
    both(Key, "/etc/ssl/private"),
    both(Credential, ".aws"),
    both(Credential, ".azure"),
    both(Credential, ".boto"),
    both(Credential, ".config/gcloud"),
    both(Credential, ".config/gh/hosts.yml"),
    both(Credential, ".config/doctl"),
    both(Credential, ".config/hub"),
    both(Credential, ".config/op"),
    both(Credential, ".config/rclone/rclone.conf"),
    both(Credential, ".cargo/credentials"),
    both(Credential, ".cargo/credentials.toml"),
    both(Credential, ".composer/auth.json"),
    both(Credential, ".docker/config.json"),
    both(Credential, ".gem/credentials"),
    both(Credential, ".git-credentials"),
    both(Credential, ".config/git/credentials"),
    both(Credential, ".kube"),
    both(Credential, ".m2/settings.xml"),
    both(Credential, ".mozilla"),
    both(Credential, ".config/google-chrome"),
    both(Credential, ".config/chromium"),
    both(Credential, ".my.cnf"),
    both(Credential, ".mylogin.cnf"),
    both(Credential, ".netrc"),
    both(Credential, "_netrc"),
    both(Credential, ".npmrc"),
    both(Credential, ".oci"),
    both(Credential, ".pgpass"),
    both(Credential, ".pypirc"),
    both(Credential, ".s3cfg"),
    both(Credential, ".terraform.d/credentials.tfrc.json"),
    both(Credential, ".terraformrc"),
    both(Credential, ".vault-token"),
    both(Credential, ".yarnrc.yml"),
    both(Startup, ".bash_aliases"),
    both(Startup, ".bash_login"),
    both(Startup, ".bash_logout"),
    both(Startup, ".bash_profile"),
    both(Startup, ".bashrc"),
    both(Startup, ".config/fish/conf.d"),
    both(Startup, ".config/fish/config.fish"),
    both(Startup, ".cshrc"),
    both(Startup, ".kshrc"),
    both(Startup, ".login"),
    both(Startup, ".logout"),
    both(Startup, ".profile"),
    both(Startup, ".tcshrc"),
    both(Startup, ".zlogin"),
    both(Startup, ".zlogout"),
    both(Startup, ".zprofile"),
    both(Startup, ".zshenv"),
    both(Startup, ".zshrc"),
    writes(Startup, ".config/autostart"),
    writes(Startup, ".config/systemd/user"),
    writes(Startup, ".gitconfig"),
    writes(Startup, ".config/git/config"),
    writes(Startup, ".xprofile"),
    writes(Startup, ".xinitrc"),
    writes(Startup, ".xsessionrc"),
    writes(Startup, "/users/*/library/launchagents"),
    writes(Startup, "/etc/profile"),
    writes(Startup, "/etc/profile.d"),
    writes(Startup, "/etc/bash.bashrc"),
    writes(Startup, "/etc/cron*"),
    writes(Startup, "/etc/ld.so.preload"),
    writes(Startup, "/var/spool/cron"),
    writes(Editor, ".agents"),
    writes(Editor, ".aider.conf.yml"),
    writes(Editor, ".claude"),
    writes(Editor, ".codex"),
    writes(Editor, ".continue"),
    writes(Editor, ".cursor"),
    writes(Editor, ".devcontainer"),
    writes(Editor, ".emacs"),
    writes(Editor, ".emacs.d"),
    writes(Editor, ".envrc"),
    writes(Editor, ".exrc"),
    writes(Editor, ".gemini"),
    writes(Editor, ".helix"),
    writes(Editor, ".idea"),
    writes(Editor, ".mcp.json"),
    writes(Editor, ".nvim.lua"),
    writes(Editor, ".nvimrc"),
    writes(Editor, ".vim"),
    writes(Editor, ".vimrc"),
    writes(Editor, ".vscode"),
    writes(Editor, ".windsurf"),
    writes(Editor, ".zed"),
    writes(Editor, ".config/nvim"),
    writes(Editor, ".config/zed"),
    writes(Startup, ".bash_completion"),
    writes(Startup, ".cargo/config"),
    writes(Startup, ".cargo/config.toml"),
    writes(Startup, ".config/environment.d"),
    writes(Startup, ".config/fish/functions"),
    writes(Startup, ".config/tmux"),
    writes(Startup, ".gdbinit"),
    writes(Startup, ".pam_environment"),
    writes(Startup, ".screenrc"),
    writes(Startup, ".curlrc"),
    writes(Git, ".gitmodules"),
    writes(Startup, ".husky"),
    writes(Startup, ".ripgreprc"),
    writes(Startup, ".inputrc"),
    writes(Startup, ".tmux.conf"),
    writes(Startup, ".wgetrc"),
    both(Git, ".git/hooks"),
    both(Git, ".git/modules/*/hooks"),
    writes(Git, ".git/config"),
    writes(Git, ".git/config.worktree"),
    writes(Git, ".git/info/attributes"),
    writes(Git, ".git/commondir"),
    writes(Git, ".git/modules/*/config"),
    writes(Git, ".git/modules/*/commondir"),
    writes(Git, ".git/modules/*/*/config"),
    both(Git, ".git/modules/*/*/hooks"),
    writes(Git, ".git/modules/*/*/*/config"),
    both(Git, ".git/modules/*/*/*/hooks"),
    writes(Git, ".git/worktrees/*/commondir"),
    writes(Git, ".git/worktrees/*/config.worktree"),
    both(Machine, "/etc/gshadow"),
    both(Machine, "/etc/gshadow-"),
    both(Machine, "/etc/shadow"),
    both(Machine, "/etc/shadow-"),
    both(Machine, "/etc/sudoers"),
    both(Machine, "/etc/sudoers.d"),
    both(Machine, "/dev/kmem"),
    both(Machine, "/dev/mem"),
    both(Machine, "/dev/port"),
    both(Machine, "/proc/kcore"),
    both(Machine, "/proc/*/auxv"),
    both(Machine, "/proc/*/cwd"),
    both(Machine, "/proc/*/environ"),
    both(Machine, "/proc/*/exe"),
    both(Machine, "/proc/*/fd"),
    both(Machine, "/proc/*/map_files"),
    both(Machine, "/proc/*/maps"),
    both(Machine, "/proc/*/mem"),
    both(Machine, "/proc/*/root"),
    both(Machine, "/proc/*/task"),
    writes(Machine, "/proc"),
    writes(Machine, "/sys"),
    both(Machine, "/run/containerd/containerd.sock"),
    both(Machine, "/run/crio/crio.sock"),
    both(Machine, "/run/docker.sock"),
    both(Machine, "/run/podman/podman.sock"),
    both(Machine, "/run/user/*/docker.sock"),
    both(Machine, "/run/user/*/podman/podman.sock"),
    both(Machine, "/var/run/docker.sock"),
    both(Machine, "/var/run/secrets/kubernetes.io"),
    both(Machine, "/run/secrets"),
    both(Store, ".ringfence"),
    both(Store, ".cache/ringfence"),
    both(Store, ".local/state/ringfence"),
    writes(Store, "ringfence.toml"),
    writes(Store, "ringfence.pins.json"),
    writes(Store, "ringfence.pins.lock"),
    writes(Store, "ringfence.seen.json"),
];

#[cfg(test)]
mod tests {
    use Direction::{Read, Write};

    use super::*;

    #[test]
    fn no_line_starts_with_a_wildcard_or_in_upper_case() {
        for entry in ENTRIES {
            let first = entry.first();
            assert!(!matches!(first, b'*' | b'?' | b'/' | 0) && !first.is_ascii_uppercase(), "{entry:?}");
            let last = entry.last().as_bytes()[0];
            assert!(!matches!(last, b'*' | b'?' | b'/') && !last.is_ascii_uppercase(), "{entry:?}");
        }
    }

    #[test]
    fn every_line_may_end_with_its_last_name() {
        for entry in ENTRIES {
            let name = entry.last().replace('*', "x");
            assert!(Floor::may_end_with(OsStr::new(&name)), "{entry:?}");
            assert!(Floor::may_end_with(OsStr::new(&name.to_ascii_uppercase())), "{entry:?}");
        }
        for name in ["main.rs", "", "README.md", ".git", "src", "ü"] {
            assert!(!Floor::may_end_with(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn holds_until_the_very_path_is_named() {
        #[rustfmt::skip]
        let cases: &[(&str, Direction, &[&str], bool)] = &[
            // path                        direction  personality                      denied
            ("/home/u/.ssh",               Read,  &["/home/u"],                        true),
            ("/home/u/.ssh/config",        Read,  &["/home/u"],                        true),
            ("/home/u/.ssh/config",        Read,  &["/home/u/.ssh"],                   false),
            ("/home/u/.ssh/config",        Read,  &["/home/u/.ssh/config"],            false),
            ("/home/u/.ssh/config",        Read,  &["/home/u/.ssh/known_hosts"],       true),
            ("/home/u/.ssh/config",        Read,  &["/home/*/.ssh"],                   true),
            ("/home/u/.ssh/config",        Read,  &["/home/v/.ssh"],                   true),
            ("/home/u/.ssh/id_rsa",        Read,  &["/home/u/.ssh"],                   true),
            ("/home/u/.ssh/id_rsa",        Read,  &["/home/u/.ssh/id_rsa"],            false),
            ("/home/u/.SSH/config",        Write, &["/home/u"],                        true),
            ("/home/u/x.ssh",              Read,  &["/home/u"],                        false),
            ("/w/id_ed25519",              Read,  &["/w"],                             true),
            ("/w/id_ed25519.pub",          Read,  &["/w"],                             false),
            ("/h/.config/gcloud/db",       Read,  &["/h"],                             true),
            ("/h/.config/other",           Read,  &["/h"],                             false),
            ("/h/.docker/config.json",     Read,  &["/h"],                             true),
            ("/h/.docker/other.json",      Read,  &["/h"],                             false),
            ("/h/.bashrc",                 Write, &["/h"],                             true),
            ("/w/.git/hooks/pre-commit",   Write, &["/w"],                             true),
            ("/w/.git/config",             Write, &["/w"],                             true),
            ("/w/.git/config",             Read,  &["/w"],                             false),
            ("/w/.git/HEAD",               Write, &["/w"],                             false),
            ("/etc/shadow",                Read,  &["/etc"],                           true),
            ("/etc/shadow",                Read,  &["/etc/shadow"],                    false),
            ("/w/etc/shadow",              Read,  &["/w"],                             false),
            ("/proc/self/environ",         Read,  &["/proc"],                          true),
            ("/proc/1/mem",                Write, &["/proc"],                          true),
            ("/proc/cpuinfo",              Read,  &["/proc"],                          false),
            ("/var/run/docker.sock",       Write, &["/var"],                           true),
            ("/w/.ringfence/audit.db",     Read,  &["/w"],                             true),
            ("/w/ringfence.toml",          Read,  &["/w"],                             false),
            ("/w/ringfence.toml",          Write, &["/w"],                             true),
            ("/w/a/Ringfence.Pins.json",   Write, &["/w"],                             true),
            ("/w/.local/state/ringfence/servers/a/pins.json", Read, &["/w"],           true),
            ("/",                          Read,  &["/"],                              false),
        ];
        for (path, direction, named, denied) in cases {
            let named: PathSet =
                named.iter().map(|text| text.parse::<super::super::PathPattern>().unwrap()).collect();
            let verdict = Floor::denies(Path::new(path), *direction, &named);
            assert_eq!(verdict.is_some(), *denied, "{direction} {path}: {verdict:?}");
        }
    }

    #[test]
    fn knows_where_a_line_begins() {
        for (path, begins) in [
            ("/w/.git", true),
            ("/w/.GIT", true),
            ("/w/.git/modules/x", true),
            ("/w/.config", true),
            ("/etc", true),
            ("/w/etc", false),
            ("/w/.git/objects", false),
            ("/w/sub", false),
            ("/w/.ssh", false), // it is on the floor itself, and stays so under any parent
            ("/", false),
        ] {
            assert_eq!(Floor::begins_in(Path::new(path)).is_some(), begins, "{path}");
        }
    }

    #[test]
    fn the_table_is_written_in_lower_case_and_once() {
        let mut patterns: Vec<&str> = Floor::entries().iter().map(|entry| entry.pattern).collect();
        assert!(patterns.iter().all(|pattern| *pattern == pattern.to_ascii_lowercase()));
        let count = patterns.len();
        assert!(Floor::entries().iter().all(|entry| !matches!(entry.first(), b'*' | b'?')));
        patterns.sort_unstable();
        patterns.dedup();
        assert_eq!(patterns.len(), count);
    }
}
