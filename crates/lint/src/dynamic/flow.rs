//! The facts that an engine states about a program: names, objects, functions, and how values go from one to the other.
//!
//! A [`Node`] is a place that holds values: a variable, a field, the result of an expression. A value is an object of the
//! program (a function, a class, an instance, a literal, a module) or a *path*: something of the language's own library or of a
//! package that is not there, written as code would reach it (`os.environ`, `pathlib.Path().read_text`; `()` is the result of a call).

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::rc::Rc;

use super::library::{Arguments, Catalog, Imported, Importer};
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

    /// Sets how imports are found.
    pub(crate) fn import_by(&mut self, importer: Box<Importer<'c>>) {
        self.importer = Some(importer);
    }

    /// Says that importing a module gives this member of it.
    pub(crate) fn import_member(&mut self, member: &'static str) {
        self.import_member = Some(member);
    }

    /// Imports a module by name; `None` is a name that is not known before the program runs.
    pub(crate) fn import(&mut self, name: Option<&str>, site: Site) -> Node {
        let Some(name) = name else {
            self.direct(Effect::DynUnresolved, "import", site, &[]);
            return self.node();
        };
        let found = self.find_import(site.file, name);
        if let Imported::Library(path) | Imported::Missing(path) = &found
            && let Some(package) = self.function_at(site.function).map(|data| data.package)
        {
            self.imports.insert((package, path.clone()));
        }
        match found {
            Imported::Library(path) => self.node_of_path(&path),
            Imported::Missing(path) => {
                if self.catalog.call(&path, Some(&Arguments::default())).contains(Effect::Unanalyzed) {
                    self.direct(Effect::Unanalyzed, name, site, &[]);
                }
                self.node_of_path(&path)
            }
            Imported::Module(object, functions) => {
                functions.into_iter().for_each(|function| self.edge(function, site));
                let module = self.node_of(object);
                match self.import_member {
                    Some(member) => self.load(module, member, None),
                    None => module,
                }
            }
            Imported::Nothing => self.node(),
        }
    }

    /// Finds what a file imports under a name, and runs nothing.
    pub(crate) fn find_import(&self, file: u32, name: &str) -> Imported {
        self.importer.as_ref().map_or(Imported::Nothing, |find| find(file, name))
    }

    /// Returns the node of a module that is only named.
    pub(crate) fn module_node(&mut self, file: u32, name: &str) -> Node {
        match self.find_import(file, name) {
            Imported::Library(path) | Imported::Missing(path) => self.node_of_path(&path),
            Imported::Module(object, _) => self.node_of(object),
            Imported::Nothing => self.node(),
        }
    }

    /// Returns the node of the instances of whatever classes `class` holds.
    pub(crate) fn instances(&mut self, class: Node) -> Node {
        let result = self.node();
        self.rule(class, Rule::Instance(result));
        result
    }

    /// Says that whatever `object` holds has what `parent` has.
    pub(crate) fn inherit_all(&mut self, object: Node, parent: Node) {
        self.rule(object, Rule::Inherit(parent));
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

    /// Makes a node that holds nothing yet.
    pub(crate) fn node(&mut self) -> Node {
        self.node_within(self.limit)
    }

    pub(super) fn node_within(&mut self, limit: u8) -> Node {
        self.nodes.push(NodeData { limit, ..NodeData::default() });
        Node(self.nodes.len() as u32 - 1)
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

    /// Makes an object without fields.
    pub(crate) fn object(&mut self) -> ObjectId {
        self.objects.push(Object { limit: self.limit, ..Object::default() });
        ObjectId(self.objects.len() as u32 - 1)
    }

    /// Makes a node that holds one object.
    pub(crate) fn node_of(&mut self, object: ObjectId) -> Node {
        let node = self.node();
        self.add(node, Value::Object(object));
        node
    }

    /// Returns the one node that holds an object and nothing else, to be read from.
    pub(super) fn lone_node(&mut self, object: ObjectId) -> Node {
        if let Some(known) = self.objects.get(object.0 as usize).and_then(|data| data.node) {
            return known;
        }
        let node = self.node_of(object);
        if let Some(data) = self.objects.get_mut(object.0 as usize) {
            data.node = Some(node);
        }
        node
    }

    /// Makes a node that holds something of the library.
    pub(crate) fn node_of_path(&mut self, path: &str) -> Node {
        let node = self.node();
        let path = self.path(path);
        self.add(node, Value::Path(path));
        node
    }

    /// Adds a function, which is also an object.
    pub(crate) fn function(
        &mut self,
        name: String,
        kind: FunctionKind,
        package: PackageId,
        at: (u32, u32),
    ) -> FunctionId {
        let id = FunctionId(self.functions.len() as u32);
        let object = self.object();
        let (this, returns) = (self.node(), self.node());
        if let Some(data) = self.objects.get_mut(object.0 as usize) {
            data.function = Some(id);
        }
        self.functions.push(Function {
            name,
            kind,
            package,
            file: at.0,
            offset: at.1,
            object,
            parameters: Vec::new(),
            rest: None,
            this,
            returns,
            takes_self: false,
            is_method: false,
        });
        id
    }

    /// Returns a function, to be read.
    pub(crate) fn function_at(&self, id: FunctionId) -> Option<&Function> {
        self.functions.get(id.0 as usize)
    }

    /// Returns a function, to be filled in.
    pub(crate) fn function_mut(&mut self, id: FunctionId) -> Option<&mut Function> {
        self.functions.get_mut(id.0 as usize)
    }

    /// Makes a class of an object: calling it gives an instance, which is returned.
    pub(crate) fn instance_of(&mut self, class: ObjectId) -> ObjectId {
        if let Some(known) = self.objects.get(class.0 as usize).and_then(|data| data.instance) {
            return known;
        }
        let instance = self.object();
        let parent = self.node_of(class);
        if let Some(data) = self.objects.get_mut(instance.0 as usize) {
            data.class = Some(class);
        }
        if let Some(data) = self.objects.get_mut(class.0 as usize) {
            data.instance = Some(instance);
        }
        self.inherit(instance, parent);
        instance
    }

    /// Says that `object` has what the values of `parent` have.
    pub(crate) fn inherit(&mut self, object: ObjectId, parent: Node) {
        let Some(data) = self.objects.get_mut(object.0 as usize) else { return };
        data.parents.push(parent);
        let inherited: Vec<(Symbol, Node)> = data
            .fields
            .iter()
            .filter(|(_, field)| !field.is_own)
            .map(|(name, field)| (*name, field.node))
            .collect();
        let all = data.all;
        for (name, node) in inherited {
            self.rule(parent, Rule::Load(name, node, None));
        }
        if let Some(all) = all {
            self.rule(parent, Rule::LoadAny(all, None));
        }
    }

    /// Returns the node of a field, which the object itself defines.
    pub(crate) fn define(&mut self, object: ObjectId, name: Symbol) -> Node {
        let known = self.objects.get_mut(object.0 as usize).and_then(|data| data.fields.get_mut(&name));
        if let Some(field) = known {
            field.is_own = true;
            return field.node;
        }
        let node = self.node();
        if let Some(data) = self.objects.get_mut(object.0 as usize) {
            data.fields.insert(name, Field { node, is_own: true });
            if let Some(all) = data.all {
                self.rule(node, Rule::Copy(all));
            }
        }
        node
    }

    /// Says that reading a field runs a function.
    pub(crate) fn getter(&mut self, object: ObjectId, name: Symbol, function: FunctionId) {
        if let Some(data) = self.objects.get_mut(object.0 as usize) {
            data.getters.push((name, function));
        }
    }

    /// Returns the node of what the object holds under names that are not known.
    pub(crate) fn any_of(&mut self, object: ObjectId) -> Node {
        if let Some(any) = self.objects.get(object.0 as usize).and_then(|data| data.any) {
            return any;
        }
        let any = self.node();
        if let Some(data) = self.objects.get_mut(object.0 as usize) {
            data.any = Some(any);
            if let Some(all) = data.all {
                self.rule(any, Rule::Copy(all));
            }
        }
        any
    }

    /// Says that what `from` holds, `to` holds.
    pub(crate) fn copy(&mut self, from: Node, to: Node) {
        if from != to {
            self.rule(from, Rule::Copy(to));
        }
    }

    /// Returns the node of a field of whatever `object` holds.
    pub(crate) fn load(&mut self, object: Node, name: &str, site: Option<Site>) -> Node {
        let (name, result) = (self.symbol(name), self.node());
        self.rule(object, Rule::Load(name, result, site));
        if let Some(site) = site {
            self.reads.push((object, name, site));
        }
        result
    }

    /// Returns the node of a field from which something more is taken: reading it does nothing by itself.
    pub(crate) fn load_base(&mut self, object: Node, name: &str, site: Site) -> Node {
        let result = self.load(object, name, None);
        let name = self.symbol(name);
        self.reads.push((object, name, site));
        result
    }

    /// Returns the node of what `object` holds under a name that is not known.
    pub(crate) fn load_any(&mut self, object: Node, site: Option<Site>) -> Node {
        let result = self.node();
        self.rule(object, Rule::LoadAny(result, site));
        result
    }

    /// Puts `value` into a field of whatever `object` holds.
    pub(crate) fn store(&mut self, object: Node, name: &str, value: Node, site: Option<Site>) {
        let name = self.symbol(name);
        self.rule(object, Rule::Store(name, value, site));
        if let Some(site) = site {
            self.reads.push((object, name, site));
            self.stores.push((object, value, site));
        }
    }

    /// Puts `value` into whatever `object` holds, under a name that is not known.
    pub(crate) fn store_any(&mut self, object: Node, value: Node, site: Option<Site>) {
        self.rule(object, Rule::StoreAny(value, site));
        if let Some(site) = site {
            self.stores.push((object, value, site));
        }
    }

    /// Calls whatever `callee` holds, and returns the node of the result.
    pub(crate) fn call(
        &mut self,
        callee: Node,
        method: Option<&str>,
        arguments: Arguments,
        site: Site,
    ) -> Node {
        let result = self.node();
        let method = method.map(|name| self.symbol(name));
        self.calls.push(Call { arguments: Rc::new(arguments), result, method, site, callee });
        self.rule(callee, Rule::Call(self.calls.len() as u32 - 1, site));
        result
    }

    /// Says that what `node` holds is used as a value, and may be called by whoever gets it.
    pub(crate) fn mention(&mut self, node: Node, site: Site) {
        self.rule(node, Rule::Mention(site));
    }

    /// Says that a function calls another.
    pub(crate) fn edge(&mut self, callee: FunctionId, site: Site) {
        if callee != site.function {
            self.edges.entry((site.function, callee)).or_insert(site);
        }
    }

    /// Says that a function does something itself.
    pub(crate) fn direct(&mut self, effect: Effect, name: &str, site: Site, literals: &[String]) {
        let key = (site.function, effect, name.to_owned());
        let index = *self.known_directs.entry(key).or_insert(self.directs.len());
        if index == self.directs.len() {
            let direct = Direct {
                function: site.function,
                effect,
                name: name.into(),
                site: Some(site),
                literals: Vec::new(),
            };
            self.directs.push(direct);
        }
        if let Some(direct) = self.directs.get_mut(index) {
            for literal in literals {
                if direct.literals.len() < 20 && !direct.literals.contains(literal) {
                    direct.literals.push(literal.clone());
                }
            }
        }
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
