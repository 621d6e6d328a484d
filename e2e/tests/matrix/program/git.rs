//! git, in a folder it may write and from one it may only read.

use std::fs;

use crate::matrix::binary;
use crate::matrix::check::{Check, Step, ok};
use crate::matrix::process::finished;
use crate::matrix::stage::Work;

#[rustfmt::skip]
pub(crate) const CHECKS: &[Check] = &[
    Check::steps("git::from_init_to_diff", &[
        ok(&[], &["git", "init", "-q", "-b", "main", "repo"], ""),
        ok(&[], &["git", "-C", "repo", "status", "--short"], ""),
        ok(&[], &["sh", "-c", "echo one > repo/a.txt"], ""),
        ok(&[], &["git", "-C", "repo", "add", "a.txt"], ""),
        ok(&[], &["git", "-C", "repo", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "first"], ""),
        ok(&[], &["git", "-C", "repo", "log", "--oneline"], "first"),
        ok(&[], &["sh", "-c", "echo two >> repo/a.txt"], ""),
        ok(&[], &["git", "-C", "repo", "diff"], "+two"),
        ok(&[], &["git", "-C", "repo", "stash", "list"], ""),
        ok(&[], &["git", "-C", "repo", "checkout", "-q", "-b", "side"], ""),
        ok(&[], &["git", "-C", "repo", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qam", "second"], ""),
        ok(&[], &["git", "-C", "repo", "checkout", "-q", "main"], ""),
        ok(&[], &["git", "-C", "repo", "merge", "-q", "side"], ""),
        ok(&[], &["git", "-C", "repo", "show", "--stat"], "a.txt"),
        ok(&[], &["git", "-C", "repo", "fsck"], ""),
        ok(&[], &["git", "-C", "repo", "gc", "-q"], ""),
        ok(&[], &["git", "-C", "repo", "log", "--oneline"], "second"),
    ]),
    Check::call("git::clone_of_a_granted_repository", clone),
    Check::call("git::local_clone", local_clone),
    Check::call("git::config_stays", config),
    Check::steps("git::no_network", &[
        Step { code: 128, ..ok(&[], &["git", "ls-remote", "https://example.invalid/x"], "") },
    ]),
];

fn source(work: &Work<'_>) -> Result<String, String> {
    let source = work.stage.folder(&format!("{}-source", work.folder.file_name().unwrap().to_str().unwrap()));
    fs::write(source.path("a.txt"), "hello\n").unwrap();
    work.stage.own(&source.folder);
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["add", "a.txt"],
        &["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "from outside"],
    ] {
        let git = binary::system("git").unwrap();
        let mut command = work.stage.host(git.to_str().unwrap());
        finished(command.args(arguments).current_dir(&source.folder)).must(0, "")?;
    }
    Ok(source.folder.display().to_string())
}

/// git starts the other side of a clone through the shell.
fn clone(work: &Work<'_>) -> Result<(), String> {
    let source = source(work)?;
    let flags = ["--exec", "sh", "--read", &source];
    work.run(&flags, &["git", "clone", "-q", &source, "copy"]).must(0, "")?;
    work.run(&flags, &["git", "clone", "-q", &format!("file://{source}"), "other"]).must(0, "")?;
    work.run(&[], &["git", "-C", "copy", "log", "--oneline"]).must(0, "from outside")?;
    work.run(&[], &["cat", "other/a.txt"]).must(0, "hello")
}

/// A clone of a folder on the same disk shares its objects with it, by hard links: they are read-only, and git only reads them.
fn local_clone(work: &Work<'_>) -> Result<(), String> {
    let source = source(work)?;
    let git = binary::system("git").unwrap();
    let mut command = work.stage.host(git.to_str().unwrap());
    let arguments = ["-c", "safe.directory=*", "clone", "-q", "--local", &source, "copy"];
    finished(command.args(arguments).current_dir(&work.folder)).must(0, "")?;
    let who = ["git", "-C", "copy", "-c", "user.name=a", "-c", "user.email=a@b.c"];
    for (arguments, says) in [
        (&["commit", "-q", "--allow-empty", "-m", "second"][..], ""),
        (&["gc", "-q"], ""),
        (&["fsck"], ""),
        (&["log", "--oneline"], "second"),
        (&["rebase", "-q", "HEAD~1"], ""),
    ] {
        let command: Vec<&str> = who.iter().chain(arguments).copied().collect();
        work.run(&[], &command).must(0, says).map_err(|why| format!("{arguments:?}: {why}"))?;
    }
    Ok(())
}

/// What git itself writes into a new repository's configuration is kept.
fn config(work: &Work<'_>) -> Result<(), String> {
    work.run(&[], &["git", "init", "-q", "repo"]).must(0, "")?;
    let config = fs::read_to_string(work.path("repo/.git/config")).map_err(|error| error.to_string())?;
    if config.contains("repositoryformatversion") { Ok(()) } else { Err(config) }
}
