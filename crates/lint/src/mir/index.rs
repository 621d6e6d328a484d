//! Every item of every crate, under the names by which others reach it.

mod add;
mod pass;
mod subject;

use std::collections::{HashMap, HashSet};

use super::Unit;
use super::head::{Head, Heads};
use super::path::Path;
use super::runs::Traits;
use super::summary::{Item, Summary};

/// An item of the program, by its number.
pub(super) type Node = u32;

/// A name, by its number.
pub(super) type Name = u32;

/// A trait, absent if it could not be read, and a method.
type Wanted = (Option<Name>, Name);

/// An item with its crate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) unit: usize,
    pub(super) item: &'a Item,
    pub(super) name: &'a str,
}

/// A method or constant in an impl of a trait.
#[derive(Clone, Debug)]
pub(super) struct Method {
    /// The trait; absent if it could not be read, then it may be any.
    pub(super) of: Option<Name>,
    /// Which trait of the standard library it may be.
    pub(super) standard: Traits,
    /// Whether it may be a trait of the program.
    pub(super) program: bool,
    pub(super) name: Name,
    pub(super) node: Node,
    /// For an impl on a type of std: the types of the program in the trait's arguments, one of which must be there for it to be meant.
    given: std::rc::Rc<[Head]>,
}

/// All items.
#[derive(Debug)]
pub(super) struct Index<'a> {
    pub(super) units: &'a [Unit],
    pub(super) summaries: &'a [Summary],
    pub(super) heads: Heads<'a>,
    pub(super) entries: Vec<Entry<'a>>,
    names: HashMap<String, Name>,
    /// Items outside impls: by crate and path, by the last two names, by the last name.
    plain: HashMap<(usize, String), Vec<Node>>,
    pairs: HashMap<(Name, Name), Vec<Node>>,
    last: HashMap<(usize, Name), Vec<Node>>,
    pub(super) inherent: HashMap<(Head, Name), Vec<Node>>,
    pub(super) methods: HashMap<Head, Vec<Method>>,
    by_trait: HashMap<Wanted, Vec<(Head, Node)>>,
    blanket: HashMap<Wanted, Vec<Node>>,
    with_trait: HashMap<Name, Vec<Head>>,
    /// The methods that a type in the arguments of a trait leads to.
    pub(super) givers: HashMap<Head, Vec<Node>>,
    pub(super) closures: HashMap<&'a str, Vec<Node>>,
    pub(super) children: Vec<Vec<Node>>,
    pub(super) parents: HashMap<Node, Node>,
    /// The type and trait of each item in an impl, for its name.
    pub(super) subjects: HashMap<Node, (Head, Option<&'a str>)>,
    pub(super) parts: HashMap<Head, Vec<Head>>,
    pub(super) associated: HashMap<Head, Vec<Head>>,
    pub(super) exported: HashMap<&'a str, Vec<Node>>,
    /// What runs in every program: its allocator, and what the system runs before and after.
    pub(super) always: Vec<Node>,
    traits: Vec<HashSet<&'a str>>,
    passed: Vec<HashMap<&'a str, Vec<&'a str>>>,
}

impl<'a> Index<'a> {
    pub(super) fn new(units: &'a [Unit], summaries: &'a [Summary]) -> Self {
        let mut index = Self {
            units,
            summaries,
            heads: Heads::new(units, summaries),
            entries: Vec::new(),
            names: HashMap::new(),
            plain: HashMap::new(),
            pairs: HashMap::new(),
            last: HashMap::new(),
            inherent: HashMap::new(),
            methods: HashMap::new(),
            by_trait: HashMap::new(),
            blanket: HashMap::new(),
            with_trait: HashMap::new(),
            givers: HashMap::new(),
            closures: HashMap::new(),
            children: Vec::new(),
            parents: HashMap::new(),
            subjects: HashMap::new(),
            parts: HashMap::new(),
            associated: HashMap::new(),
            exported: HashMap::new(),
            always: Vec::new(),
            passed: summaries.iter().map(pass::passed).collect(),
            traits: summaries
                .iter()
                .map(|summary| summary.source.traits.iter().map(|word| summary.text(*word)).collect())
                .collect(),
        };
        for (unit, summary) in summaries.iter().enumerate() {
            index.add(unit, summary);
        }
        index
    }

    /// Says whether a method can be meant by a call with some types.
    pub(super) fn is_given(&self, method: &Method, among: &[Head]) -> bool {
        method.given.is_empty() || method.given.iter().any(|head| among.contains(head))
    }

    /// Says whether a crate, or one below those that a path may start in, defines a trait of that name.
    pub(super) fn defines_trait(&self, unit: usize, path: &Path<'_>) -> bool {
        let tail = path.tail();
        let first = path.segments.first().map_or("", |first| first.name);
        let starts = self.heads.crates(unit, first);
        let own = [unit];
        let starts = if path.segments.len() > 1 && !starts.is_empty() { starts } else { &own[..] };
        starts
            .iter()
            .flat_map(|unit| self.heads.below.get(*unit).into_iter().flatten())
            .any(|unit| self.traits.get(*unit).is_some_and(|traits| traits.contains(tail)))
    }

    /// Returns the number of a name.
    pub(super) fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.get(text) {
            return *name;
        }
        let name = Name::try_from(self.names.len()).unwrap_or(Name::MAX);
        self.names.insert(text.to_owned(), name);
        name
    }

    /// Returns the items of a crate with that very path outside impls.
    pub(super) fn exact(&self, unit: usize, path: &str) -> &[Node] {
        self.plain.get(&(unit, path.to_owned())).map_or(&[], |nodes| nodes)
    }

    /// Returns the items of a crate whose last name it is, outside impls.
    pub(super) fn with_last(&self, unit: usize, name: Name) -> &[Node] {
        self.last.get(&(unit, name)).map_or(&[], |nodes| nodes)
    }

    /// Returns what a trait itself says for a method.
    pub(super) fn default_of(&self, of: Name, method: Name) -> &[Node] {
        self.pairs.get(&(of, method)).map_or(&[], |nodes| nodes)
    }

    /// Returns the methods of all types that have a trait, those of impls whose trait could not be read among them.
    pub(super) fn implementors(&self, of: Name, method: Name) -> impl Iterator<Item = (Head, Node)> {
        [Some(of), None]
            .into_iter()
            .flat_map(move |of| self.by_trait.get(&(of, method)).into_iter().flatten().copied())
    }

    /// Returns the types that have a trait.
    pub(super) fn types_with(&self, of: Name) -> Vec<Head> {
        self.with_trait.get(&of).cloned().unwrap_or_default()
    }

    /// Says whether a type is an object of a trait.
    pub(super) fn is_object_of(&mut self, head: Head, of: Name) -> bool {
        self.object(head) == Some(of)
    }

    /// Returns all methods that some types have for a trait.
    pub(super) fn all_methods(&self, heads: &[Head], of: Name) -> Vec<Node> {
        heads
            .iter()
            .filter_map(|head| self.methods.get(head))
            .flatten()
            .filter(|method| method.of == Some(of))
            .map(|method| method.node)
            .collect()
    }

    /// Says whether an item stands in an impl with parameters.
    pub(super) fn is_generic(&self, node: Node) -> bool {
        let Some(entry) = self.entries.get(node as usize) else { return false };
        let block =
            entry.item.block.and_then(|block| self.summaries.get(entry.unit)?.blocks.get(block as usize));
        block.is_some_and(|block| !block.parameters.is_empty() || !block.known)
    }

    /// Returns the methods of impls for every type.
    pub(super) fn for_all(&self, of: Name, method: Name) -> impl Iterator<Item = Node> {
        [Some(of), None]
            .into_iter()
            .flat_map(move |of| self.blanket.get(&(of, method)).into_iter().flatten().copied())
    }
}
