//! Argument injection: a declared program, told by its arguments to start or reach what was not declared.

pub(crate) mod archive;
pub(crate) mod git;
pub(crate) mod interpreter;
pub(crate) mod launcher;
pub(crate) mod text;

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command as Process, Stdio};

use crate::probe::{Command, Outcome, Proof, Stop, confined, setup, token_in};
use crate::scene::Scene;

/// Starts the program as declared, then with the hostile arguments, and looks for what they should have done.
pub(crate) fn run(command: &Command, proof: Proof, scene: &Scene) -> Outcome {
    let program = scene.text("program")?;
    let version = process(program, scene)?.arg("--version").stdin(Stdio::null()).output();
    match version {
        Err(error) => return Err(Stop::Broken(format!("`{program}` does not start: {error}"))),
        Ok(output) if output.status.code() == Some(127) => {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Stop::Broken(format!("`{program}` does not start: {text}")));
        }
        Ok(_) => {}
    }
    (command.prepare)(scene)?;
    let mut child = process(program, scene)?
        .args(command.arguments.iter().map(|argument| scene.expand(argument)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // It may end without reading.
        let _written = stdin.write_all(scene.expand(command.input).as_bytes());
    }
    let output = child.wait_with_output()?;
    let errors = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let done = match proof {
        Proof::Token => return token_in(&output.stdout).or_else(|_| confined(errors)),
        Proof::Gone(path) => !fs::exists(scene.expand(path))?,
        Proof::Made(path) => fs::symlink_metadata(scene.expand(path)).is_ok(),
        _ => false,
    };
    if done { Ok("it did as told".to_owned()) } else { confined(format!("{}: {errors}", output.status)) }
}

/// The program with nothing in its environment but a path, in the writable grant.
fn process(program: &str, scene: &Scene) -> Result<Process, Stop> {
    let mut process = Process::new(program);
    process
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", scene.text("work")?)
        .current_dir(scene.text("work")?);
    Ok(process)
}

/// A script that leaves the mark, at that path below the writable grant.
fn script(scene: &Scene, path: &str) -> Result<(), Stop> {
    let path = scene.work(path)?;
    if let Some(parent) = path.parent() {
        setup(fs::create_dir_all(parent))?;
    }
    setup(fs::write(&path, scene.expand("#!/bin/sh\n{touch} {mark}\ncat\n")))?;
    setup(fs::set_permissions(&path, Permissions::from_mode(0o755)))
}

/// A file of some size.
fn file(scene: &Scene) -> Result<(), Stop> {
    setup(fs::write(scene.work("a")?, "a line of text\n".repeat(8192)))
}
