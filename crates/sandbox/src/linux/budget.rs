//! Which limit is enforced by what, and which of them a command ran into.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::time::Duration;

use ringfence_policy::{Limits, Size};

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

/// What the kernel keeps for a process that starts, beside its arguments and what its Landlock rules name.
const START: u64 = 2 << 20;
const RULE: u64 = 4 << 10;

/// Refuses a limit of memory that the start of a command would run into.
///
/// Until a command executes its program it shares our memory, and what the kernel keeps for the program is counted already. A
/// group that has no more memory then would have all killed that share it: us.
pub(crate) fn holds_start<'a>(
    limits: &Limits,
    words: impl IntoIterator<Item = &'a OsStr>,
    rules: usize,
) -> Result<(), SandboxError> {
    let Some(memory) = limits.memory else { return Ok(()) };
    // With the end of each word and the pointer to it.
    let words: u64 = words.into_iter().map(|word| word.len() as u64 + 9).sum();
    let least = START + words + RULE * rules as u64;
    if memory.bytes() >= least {
        return Ok(());
    }
    let least = Size::new(least.next_multiple_of(1 << 20));
    let why = format!("it is {memory}, and the start of this command alone may take {least}");
    Err(SandboxError::Limit { limit: LimitName::Memory, why })
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
    limits.retain(|name, _| plan.is_limited(*name));
    let by_group = cgroups.map(Cgroups::enforcer);
    let counts_cpu = cgroups.is_some_and(|groups| groups.cpu_time().is_some());
    // Each process has a limit of its own in any case; this is what holds the whole tree.
    let without_group = match watching {
        Watching::Nothing => Enforcer::PerProcess,
        Watching::Tree => Enforcer::Supervisor,
    };
    if plan.limits.cpu.is_some() {
        limits.insert(LimitName::Cpu, by_group.filter(|_| counts_cpu).unwrap_or(without_group));
    }
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
    let memory = watched.out_of_memory || cgroups.is_some_and(Cgroups::ran_out_of_memory);
    let killed = (by_signal(libc::SIGKILL) || killed_inside) && !memory;
    let cpu = watched.out_of_cpu
        || (killed && bounds.cpu.is_some_and(|limit| may_be_spent(watched.usage.cpu, limit)))
        || by_signal(libc::SIGXCPU);
    if cpu {
        exceeded.push(LimitName::Cpu);
    }
    if by_signal(libc::SIGXFSZ) {
        exceeded.push(LimitName::FileSize);
    }
    if memory {
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

/// Tells whether the kernel can have killed for processor time what is read as `used`. It counts by its clock's ticks, which are
/// ahead of what is read: a little, and by much on a machine whose processors are lent to others meanwhile.
fn may_be_spent(used: Duration, limit: Duration) -> bool {
    used * 2 >= limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_needs_memory_for_its_words_and_rules() {
        let (mebi, word) = (1 << 20, "w".repeat((1 << 20) - 9));
        #[rustfmt::skip]
        let cases = [
            // memory             words  rules  said
            (Some(2 * mebi),      0,     0,     None),
            (Some(2 * mebi - 1),  0,     0,     Some("may take 2M")),
            (Some(3 * mebi),      1,     0,     None),
            (Some(3 * mebi),      1,     1,     Some("may take 4M")),
            (Some(102_400),       0,     0,     Some("it is 100K,")),
            (None,                9,     9,     None),
        ];
        for (memory, words, rules, said) in cases {
            let limits = Limits { memory: memory.map(Size::new), ..Limits::default() };
            let words = std::iter::repeat_n(OsStr::new(&word), words);
            let error = holds_start(&limits, words, rules).err().map(|error| error.to_string());
            let fits = match said {
                Some(said) => error.as_ref().is_some_and(|error| error.contains(said)),
                None => error.is_none(),
            };
            assert!(fits, "{memory:?} {rules}: {error:?}");
        }
    }

    #[test]
    fn the_kernel_counts_ahead_of_what_is_read() {
        let second = Duration::from_secs(1);
        #[rustfmt::skip]
        let cases = [
            // used                         spent
            (second,                        true),
            (Duration::from_millis(908),    true),
            (Duration::from_millis(500),    true),
            (Duration::from_millis(499),    false),
            (Duration::ZERO,                false),
        ];
        for (used, spent) in cases {
            assert_eq!(may_be_spent(used, second), spent, "{used:?}");
        }
    }
}
