//! What is kept of a source file: names, calls and the little of their types that is evident.
//!
//! Everything here is plain data, because the positions of the parser are only valid in the thread that parsed.
//!
//! INVARIANT: names are as written; what they mean is worked out later, when every package has been read.

use std::sync::Arc;

use crate::{Effect, TargetKind};

/// A position in a file of a unit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spot {
    pub(crate) file: u32,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// A path as code writes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Route {
    pub(crate) segments: Vec<String>,
    /// Whether it starts with `::`.
    pub(crate) global: bool,
    /// The type of `<Type as Trait>::rest`, and how many segments name the trait.
    pub(crate) subject: Option<(Box<Form>, usize)>,
    /// The generic arguments of its last segment that has any.
    pub(crate) arguments: Vec<Form>,
}

impl Route {
    pub(crate) fn last(&self) -> &str {
        self.segments.last().map_or("", String::as_str)
    }
}

/// A type as code writes it, without references and pointers.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// `dyn Trait`, whatever stands behind it.
    Dynamic(Vec<Route>),
    /// `[T]` and `[T; n]`.
    List(Box<Form>),
    /// `impl Trait`.
    Opaque(Vec<Route>),
    Route(Route),
    Tuple(Vec<Form>),
    Unknown,
}

/// An expression, as far as its type can be told from it.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A call of a path.
    Call(Route, Arc<[Argument]>),
    Closure(Spot),
    /// What an iteration over it yields.
    Element(Arc<Value>),
    Field(Arc<Value>, String),
    /// The parameter of a closure that is given to a method.
    Given {
        receiver: Arc<Value>,
        method: String,
        position: usize,
    },
    /// A variable, by its number in the body.
    Local(usize),
    /// What a macro makes.
    Macro(Route),
    Method(Arc<Value>, String, Arc<[Argument]>),
    /// What `?` and `.await` leave.
    Peeled(Arc<Value>),
    /// A path that is not called: a constant, a static, a unit struct.
    Route(Route),
    Typed(Form),
    Unknown,
}

/// An argument of a call, as far as it is literal.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    Closure(Spot),
    Flag(bool),
    /// A variable, by its number in the body.
    Local(usize),
    Number(u64),
    Other,
    Route(Route),
    Text(String),
    Texts(Vec<String>),
}

/// Something that a body does.
#[derive(Clone, Debug)]
pub(crate) enum Mention {
    /// A closure or an async block is made, by its number in the body.
    Block(usize),
    /// An effect that is evident without any name.
    Direct {
        effect: Effect,
        name: String,
        spot: Spot,
    },
    /// A macro is used; `names` are the first names in its tokens.
    Macro {
        route: Route,
        names: Vec<String>,
        spot: Spot,
    },
    Method {
        receiver: Value,
        name: String,
        arguments: Arc<[Argument]>,
        spot: Spot,
    },
    /// A path as a value: called, passed on or built from.
    Route {
        route: Route,
        arguments: Arc<[Argument]>,
        spot: Spot,
        manner: Manner,
    },
    /// A type is returned: conversions into it may run.
    Returned {
        form: Form,
        spot: Spot,
    },
    /// Functions that run without being named, when the value's type has them: of operators, loops, formatting, `Drop`.
    Runs {
        value: Value,
        names: &'static [&'static str],
        spot: Spot,
    },
    /// A type is named: what implements traits for it may run.
    Type {
        form: Form,
        spot: Spot,
    },
}

/// How a path is used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Manner {
    Called,
    /// As a value.
    Passed,
    /// Somewhere in the tokens of a macro, where it may be a type.
    Scanned,
}

/// The body of a function, a constant or a macro. Its closures share its variables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    pub(crate) variables: Vec<Value>,
    /// The body itself first, then its closures and async blocks.
    pub(crate) blocks: Vec<Block>,
    /// Of a macro: the paths that it ends with a name that it is given, such as `libc::$name`.
    pub(crate) prefixes: Vec<Route>,
}

#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) spot: Spot,
    pub(crate) mentions: Vec<Mention>,
}

/// What a [`Function`] is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Sort {
    Function,
    Macro,
    /// A constant, a static.
    Value,
}

/// Where a function belongs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Owner {
    Implementation(usize),
    Module,
    Trait(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) sort: Sort,
    pub(crate) module: usize,
    pub(crate) owner: Owner,
    /// Generic parameters and what bounds them.
    pub(crate) generics: Vec<(String, Vec<Route>)>,
    pub(crate) output: Form,
    /// Whether it takes `self`.
    pub(crate) is_method: bool,
    /// Whether there is a body; a method that a trait only asks for has none.
    pub(crate) has_body: bool,
    pub(crate) body: Body,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Module {
    pub(crate) name: String,
    pub(crate) parent: Option<usize>,
    /// Whether it stands for the items inside a function body.
    pub(crate) is_body: bool,
    /// Why not everything that is in it was read.
    pub(crate) gap: Option<String>,
    pub(crate) items: Vec<(String, Item)>,
    pub(crate) imports: Vec<Import>,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Item {
    Foreign(usize),
    Function(usize),
    Macro(usize),
    Module(usize),
    Trait(usize),
    Type(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Import {
    pub(crate) route: Route,
    /// What it is called here; `None` for a glob.
    pub(crate) name: Option<String>,
    /// Whether other packages see it.
    pub(crate) is_public: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct TypeItem {
    pub(crate) name: String,
    pub(crate) module: usize,
    pub(crate) fields: Vec<(String, Form)>,
    pub(crate) generics: Vec<String>,
    pub(crate) variants: Vec<String>,
    /// What it stands for, when it is an alias.
    pub(crate) alias: Option<Form>,
}

#[derive(Clone, Debug)]
pub(crate) struct TraitItem {
    pub(crate) name: String,
    pub(crate) module: usize,
    pub(crate) functions: Vec<usize>,
    pub(crate) parents: Vec<Route>,
}

#[derive(Clone, Debug)]
pub(crate) struct Implementation {
    pub(crate) module: usize,
    pub(crate) form: Form,
    pub(crate) of: Option<Route>,
    /// What it derefs to, when it implements `Deref`.
    pub(crate) target: Option<Form>,
    pub(crate) generics: Vec<(String, Vec<Route>)>,
    pub(crate) functions: Vec<usize>,
    pub(crate) spot: Spot,
}

/// One library or program, read.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) package: usize,
    pub(crate) name: String,
    pub(crate) kind: TargetKind,
    pub(crate) edition: u16,
    pub(crate) files: Vec<String>,
    /// The root first.
    pub(crate) modules: Vec<Module>,
    pub(crate) functions: Vec<Function>,
    pub(crate) types: Vec<TypeItem>,
    pub(crate) traits: Vec<TraitItem>,
    pub(crate) implementations: Vec<Implementation>,
    /// The names of foreign functions.
    pub(crate) foreign: Vec<(String, Spot)>,
    /// What it holds that belongs to no function.
    pub(crate) holds: Vec<(Effect, String, Spot)>,
}
