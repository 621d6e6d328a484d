//! What we read is what git reads.

use std::process::{Command, Stdio};

use proptest::prelude::*;

use super::*;

/// What git reads of a file; nothing where it stops with an error.
fn by_git(text: &[u8]) -> Option<Vec<Setting>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    std::fs::write(&path, text).unwrap();
    let mut git = Command::new("git");
    git.args(["config", "--list", "-z", "-f"]).arg(&path).stderr(Stdio::null()).current_dir(folder.path());
    let output = git.output().unwrap();
    let read = |entry: &[u8]| {
        let end = entry.iter().position(|byte| *byte == b'\n');
        let (name, value) = end.map_or((entry, None), |end| (&entry[..end], Some(entry[end + 1..].to_vec())));
        Setting { name: name.to_vec(), value }
    };
    let entries =
        output.stdout.strip_suffix(b"\0").map(|all| all.split(|byte| *byte == 0).map(read).collect());
    output.status.success().then(|| entries.unwrap_or_default())
}

fn has_git() -> bool {
    Command::new("git").arg("--version").stdout(Stdio::null()).status().is_ok()
}

/// Pieces that configurations are made of, and pieces that break them.
fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "[core]",
        "[core",
        "]",
        "[remote \"o\"]",
        "[remote \"a\\\"b\"]",
        "[a.B]",
        "[ \"x\"]",
        "[alias]",
        "[include]",
        "\n",
        "\n\t",
        "\r\n",
        "\r",
        " ",
        "\t",
        "=",
        " = ",
        "hooksPath",
        "path",
        "x",
        "A-b",
        "1",
        "true",
        "\"",
        "\\\"",
        "\\\\",
        "\\n",
        "\\t",
        "\\x",
        "\\\n",
        "#",
        ";",
        "# c\n",
        "!sh -c 'x'",
        "../evil",
        "~/x",
        "ü",
        "\u{feff}",
        "\u{b}",
        "\0",
        "key = value\n",
        "k=\"a b\" c ; d\n",
        ".",
        "[core]fsmonitor=x",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn reads_what_git_reads(pieces in prop::collection::vec(piece(), 0..14)) {
        prop_assume!(has_git());
        let text = pieces.concat();
        let ours = parse(text.as_bytes());
        match by_git(text.as_bytes()) {
            Some(theirs) if ours.is_regular => prop_assert_eq!(ours.settings, theirs),
            // Odd is never plain; still nothing that git reads may be missing.
            Some(theirs) => for one in theirs {
                prop_assert!(ours.settings.contains(&one), "{:?} is not read: {:?}", one, ours);
            },
            None => prop_assert!(!ours.is_regular, "git refuses what we read as {:?}", ours),
        }
    }
}

#[test]
fn names_have_three_parts() {
    let config = parse(b"[Remote \"O.x\"]\n\tURL = a\n[core]\n\tbare\n");
    assert!(config.is_regular);
    let parts: Vec<_> = config.settings.iter().map(|one| (one.section(), one.part(), one.key())).collect();
    assert_eq!(parts, [(&b"remote"[..], Some(&b"O.x"[..]), &b"url"[..]), (b"core", None, b"bare"),]);
}
