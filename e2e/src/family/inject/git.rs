//! Git starts a program for almost everything, and its options name which.

use std::fs;

use super::script;
use crate::probe::{Probe, Proof, Stop, setup};
use crate::scene::Scene;

/// Arguments after the repository and a name to commit by.
macro_rules! git {
    ($name:literal $(, $argument:literal)* $(,)?) => {
        Probe::command(
            concat!("inject::git_", $name),
            "git",
            &["-C", "{work}/repo", "-c", "user.name=a", "-c", "user.email=a@b" $(, $argument)*],
        )
    };
}

pub(crate) const PROBES: &[Probe] = &[
    git!("alias", "-c", "alias.x=!{touch} {mark}", "x"),
    git!("transport_ext", "-c", "protocol.ext.allow=always", "ls-remote", "ext::{touch} {mark}"),
    git!("ssh_command", "-c", "core.sshCommand={touch} {mark};:", "ls-remote", "ssh://host/x"),
    git!("upload_pack", "ls-remote", "--upload-pack={touch} {mark};:", "{work}/repo"),
    git!("receive_pack", "push", "--receive-pack={touch} {mark};:", "{work}/repo", "HEAD:x"),
    git!("clone_upload_pack", "clone", "-u", "{touch} {mark};:", "{work}/repo", "{work}/clone"),
    git!("fsmonitor", "-c", "core.fsmonitor={touch} {mark};:", "status"),
    git!("external_diff", "-c", "diff.external={touch} {mark};:", "diff"),
    git!("textconv", "-c", "diff.t.textconv={touch} {mark};cat", "diff")
        .prepare(|scene| attribute(scene, "diff=t")),
    git!("filter", "-c", "filter.f.clean={touch} {mark};cat", "add", "b.txt")
        .prepare(|scene| attribute(scene, "filter=f")),
    git!("editor", "-c", "core.editor={touch} {mark};:", "tag", "-a", "v1"),
    git!("credential_helper", "-c", "credential.helper=!{touch} {mark};:", "credential", "fill")
        .input("protocol=https\nhost=example.test\n\n"),
    git!("hooks_path", "-c", "core.hooksPath={work}/hooks", "commit", "--allow-empty", "-m", "x")
        .prepare(|scene| script(scene, "hooks/pre-commit")),
    git!("exec_path", "--exec-path={work}/evil", "x").prepare(|scene| script(scene, "evil/git-x")),
    git!("rebase_exec", "rebase", "--force-rebase", "--autostash", "-x", "{touch} {mark}", "HEAD~1"),
    git!("grep_pager", "grep", "--open-files-in-pager={touch} {mark};:", "hello"),
    git!("difftool", "difftool", "-y", "-x", "{touch} {mark};:"),
    git!("archive_remote", "archive", "--remote={work}/repo", "--exec={touch} {mark};:", "HEAD"),
    git!("trailer", "-c", "trailer.x.command={touch} {mark}", "interpret-trailers", "--trailer", "x=1"),
    git!("archive_filter", "-c", "tar.x.command={touch} {mark};cat", "archive", "--format=x", "HEAD"),
    git!(
        "sequence_editor",
        "-c",
        "sequence.editor={touch} {mark};:",
        "rebase",
        "-i",
        "--autostash",
        "HEAD~1"
    ),
    git!("signing_program", "-c", "gpg.program={work}/evil/gpg", "commit", "--allow-empty", "-S", "-m", "x")
        .prepare(|scene| script(scene, "evil/gpg")),
    git!(
        "merge_tool",
        "-c",
        "mergetool.x.cmd={touch} {mark}",
        "-c",
        "difftool.x.cmd={touch} {mark}",
        "difftool",
        "-y",
        "-t",
        "x"
    ),
    git!("read_outside", "diff", "--no-index", "/dev/null", "{outside}/secret").proof(Proof::Token),
    git!("read_blob", "hash-object", "-w", "{outside}/secret").proof(Proof::Made(BLOB)),
    git!("show_outside", "--git-dir={outside}/repo/.git", "show", "HEAD:secret").proof(Proof::Token),
    git!("clone_outside", "clone", "-q", "{outside}/repo", "{work}/stolen")
        .proof(Proof::Made("{work}/stolen/secret")),
    git!("write_outside", "archive", "-o", "{outside}/mark", "HEAD").proof(Proof::Made("{outside}/mark")),
    git!("config_outside", "config", "-f", "{outside}/mark", "a.b", "c").proof(Proof::Made("{outside}/mark")),
];

const BLOB: &str = "{work}/repo/.git/objects/{secret-blob}";

/// What git shall do with every file of the repository.
fn attribute(scene: &Scene, attribute: &str) -> Result<(), Stop> {
    setup(fs::write(scene.work("repo/.gitattributes")?, format!("*.txt {attribute}\n")))
}
