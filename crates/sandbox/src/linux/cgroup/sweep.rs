//! What killed processes left behind: control groups that nobody locks, and whoever is still in them.
//!
//! What bwrap starts waits for bwrap before anything ends it with its parent: killed at that moment, it would wait for ever.
//!
//! INVARIANT: a process is ended only in a group that has our name and our mark, and whose lock we hold.

use std::io;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::MEMBERS;
use super::folder::LockedFolder;
use super::group::is_own_name;

/// Removes the groups below a parent that nobody uses, and ends who is in those that have our mark.
///
/// An empty group without a mark is removed by its name: its owner was killed before the mark, or there are no attributes.
pub(super) fn sweep(parent: &Path) {
    let Ok(listed) = std::fs::read_dir(parent) else { return };
    for entry in listed.flatten() {
        if entry.file_name().to_str().is_some_and(is_own_name)
            && let Ok(folder) = LockedFolder::lock(&entry.path())
        {
            clear(&folder);
        }
    }
}

/// Removes a group, and waits for that only if this has ended somebody.
fn clear(folder: &LockedFolder) {
    let is_busy = |error: io::Error| error.kind() == io::ErrorKind::ResourceBusy;
    if folder.remove().is_err_and(is_busy) && folder.is_marked() && end_members(folder) {
        folder.remove_soon();
    }
}

/// Kills every process of a group, and tells whether there was one.
///
/// In the first version, a process of another namespace has no number here, and stays.
fn end_members(folder: &LockedFolder) -> bool {
    let events = folder.read("cgroup.events").unwrap_or_default();
    if folder.write("cgroup.kill", "1").is_ok() {
        return events.lines().any(|line| line == "populated 1");
    }
    let members = || -> Vec<Pid> {
        let text = folder.read(MEMBERS).unwrap_or_default();
        text.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect()
    };
    let mut ended = false;
    for pid in members() {
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        // The number may have been somebody else's when it was opened.
        if members().contains(&pid) && pidfd_send_signal(&process, Signal::KILL).is_ok() {
            ended = true;
        }
    }
    ended
}

#[cfg(test)]
mod tests;
