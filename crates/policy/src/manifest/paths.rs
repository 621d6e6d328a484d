//! The paths that are reached, with variables as they are written.
//!
//! INVARIANT: each path that a call is granted is admitted by an entry of `paths` or by both sides of an overlap.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::sourced::{Provenance, Sourced};
use crate::path::{Meet, are_comparable, are_disjoint, covers_meet};
use crate::{Direction, Floor, FsCeiling, FsReach, Jail, PathPattern, PathReach, PathSet};

/// Paths that are reached, by direction.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReachedPaths {
    /// The directory that relative paths are kept in.
    #[serde(skip_serializing_if = "Jail::is_none")]
    pub jail: Jail,
    /// What is read.
    #[serde(skip_serializing_if = "Paths::is_empty")]
    pub read: Paths,
    /// What is written.
    #[serde(skip_serializing_if = "Paths::is_empty")]
    pub write: Paths,
}

/// Paths of one direction.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Paths {
    /// Paths on the always-deny floor that the personality names, so that they are reached all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lifted: Vec<PathPattern>,
    /// Pairs of a declared and a permitted pattern: what both admit is reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overlaps: Vec<[PathPattern; 2]>,
    /// The paths.
    #[serde(skip_serializing_if = "Sourced::is_empty")]
    pub paths: Sourced<PathSet>,
}

impl ReachedPaths {
    pub(super) fn new(declared: &FsReach, ceiling: &FsCeiling) -> Result<Self, String> {
        let side =
            |direction| Paths::new(declared.direction(direction), ceiling.direction(direction), direction);
        let (read, write) = (side(Direction::Read)?, side(Direction::Write)?);
        let is_nothing = read.is_empty() && write.is_empty();
        let jail = if is_nothing { Jail::None } else { declared.jail.clone() };
        Ok(Self { jail, read, write })
    }

    /// Says whether no path is reached.
    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.write.is_empty()
    }

    /// Returns the paths of a direction.
    pub const fn direction(&self, direction: Direction) -> &Paths {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        }
    }

    /// Returns the directory of the jail, where there is one and it is one.
    pub(super) fn jail_root(&self) -> Option<PathPattern> {
        match &self.jail {
            Jail::At(root) => Some(root.clone()),
            Jail::None => None,
            Jail::SoleRoot => {
                let mut roots = self.read.paths.set().iter().chain(self.write.paths.set());
                let root = roots.next()?;
                roots.all(|other| other == root).then(|| root.clone())
            }
        }
    }
}

impl Paths {
    fn new(declared: Option<&PathReach>, ceiling: &PathSet, direction: Direction) -> Result<Self, String> {
        let mut paths = Vec::new();
        let mut overlaps = Vec::new();
        match declared {
            None => {}
            Some(PathReach::FromPersonality) => {
                paths.extend(ceiling.iter().map(|one| (one.to_string(), Provenance::Personality)));
            }
            Some(PathReach::Listed(own)) => {
                let holds = |set: &PathSet, pattern| set.iter().any(|one| one == pattern);
                for pattern in own {
                    if ceiling.covers(pattern) {
                        paths.push((pattern.to_string(), Provenance::of(true, holds(ceiling, pattern))));
                        continue;
                    }
                    for permitted in ceiling {
                        if pattern.covers(permitted) {
                            paths.push((permitted.to_string(), Provenance::of(holds(own, permitted), true)));
                        } else if !are_disjoint(pattern, permitted) {
                            overlaps.push([pattern.clone(), permitted.clone()]);
                        }
                    }
                }
            }
        }
        overlaps.sort_unstable();
        overlaps.dedup();
        let mut paths = Self { lifted: Vec::new(), overlaps, paths: Sourced::new(paths)? };
        let reached = paths.meets();
        // What starts with another variable may lie there too; that the ceiling lifts the floor is told of the ceiling.
        let reaches = |meet: &Meet, pattern: &PathPattern| {
            meet.iter().any(|one| are_comparable(one, pattern))
                && !meet.iter().any(|one| are_disjoint(one, pattern))
        };
        let is_reached = |pattern: &&PathPattern| reached.iter().any(|meet| reaches(meet, pattern));
        paths.lifted = lifted(ceiling, direction).filter(is_reached).cloned().collect();
        paths.lifted.sort_unstable();
        paths.lifted.dedup();
        Ok(paths)
    }

    /// Says whether no path is reached.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.overlaps.is_empty()
    }

    /// Returns what is reached as intersections.
    fn meets(&self) -> Vec<Meet> {
        let whole = self.paths.set().iter().map(|pattern| vec![pattern.clone()]);
        whole.chain(self.overlaps.iter().map(|pair| pair.to_vec())).collect()
    }

    /// Returns the entries for people.
    pub fn shown(&self) -> Vec<String> {
        let whole = self.paths.entries().map(|(entry, _)| entry.to_owned());
        whole.chain(self.overlaps.iter().map(|[one, other]| format!("{one} within {other}"))).collect()
    }

    /// Returns the entries that `wide` does not cover, and those that lift a part of the floor that `wide` leaves.
    pub(super) fn beyond(&self, wide: &Self, direction: Direction) -> Vec<String> {
        let others = wide.meets();
        let whole = self.meets().into_iter().filter(|meet| !covers_meet(&others, meet));
        let mut beyond: Vec<String> = whole
            .map(|meet| meet.iter().map(ToString::to_string).collect::<Vec<_>>().join(" within "))
            .collect();
        beyond.extend(floor_beyond(self.lifted.iter(), wide.lifted.iter(), direction));
        beyond
    }
}

/// Returns what lifts a part of the floor that the others leave.
pub(super) fn floor_beyond<'a>(
    lifting: impl Iterator<Item = &'a PathPattern>,
    others: impl Iterator<Item = &'a PathPattern>,
    direction: Direction,
) -> Vec<String> {
    let others: Vec<PathBuf> = others.map(place).collect();
    let named = others.iter().map(PathBuf::as_path);
    lifting
        .filter(|pattern| Floor::denies_unless_named(&place(pattern), direction, &named).is_some())
        .map(|pattern| format!("{pattern} despite the floor"))
        .collect()
}

/// Returns the literal paths of a ceiling that lie on the floor: naming them lifts it there.
pub(super) fn lifted(ceiling: &PathSet, direction: Direction) -> impl Iterator<Item = &PathPattern> {
    let nothing = std::iter::empty::<&Path>();
    ceiling.iter().filter(move |pattern| {
        !pattern.as_str().contains(['*', '?'])
            && Floor::denies_unless_named(&place(pattern), direction, &nothing).is_some()
    })
}

/// Returns where a pattern is for the floor, which looks at names wherever they stand.
fn place(pattern: &PathPattern) -> PathBuf {
    let text = pattern.as_str();
    if text.starts_with('/') {
        return text.into();
    }
    // Below a folder that no line of the floor names, and another one for each variable.
    let (variable, below) = text.split_once('/').unwrap_or((text, ""));
    let variable = if variable == "~" { "${home}" } else { variable };
    Path::new("/").join(variable).join(below)
}
