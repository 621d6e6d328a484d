//! A network namespace that holds nothing but the sockets of a gate, for something else to run a command in.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use super::gate;
use super::launch::{Launcher, PlanSteps};
use super::op::Op;
use super::prepare::{User, base_steps};
use crate::error::SandboxError;
use crate::plan::Openings;
use crate::step::Step;
use crate::stream::Sockets;

/// Makes a network namespace with the sockets of a gate and no other way out, and returns it with them. It lives as long as the
/// descriptor, a socket or a process in it.
///
/// # Errors
///
/// The kernel gives this user no namespaces, or no such sockets.
pub fn gate_namespace(openings: &Openings) -> Result<(OwnedFd, Sockets), SandboxError> {
    let failed = |errno: Errno| SandboxError::Step { step: Step::Gate, path: None, error: errno.into() };
    let base = base_steps(&[], User::current())?.into();
    let set = Launcher::of_process()?.set(&base)?.wait()?;
    let read = OFlags::RDONLY | OFlags::CLOEXEC;
    // Before it is told anything: afterwards it may end at any time.
    let namespace = open(format!("/proc/{}/ns/net", set.pid()), read, Mode::empty()).map_err(failed)?;
    let nothing = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
    let outer = vec![
        Op::RaiseLoopback,
        Op::Routing { messages: gate::messages(openings) },
        Op::OpenSockets { sockets: gate::sockets(openings) },
    ];
    let steps = PlanSteps { outer, closing: Vec::new(), inner: Vec::new() };
    let nothing = nothing.as_fd();
    let started = set.start(steps, [nothing, nothing, nothing], &[])?;
    // What made them ends here; they stay.
    Ok((namespace, started.sockets()?))
}
