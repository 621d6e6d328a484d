//! What definitions of functions and classes make.

use std::collections::HashMap;

use ruff_python_ast::{Expr, Parameters, StmtClassDef, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use super::scope::Bound;
use super::walk::{Around, Scope, Walk};
use crate::FunctionKind;
use crate::dynamic::{ANY_NAME, Arguments, FunctionId, Node};

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

impl<'a> Walk<'a, '_, '_> {
    pub(super) fn function_definition(&mut self, definition: &'a StmtFunctionDef) {
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

    pub(super) fn class_definition(&mut self, definition: &'a StmtClassDef) {
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
