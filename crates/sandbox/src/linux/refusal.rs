//! Refused system calls, observed and answered.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use crate::seccomp::{Architecture, Profile, refusal};
use crate::sys::notify;

/// What was refused to one command.
pub(crate) struct Refusals {
    profile: Profile,
    counts: BTreeMap<&'static str, u64>,
    total: u64,
    /// Where the kernel tells, once the command's process has sent it.
    pub(crate) listener: Option<OwnedFd>,
}

/// From here on each answer waits a moment, so that a command that does nothing else does not keep us busy.
const MANY: u64 = 10_000;
const MOMENT: Duration = Duration::from_millis(1);

impl Refusals {
    pub(crate) const fn new(profile: Profile) -> Self {
        Self { profile, counts: BTreeMap::new(), total: 0, listener: None }
    }

    /// Takes one refused call, counts it and answers it as the filter would have.
    pub(crate) fn answer(&mut self) {
        let Some(listener) = &self.listener else { return };
        let refused = match notify::receive(listener.as_fd()) {
            Ok(Some(refused)) => refused,
            Ok(None) => return,
            Err(_) => {
                self.listener = None;
                return;
            }
        };
        let judged = refusal(self.profile, Architecture::HERE, refused.number, refused.arguments);
        // The filter told of it, so that it is refused whatever is found here.
        let (name, errno) = judged.unwrap_or(("unknown", NOT_PERMITTED));
        *self.counts.entry(name).or_default() += 1;
        self.total += 1;
        if self.total > MANY {
            std::thread::sleep(MOMENT);
        }
        notify::answer(listener.as_fd(), &refused, errno);
    }

    pub(crate) fn into_counts(self) -> BTreeMap<&'static str, u64> {
        self.counts
    }
}

const NOT_PERMITTED: u16 = 1;
