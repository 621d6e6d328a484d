//! The facts that an engine states about a program: names, objects, functions, and how values go from one to the other.
//!
//! A [`Node`] is a place that holds values: a variable, a field, the result of an expression. A value is an object of the
//! program (a function, a class, an instance, a literal, a module) or a *path*: something of the language's own library or of a
//! package that is not there, written as code would reach it (`os.environ`, `pathlib.Path().read_text`; `()` is the result of a call).

mod fact;
mod import;
mod object;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::rc::Rc;

use super::library::{Arguments, Catalog, Importer};
use crate::{Effect, FunctionKind, Place};

/// How many values one node of the project's own code holds at most; what comes after is left out.
const MAX_VALUES: u8 = 200;
/// The same for the code that the project needs: a name that may hold more is one that everything goes through.
const MAX_FOREIGN_VALUES: u8 = 12;
const MAX_STEPS_OF_A_PATH: usize = 9;

/// A name, as a number.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct Symbol(u32);

/// A place that holds values.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Node(pub(super) u32);

/// An object of the program.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct ObjectId(pub(super) u32);

/// A function of the program.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct FunctionId(pub(super) u32);

/// A package, as the number that the engine gave it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct PackageId(pub(crate) u32);

/// A thing of the language's library.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct PathId(pub(super) u32);

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Value {
    Object(ObjectId),
    Path(PathId),
}

/// Where in the program something happens: in which function, in which file, and at which byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) function: FunctionId,
    pub(crate) file: u32,
    pub(crate) offset: u32,
}

#[derive(Debug, Default)]
pub(super) struct NodeData {
    pub(super) limit: u8,
    pub(super) values: Vec<Value>,
    pub(super) done: usize,
    pub(super) rules: Vec<Rule>,
    pub(super) queued: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    Call(u32, Site),
    Copy(Node),
    Inherit(Node),
    Instance(Node),
    Load(Symbol, Node, Option<Site>),
    LoadAny(Node, Option<Site>),
    Mention(Site),
    /// Runs the functions with the arguments of a call, on an instance.
    Run(u32, Node),
    Store(Symbol, Node, Option<Site>),
    StoreAny(Node, Option<Site>),
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) arguments: Rc<Arguments>,
    pub(super) result: Node,
    /// The method's name, where it is called on something.
    pub(super) method: Option<Symbol>,
    pub(super) site: Site,
    pub(super) callee: Node,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) node: Node,
    pub(super) is_own: bool,
}

/// An object: its fields, where it inherits from, and what calling it does.
#[derive(Debug, Default)]
pub(super) struct Object {
    pub(super) limit: u8,
    pub(super) fields: BTreeMap<Symbol, Field>,
    pub(super) parents: Vec<Node>,
    /// What was put in under names that are not known.
    pub(super) any: Option<Node>,
    pub(super) function: Option<FunctionId>,
    pub(super) instance: Option<ObjectId>,
    pub(super) class: Option<ObjectId>,
    /// A node that holds the object and nothing else.
    pub(super) node: Option<Node>,
    pub(super) getters: Vec<(Symbol, FunctionId)>,
    /// Everything in it: what a read under an unknown name gives.
    pub(super) all: Option<Node>,
}

/// A function of the program.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) kind: FunctionKind,
    pub(crate) package: PackageId,
    pub(crate) file: u32,
    pub(crate) offset: u32,
    pub(crate) object: ObjectId,
    /// By position; a name only where a call may use it.
    pub(crate) parameters: Vec<(Option<Symbol>, Node)>,
    pub(crate) rest: Option<Node>,
    pub(crate) this: Node,
    pub(crate) returns: Node,
    /// Whether the first parameter is what a method is called on.
    pub(crate) takes_self: bool,
    pub(crate) is_method: bool,
}

#[derive(Debug)]
pub(super) struct Direct {
    pub(super) function: FunctionId,
    pub(super) effect: Effect,
    pub(super) name: String,
    pub(super) site: Option<Site>,
    pub(super) literals: Vec<String>,
}

#[derive(Debug)]
pub(super) struct PathData {
    pub(super) text: String,
    pub(super) is_live: bool,
}

#[derive(Debug, Default)]
pub(super) struct SourceFile {
    pub(super) name: String,
    pub(super) line_starts: Vec<u32>,
}

/// Everything that is known of a program.
pub(crate) struct Flow<'c> {
    pub(super) catalog: &'c dyn Catalog,
    names: Vec<String>,
    symbols: HashMap<String, Symbol>,
    pub(super) nodes: Vec<NodeData>,
    pub(super) objects: Vec<Object>,
    pub(super) functions: Vec<Function>,
    pub(super) paths: Vec<PathData>,
    path_ids: HashMap<String, PathId>,
    pub(super) steps: HashMap<(PathId, Symbol), PathId>,
    pub(super) calls: Vec<Call>,
    pub(super) files: Vec<SourceFile>,
    pub(super) work: VecDeque<Node>,
    pub(super) edges: HashMap<(FunctionId, FunctionId), Site>,
    pub(super) directs: Vec<Direct>,
    pub(super) known_directs: HashMap<(FunctionId, Effect, String), usize>,
    /// Loads whose name a getter has, with what they load from.
    pub(super) reads: Vec<(Node, Symbol, Site)>,
    /// What each package imports that is not code of the program.
    pub(super) imports: HashSet<(PackageId, String)>,
    /// What was put into a member, of what.
    pub(super) stores: Vec<(Node, Node, Site)>,
    pub(super) crowded: usize,
    limit: u8,
    importer: Option<Box<Importer<'c>>>,
    import_member: Option<&'static str>,
}

impl<'c> Flow<'c> {
    /// Starts with nothing.
    pub(crate) fn new(catalog: &'c dyn Catalog) -> Self {
        Self {
            catalog,
            names: Vec::new(),
            symbols: HashMap::new(),
            nodes: Vec::new(),
            objects: Vec::new(),
            functions: Vec::new(),
            paths: Vec::new(),
            path_ids: HashMap::new(),
            steps: HashMap::new(),
            calls: Vec::new(),
            files: Vec::new(),
            work: VecDeque::new(),
            edges: HashMap::new(),
            directs: Vec::new(),
            known_directs: HashMap::new(),
            reads: Vec::new(),
            imports: HashSet::new(),
            stores: Vec::new(),
            crowded: 0,
            limit: MAX_VALUES,
            importer: None,
            import_member: None,
        }
    }

    /// Returns the number of a name.
    pub(crate) fn symbol(&mut self, name: &str) -> Symbol {
        if let Some(known) = self.symbols.get(name) {
            return *known;
        }
        let symbol = Symbol(self.names.len() as u32);
        self.names.push(name.to_owned());
        self.symbols.insert(name.to_owned(), symbol);
        symbol
    }

    /// Returns a name by its number.
    pub(crate) fn name(&self, symbol: Symbol) -> &str {
        self.names.get(symbol.0 as usize).map_or("", String::as_str)
    }

    /// Adds a file, whose text tells where lines begin.
    pub(crate) fn file(&mut self, name: &str, text: &str) -> u32 {
        let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at as u32 + 1);
        let line_starts = std::iter::once(0).chain(starts).collect();
        self.files.push(SourceFile { name: name.to_owned(), line_starts });
        self.files.len() as u32 - 1
    }

    /// Returns the place of a byte in a file. The column counts bytes.
    pub(crate) fn place(&self, file: u32, offset: u32) -> Option<Place> {
        let file = self.files.get(file as usize)?;
        let line = file.line_starts.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|index| file.line_starts.get(index)).copied().unwrap_or(0);
        Some(Place { file: file.name.clone(), line: line as u32, column: offset - start + 1 })
    }

    /// Says whether the code that is walked is the project's own: operators and conversions are followed there alone, because
    /// through the code that it needs they would lead from everything to everything.
    pub(crate) fn follows_operators(&self) -> bool {
        self.limit == MAX_VALUES
    }

    /// Says whose code comes next.
    pub(crate) fn is_own(&mut self, own: bool) {
        self.limit = if own { MAX_VALUES } else { MAX_FOREIGN_VALUES };
    }

    /// Returns the number of a path, in the spelling of the catalog.
    pub(super) fn path(&mut self, text: &str) -> PathId {
        if let Some(known) = self.path_ids.get(text) {
            return *known;
        }
        let id = match self.catalog.alias(text) {
            Some(other) if other != text => self.path(&other),
            _ => {
                let is_live = text.split('.').count() < MAX_STEPS_OF_A_PATH && self.catalog.is_live(text);
                self.paths.push(PathData { text: text.to_owned(), is_live });
                PathId(self.paths.len() as u32 - 1)
            }
        };
        self.path_ids.insert(text.to_owned(), id);
        id
    }

    pub(super) fn path_text(&self, path: PathId) -> &str {
        self.paths.get(path.0 as usize).map_or("", |data| data.text.as_str())
    }

    pub(super) fn is_live(&self, path: PathId) -> bool {
        self.paths.get(path.0 as usize).is_some_and(|data| data.is_live)
    }

    pub(super) fn add(&mut self, node: Node, value: Value) {
        let Some(data) = self.nodes.get_mut(node.0 as usize) else { return };
        if data.values.contains(&value) {
            return;
        }
        if data.values.len() >= usize::from(data.limit) {
            self.crowded += 1;
            return;
        }
        data.values.push(value);
        if !data.queued {
            data.queued = true;
            self.work.push_back(node);
        }
    }

    pub(super) fn rule(&mut self, node: Node, rule: Rule) {
        let Some(data) = self.nodes.get_mut(node.0 as usize) else { return };
        data.rules.push(rule);
        let seen: Vec<Value> = data.values.iter().take(data.done).copied().collect();
        for value in seen {
            self.apply(rule, value);
        }
    }
}
