//! Goes through the statements of a module and states what happens in them.

use std::collections::HashMap;

use ruff_python_ast::{ExceptHandler, Expr, Parameters, Pattern, Stmt, StmtClassDef, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use super::scope::Bound;
use crate::FunctionKind;
use crate::dynamic::{ANY_NAME, Arguments, Flow, FunctionId, Node, ObjectId, PackageId, Site};

/// Decorators that hand the function back as it is.
const PLAIN_DECORATORS: [&str; 14] = [
    "abstractmethod",
    "asynccontextmanager",
    "cache",
    "classmethod",
    "contextmanager",
    "dataclass",
    "final",
    "lru_cache",
    "overload",
    "override",
    "property",
    "staticmethod",
    "total_ordering",
    "wraps",
];

/// One body that binds names.
pub(super) struct Scope<'a> {
    pub(super) bound: Bound<'a>,
    nodes: HashMap<&'a str, Node>,
    /// Of a module or a class: the object whose fields its names are.
    object: Option<ObjectId>,
    is_class: bool,
    /// The parameters that nothing else binds, with what they hold when no argument is given.
    parameters: HashMap<&'a str, Node>,
    /// The modules all of whose names were imported.
    stars: Vec<Node>,
}

/// The class around a method.
#[derive(Clone, Copy)]
pub(super) struct Around {
    pub(super) above: Node,
    pub(super) itself: Node,
}

/// The walk through one module.
pub(super) struct Walk<'a, 'f, 'c> {
    pub(super) flow: &'f mut Flow<'c>,
    pub(super) package: PackageId,
    pub(super) file: u32,
    pub(super) module: String,
    pub(super) is_package: bool,
    pub(super) module_object: ObjectId,
    pub(super) function: FunctionId,
    pub(super) scopes: Vec<Scope<'a>>,
    pub(super) prefix: String,
    pub(super) class: Option<Around>,
    pub(super) receiver: Option<Node>,
}

impl<'a> Walk<'a, '_, '_> {
    /// Walks the module's own code and everything in it.
    pub(super) fn module(&mut self, body: &'a [Stmt]) {
        self.scopes.push(Scope {
            bound: Bound::of(body),
            nodes: HashMap::new(),
            object: Some(self.module_object),
            is_class: false,
            parameters: HashMap::new(),
            stars: Vec::new(),
        });
        self.body(body);
        self.scopes.pop();
    }

    pub(super) fn site(&self, range: TextRange) -> Site {
        Site { function: self.function, file: self.file, offset: range.start().to_u32() }
    }

    fn is_module_level(&self) -> bool {
        self.scopes.len() == 1
    }

    fn body(&mut self, body: &'a [Stmt]) {
        body.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => self.function_definition(function),
            Stmt::ClassDef(class) => self.class_definition(class),
            Stmt::Return(inner) => {
                if let Some(value) = &inner.value {
                    self.give_back(value);
                }
            }
            Stmt::Delete(inner) => inner.targets.iter().for_each(|target| {
                let nothing = self.flow.node();
                self.assign(target, nothing);
            }),
            Stmt::TypeAlias(_)
            | Stmt::Pass(_)
            | Stmt::Break(_)
            | Stmt::Continue(_)
            | Stmt::Global(_)
            | Stmt::Nonlocal(_)
            | Stmt::IpyEscapeCommand(_) => {}
            Stmt::Assign(inner) => {
                let value = self.bound_value(&inner.value);
                for target in &inner.targets {
                    self.assign_parts(target, Some(&inner.value), value);
                }
            }
            Stmt::AugAssign(inner) => {
                let value = self.value(&inner.value);
                let before = self.expression(&inner.target);
                for method in ["__iadd__", "__ior__", "__isub__", "__add__"] {
                    self.special_method(before, method, &[value], inner.range());
                }
                // `names += [f]` adds to what is there.
                let held = self.flow.load_any(value, None);
                self.flow.store_any(before, held, None);
                self.assign(&inner.target, value);
            }
            Stmt::AnnAssign(inner) => {
                let annotated = self.annotation(&inner.annotation);
                self.assign(&inner.target, annotated);
                if let Some(value) = &inner.value {
                    let value = self.bound_value(value);
                    self.assign(&inner.target, value);
                }
            }
            Stmt::For(inner) => {
                let iterated = self.expression(&inner.iter);
                let each = self.iterated(iterated, inner.iter.range());
                self.assign(&inner.target, each);
                self.body(&inner.body);
                self.body(&inner.orelse);
            }
            Stmt::While(inner) => {
                self.value(&inner.test);
                self.body(&inner.body);
                self.body(&inner.orelse);
            }
            Stmt::If(inner) => {
                // What only a type checker reads never runs.
                let is_typing = matches!(inner.test.as_ref(), Expr::Name(name) if name.id.as_str() == "TYPE_CHECKING")
                    || matches!(inner.test.as_ref(), Expr::Attribute(member) if member.attr.as_str() == "TYPE_CHECKING");
                self.value(&inner.test);
                if is_typing {
                    self.types_only(&inner.body);
                } else {
                    self.body(&inner.body);
                }
                for clause in &inner.elif_else_clauses {
                    if let Some(test) = &clause.test {
                        self.value(test);
                    }
                    self.body(&clause.body);
                }
            }
            Stmt::With(inner) => {
                for item in &inner.items {
                    let context = self.expression(&item.context_expr);
                    let range = item.context_expr.range();
                    let mut entered = self.flow.node();
                    for method in ["__enter__", "__aenter__"] {
                        let returned = self.special_method(context, method, &[], range);
                        self.flow.copy(returned, entered);
                    }
                    for method in ["__exit__", "__aexit__"] {
                        self.special_method(context, method, &[], range);
                    }
                    // A generator that makes a context, and most contexts of the library, give themselves.
                    let both = self.flow.node();
                    self.flow.copy(context, both);
                    self.flow.copy(entered, both);
                    entered = both;
                    if let Some(target) = &item.optional_vars {
                        self.assign(target, entered);
                    }
                }
                self.body(&inner.body);
            }
            Stmt::Match(inner) => {
                let subject = self.value(&inner.subject);
                for case in &inner.cases {
                    self.pattern(&case.pattern, subject);
                    if let Some(guard) = &case.guard {
                        self.value(guard);
                    }
                    self.body(&case.body);
                }
            }
            Stmt::Raise(inner) => {
                for part in [&inner.exc, &inner.cause].into_iter().flatten() {
                    self.value(part);
                }
            }
            Stmt::Try(inner) => {
                self.body(&inner.body);
                for handler in &inner.handlers {
                    let ExceptHandler::ExceptHandler(handler) = handler;
                    if let Some(kind) = &handler.type_ {
                        let caught = self.expression(kind);
                        if let Some(name) = &handler.name {
                            let instance = self.flow.instances(caught);
                            let variable = self.variable(name.as_str());
                            self.flow.copy(instance, variable);
                        }
                    }
                    self.body(&handler.body);
                }
                self.body(&inner.orelse);
                self.body(&inner.finalbody);
            }
            Stmt::Assert(inner) => {
                self.value(&inner.test);
                if let Some(message) = &inner.msg {
                    self.value(message);
                }
            }
            Stmt::Import(inner) => self.import_names(inner),
            Stmt::ImportFrom(inner) => self.import_from(inner),
            Stmt::Expr(inner) => {
                self.expression(&inner.value);
            }
        }
    }

    /// Binds the names that only annotations use, and runs nothing.
    fn types_only(&mut self, body: &'a [Stmt]) {
        for statement in body {
            match statement {
                Stmt::Import(inner) => self.import_types(inner),
                Stmt::ImportFrom(inner) => self.import_types_from(inner),
                _ => {}
            }
        }
    }

    fn give_back(&mut self, value: &'a Expr) {
        let node = self.value(value);
        if let Some(returns) = self.flow.function_at(self.function).map(|data| data.returns) {
            self.flow.copy(node, returns);
        }
    }

    /// Evaluates what is bound to a name; a module that only names a function of its own does not run it.
    fn bound_value(&mut self, value: &'a Expr) -> Node {
        let is_lambda_of_a_module =
            self.is_module_level() && matches!(value, Expr::Lambda(_) | Expr::Dict(_));
        // What a name holds counts where the name is used.
        if is_lambda_of_a_module || matches!(value, Expr::Name(_) | Expr::Attribute(_)) {
            self.expression(value)
        } else {
            self.value(value)
        }
    }

    /// Assigns part by part where both sides are written out.
    fn assign_parts(&mut self, target: &'a Expr, value: Option<&'a Expr>, node: Node) {
        let parts = |side: &'a Expr| match side {
            Expr::Tuple(inner) => Some(&inner.elts),
            Expr::List(inner) => Some(&inner.elts),
            _ => None,
        };
        match (parts(target), value.and_then(parts)) {
            (Some(targets), Some(values))
                if targets.len() == values.len() && !targets.iter().any(Expr::is_starred_expr) =>
            {
                for (target, value) in targets.iter().zip(values) {
                    let node = self.expression(value);
                    self.assign_parts(target, Some(value), node);
                }
            }
            _ => self.assign(target, node),
        }
    }

    /// Lets a target hold what `value` holds.
    pub(super) fn assign(&mut self, target: &'a Expr, value: Node) {
        match target {
            Expr::Name(name) => {
                let variable = self.variable(name.id.as_str());
                self.flow.copy(value, variable);
            }
            Expr::Attribute(member) => {
                let object = self.base(&member.value);
                let site = self.site(member.range());
                self.flow.store(object, member.attr.as_str(), value, Some(site));
            }
            Expr::Subscript(member) => {
                let object = self.base(&member.value);
                let site = self.site(member.range());
                self.special_method(object, "__setitem__", &[value], member.range());
                match self.text(&member.slice) {
                    Some(key) => self.flow.store(object, &key, value, Some(site)),
                    None => {
                        self.value(&member.slice);
                        self.flow.store_any(object, value, Some(site));
                    }
                }
            }
            Expr::Tuple(inner) => self.assign_each(&inner.elts, value),
            Expr::List(inner) => self.assign_each(&inner.elts, value),
            Expr::Starred(inner) => self.assign(&inner.value, value),
            _ => {
                self.expression(target);
            }
        }
    }

    fn assign_each(&mut self, targets: &'a [Expr], value: Node) {
        let each = self.flow.load_any(value, None);
        for target in targets {
            self.assign(target, each);
        }
    }

    fn pattern(&mut self, pattern: &'a Pattern, subject: Node) {
        let any = self.flow.load_any(subject, None);
        match pattern {
            Pattern::MatchValue(inner) => {
                self.expression(&inner.value);
            }
            Pattern::MatchSingleton(_) => {}
            Pattern::MatchSequence(inner) => inner.patterns.iter().for_each(|part| self.pattern(part, any)),
            Pattern::MatchMapping(inner) => inner.patterns.iter().for_each(|part| self.pattern(part, any)),
            Pattern::MatchClass(inner) => {
                let class = self.expression(&inner.cls);
                let instance = self.flow.instances(class);
                inner.arguments.patterns.iter().for_each(|part| self.pattern(part, any));
                for keyword in &inner.arguments.keywords {
                    let held = self.flow.load(instance, keyword.attr.as_str(), None);
                    self.pattern(&keyword.pattern, held);
                }
            }
            Pattern::MatchStar(inner) => {
                if let Some(name) = &inner.name {
                    let variable = self.variable(name.as_str());
                    self.flow.copy(subject, variable);
                }
            }
            Pattern::MatchAs(inner) => {
                if let Some(name) = &inner.name {
                    let variable = self.variable(name.as_str());
                    self.flow.copy(subject, variable);
                }
                if let Some(part) = &inner.pattern {
                    self.pattern(part, subject);
                }
            }
            Pattern::MatchOr(inner) => inner.patterns.iter().for_each(|part| self.pattern(part, subject)),
        }
    }

    fn function_definition(&mut self, definition: &'a StmtFunctionDef) {
        let name = definition.name.as_str();
        let class = self.scopes.last().filter(|scope| scope.is_class).and_then(|scope| scope.object);
        let decorators: Vec<Option<&str>> =
            definition.decorator_list.iter().map(|one| last_name(&one.expression)).collect();
        let has = |wanted: &str| decorators.iter().flatten().any(|known| *known == wanted);
        let function = self.new_function(name, FunctionKind::Function, definition.range());
        let object = self.flow.function_at(function).map(|data| data.object);
        let Some(object) = object else { return };
        let takes_self = class.is_some() && !has("staticmethod");
        let receiver = takes_self.then_some(()).and(class).map(|class| {
            let instance = self.flow.instance_of(class);
            self.flow.node_of(if has("classmethod") || name == "__new__" { class } else { instance })
        });
        if let Some(data) = self.flow.function_mut(function) {
            data.takes_self = takes_self;
            data.is_method = class.is_some();
        }
        self.enter(function, &definition.parameters, receiver, Bound::of(&definition.body), |walk| {
            walk.body(&definition.body);
            if let Some(returns) = &definition.returns {
                let node = walk.annotation(returns);
                if let Some(data) = walk.flow.function_at(function) {
                    let all = data.returns;
                    walk.flow.copy(node, all);
                }
            }
        });
        let held = self.flow.node_of(object);
        let variable = self.variable(name);
        let is_getter = decorators.iter().flatten().any(|known| known.ends_with("property"));
        let is_accessor = has("setter") || has("deleter");
        let returns = self.flow.function_at(function).map(|data| data.returns);
        if let (Some(class), Some(returns), true) = (class, returns, is_getter || is_accessor) {
            let symbol = self.flow.symbol(name);
            self.flow.getter(class, symbol, function);
            self.flow.copy(returns, variable);
        } else {
            self.flow.copy(held, variable);
        }
        if let (Some(class), Some(returns), "__getattr__" | "__getattribute__") = (class, returns, name) {
            let symbol = self.flow.symbol(ANY_NAME);
            self.flow.getter(class, symbol, function);
            let any = self.flow.any_of(class);
            self.flow.copy(returns, any);
        }
        for (decorator, name) in definition.decorator_list.iter().zip(decorators) {
            let site = self.site(decorator.expression.range());
            let callee = self.expression(&decorator.expression);
            let arguments = Arguments { positional: vec![held], texts: vec![None], ..Arguments::default() };
            let result = self.flow.call(callee, None, arguments, site);
            self.flow.copy(result, variable);
            if !name.is_some_and(|name| {
                PLAIN_DECORATORS.contains(&name) || name.ends_with("property") || is_accessor
            }) {
                self.flow.edge(function, site);
            }
        }
    }

    /// Makes a function whose name says where it is.
    pub(super) fn new_function(&mut self, name: &str, kind: FunctionKind, range: TextRange) -> FunctionId {
        let whole = format!("{}.{name}", self.prefix);
        self.flow.function(whole, kind, self.package, (self.file, range.start().to_u32()))
    }

    /// Walks the inside of a function.
    pub(super) fn enter(
        &mut self,
        function: FunctionId,
        parameters: &'a Parameters,
        receiver: Option<Node>,
        bound: Bound<'a>,
        walk: impl FnOnce(&mut Self),
    ) {
        let mut scope = Scope {
            bound,
            nodes: HashMap::new(),
            object: None,
            is_class: false,
            parameters: HashMap::new(),
            stars: Vec::new(),
        };
        let mut made = Vec::new();
        let all = parameters.posonlyargs.iter().chain(&parameters.args).chain(&parameters.kwonlyargs);
        for parameter in all {
            let name = parameter.parameter.name.as_str();
            let (node, without) = (self.flow.node(), self.flow.node());
            // Defaults are evaluated outside.
            if let Some(default) = &parameter.default {
                let value = self.value(default);
                self.flow.copy(value, without);
                self.flow.copy(value, node);
            }
            if !scope.bound.names.contains_key(name) {
                scope.parameters.insert(name, without);
            }
            if let Some(annotation) = &parameter.parameter.annotation {
                let annotated = self.annotation(annotation);
                self.flow.copy(annotated, node);
            }
            let symbol = self.flow.symbol(name);
            made.push((Some(symbol), node));
            scope.nodes.insert(name, node);
            scope.bound.names.entry(name).or_insert((2, None)).0 += 2;
        }
        let mut rest = None;
        for (parameter, is_mapping) in [(&parameters.vararg, false), (&parameters.kwarg, true)]
            .into_iter()
            .filter_map(|(one, m)| Some((one.as_ref()?, m)))
        {
            let object = self.flow.object();
            let node = self.flow.node_of(object);
            let name = parameter.name.as_str();
            scope.nodes.insert(name, node);
            scope.bound.names.entry(name).or_insert((2, None)).0 += 2;
            // What comes by name and what comes by position are kept together.
            match rest {
                None => rest = Some(node),
                Some(known) if is_mapping => self.flow.copy(known, node),
                Some(_) => {}
            }
        }
        let this = self.flow.function_at(function).map(|data| data.this);
        if let Some(this) = this
            && receiver.is_some()
        {
            let first = made.first().map(|(_, node)| *node).or(rest);
            if let (Some(first), Some(receiver)) = (first, receiver) {
                self.flow.copy(receiver, this);
                self.flow.copy(this, first);
            }
        }
        let before = (self.function, self.receiver, self.prefix.clone(), self.class);
        if let Some(data) = self.flow.function_mut(function) {
            data.parameters = made;
            data.rest = rest;
            self.prefix = data.name.clone();
        }
        if receiver.is_some() {
            self.receiver = this;
        }
        self.function = function;
        self.scopes.push(scope);
        walk(self);
        self.scopes.pop();
        (self.function, self.receiver, self.prefix, self.class) = before;
    }

    fn class_definition(&mut self, definition: &'a StmtClassDef) {
        let object = self.flow.object();
        let itself = self.flow.node_of(object);
        self.flow.instance_of(object);
        let above = self.flow.object();
        let site = self.site(definition.range());
        if let Some(arguments) = &definition.arguments {
            for base in &arguments.args {
                let base = match base {
                    // `Generic[T]` is `Generic`.
                    Expr::Subscript(inner) => self.expression(&inner.value),
                    base => self.expression(base),
                };
                self.flow.inherit(object, base);
                self.flow.inherit(above, base);
                self.special_method(base, "__init_subclass__", &[itself], definition.range());
            }
            for keyword in &arguments.keywords {
                let value = self.value(&keyword.value);
                if keyword.arg.as_ref().is_some_and(|name| name.as_str() == "metaclass") {
                    let arguments = Arguments { positional: vec![itself], ..Arguments::default() };
                    self.flow.call(value, None, arguments, site);
                    self.flow.inherit(object, value);
                }
            }
        }
        let above = self.flow.node_of(above);
        let before = (self.class.replace(Around { above, itself }), self.prefix.clone());
        self.prefix = format!("{}.{}", self.prefix, definition.name.as_str());
        self.scopes.push(Scope {
            bound: Bound::of(&definition.body),
            nodes: HashMap::new(),
            object: Some(object),
            is_class: true,
            parameters: HashMap::new(),
            stars: Vec::new(),
        });
        self.body(&definition.body);
        self.scopes.pop();
        (self.class, self.prefix) = before;
        let variable = self.variable(definition.name.as_str());
        self.flow.copy(itself, variable);
        for decorator in &definition.decorator_list {
            let callee = self.expression(&decorator.expression);
            let arguments = Arguments { positional: vec![itself], texts: vec![None], ..Arguments::default() };
            let site = self.site(decorator.expression.range());
            let result = self.flow.call(callee, None, arguments, site);
            self.flow.copy(result, variable);
        }
    }

    /// Returns the node of a name that the current body binds, or that it says is outside.
    pub(super) fn variable(&mut self, name: &'a str) -> Node {
        let is_outer = self.scopes.last().is_some_and(|scope| scope.bound.outer.contains(name));
        if is_outer && let Some(known) = self.lookup_outside(name) {
            return known;
        }
        let Some(scope) = self.scopes.last_mut() else { return self.flow.node() };
        Self::own_variable(self.flow, scope, name)
    }

    fn own_variable(flow: &mut Flow<'_>, scope: &mut Scope<'a>, name: &'a str) -> Node {
        if let Some(known) = scope.nodes.get(name) {
            return *known;
        }
        let node = match scope.object {
            Some(object) => {
                let symbol = flow.symbol(name);
                flow.define(object, symbol)
            }
            None => flow.node(),
        };
        scope.nodes.insert(name, node);
        node
    }

    fn lookup_outside(&mut self, name: &'a str) -> Option<Node> {
        let outer = self.scopes.len().saturating_sub(1);
        let found = self
            .scopes
            .iter()
            .take(outer)
            .rposition(|scope| !scope.is_class && scope.bound.names.contains_key(name));
        // `global x` may be the only thing that binds `x` in the module.
        let scope = self.scopes.get_mut(found.unwrap_or(0))?;
        Some(Self::own_variable(self.flow, scope, name))
    }

    /// Returns the node of a name as code reads it; what is bound nowhere belongs to the language.
    pub(super) fn lookup(&mut self, name: &'a str) -> Node {
        let innermost = self.scopes.len().saturating_sub(1);
        let found = self.scopes.iter().enumerate().rposition(|(index, scope)| {
            let binds = scope.bound.names.contains_key(name) && !scope.bound.outer.contains(name);
            binds && (!scope.is_class || index == innermost)
        });
        if let Some(scope) = found.and_then(|index| self.scopes.get_mut(index)) {
            return Self::own_variable(self.flow, scope, name);
        }
        let stars: Vec<Node> = self.scopes.iter().flat_map(|scope| scope.stars.iter().copied()).collect();
        let is_global = self.scopes.iter().any(|scope| scope.bound.outer.contains(name));
        let node = self.flow.node_of_path(name);
        for star in stars {
            let member = self.flow.load(star, name, None);
            self.flow.copy(member, node);
        }
        if is_global && let Some(module) = self.scopes.first_mut() {
            let variable = Self::own_variable(self.flow, module, name);
            self.flow.copy(variable, node);
        }
        node
    }

    /// Returns what a parameter of the current function holds when no argument is given; `None` for every other name.
    pub(super) fn without_argument(&self, expression: &Expr) -> Option<Node> {
        let Expr::Name(name) = expression else { return None };
        self.scopes.last()?.parameters.get(name.id.as_str()).copied()
    }

    /// Says that all names of a module are names here.
    pub(super) fn star(&mut self, module: Node) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.stars.push(module);
            if let Some(object) = scope.object {
                self.flow.inherit(object, module);
            }
        }
    }
}

/// Returns the last name of a decorator: `tool` of `@server.tool()`.
fn last_name(decorator: &Expr) -> Option<&str> {
    match decorator {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(member) => Some(member.attr.as_str()),
        Expr::Call(call) => last_name(&call.func),
        _ => None,
    }
}
