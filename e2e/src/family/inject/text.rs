//! Text tools that can start programs, and file tools that can reach anywhere.

use super::{file, script};
use crate::probe::{Probe, Proof};

const OUTSIDE: Proof = Proof::Made("{outside}/mark");

pub(crate) const PROBES: &[Probe] = &[
    Probe::command("inject::find_exec", "find", &[".", "-maxdepth", "0", "-exec", "{touch}", "{mark}", ";"]),
    Probe::command(
        "inject::find_execdir",
        "find",
        &[".", "-maxdepth", "0", "-execdir", "{touch}", "{mark}", ";"],
    ),
    Probe::command(
        "inject::find_exec_many",
        "find",
        &[".", "-maxdepth", "0", "-exec", "{touch}", "{mark}", "{}", "+"],
    ),
    Probe::command(
        "inject::find_write_outside",
        "find",
        &[".", "-maxdepth", "0", "-fprint", "{outside}/mark"],
    )
    .proof(OUTSIDE),
    Probe::command("inject::find_delete_outside", "find", &["{outside}/victim", "-delete"])
        .proof(Proof::Gone("{outside}/victim")),
    Probe::command("inject::sed_execute", "sed", &["1e {touch} {mark}"]).input("a\n"),
    Probe::command("inject::sed_execute_match", "sed", &["s,.*,{touch} {mark},e"]).input("a\n"),
    Probe::command("inject::sed_read_outside", "sed", &["r {outside}/secret"])
        .input("a\n")
        .proof(Proof::Token),
    Probe::command("inject::sed_write_outside", "sed", &["w {outside}/mark"]).input("a\n").proof(OUTSIDE),
    Probe::command("inject::awk_system", "awk", &["BEGIN { system(\"{touch} {mark}\") }"]),
    Probe::command("inject::awk_pipe_to", "awk", &["BEGIN { print 1 | \"{touch} {mark}\" }"]),
    Probe::command("inject::awk_pipe_from", "awk", &["BEGIN { \"{touch} {mark}\" | getline }"]),
    Probe::command("inject::awk_read_outside", "awk", &["{ print }", "{outside}/secret"]).proof(Proof::Token),
    Probe::command("inject::awk_write_outside", "awk", &["BEGIN { print 1 > \"{outside}/mark\" }"])
        .proof(OUTSIDE),
    Probe::command("inject::sort_compressor", "sort", &["-S", "1k", "--compress-program={work}/evil/z", "a"])
        .prepare(|scene| {
            file(scene)?;
            script(scene, "evil/z")
        }),
    Probe::command("inject::sort_write_outside", "sort", &["-o", "{outside}/mark", "a"])
        .prepare(file)
        .proof(OUTSIDE),
    Probe::command("inject::split_filter", "split", &["--filter={touch} {mark}", "a"]).prepare(file),
    Probe::command("inject::cat_outside", "cat", &["{outside}/secret"]).proof(Proof::Token),
    Probe::command("inject::grep_outside", "grep", &["-r", "canary", "{outside}"]).proof(Proof::Token),
    Probe::command("inject::dd_read_outside", "dd", &["if={outside}/secret"]).proof(Proof::Token),
    Probe::command("inject::dd_write_outside", "dd", &["if=/dev/zero", "of={outside}/mark", "count=1"])
        .proof(OUTSIDE),
    Probe::command("inject::tee_outside", "tee", &["{outside}/mark"]).input("x").proof(OUTSIDE),
    Probe::command("inject::cp_outside", "cp", &["a", "{outside}/mark"]).prepare(file).proof(OUTSIDE),
    Probe::command("inject::ln_outside", "ln", &["-s", "/", "{outside}/mark"]).proof(OUTSIDE),
    Probe::command("inject::ed_shell", "ed", &["-s"]).input("!{touch} {mark}\nq\n"),
];
