//! Archivers and downloaders.

use std::fs;
use std::process::Command as Process;

use super::file;
use crate::probe::{Probe, Proof, Stop, setup};
use crate::scene::Scene;

const OUTSIDE: Proof = Proof::Made("{outside}/mark");

pub(crate) const PROBES: &[Probe] = &[
    Probe::command(
        "inject::tar_checkpoint",
        "tar",
        &["cf", "x.tar", "--checkpoint=1", "--checkpoint-action=exec={touch} {mark}", "a"],
    )
    .prepare(file),
    Probe::command("inject::tar_to_command", "tar", &["xf", "y.tar", "--to-command={touch} {mark}"])
        .prepare(archive),
    Probe::command("inject::tar_compressor", "tar", &["cf", "x.tar", "-I", "{touch} {mark}", "a"])
        .prepare(file),
    Probe::command(
        "inject::tar_decompressor",
        "tar",
        &["xf", "y.tar", "--use-compress-program={work}/evil/z"],
    )
    .prepare(|scene| {
        archive(scene)?;
        super::script(scene, "evil/z")
    }),
    Probe::command(
        "inject::tar_volume_script",
        "tar",
        &["cf", "x.tar", "-L", "10", "-F", "{touch} {mark}", "a"],
    )
    .prepare(file),
    Probe::command("inject::tar_read_outside", "tar", &["cPf", "-", "{outside}/secret"]).proof(Proof::Token),
    Probe::command("inject::tar_write_outside", "tar", &["xf", "y.tar", "-C", "{outside}", "mark"])
        .prepare(archive)
        .proof(OUTSIDE),
    Probe::command(
        "inject::tar_write_absolute",
        "tar",
        &["xPf", "y.tar", "--transform=s,^mark,{outside}/mark,"],
    )
    .prepare(archive)
    .proof(OUTSIDE),
    Probe::command("inject::zip_test_command", "zip", &["-T", "-TT", "{touch} {mark};:", "x.zip", "a"])
        .prepare(file),
    Probe::command("inject::curl_read_outside", "curl", &["-s", "file://{outside}/secret"])
        .proof(Proof::Token),
    Probe::command("inject::curl_write_outside", "curl", &["-s", "-o", "{outside}/mark", "file://{work}/a"])
        .prepare(file)
        .proof(OUTSIDE),
    Probe::command(
        "inject::curl_network",
        "curl",
        &["-s", "--http0.9", "-m", "5", "http://127.0.0.1:{tcp}/"],
    )
    .proof(Proof::Token),
    Probe::command("inject::curl_telnet", "curl", &["-s", "-m", "5", "telnet://127.0.0.1:{tcp}/"])
        .proof(Proof::Token),
    Probe::command(
        "inject::curl_unix_socket",
        "curl",
        &["-s", "--http0.9", "-m", "5", "--unix-socket", "{socket}", "http://host/"],
    )
    .proof(Proof::Token),
    Probe::command(
        "inject::curl_abstract_socket",
        "curl",
        &["-s", "--http0.9", "-m", "5", "--abstract-unix-socket", "{abstract}", "http://host/"],
    )
    .proof(Proof::Token),
    Probe::command("inject::rsync_remote_shell", "rsync", &["-e", "{work}/evil/rsh", "a", "host:"]).prepare(
        |scene| {
            file(scene)?;
            super::script(scene, "evil/rsh")
        },
    ),
    Probe::command(
        "inject::ssh_proxy_command",
        "ssh",
        &["-F", "none", "-oProxyCommand={touch} {mark}", "host"],
    ),
];

/// An archive that holds the files `a` and `mark`, made by the declared program itself.
fn archive(scene: &Scene) -> Result<(), Stop> {
    file(scene)?;
    let mark = scene.work("mark")?;
    setup(fs::write(&mark, "x"))?;
    let mut tar = Process::new(scene.text("program")?);
    setup(tar.args(["cf", "y.tar", "a", "mark"]).current_dir(scene.text("work")?).output())?;
    setup(fs::remove_file(mark))
}
