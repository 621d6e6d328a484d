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
