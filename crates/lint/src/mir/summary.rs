//! What one compiled crate says, kept small: every text once, every item with what it mentions.
//!
//! A summary depends on the text of one MIR file and on the sources it was made from, and on nothing else, so it can be kept.
//!
//! INVARIANT: every [`Word`] in a summary is an index into its `words`.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Grows when the shape or the meaning of a summary changes, so that a kept one of another shape is not used.
pub const SUMMARY_VERSION: u32 = 2;

/// A text of a summary, by its index.
pub(super) type Word = u32;

/// What one compiled crate says.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Summary {
    /// [`SUMMARY_VERSION`] when it was made.
    pub version: u32,
    pub(super) words: Vec<Box<str>>,
    pub(super) items: Vec<Item>,
    pub(super) blocks: Vec<Block>,
    /// Types that are built, each with the type of something inside.
    pub(super) parts: Vec<(Word, Word)>,
    pub(super) source: Source,
}

/// A function, a closure, a static or a constant.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Item {
    /// Its path as the compiler prints it.
    pub(super) name: Word,
    /// Whether it is a static or a constant.
    pub(super) value: bool,
    /// Whether it is a static whose value can change while the program runs.
    pub(super) changes: bool,
    /// Whether the first parameter is `self`.
    pub(super) method: bool,
    /// Which impl it is in.
    pub(super) block: Option<u32>,
    /// What it takes.
    pub(super) inputs: Vec<Word>,
    /// What it gives.
    pub(super) output: Word,
    /// Where it is.
    pub(super) spot: Option<Spot>,
    pub(super) mentions: Vec<Mention>,
    pub(super) drops: Vec<(Word, Spot)>,
    pub(super) casts: Vec<Cast>,
    /// Calls through a pointer or an object that was not given by the caller, by its type.
    pub(super) indirect: Vec<(Word, Spot)>,
    /// Where it holds assembly.
    pub(super) assembly: Option<Spot>,
}

/// A place in a source file as the compiler names it.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub(super) struct Spot(pub(super) Word, pub(super) u32, pub(super) u32);

/// Something that an item names: each thing once.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Mention {
    pub(super) kind: MentionKind,
    /// For a function the text of its type, else the path.
    pub(super) what: Word,
    pub(super) spot: Spot,
    /// Strings among the arguments.
    pub(super) literals: Vec<Word>,
    /// A truth value among the arguments, where all calls of the item agree on it.
    pub(super) switch: Option<bool>,
}

/// What is named.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub(super) enum MentionKind {
    /// A constant.
    Constant,
    /// A static of another language.
    Foreign,
    /// A function, called or passed on.
    Function,
    /// A value whose type names functions.
    Held,
    /// A function or a static, by its path alone.
    Place,
    /// What a table of methods was made for: `Trait for Type`.
    Table,
}

/// A change of type that hides what is behind it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Cast {
    pub(super) kind: CastKind,
    pub(super) from: Word,
    pub(super) to: Word,
    pub(super) spot: Spot,
}

/// How a type is changed.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub(super) enum CastKind {
    /// A function or a closure becomes a pointer.
    Pointer,
    /// A function pointer becomes a plain address.
    Raw,
    /// Bits are taken for another type.
    Transmute,
    /// A type becomes a trait object.
    Unsize,
}

/// What the header of an impl says.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Block {
    /// Whether a header could be read; else any trait may be meant.
    pub(super) known: bool,
    /// The trait.
    pub(super) of: Option<Word>,
    /// The type; absent for one that a macro or a derive makes.
    pub(super) subject: Option<Word>,
    /// The names of its generic parameters.
    pub(super) parameters: Vec<Word>,
}

/// What the source says and MIR does not.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Source {
    /// Traits that are defined here.
    pub(super) traits: Vec<Word>,
    /// Structs, enums and unions that are defined here.
    pub(super) types: Vec<Word>,
    /// Foreign functions that have another name for the linker: the name in Rust, the other.
    pub(super) renamed: Vec<(Word, Word)>,
    /// Functions that other code can link to: the name for the linker, the name in Rust.
    pub(super) exported: Vec<(Word, Word)>,
    /// Associated types: the type that has it, what it is.
    pub(super) associated: Vec<(Word, Word)>,
    /// What is passed on to other crates: under which name, and the path of it; `*` for everything below the path.
    pub(super) passed: Vec<(Word, Word)>,
    /// Impls of traits: the trait, the type.
    pub(super) implemented: Vec<(Word, Word)>,
    /// Statics that the system runs before or after the program.
    pub(super) always: Vec<Word>,
    /// Where assembly stands outside functions.
    pub(super) assembly: Option<Spot>,
}

impl Summary {
    /// Returns the text of a word.
    pub(super) fn text(&self, word: Word) -> &str {
        self.words.get(word as usize).map_or("", |text| text)
    }
}

/// Gives each text its number.
#[derive(Debug, Default)]
pub(super) struct Words {
    index: HashMap<Box<str>, Word>,
    list: Vec<Box<str>>,
}

impl Words {
    /// Returns the number of a text.
    pub(super) fn word(&mut self, text: &str) -> Word {
        if let Some(found) = self.index.get(text) {
            return *found;
        }
        let word = Word::try_from(self.list.len()).unwrap_or(Word::MAX);
        self.list.push(text.into());
        self.index.insert(text.into(), word);
        word
    }

    /// Returns the texts in the order of their numbers.
    pub(super) fn into_list(self) -> Vec<Box<str>> {
        self.list
    }

    /// Returns the text of a number.
    pub(super) fn text(&self, word: Word) -> &str {
        self.list.get(word as usize).map_or("", |text| text)
    }
}
