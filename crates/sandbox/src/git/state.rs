//! What git goes on with later: an interrupted rebase, or a row of picks. A line `exec` in it runs a program.

use std::path::Path;

use super::config::parse;
use crate::file::read_small;

/// The most a list of commits takes.
const MAX_LIST: u64 = 4 << 20;

/// What a list may say and starts nothing.
const COMMANDS: &[&[u8]] = &[
    b"pick", b"p", b"reword", b"r", b"edit", b"e", b"squash", b"s", b"fixup", b"f", b"drop", b"d", b"break",
    b"b", b"noop", b"revert",
];

/// Tells whether this is the state of something that git goes on with, and going on starts nothing that it names.
pub(crate) fn is_plain_state(folder: &Path) -> bool {
    let is_folder = || folder.symlink_metadata().is_ok_and(|found| found.is_dir());
    match folder.file_name().and_then(|name| name.to_str()) {
        Some("rebase-merge") => is_folder() && is_plain_rebase(folder),
        Some("sequencer") => is_folder() && is_plain_sequence(folder),
        _ => false,
    }
}

/// Tells whether going on with this rebase starts nothing that it names.
fn is_plain_rebase(folder: &Path) -> bool {
    // A strategy is a program, and options of signing are arguments of one.
    let is_absent = |name: &str| is_gone(&folder.join(name));
    ["git-rebase-todo", "done"].iter().all(|name| is_plain_list(&folder.join(name)))
        && ["strategy", "strategy_opts", "gpg_sign_opt"].iter().all(|name| is_absent(name))
        && holds_only_files(folder)
}

/// Tells whether going on with these picks starts nothing that they name.
fn is_plain_sequence(folder: &Path) -> bool {
    is_plain_list(&folder.join("todo")) && has_plain_options(&folder.join("opts")) && holds_only_files(folder)
}

/// What the options of a row of picks may say: nothing that names a strategy, which is a program, or arguments of one that signs.
const OPTIONS: &[&[u8]] = &[
    b"options.allow-empty",
    b"options.allow-empty-message",
    b"options.allow-ff",
    b"options.allow-rerere-auto",
    b"options.default-msg-cleanup",
    b"options.drop-redundant-commits",
    b"options.edit",
    b"options.keep-redundant-commits",
    b"options.mainline",
    b"options.no-commit",
    b"options.record-origin",
    b"options.signoff",
];
const MAX_OPTIONS: u64 = 16 << 10;

fn has_plain_options(path: &Path) -> bool {
    if is_gone(path) {
        return true;
    }
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    is_file
        && read_small(path, MAX_OPTIONS).is_ok_and(|text| {
            let config = parse(&text);
            config.is_regular && config.settings.iter().all(|one| OPTIONS.contains(&one.name.as_slice()))
        })
}

/// Nothing else can hide in it.
fn holds_only_files(folder: &Path) -> bool {
    let is_file = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.and_then(|entry| entry.file_type()).is_ok_and(|kind| kind.is_file())
    };
    std::fs::read_dir(folder).is_ok_and(|mut listed| listed.all(is_file))
}

fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

fn is_plain_list(path: &Path) -> bool {
    if is_gone(path) {
        return true;
    }
    let is_link = path.symlink_metadata().map_or(true, |found| !found.is_file());
    !is_link && read_small(path, MAX_LIST).is_ok_and(|text| is_plain_text(&text))
}

fn is_plain_text(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').all(|line| {
        let line = line.trim_ascii();
        let command = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        line.is_empty() || line.starts_with(b"#") || COMMANDS.contains(&command)
    }) && !text.contains(&0)
        && !text.contains(&b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_starts_a_program_is_not_plain() {
        assert!(is_plain_text(b"pick 1234 Say exec\n# Commands:\n\nfixup -C 12 x\n"));
        for hostile in [
            "exec touch x\n",
            "pick 1\n x touch y",
            "x y\n",
            "merge -C 12 x\n",
            "label exec\n",
            "pick 1\rexec y",
        ] {
            assert!(!is_plain_text(hostile.as_bytes()), "{hostile}");
        }
    }

    #[test]
    fn picks_go_on_with_options_that_name_no_program() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("todo"), "pick 12 x\n").unwrap();
        for (options, is_plain) in [
            ("[options]\n\trecord-origin = true\n", true),
            ("[options]\n\tno-commit = true\n\tmainline = 1\n\tedit = false\n", true),
            ("[options]\n\trecord-origin = true\n\tstrategy = x\n", false),
            ("[options]\n\tstrategy-option = x\n", false),
            ("[options]\n\tgpg-sign = x\n", false),
            ("[options]\n\tunknown = x\n", false),
            ("[core]\n\thooksPath = x\n", false),
            ("[options]\n\tedit = true\nstrategy", false),
            ("[options\n", false),
        ] {
            std::fs::write(folder.path().join("opts"), options).unwrap();
            assert_eq!(is_plain_sequence(folder.path()), is_plain, "{options}");
        }
        std::fs::remove_file(folder.path().join("opts")).unwrap();
        std::os::unix::fs::symlink("todo", folder.path().join("opts")).unwrap();
        assert!(!is_plain_sequence(folder.path()));
    }

    #[test]
    fn a_rebase_with_a_strategy_is_not_plain() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("git-rebase-todo"), "pick 12 x\n").unwrap();
        assert!(is_plain_rebase(folder.path()));
        std::fs::write(folder.path().join("strategy"), "x\n").unwrap();
        assert!(!is_plain_rebase(folder.path()));
    }
}
