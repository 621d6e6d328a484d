//! Finding the lines that a name belongs to, among more than a thousand of them.
//!
//! Whoever walks through a tree asks about every file in it: nearly every name is dismissed by its first byte and its length.

use std::collections::HashMap;

use super::FloorEntry;
use super::table::TABLES;
use crate::path::glob::component;

/// The lines by their first name, or by their last.
#[derive(Debug)]
pub(super) struct Index {
    exact: HashMap<&'static [u8], Vec<&'static FloorEntry>>,
    /// For each first byte, which lengths the exact names have, as bits.
    lengths: [u128; 128],
    /// The lines whose name ends with this, for names that are a star and a text.
    endings: Vec<(&'static [u8], &'static FloorEntry)>,
    /// The lines with a wildcard elsewhere; the first byte is none.
    globs: Vec<(&'static [u8], &'static FloorEntry)>,
}

impl Index {
    /// Makes an index by what `name` returns of each pattern.
    pub(super) fn new(name: impl Fn(&'static str) -> &'static str) -> Self {
        let mut index =
            Self { exact: HashMap::new(), lengths: [0; 128], endings: Vec::new(), globs: Vec::new() };
        for entry in TABLES.iter().copied().flatten() {
            let name = name(entry.pattern).as_bytes();
            match name {
                [b'*', ending @ ..] if !ending.is_empty() && !is_glob(ending) => {
                    index.endings.push((ending, entry));
                }
                _ if is_glob(name) => index.globs.push((name, entry)),
                _ => {
                    index.exact.entry(name).or_default().push(entry);
                    if let Some(lengths) =
                        name.first().and_then(|first| index.lengths.get_mut(usize::from(*first)))
                    {
                        *lengths |= bit(name.len());
                    }
                }
            }
        }
        index
    }

    /// Returns the lines that a folded name belongs to.
    pub(super) fn lines<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'static FloorEntry> + 'a {
        let lengths = name.first().and_then(|first| self.lengths.get(usize::from(*first))).copied();
        let possible = lengths.is_some_and(|lengths| lengths & bit(name.len()) != 0);
        let exact = possible.then(|| self.exact.get(name)).flatten().into_iter().flatten().copied();
        let endings = self.endings.iter().filter(move |(ending, _)| name.ends_with(ending));
        let globs =
            self.globs.iter().filter(move |(glob, _)| glob.first() == name.first() && component(glob, name));
        exact.chain(endings.chain(globs).map(|(_, entry)| *entry))
    }
}

/// All long names share the last bit.
const fn bit(length: usize) -> u128 {
    1 << if length < 127 { length } else { 127 }
}

fn is_glob(name: &[u8]) -> bool {
    name.iter().any(|byte| matches!(byte, b'*' | b'?'))
}
