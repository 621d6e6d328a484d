//! Passing a signal on to a command, as a terminal does: to every process of its group.
//!
//! The command is found from outside, as the first child of process 1 of its process namespace. What is signalled was below the sandbox
//! when it was looked at; nothing inside can make itself look like a process of the machine.

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpgid, kill_process_group, pidfd_open, pidfd_send_signal};

/// How many processes are looked at to find those of a group.
const MOST_PROCESSES: usize = 4096;

/// Sends a signal to the process group of the command in the sandbox of `outer`. Returns whether there was a command to send it to.
pub(crate) fn pass_on(outer: i32, signal: Signal) -> bool {
    let Some(first) = first_process(outer) else { return false };
    let Some(command) = children(first).first().copied() else { return false };
    let Some(process) = Pid::from_raw(command) else { return false };
    // It is held from here on, so that its number stays its own.
    let Ok(held) = pidfd_open(process, PidfdFlags::empty()) else { return false };
    if children(first).first() != Some(&command) {
        return false;
    }
    match getpgid(Some(process)) {
        Ok(group) if group == process => kill_process_group(group, signal).is_ok(),
        // Helper programs leave it in their own group: each process is signalled that is below the sandbox and in that group.
        Ok(group) => {
            let mut sent = pidfd_send_signal(&held, signal).is_ok();
            for other in below(command) {
                sent |= signal_member(other, group, signal).is_ok();
            }
            sent
        }
        Err(_) => false,
    }
}

fn signal_member(process: i32, group: Pid, signal: Signal) -> Result<(), Errno> {
    let process = Pid::from_raw(process).ok_or(Errno::SRCH)?;
    let held = pidfd_open(process, PidfdFlags::empty())?;
    if getpgid(Some(process))? != group {
        return Err(Errno::SRCH);
    }
    pidfd_send_signal(&held, signal)
}

/// Returns process 1 of the process namespace: the process itself, or the first below it that is.
fn first_process(outer: i32) -> Option<i32> {
    let mut process = outer;
    for _ in 0..4 {
        if is_first(process) {
            return Some(process);
        }
        process = *children(process).first()?;
    }
    None
}

/// Says whether a process is number 1 of a namespace that is not ours.
fn is_first(process: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
    let numbers: Vec<&str> = numbers.split_whitespace().collect();
    numbers.len() > 1 && numbers.last() == Some(&"1")
}

/// Returns the children of a process, the oldest first.
fn children(process: i32) -> Vec<i32> {
    let listed =
        std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    listed.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

/// Returns all processes below one that the first thread of each has started, up to a number.
fn below(process: i32) -> Vec<i32> {
    let mut found = children(process);
    let mut next = 0;
    while let Some(process) = found.get(next).copied().filter(|_| found.len() < MOST_PROCESSES) {
        found.extend(children(process));
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_this_machine_is_no_command() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let below_us = i32::try_from(child.id()).unwrap();
        assert!(
            children(own).contains(&below_us) || below(own).contains(&below_us) || children(own).is_empty()
        );
        assert!(!pass_on(below_us, Signal::TERM), "it is in no namespace of its own");
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!pass_on(i32::MAX, Signal::TERM));
    }
}
