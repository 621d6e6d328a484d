//! What a command left in a writable folder that somebody outside would run or obey.
//!
//! The look is repeated until it finds nothing: what was moved may have hidden something, and no number of decoys ends it early.
//! What cannot be moved or searched is told, and the run does not count as done.

mod aside;
mod before;
#[cfg(target_os = "linux")]
mod mark;
#[cfg(target_os = "linux")]
mod planted;
#[cfg(target_os = "linux")]
mod recover;
#[cfg(target_os = "linux")]
mod tree;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) use self::before::Before;
use self::before::StorePart;
#[cfg(target_os = "linux")]
pub(crate) use self::mark::{Mark, Marks};
#[cfg(target_os = "linux")]
pub use self::planted::{Origin, origin_of};
#[cfg(target_os = "linux")]
pub use self::recover::{Recovered, recover};

use self::aside::{Moved, holds_what_decides, leave_note, move_aside, open_to_owner};
use ringfence_policy::Floor;

use crate::error::SandboxError;
use crate::git::{self, Pointers, Target, trace};
use crate::host::{AliasSurvey, Kind, Sensitive, Treatment, search, seen};
use crate::inert::is_inert;
use crate::plan::Plan;
use crate::report::Quarantined;
use crate::spec::NamedPaths;

/// What became of what was found.
#[derive(Debug, Default)]
pub(crate) struct Aftermath {
    pub(crate) moved: Vec<Quarantined>,
    /// What is still where it was found, or was not looked at, and why.
    pub(crate) left: Vec<(PathBuf, String)>,
}

/// How much one look takes in before it is moved.
const BATCH: usize = 20_000;
/// A look that still finds something after so many others, or so long, is given up, and told.
const MAX_LOOKS: usize = 200;
const MAX_TIME: Duration = Duration::from_secs(300);

/// Moves files on the floor out of the way that were not there before, or are other files than before: a protected file
/// cannot be changed, but the folder around it can be exchanged for another.
///
/// Nothing that a command leaves behind ends this: what cannot be moved is told.
pub(crate) fn quarantine(plan: &Plan) -> Aftermath {
    // Where there is nothing to write to there is nothing to find.
    if plan.guarded.is_empty() { Aftermath::default() } else { look(&Before::of(plan)) }
}

/// Moves aside whatever was not there before.
pub(crate) fn look(before: &Before) -> Aftermath {
    let begun = Instant::now();
    let mut search =
        Search { before, settled: HashSet::new(), opened: HashSet::new(), unsearched: BTreeMap::new() };
    let mut aftermath = Aftermath::default();
    for number in 0.. {
        let found = search.planted();
        if found.is_empty() {
            break;
        }
        if number == MAX_LOOKS || begun.elapsed() > MAX_TIME {
            let why = "more keeps turning up than can be moved aside";
            aftermath.left.extend(found.into_iter().map(|one| (one.path, why.to_owned())));
            break;
        }
        for one in found {
            search.settle(one, &mut aftermath);
        }
    }
    aftermath.left.extend(search.unsearched);
    aftermath
}

/// The looks of one quarantine.
struct Search<'a> {
    before: &'a Before,
    /// What was moved, by its new path, and what could not be.
    settled: HashSet<PathBuf>,
    /// Closed folders that were opened once.
    opened: HashSet<PathBuf>,
    /// Trees that could not be searched to their end, and why.
    unsearched: BTreeMap<PathBuf, String>,
}

impl Search<'_> {
    /// Looks once. Returns what is new and not inert: links alone while there are any, since what they lead to is often something
    /// that was always there.
    fn planted(&mut self) -> Vec<Sensitive> {
        // What may be written is not moved, whether or not it may be read.
        let named = NamedPaths::both(&self.before.named, self.before.home.as_deref());
        let mut found = Vec::new();
        let mut repositories = HashSet::new();
        let mut git_files = Vec::new();
        let mut links: BTreeSet<PathBuf> = self.before.links.iter().cloned().collect();
        let mut is_full = false;
        let mut take = |one: Sensitive, links: Option<&mut BTreeSet<PathBuf>>| {
            if let Some(links) = links.filter(|_| one.kind == Kind::Link) {
                links.insert(one.path.clone());
            }
            if self.before.knows(&one) || self.settled.contains(&one.path) {
                return Ok(());
            }
            if one.treatment != Treatment::Watch && git::is_named(&one.path, ".git") {
                git_files.push(one.path.clone());
            }
            if one.treatment == Treatment::Watch {
                repositories.insert(one.path);
            } else if !is_inert(&one.path, &self.before.trees) {
                found.push(one);
            }
            is_full = found.len() >= BATCH;
            if is_full { Err(SandboxError::Inexpressible { what: String::new() }) } else { Ok(()) }
        };
        let mut failed = Vec::new();
        for tree in &self.before.trees {
            let searched =
                search(tree, true, &named, &self.before.trees, &mut |one| take(one, Some(&mut links)));
            failed.extend(searched.err().map(|error| (tree, error)));
        }
        let trees: Vec<(&Path, bool)> = self.before.trees.iter().map(|tree| (tree.as_path(), true)).collect();
        let survey = AliasSurvey { trees: &trees, named: &named, follows_protected: false };
        let searched =
            survey.run(links.iter().map(PathBuf::as_path), self.before.home.as_deref(), &mut |one| {
                take(one, None)
            });
        failed.extend(self.before.trees.first().zip(searched.err()));
        if !is_full {
            let told = failed.into_iter().map(|(tree, error)| (tree.clone(), error.to_string()));
            self.unsearched.extend(told);
        }
        let new = self.named_by(&repositories, &git_files);
        let pointed = self.before.pointed.iter().chain(&new).flat_map(trace);
        for one in pointed.filter(|one| self.before.holds(&one.path)) {
            let is_named = self.before.named.contains(&one.path);
            let is_settled = is_named || self.before.protects_around(&one.path);
            let one = seen(&one.path, one.kind, Treatment::ReadOnly).filter(|_| !is_settled);
            found.extend(one.filter(|one| {
                !self.before.knows(one)
                    && !self.settled.contains(&one.path)
                    && !is_inert(&one.path, &self.before.trees)
            }));
        }
        let mut found: Vec<Sensitive> =
            found.into_iter().map(|one| head_of_new_repository(&one, &repositories).unwrap_or(one)).collect();
        found.sort_by(|one, other| one.path.cmp(&other.path));
        found.dedup_by(|one, other| one.path == other.path);
        if found.iter().any(|one| one.kind == Kind::Link) {
            found.retain(|one| one.kind == Kind::Link);
        }
        found
    }

    /// Returns what git configurations name in repositories and working trees that are new: a relative path in the configuration of
    /// the user, or of the repository that a new working tree belongs to, leads into each of them.
    fn named_by(&mut self, repositories: &HashSet<PathBuf>, git_files: &[PathBuf]) -> Vec<Target> {
        if repositories.is_empty() && git_files.is_empty() {
            return Vec::new();
        }
        let gathered = Pointers::new(self.before.home.as_deref()).and_then(|mut pointers| {
            repositories.iter().try_for_each(|one| pointers.repository(one))?;
            git_files.iter().try_for_each(|one| pointers.git_file(one))?;
            Ok(pointers.into_targets())
        });
        match gathered {
            Ok(targets) => targets,
            Err(error) => {
                let tree = self.before.trees.first().cloned().unwrap_or_default();
                self.unsearched.insert(tree, error.to_string());
                Vec::new()
            }
        }
    }

    fn settle(&mut self, one: Sensitive, aftermath: &mut Aftermath) {
        // A folder that was closed may hold what was always there: it is searched before it is moved.
        let is_closed = one.kind == Kind::Directory && one.treatment == Treatment::Hide;
        if is_closed && self.opened.insert(one.path.clone()) && open_to_owner(&one).is_ok() {
            return;
        }
        if one.kind == Kind::Directory && self.before.knows_below(&one.path) {
            let why = "it cannot be searched, and holds protected files that were there before";
            self.settled.insert(one.path.clone());
            aftermath.left.push((one.path, why.to_owned()));
            return;
        }
        // Whoever has the store open, or opens it next, would lose what was acknowledged.
        match self.before.part_of_known_store(&one) {
            None => {}
            Some(StorePart::Harmless) => {
                self.settled.insert(one.path);
                return;
            }
            Some(StorePart::Unknown(why)) => {
                self.settled.insert(one.path.clone());
                aftermath.left.push((one.path, why.to_owned()));
                return;
            }
        }
        match move_aside(&one) {
            Ok(Moved::Gone) => {}
            Ok(Moved::To(moved)) => {
                self.settled.insert(moved.clone());
                // Where nothing lies, it would look as if nobody had ever agreed to anything or spent anything.
                let is_folder = one.kind == Kind::Directory;
                if Floor::decides(&one.path) || (is_folder && holds_what_decides(&moved)) {
                    self.settled.insert(one.path.clone());
                    if let Err(error) = leave_note(&one.path, &moved) {
                        let why = format!("it was moved, and no note could be left in its place: {error}");
                        aftermath.left.push((one.path.clone(), why));
                    }
                }
                aftermath.moved.push(Quarantined { found: one.path, moved });
            }
            Err(error) => {
                self.settled.insert(one.path.clone());
                aftermath.left.push((one.path, error.to_string()));
            }
        }
    }
}

/// Returns the `HEAD` of a folder that was no repository before, for something in it: without it the folder is none again, and
/// whatever of it was there before stays where it is. In a `.git` the names alone say what they are for.
fn head_of_new_repository(one: &Sensitive, repositories: &HashSet<PathBuf>) -> Option<Sensitive> {
    let folder = one.path.ancestors().skip(1).take(2).find(|above| repositories.contains(*above))?;
    if folder.components().any(|part| git::is_same_name(part.as_os_str(), ".git")) {
        return None;
    }
    let head = head(folder)?;
    let kind = match head.symlink_metadata().ok()? {
        found if found.is_symlink() => Kind::Link,
        found if found.is_dir() => Kind::Directory,
        found if found.is_file() => Kind::File,
        _ => Kind::Other,
    };
    seen(&head, kind, Treatment::ReadOnly)
}

fn head(folder: &Path) -> Option<PathBuf> {
    let named =
        |entry: std::fs::DirEntry| git::is_same_name(&entry.file_name(), "HEAD").then(|| entry.path());
    std::fs::read_dir(folder).ok()?.flatten().find_map(named)
}

#[cfg(test)]
mod tests;
