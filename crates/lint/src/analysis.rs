//! What an engine found: for each function what it can do and how it comes to do it, for each package what it holds.

use serde::Serialize;

use crate::{Effect, EffectSet};

/// How many steps of a way are shown; of a longer one the middle is left out.
pub const MAX_HOPS: usize = 6;

/// What an engine found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Analysis {
    /// The functions of the tool's own packages, sorted by name.
    pub functions: Vec<Verdict>,
    /// The packages that were looked at, the tool's own first, then by name and version.
    pub packages: Vec<Package>,
}

/// What one function can do, through everything it calls.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Its path: `crate::module::function`, `crate::Type::method`, `<crate::Type as Trait>::method`; for a script `module.function`.
    pub function: String,
    /// What it is.
    pub kind: FunctionKind,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// What it does: one way for each effect, whose code does it and whether a handle mediates, in the order of [`Effect::ALL`].
    pub uses: Vec<Use>,
}

impl Verdict {
    /// Returns the effects alone.
    pub fn effects(&self) -> EffectSet {
        self.uses.iter().map(|one| one.effect).collect()
    }
}

/// What kind of thing a verdict is about.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FunctionKind {
    /// A closure or an async block, told apart by its place.
    Closure,
    /// A function or a method.
    Function,
    /// What runs when a module of a script is loaded.
    Module,
}

/// One effect and how it comes about.
#[derive(Clone, Debug, Serialize)]
pub struct Use {
    /// What is done.
    pub effect: Effect,
    /// Whether it goes through a scoped handle of ringfence, which judges every use.
    pub mediated: bool,
    /// The package whose code does it, as `name@version`.
    pub package: String,
    /// The way: the function itself first, what touches the world last; at most [`MAX_HOPS`].
    pub way: Vec<Hop>,
    /// What it is done to, where the code says it literally: a program, a host, a path, a variable.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub literals: Vec<String>,
}

/// One step of a way.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Hop {
    /// The function, or `…` where steps were left out.
    pub name: String,
    /// Where the step before calls it; of the first step, where it is defined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

/// A place in a source file.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct Place {
    /// The file: below the project's root as it is written there, of another package as `name-version/src/lib.rs`.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

/// What one package holds.
#[derive(Clone, Debug, Serialize)]
pub struct Package {
    /// What it is called.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What the registry says of its content; absent for the tool's own packages and for folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// Whether it is the tool's own.
    pub own: bool,
    /// What any of its own functions does itself, whether or not a tool reaches it, and what it is (a build script).
    pub holds: EffectSet,
    /// Where: one place for each effect that it holds.
    pub places: Vec<(Effect, Hop)>,
    /// Why what is said of it cannot be believed, where that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

impl Package {
    /// Returns `name@version`.
    pub fn id(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }
}

/// Returns what several functions do, each effect of each package once, with the shortest way.
pub fn joined<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> Vec<Use> {
    let mut uses: Vec<Use> = Vec::new();
    for one in verdicts.flat_map(|verdict| &verdict.uses) {
        let same = |known: &&mut Use| {
            (known.effect, known.mediated, &known.package) == (one.effect, one.mediated, &one.package)
        };
        match uses.iter_mut().find(same) {
            Some(known) => {
                let is_new = |literal: &&String| !known.literals.contains(literal);
                let new: Vec<String> = one.literals.iter().filter(is_new).cloned().collect();
                known.literals.extend(new);
                if one.way.len() < known.way.len() {
                    known.way.clone_from(&one.way);
                }
            }
            None => uses.push(one.clone()),
        }
    }
    uses.sort_by(|one, other| (one.effect, &one.package).cmp(&(other.effect, &other.package)));
    uses
}

/// Leaves out the middle of a way that is too long.
pub fn shortened(mut way: Vec<Hop>) -> Vec<Hop> {
    if way.len() > MAX_HOPS {
        let left_out = way.len() - (MAX_HOPS - 1);
        way.splice(3..3 + left_out, [Hop { name: "…".into(), place: None }]);
    }
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_way_keeps_its_ends() {
        let way = (0..20).map(|number| Hop { name: number.to_string(), place: None }).collect();
        let names: Vec<String> = shortened(way).into_iter().map(|hop| hop.name).collect();
        assert_eq!(names, ["0", "1", "2", "…", "18", "19"]);
    }
}
