//! Names of tools: which of them no registry takes, and which pass for one another.
//!
//! Two names collide when a person or a client could take one for the other: the same letters in another case, script,
//! width or order of display, other separators, or digits that are drawn like letters.

mod refused;
mod skeleton;

use std::collections::HashMap;

pub use refused::{Refused, refused};

/// Two names that pass for one another, by their places in the list.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, serde::Serialize)]
pub struct Collision {
    /// The one that came first.
    pub first: usize,
    /// The one that passes for it.
    pub second: usize,
}

/// Finds the names that pass for one another: each with the first one of its likeness.
///
/// # Examples
///
/// ```
/// use ringfence_text::{Collision, collisions};
///
/// let names = ["read_file", "write_file", "Read-File"];
/// assert_eq!(collisions(&names), [Collision { first: 0, second: 2 }]);
/// ```
pub fn collisions<S: AsRef<str>>(names: &[S]) -> Vec<Collision> {
    let mut first_of = HashMap::new();
    let mut found = Vec::new();
    for (second, name) in names.iter().enumerate() {
        let likeness = skeleton::likeness(name.as_ref());
        match first_of.get(&likeness) {
            Some(&first) => found.push(Collision { first, second }),
            None => {
                first_of.insert(likeness, second);
            }
        }
    }
    found
}

/// Returns what a name looks like: two names with the same likeness pass for one another.
pub fn likeness(name: &str) -> String {
    skeleton::likeness(name)
}

/// Says whether two names pass for one another.
pub fn collide(one: &str, other: &str) -> bool {
    skeleton::likeness(one) == skeleton::likeness(other)
}

#[cfg(test)]
mod tests;
