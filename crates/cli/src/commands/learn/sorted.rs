//! Each thing that was observed, and what is to become of it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ringfence::policy::Direction;
use ringfence::sandbox::{Aliases, How, Kind, Touch};

use super::base::Base;
use super::ceiling::Ground;
use super::private;

/// What becomes of something that was named.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Fate {
    /// There was nothing; nothing is needed for that.
    Absent,
    /// Any command has it.
    Anyway,
    /// It is not needed: only a folder's being there was asked for, or what no sandbox has.
    Aside,
    /// It goes into the toolbox.
    Needed,
    /// A person is to look at it, and why.
    Review(String),
}

/// Something that was named.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    pub(super) touch: Touch,
    /// Whether the command had it while it was learnt.
    pub(super) given: bool,
    pub(super) fate: Fate,
}

/// What an observation is judged by.
pub(super) struct Scene<'a> {
    pub(super) ground: &'a Ground,
    pub(super) base: &'a Base,
    /// Paths that somebody has named before: they were looked at.
    pub(super) named: &'a [PathBuf],
    /// What was hidden from the command.
    pub(super) hidden: Vec<PathBuf>,
    /// Paths through links by which the floor knows a file.
    pub(super) aliases: &'a Aliases,
}

/// Paths of a sandbox itself.
const OWN: &[&str] = &["/proc", "/dev"];
/// What the kernel tells of the machine: no sandbox has it, and programs that ask for it go on without.
const KERNEL: &str = "/sys";
/// The private scratch folder.
const SCRATCH: &str = "/tmp";

impl Scene<'_> {
    /// Judges everything.
    pub(super) fn sort(&self, touches: Vec<Touch>) -> Vec<Observation> {
        let mut sorted: Vec<Observation> = touches
            .into_iter()
            .map(|touch| {
                let (given, fate) = self.judge(&touch);
                Observation { touch, given, fate }
            })
            .collect();
        // What it asked for before it made it is there now, and was not.
        let made = made(&sorted);
        for one in sorted.iter_mut().filter(|one| one.touch.there.is_none() && !writes(one.touch.how)) {
            if one.touch.path.ancestors().any(|above| made.contains(above)) {
                one.fate = Fate::Absent;
            }
        }
        sorted
    }

    fn judge(&self, touch: &Touch) -> (bool, Fate) {
        let Touch { path, how, there, real, .. } = touch;
        let real = real.as_deref().unwrap_or(path);
        if self.is_own(path) || self.is_own(real) {
            return (true, Fate::Anyway);
        }
        if path.starts_with(KERNEL) {
            return (false, Fate::Aside);
        }
        let direction = if writes(*how) { Direction::Write } else { Direction::Read };
        let why = private::why(real, direction, self.ground, self.named)
            .or_else(|| private::why(path, direction, self.ground, self.named))
            .or_else(|| private::why_behind_link(real, direction, self.aliases, self.named));
        let is_hidden = self.hidden.iter().any(|hidden| path.starts_with(hidden) || real.starts_with(hidden));
        if there.is_none() && *how != How::Make {
            let exists = !writes(*how) && std::fs::symlink_metadata(path).is_ok();
            let why = why.unwrap_or_else(|| "it was not given while learning".into());
            return if exists { (false, Fate::Review(why)) } else { (false, Fate::Absent) };
        }
        if is_hidden {
            let why = why.unwrap_or_else(|| "it is in a folder that cannot be looked into".into());
            return (false, Fate::Review(why));
        }
        if let Some(why) = why {
            // What is new is made, and moved aside when the command has ended.
            return (!writes(*how), Fate::Review(why));
        }
        if writes(*how) {
            return if self.ground.may_write(path) {
                (true, Fate::Needed)
            } else {
                (false, Fate::Review("it lies outside of what may be written while learning".into()))
            };
        }
        if *how == How::Look && *there == Some(Kind::Directory) {
            return (true, Fate::Aside);
        }
        let anyway = self.base.covers(path) && self.base.covers(real);
        (true, if anyway { Fate::Anyway } else { Fate::Needed })
    }

    /// Tells whether a path is one of the sandbox's own.
    fn is_own(&self, path: &Path) -> bool {
        let ground = self.ground;
        let mut given =
            ground.written.iter().chain(&ground.read).chain([&ground.workspace]).chain(&ground.home);
        OWN.iter().any(|own| path.starts_with(own))
            || (path.starts_with(SCRATCH) && !given.any(|given| path.starts_with(given)))
    }
}

/// Tells whether a file system is changed by it.
pub(super) const fn writes(how: How) -> bool {
    matches!(how, How::Change | How::Make | How::Remove)
}

/// Returns what was not there before the command made it.
pub(super) fn made(sorted: &[Observation]) -> HashSet<PathBuf> {
    let is_made = |one: &&Observation| one.touch.how == How::Make && one.touch.there.is_none() && one.given;
    sorted.iter().filter(is_made).map(|one| one.touch.path.clone()).collect()
}
