//! What functions and classes are, and what happens inside them.

use oxc_ast::ast::{
    ArrowFunctionBody, ArrowFunctionExpression, Class, ClassElement, Expression, FormalParameters, Function,
    MethodDefinitionKind, Statement,
};
use oxc_span::Span;

use super::scope::{Names, Scope};
use super::walk::Walk;
use crate::FunctionKind;
use crate::dynamic::{FunctionId, Node, ObjectId};

impl<'a> Walk<'a, '_, '_> {
    /// Says that the current function gives something back.
    pub(super) fn give(&mut self, node: Node) {
        if let Some(returns) = self.flow.function_at(self.function).map(|data| data.returns) {
            self.flow.copy(node, returns);
        }
    }

    fn new_function(&mut self, name: Option<&str>, span: Span) -> FunctionId {
        let (name, kind) = match name {
            Some(name) => (format!("{}.{name}", self.prefix), FunctionKind::Function),
            None => {
                let line = self.flow.place(self.file, span.start).map_or(0, |place| place.line);
                (format!("{}.<anonymous:{line}>", self.prefix), FunctionKind::Closure)
            }
        };
        self.flow.function(name, kind, self.package, (self.file, span.start))
    }

    /// Makes the value of a function, and walks its inside.
    pub(super) fn function_value(
        &mut self,
        function: &'a Function<'a>,
        name: Option<&str>,
        this: Option<Node>,
    ) -> (FunctionId, Node) {
        let own = function.id.as_ref().map(|id| id.name.as_str());
        let id = self.new_function(name.or(own), function.span);
        let (object, own_this) = match self.flow.function_at(id) {
            Some(data) => (data.object, data.this),
            None => return (id, self.flow.node()),
        };
        if let Some(this) = this {
            self.flow.copy(this, own_this);
            if let Some(data) = self.flow.function_mut(id) {
                data.is_method = true;
            }
        }
        let held = self.flow.node_of(object);
        let before = self.this.replace(own_this);
        let mut scope = Scope::default();
        if let Some(own) = own {
            scope.nodes.insert(own, held);
        }
        self.scopes.push(scope);
        let statements = function.body.as_ref().map_or(&[][..], |body| body.statements.as_slice());
        self.inside(id, &function.params, statements, None);
        self.scopes.pop();
        self.this = before;
        (id, held)
    }

    /// Makes the value of an arrow function, whose `this` is the one around.
    pub(super) fn arrow_value(
        &mut self,
        arrow: &'a ArrowFunctionExpression<'a>,
        name: Option<&str>,
    ) -> (FunctionId, Node) {
        let id = self.new_function(name, arrow.span);
        match &arrow.body {
            ArrowFunctionBody::FunctionBody(body) => self.inside(id, &arrow.params, &body.statements, None),
            other => self.inside(id, &arrow.params, &[], other.as_expression()),
        }
        let held = match self.flow.function_at(id).map(|data| data.object) {
            Some(object) => self.flow.node_of(object),
            None => self.flow.node(),
        };
        (id, held)
    }

    fn inside(
        &mut self,
        id: FunctionId,
        parameters: &'a FormalParameters<'a>,
        statements: &'a [Statement<'a>],
        expression: Option<&'a Expression<'a>>,
    ) {
        let mut names = Names::of_block(statements);
        names.hoisted(statements);
        let inner: Vec<&str> = names.names.clone();
        parameters.items.iter().for_each(|item| names.pattern(&item.pattern));
        if let Some(rest) = &parameters.rest {
            names.pattern(&rest.rest.argument);
        }
        let before = (self.function, self.prefix.clone());
        if let Some(data) = self.flow.function_at(id) {
            self.prefix = data.name.clone();
        }
        self.function = id;
        self.open(names, true);
        let mut made = Vec::new();
        for item in &parameters.items {
            let (node, without) = (self.flow.node(), self.flow.node());
            if let Some(default) = &item.initializer {
                let value = self.value(default);
                self.flow.copy(value, node);
                self.flow.copy(value, without);
            }
            if let Some(annotation) = &item.type_annotation {
                let annotated = self.annotated(&annotation.type_annotation);
                self.flow.copy(annotated, node);
            }
            if let Some(name) = item.pattern.get_identifier_name() {
                let name = name.as_str();
                if !inner.contains(&name)
                    && let Some(scope) = self.scopes.last_mut()
                {
                    scope.parameters.insert(name, without);
                }
                // `constructor(private store: Store)` also sets the member.
                if let (Some(this), true) = (self.this, item.accessibility.is_some() || item.readonly) {
                    self.flow.store(this, name, node, None);
                }
            }
            self.bind(&item.pattern, node);
            made.push((None, node));
        }
        let mut rest_node = None;
        if let Some(rest) = &parameters.rest {
            let object = self.flow.object();
            let node = self.flow.node_of(object);
            self.bind(&rest.rest.argument, node);
            rest_node = Some(node);
        }
        if let Some(data) = self.flow.function_mut(id) {
            data.parameters = made;
            data.rest = rest_node;
        }
        self.functions_first(statements);
        statements.iter().for_each(|statement| self.statement(statement));
        if let Some(expression) = expression {
            let node = self.value(expression);
            self.give(node);
        }
        self.scopes.pop();
        (self.function, self.prefix) = before;
    }

    /// Makes the value of a class.
    pub(super) fn class(&mut self, class: &'a Class<'a>, name: Option<&str>) -> Node {
        let object = self.flow.object();
        let held = self.flow.node_of(object);
        let instance = self.flow.instance_of(object);
        let this = self.flow.node_of(instance);
        let own = class.id.as_ref().map(|id| id.name.as_str());
        let mut scope = Scope::default();
        if let Some(own) = own {
            scope.nodes.insert(own, held);
        }
        self.scopes.push(scope);
        let above = class.heritage.as_ref().map(|heritage| {
            let above = self.expression(&heritage.expression);
            self.flow.inherit(object, above);
            let instances = self.flow.instances(above);
            self.flow.inherit(object, instances);
            above
        });
        let outer = (self.above, self.this.replace(this), self.prefix.clone());
        self.above = above;
        self.prefix = format!("{}.{}", self.prefix, own.or(name).unwrap_or("<class>"));
        for decorator in &class.decorators {
            self.value(&decorator.expression);
        }
        for element in &class.body.body {
            self.class_element(element, object, this, held);
        }
        (self.above, self.this, self.prefix) = outer;
        self.scopes.pop();
        held
    }

    fn class_element(
        &mut self,
        element: &'a ClassElement<'a>,
        object: ObjectId,
        instance: Node,
        class: Node,
    ) {
        match element {
            ClassElement::MethodDefinition(method) => {
                let key = self.key(&method.key);
                let this = if method.r#static { class } else { instance };
                let name = if method.kind == MethodDefinitionKind::Constructor {
                    Some("constructor()".into())
                } else {
                    key
                };
                let shown = name.as_deref().map(|name| name.trim_end_matches("()"));
                let outer = self.this;
                let (id, held) = self.function_value(&method.value, shown.or(Some("<computed>")), Some(this));
                self.this = outer;
                self.hold(object, name.as_deref(), method.kind.is_accessor(), id, held);
                for decorator in &method.decorators {
                    let site = self.site(decorator.span);
                    self.value(&decorator.expression);
                    self.flow.edge(id, site);
                }
            }
            ClassElement::PropertyDefinition(property) => {
                let key = self.key(&property.key);
                let this = if property.r#static { class } else { instance };
                let outer = self.this.replace(this);
                if let Some(value) = &property.value {
                    let node = self.named(value, key.as_deref().or(Some("<computed>")));
                    match key.as_deref() {
                        Some(key) => self.flow.store(this, key, node, None),
                        None => self.flow.store_any(this, node, None),
                    }
                }
                self.this = outer;
                if let Some(annotation) = &property.type_annotation
                    && let Some(key) = key.as_deref()
                {
                    let annotated = self.annotated(&annotation.type_annotation);
                    self.flow.store(this, key, annotated, None);
                }
            }
            ClassElement::AccessorProperty(property) => {
                let key = self.key(&property.key);
                if let (Some(value), Some(key)) = (&property.value, key) {
                    let node = self.named(value, Some(&key));
                    self.flow.store(instance, &key, node, None);
                }
            }
            ClassElement::StaticBlock(inner) => {
                let outer = self.this.replace(class);
                self.block(&inner.body);
                self.this = outer;
            }
            ClassElement::TSIndexSignature(_) => {}
        }
    }

    /// Puts a method or an accessor into an object.
    pub(super) fn hold(
        &mut self,
        object: ObjectId,
        name: Option<&str>,
        is_accessor: bool,
        id: FunctionId,
        held: Node,
    ) {
        let Some(name) = name else {
            let any = self.flow.any_of(object);
            self.flow.copy(held, any);
            return;
        };
        let symbol = self.flow.symbol(name);
        let field = self.flow.define(object, symbol);
        if is_accessor {
            self.flow.getter(object, symbol, id);
            if let Some(returns) = self.flow.function_at(id).map(|data| data.returns) {
                self.flow.copy(returns, field);
            }
        } else {
            self.flow.copy(held, field);
        }
    }
}
