//! Which limit is enforced by what, and which of them a command ran into.

use std::collections::BTreeMap;

use super::cgroup::Cgroups;
use super::supervise::{Bounds, Watched};
use crate::error::SandboxError;
use crate::limit::{Enforcer, LimitName};
use crate::plan::{Plan, ProcessLimit, Resource};
use crate::report::Ending;

/// Who counts processes where there is no control group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Counting {
    /// The user namespace of the sandbox, which also holds this many processes of the sandbox itself.
    Namespace {
        /// How many.
        beside: u64,
    },
    /// Nobody: the kernel does not count root's processes.
    Nobody,
    /// The machine, with everything else this user runs.
    User {
        /// How many processes that is.
        beside: u64,
    },
}

/// What the supervisor can see of a sandbox while it runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Watching {
    /// Nothing but its end.
    Nothing,
    /// What the whole tree uses.
    Tree,
}

/// Decides what enforces each limit, and which limits each process has for itself beyond the plan's.
pub(crate) fn divide(
    plan: &Plan,
    counting: Counting,
    cgroups: Option<&Cgroups>,
    watching: Watching,
) -> Result<(Vec<ProcessLimit>, BTreeMap<LimitName, Enforcer>), SandboxError> {
    let mut extra = Vec::new();
    let mut limits = BTreeMap::from([
        (LimitName::FileSize, Enforcer::PerProcess),
        (LimitName::OpenFiles, Enforcer::PerProcess),
        (LimitName::Output, Enforcer::Supervisor),
        (LimitName::Scratch, Enforcer::Mount),
        (LimitName::Wall, Enforcer::Supervisor),
    ]);
    let by_group = cgroups.map(Cgroups::enforcer);
    let counts_cpu = cgroups.is_some_and(|groups| groups.cpu_time().is_some());
    // Each process has a limit of its own in any case; this is what holds the whole tree.
    let without_group = match watching {
        Watching::Nothing => Enforcer::PerProcess,
        Watching::Tree => Enforcer::Supervisor,
    };
    limits.insert(LimitName::Cpu, by_group.filter(|_| counts_cpu).unwrap_or(without_group));
    if let Some(memory) = plan.limits.memory {
        limits.insert(LimitName::Memory, by_group.unwrap_or(without_group));
        if by_group.is_none() {
            extra.push(ProcessLimit { resource: Resource::Data, value: memory.bytes() });
        }
    }
    if let Some(processes) = plan.limits.processes {
        match by_group {
            Some(enforcer) => {
                limits.insert(LimitName::Processes, enforcer);
            }
            None => match counting {
                Counting::Nobody => {
                    return Err(SandboxError::Limit {
                        limit: LimitName::Processes,
                        why: "root's processes are counted by a control group only, and none can be made"
                            .into(),
                    });
                }
                Counting::Namespace { beside } | Counting::User { beside } => {
                    let own = matches!(counting, Counting::Namespace { .. });
                    limits
                        .insert(LimitName::Processes, if own { Enforcer::Namespace } else { Enforcer::User });
                    let value = u64::from(processes) + beside;
                    extra.push(ProcessLimit { resource: Resource::Processes, value });
                }
            },
        }
    }
    Ok((extra, limits))
}

/// Returns the limits that a command ran into, as far as that can be known.
pub(crate) fn exceeded(watched: &Watched, cgroups: Option<&Cgroups>, bounds: &Bounds) -> Vec<LimitName> {
    let mut exceeded = Vec::new();
    let by_signal = |signal| watched.ending == Ending::Signalled(signal);
    // bwrap tells of a signal as a shell does.
    let killed_inside = watched.ending == Ending::Exited(128 + libc::SIGKILL);
    let cpu = watched.out_of_cpu
        // The kernel kills by a count of its own, which is a little ahead of what is read.
        || ((by_signal(libc::SIGKILL) || killed_inside) && bounds.cpu.is_some_and(|limit| watched.usage.cpu * 21 / 20 >= limit))
        || by_signal(libc::SIGXCPU);
    if cpu {
        exceeded.push(LimitName::Cpu);
    }
    if by_signal(libc::SIGXFSZ) {
        exceeded.push(LimitName::FileSize);
    }
    if watched.out_of_memory || cgroups.is_some_and(Cgroups::ran_out_of_memory) {
        exceeded.push(LimitName::Memory);
    }
    if watched.stdout.dropped + watched.stderr.dropped > 0 {
        exceeded.push(LimitName::Output);
    }
    if watched.ending == Ending::TimedOut {
        exceeded.push(LimitName::Wall);
    }
    exceeded
}
