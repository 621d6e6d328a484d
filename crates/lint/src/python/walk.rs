//! Goes through the statements of a module and states what happens in them.

use std::collections::HashMap;

use ruff_python_ast::{ExceptHandler, Expr, Pattern, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::scope::Bound;
use crate::dynamic::{Flow, FunctionId, Node, ObjectId, PackageId, Site};

/// One body that binds names.
pub(super) struct Scope<'a> {
    pub(super) bound: Bound<'a>,
    pub(super) nodes: HashMap<&'a str, Node>,
    /// Of a module or a class: the object whose fields its names are.
    pub(super) object: Option<ObjectId>,
    pub(super) is_class: bool,
    /// The parameters that nothing else binds, with what they hold when no argument is given.
    pub(super) parameters: HashMap<&'a str, Node>,
    /// The modules all of whose names were imported.
    pub(super) stars: Vec<Node>,
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

    pub(super) fn body(&mut self, body: &'a [Stmt]) {
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
