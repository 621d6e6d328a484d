//! The tools of a Rust package and what they declare.
//!
//! Three shapes are known: a chain that starts with `ringfence::tool("name")`, an implementation of `ringfence::Tool`, and
//! an entry of `[package.metadata.ringfence]` in the manifest, for tools that a reader of text cannot see.
//!
//! INVARIANT: a declaration that was not understood in full says so; it never looks like one that declares less.

mod chain;
mod implemented;
mod manifest;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use ringfence_policy::Capabilities;

use crate::source::graph;
use crate::source::kind::Kinds;
use crate::source::name::{Found, Id, World};
use crate::source::{self, SourceError};
use crate::{EffectSet, Place, Project};

/// The package that tools are written with.
const RINGFENCE: &str = "ringfence";

/// A tool that was found.
#[derive(Clone, Debug)]
pub struct FoundTool {
    /// What it is called; the name of its type or of its name's constant, where the text does not say.
    pub name: String,
    /// The package it is in, as `name@version`.
    pub package: String,
    /// Where it is made or declared.
    pub place: Place,
    /// What runs when it is called.
    pub entry: Entry,
    /// What else of it runs: how it reconciles, whether it is available.
    pub others: Vec<Entry>,
    /// What it declares, as far as the text says; `None` when only running it would tell.
    pub declared: Option<Capabilities>,
    /// The effects of surfaces that it declares with values the text does not say: they are declared, and nobody knows how far.
    pub unread: EffectSet,
    /// The first place where the declaration says more than its text.
    pub incomplete: Option<Place>,
}

/// A function that runs for a tool.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Entry {
    /// The closure at a place.
    Closure(Place),
    /// A function by its path, as [`Verdict::function`](crate::Verdict::function) writes it.
    Function(String),
}

/// Why the tools could not be told.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// A literal of a declaration is malformed.
    #[error("{}:{}:{}: the tool `{tool}` declares what cannot be: {reason}", place.file, place.line, place.column)]
    Declared {
        /// Where the tool is made.
        place: Place,
        /// Which tool.
        tool: String,
        /// What is wrong.
        reason: String,
    },
    /// A manifest declares a tool that is not there, or in a shape that is not known.
    #[error("{}:{}:{}: {reason}", place.file, place.line, place.column)]
    Manifest {
        /// Where.
        place: Place,
        /// What is wrong.
        reason: String,
    },
    /// A manifest cannot be read.
    #[error("the manifest `{file}` cannot be read: {error}")]
    Read {
        /// Which.
        file: String,
        /// Why.
        error: std::io::Error,
    },
    /// The source cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Finds the tools of the project's own packages, in the order of their places.
///
/// # Errors
///
/// A manifest or a literal that is malformed, with its place. Text that is not understood is no error: the tool is then
/// incomplete.
pub fn find(project: &Project) -> Result<Vec<FoundTool>, ToolError> {
    let needed = needed(project);
    let units = source::read(project, |package| needed.contains(&package))?;
    let world = World::new(project, &units);
    let kinds = Kinds::new(&world);
    let finder = Finder { project, world: &world, kinds: &kinds };
    let mut tools = finder.chains()?;
    tools.extend(finder.implemented());
    finder.manifests(&mut tools)?;
    tools.sort_by(|left, right| (&left.place, &left.name).cmp(&(&right.place, &right.name)));
    Ok(tools)
}

/// Returns the own packages, ringfence, and every package that uses it: names may be re-exported there.
fn needed(project: &Project) -> BTreeSet<usize> {
    let numbered = || project.packages.iter().enumerate();
    let mut users: BTreeSet<usize> =
        numbered().filter(|(_, package)| package.name == RINGFENCE).map(|(number, _)| number).collect();
    loop {
        let before = users.len();
        for (number, package) in numbered() {
            if package.dependencies.iter().any(|one| users.contains(&one.package)) {
                users.insert(number);
            }
        }
        if users.len() == before {
            break;
        }
    }
    users.extend(numbered().filter(|(_, package)| package.own).map(|(number, _)| number));
    users
}

struct Finder<'a> {
    project: &'a Project,
    world: &'a World<'a>,
    kinds: &'a Kinds<'a>,
}

impl Finder<'_> {
    fn is_own(&self, unit: usize) -> bool {
        self.package(unit).is_some_and(|package| package.own)
    }

    fn package(&self, unit: usize) -> Option<&crate::SourcePackage> {
        self.world.units.get(unit).and_then(|unit| self.project.packages.get(unit.package))
    }

    fn package_id(&self, unit: usize) -> String {
        self.package(unit).map(crate::SourcePackage::id).unwrap_or_default()
    }

    fn place(&self, unit: usize, spot: source::model::Spot) -> Place {
        let files = self.world.units.get(unit).map_or(&[][..], |unit| unit.files.as_slice());
        let file =
            usize::try_from(spot.file).ok().and_then(|file| files.get(file)).cloned().unwrap_or_default();
        Place { file, line: spot.line, column: spot.column }
    }

    fn function_name(&self, id: Id) -> String {
        graph::name(self.kinds, id)
    }

    /// Says whether a thing of ringfence is meant.
    fn is_of_ringfence(&self, found: &Found, name: &str) -> bool {
        match found {
            Found::Function(id) => {
                self.world.package_name(id.0) == RINGFENCE
                    && self.kinds.function(*id).is_some_and(|one| one.name == name)
            }
            Found::Trait(id) => {
                let known = self.world.units.get(id.0).and_then(|unit| unit.traits.get(id.1));
                self.world.package_name(id.0) == RINGFENCE && known.is_some_and(|one| one.name == name)
            }
            _ => false,
        }
    }
}
