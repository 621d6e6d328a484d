//! The environment of whoever started the sandbox.

use std::fs;

use crate::probe::{Outcome, Probe, confined, token_in};
use crate::scene::Scene;

pub(crate) const PROBES: &[Probe] = &[
    Probe::new("env::variable", |_| match std::env::var("RF_CANARY") {
        Ok(value) => token_in(value.as_bytes()),
        Err(_) => confined("not set"),
    }),
    Probe::new("env::own_block", |_| token_in(&fs::read("/proc/self/environ")?)),
    Probe::new("env::parent_block", parent_block),
    Probe::new("env::init_block", |scene| token_in(&fs::read(scene.expand("/proc/{init}/environ"))?)),
    Probe::new("env::neighbour_block", neighbour_block),
    Probe::new("env::init_arguments", |scene| arguments(&scene.expand("/proc/{init}/cmdline"))).word(),
];

/// An argument of whoever starts a sandbox, and of the canary; the probe itself has none like it.
const HIDDEN: &str = "--backend";

fn parent_block(_: &Scene) -> Outcome {
    token_in(&fs::read(format!("/proc/{}/environ", std::os::unix::process::parent_id()))?)
}

/// Looks at the processes with the lowest numbers inside, and at the canary.
fn neighbour_block(scene: &Scene) -> Outcome {
    let init: u32 = scene.number("init")?;
    let mut last = confined("nobody there");
    for pid in (init..init + 8).chain([scene.number("pid")?]) {
        match fs::read(format!("/proc/{pid}/environ")) {
            Ok(bytes) => last = token_in(&bytes),
            Err(error) => last = Err(error.into()),
        }
        if last.is_ok() {
            break;
        }
    }
    last
}

/// The command line of the first process must not tell what else was granted.
fn arguments(path: &str) -> Outcome {
    let line = fs::read(path)?;
    let needle = HIDDEN.as_bytes();
    match line.windows(needle.len()).any(|window| window == needle) {
        true => Ok("the caller's arguments".to_owned()),
        false => confined(format!("{} bytes without the caller's arguments", line.len())),
    }
}
