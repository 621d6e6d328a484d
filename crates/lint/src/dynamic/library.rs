//! What an engine tells of its language: what the library does, and what an import gives.

use super::flow::{FunctionId, Node, ObjectId, Symbol};
use crate::EffectSet;

/// What a call passes, and what it says literally.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arguments {
    /// What the method is called on.
    pub(crate) receiver: Option<Node>,
    /// By position.
    pub(crate) positional: Vec<Node>,
    /// By name.
    pub(crate) named: Vec<(Symbol, Node)>,
    /// What the code says literally, by position.
    pub(crate) texts: Vec<Option<String>>,
    /// What the code says literally, by name.
    pub(crate) named_texts: Vec<(String, Option<String>)>,
    /// Whether the call makes an instance.
    pub(crate) is_construction: bool,
    /// Whether what is called came as an argument: then whoever passed it answers for it.
    pub(crate) is_passed: bool,
}

impl Arguments {
    /// Returns the literal at a position or under a name: `None` when it is not given, `Some(None)` when it is no literal.
    pub(crate) fn text(&self, position: usize, name: &str) -> Option<Option<&str>> {
        let by_name = self.named_texts.iter().find(|(given, _)| given == name).map(|(_, text)| text);
        by_name.or_else(|| self.texts.get(position)).map(Option::as_deref)
    }
}

/// What a language's library does, looked up by path.
pub(crate) trait Catalog {
    /// Returns what calling it does.
    fn call(&self, path: &str, arguments: Option<&Arguments>) -> EffectSet;
    /// Returns what reading it does (`os.environ`).
    fn read(&self, path: &str) -> EffectSet;
    /// Returns what changing a member of it does (`process.env.X = 1`).
    fn write(&self, path: &str) -> EffectSet;
    /// Says whether a member under an unknown name could be anything (`fs[name]`).
    fn is_module(&self, path: &str) -> bool;
    /// Says whether following it further can matter.
    fn is_live(&self, path: &str) -> bool;
    /// Returns another spelling of the same thing.
    fn alias(&self, path: &str) -> Option<String>;
    /// Returns what a method of this name does when nothing is known of what it is called on.
    fn method(&self, name: &str) -> EffectSet;
    /// Says whether a method inherited from the library runs the methods of the class (`Thread.start`).
    fn drives(&self, path: &str) -> bool;
    /// The names of the methods that run when an instance is made.
    fn constructors(&self) -> &'static [&'static str];
    /// The name of the method that runs when an instance is called, if instances can be.
    fn caller(&self) -> Option<&'static str>;
    /// Returns what a function of the library does with its arguments, where values go on through it.
    fn special(&self, path: &str) -> Option<Special>;
    /// Says whether so many things have a method of this name that the name says nothing.
    fn is_common(&self, name: &str) -> bool;
}

/// What some functions of a library do with their arguments; a number is a position.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Special {
    /// Calls one argument with those from a position on.
    Apply(usize, usize),
    /// Puts everything of the later arguments into the first.
    Assign,
    /// Loads the module that the argument names.
    Import(usize),
    /// Returns the member of one argument that another names.
    Member(usize, usize),
    /// Returns the argument, or something that holds it.
    Same(usize),
    /// Sets the member of one argument that another names to a third.
    SetMember(usize, usize, usize),
}

/// What an import gives.
#[derive(Clone, Debug)]
pub(crate) enum Imported {
    /// Something of the library.
    Library(String),
    /// A module that is not there; the path says which.
    Missing(String),
    /// A module of the program, and the functions that run because of it.
    Module(ObjectId, Vec<FunctionId>),
    /// A file that is no code.
    Nothing,
}

/// Finds what a file imports under a name.
pub(crate) type Importer<'c> = dyn Fn(u32, &str) -> Imported + 'c;
