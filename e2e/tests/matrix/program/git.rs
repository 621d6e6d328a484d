//! git, in a folder it may write and from one it may only read.

use std::fs;
use std::process::Stdio;

use crate::matrix::binary;
use crate::matrix::check::{Check, Step, ok};
use crate::matrix::process::{Ended, finished};
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
    Check::call("git::worktrees_submodules_rebases", ordinary_work),
    Check::call("git::planted_bare", planted),
    Check::call("git::planted_split", planted),
    Check::call("git::planted_file", planted),
    Check::call("git::planted_worktree", planted),
    Check::call("git::planted_modules", planted),
    Check::call("git::planted_hooks", planted),
    Check::call("git::planted_include", planted),
    Check::call(DECOYS, planted),
    Check::call("git::planted_rebase", planted),
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

const AS: [&str; 6] = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always"];

/// Everything that git itself makes goes on working in the next run, and on the host.
fn ordinary_work(work: &Work<'_>) -> Result<(), String> {
    let source = source(work)?;
    let flags = ["--exec", "*", "--read", &source];
    let git = |folder: &str, words: &[&str]| {
        let all: Vec<&str> = ["git", "-C", folder].iter().chain(&AS).chain(words).copied().collect();
        let ended = work.run(&flags, &all);
        if ended.stderr.contains("was moved to") {
            return Err(format!("{words:?}: {}", ended.stderr));
        }
        ended.must(0, "").map_err(|why| format!("{words:?}: {why}"))
    };
    git(".", &["clone", "-q", &source, "repo"])?;
    git(".", &["clone", "-q", "--bare", &source, "bare.git"])?;
    git(".", &["init", "-q", "--separate-git-dir=apart", "separate"])?;
    git("repo", &["worktree", "add", "-q", "../tree"])?;
    git("tree", &["status", "--short"])?;
    git("tree", &["commit", "-q", "--allow-empty", "-m", "there"])?;
    git("repo", &["commit", "-q", "--allow-empty", "-m", "here"])?;
    git("tree", &["rebase", "-q", "main"])?;
    git("repo", &["submodule", "--quiet", "add", &source, "dep"])?;
    git("repo/dep", &["log", "--oneline"])?;
    fs::write(work.path("repo/a.txt"), "changed\n").map_err(|error| error.to_string())?;
    work.stage.own(&work.path("repo/a.txt"));
    git("repo", &["stash", "-q"])?;
    git("repo", &["gc", "-q"])?;
    for folder in ["repo", "tree", "repo/dep", "bare.git", "separate"] {
        on_host(work, folder, &["rev-parse", "--git-dir"])
            .must(0, "")
            .map_err(|why| format!("{folder}: {why}"))?;
    }
    Ok(())
}

fn on_host(work: &Work<'_>, folder: &str, words: &[&str]) -> Ended {
    let git = binary::system("git").unwrap();
    let mut command = work.stage.host(git.to_str().unwrap());
    command.arg("-C").arg(work.path(folder)).args(AS).args(words).current_dir(&work.folder);
    finished(command.stdin(Stdio::null()))
}

/// The check that takes longest.
pub(crate) const DECOYS: &str = "git::planted_decoys";

/// What a command plants, the folder that somebody enters later, and what git is asked there.
const PLANTED: &[(&str, &str, &str, &[&str])] = &[
    (
        "bare",
        "mkdir -p b/objects b/refs && echo 'ref: refs/heads/x' >b/HEAD && evil b/config",
        "b",
        &["--work-tree=.", "status"],
    ),
    (
        "split",
        "mkdir -p p q/objects q/refs && echo 'ref: refs/heads/x' >p/HEAD && echo ../q >p/commondir && evil q/config",
        "p",
        &["--work-tree=.", "status"],
    ),
    (
        "file",
        "mkdir -p t p q/objects q/refs && echo 'ref: refs/heads/x' >p/HEAD && echo ../q >p/commondir && evil q/config \
         && echo 'gitdir: ../p' >t/.git",
        "t",
        &["status"],
    ),
    (
        "worktree",
        "mkdir -p t q/objects q/refs repo/.git/worktrees/t && cd repo/.git/worktrees/t \
         && echo 'ref: refs/heads/x' >HEAD && echo ../../../../q >commondir && cd ../../../.. && evil q/config \
         && echo 'gitdir: ../repo/.git/worktrees/t' >t/.git",
        "t",
        &["status"],
    ),
    (
        "modules",
        "mkdir -p repo/dep repo/.git/modules/a/b/c/d/e && cd repo/.git/modules/a/b/c/d/e && mkdir objects refs \
         && echo 'ref: refs/heads/x' >HEAD && cd ../../../../../../../.. && evil repo/.git/modules/a/b/c/d/e/config \
         && echo 'gitdir: ../.git/modules/a/b/c/d/e' >repo/dep/.git",
        "repo/dep",
        &["status"],
    ),
    (
        "hooks",
        "cd repo; mv tools old; mkdir -p tools/hooks; printf '#!/bin/sh\\ntouch %s\\n' \"$mark\" >tools/hooks/post-checkout \
         && chmod +x tools/hooks/post-checkout",
        "repo",
        &["checkout", "-q", "-b", "other"],
    ),
    ("include", "mv repo/more.inc repo/old.inc; evil repo/more.inc", "repo", &["status"]),
    (
        "decoys",
        "mkdir $(seq -f d%g 5000) && for d in d*; do : >$d/.envrc; done; \
         mkdir -p z/.git/objects z/.git/refs && echo 'ref: refs/heads/x' >z/.git/HEAD && evil z/.git/config",
        "z",
        &["status"],
    ),
    (
        "rebase",
        "cd repo && h=$(git rev-parse HEAD) && mkdir .git/rebase-merge && cd .git/rebase-merge && echo $h >onto \
         && echo $h >orig-head && echo refs/heads/main >head-name && : >interactive && : >done && echo 1 >msgnum \
         && echo 1 >end && echo \"exec touch $mark\" >git-rebase-todo",
        "repo",
        &["rebase", "--continue"],
    ),
];

/// A program that every `git status` starts, in a configuration of its own.
const EVIL: &str = "evil() { printf '[core]\\n\\tworktree = %s\\n\\tfsmonitor = \"touch %s;:\"\\n' \"$PWD\" \"$mark\" >$1; }; ";

/// Git on the host runs nothing that a command left; where nothing confines the command, it does. The folder names the row of the table.
fn planted(work: &Work<'_>) -> Result<(), String> {
    let folder = work.folder.file_name().unwrap().to_str().unwrap();
    let row = PLANTED.iter().find(|(name, ..)| folder.ends_with(&format!("-planted_{name}")));
    let (name, script, entered, words) = row.ok_or_else(|| format!("`{folder}` is no row of the table"))?;
    for is_confined in [false, true] {
        let title = format!("{folder}-{is_confined}");
        let (place, marks) = (work.stage.folder(&title), work.stage.folder(&format!("{title}-mark")));
        let mark = marks.path("mark");
        on_host(&place, ".", &["init", "-q", "-b", "main", "repo"]).must(0, "")?;
        on_host(&place, "repo", &["commit", "-q", "--allow-empty", "-m", "x"]).must(0, "")?;
        on_host(&place, "repo", &["config", "core.hooksPath", "tools/hooks"]).must(0, "")?;
        on_host(&place, "repo", &["config", "include.path", "../more.inc"]).must(0, "")?;
        fs::create_dir_all(place.path("repo/tools/hooks")).map_err(|error| error.to_string())?;
        fs::write(place.path("repo/more.inc"), "").map_err(|error| error.to_string())?;
        place.stage.own(&place.path("repo"));
        let script = format!("mark={}; {EVIL}{script}", mark.display());
        let ended = if is_confined {
            place.run(&["--exec", "*", "--limit", "wall=60s"], &["sh", "-c", &script])
        } else {
            let mut shell = place.stage.host("/bin/sh");
            finished(shell.args(["-c", &script]).current_dir(&place.folder).stdin(Stdio::null()))
        };
        let _ended = on_host(&place, entered, words);
        match (is_confined, mark.exists()) {
            (true, true) => return Err(format!("`{name}` ran on the host: {}", ended.stderr)),
            (false, false) => return Err(format!("`{name}` shows nothing: {}", ended.stderr)),
            _ => {}
        }
    }
    Ok(())
}
