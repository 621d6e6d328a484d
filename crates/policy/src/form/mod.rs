//! The form of a toolbox file: every key it may hold, as data.
//!
//! Reading a file is done by the types of this crate. This table says the same once more, for people and for editors: the JSON
//! Schema ([`schema`]), the reference page ([`page`]) and the file that `ringfence init` writes are made from it and from nothing else.
//!
//! INVARIANT: the table and the types agree. The tests ask each type which keys and words it takes, and compare.

mod page;
mod schema;
mod shape;
mod table;
mod word;

pub use page::page;
pub use schema::schema;
pub(crate) use shape::list_for_table;
pub use table::TOOLBOX;
pub use word::Word;

/// A table of the file.
#[derive(Debug)]
pub struct Table {
    /// What it is called in the schema and on the page; no two have the same name.
    pub name: &'static str,
    /// How it is opened where it stands at the top of the file, as in `[[tool]]`.
    pub heading: Option<&'static str>,
    /// What it is, in a sentence.
    pub meaning: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
    /// What must hold between them.
    pub rules: &'static [Rule],
    /// Whole tables, as TOML. Every key fits into one of them.
    pub samples: &'static [&'static str],
}

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// How it is spelled.
    pub name: &'static str,
    /// Other spellings that are taken.
    pub aliases: &'static [&'static str],
    /// What stands behind it.
    pub kind: Kind,
    /// What it means when it is not there.
    pub absent: Absent,
    /// What it says, in a sentence.
    pub meaning: &'static str,
    /// A value, as TOML.
    pub example: &'static str,
    /// Whether new files should have it.
    pub standing: Standing,
}

/// Whether new files should have a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Standing {
    /// Yes.
    Current,
    /// It is taken from old documents.
    Old,
}

/// What stands behind a key.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// One of these words, each with what it means.
    Choice(&'static [(&'static str, &'static str)]),
    /// A program and its arguments, at least the program.
    Command,
    /// One of these.
    Either(&'static [Kind]),
    /// `true` or `false`.
    Flag,
    /// A list, which may be empty.
    List(&'static Kind),
    /// A table with names of the writer's choice.
    Map(&'static Word, &'static Kind),
    /// A whole number from 0 to this one.
    Number(u64),
    /// A table that is not ours to describe.
    Object,
    /// A table.
    Table(&'static Table),
    /// A list of tables.
    Tables(&'static Table),
    /// A text of some form.
    Word(&'static Word),
}

/// What it means when a key is not there.
#[derive(Clone, Copy, Debug)]
pub enum Absent {
    /// This, in words.
    Means(&'static str),
    /// The file is refused.
    Refused,
    /// The same as this value, as TOML.
    Value(&'static str),
}

/// What must hold between the keys of a table.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// It has exactly one key.
    Single,
    /// In this case, some keys must be there and others must not.
    When(When, Needs),
}

/// When a rule holds.
#[derive(Clone, Copy, Debug)]
pub enum When {
    /// Always.
    Always,
    /// Where the key is there.
    Has(&'static str),
    /// Where the key has this value.
    Is(&'static str, &'static str),
    /// Where the key is not there.
    Lacks(&'static str),
}

/// Which keys must be there, and which must not.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// All of these.
    pub all: &'static [&'static str],
    /// At least one of these, where there are any.
    pub some: &'static [&'static str],
    /// None of these.
    pub none: &'static [&'static str],
}

impl Key {
    const fn new(
        name: &'static str,
        kind: Kind,
        absent: Absent,
        meaning: &'static str,
        example: &'static str,
    ) -> Self {
        Self { name, aliases: &[], kind, absent, meaning, example, standing: Standing::Current }
    }

    const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn old(mut self) -> Self {
        self.standing = Standing::Old;
        self
    }

    /// Returns every spelling, the first one first.
    pub fn spellings(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

impl Kind {
    /// Returns the tables that may stand here, in lists and behind names too.
    pub fn tables(&self) -> Vec<&'static Table> {
        match self {
            Self::Either(kinds) => kinds.iter().flat_map(Self::tables).collect(),
            Self::List(kind) | Self::Map(_, kind) => kind.tables(),
            Self::Table(table) | Self::Tables(table) => vec![table],
            Self::Choice(_) | Self::Command | Self::Flag | Self::Number(_) | Self::Object | Self::Word(_) => {
                Vec::new()
            }
        }
    }
}

impl Table {
    /// Returns the key of this name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Returns this table and all those in it, each once, in the order of the file.
    pub fn all(&'static self) -> Vec<&'static Self> {
        let mut found = vec![self];
        let mut next = 0;
        while let Some(table) = found.get(next).copied() {
            for inner in table.keys.iter().flat_map(|key| key.kind.tables()) {
                if !found.iter().any(|known| known.name == inner.name) {
                    found.push(inner);
                }
            }
            next += 1;
        }
        found
    }
}

#[cfg(test)]
mod tests;
