//! Goes through the statements, functions and classes of a file and states what happens in them.

use oxc_ast::ast::{
    Declaration, ForStatementInit, ForStatementLeft, Function, Program, Statement, TSNamespaceDeclaration,
    TSNamespaceDeclarationBody, TSType, TSTypeName, VariableDeclaration,
};
use oxc_span::{GetSpan as _, Span};

use super::scope::{Names, Scope};
use crate::Effect;
use crate::dynamic::{Flow, FunctionId, Node, ObjectId, PackageId, Site};

/// How deep expressions and statements may be nested in each other.
const MAX_DEPTH: usize = 4_000;

/// The walk through one file.
pub(super) struct Walk<'a, 'f, 'c> {
    pub(super) flow: &'f mut Flow<'c>,
    pub(super) package: PackageId,
    pub(super) file: u32,
    /// What importers get.
    pub(super) namespace: ObjectId,
    /// The variable `module`.
    pub(super) holder: Node,
    pub(super) function: FunctionId,
    pub(super) scopes: Vec<Scope<'a>>,
    pub(super) prefix: String,
    /// The class above the one around.
    pub(super) above: Option<Node>,
    pub(super) this: Option<Node>,
    pub(super) depth: usize,
}

impl<'a> Walk<'a, '_, '_> {
    /// Walks a file.
    pub(super) fn program(&mut self, program: &'a Program<'a>) {
        let mut names = Names::of_block(&program.body);
        names.hoisted(&program.body);
        self.open(names, true);
        self.this = Some(self.flow.node_of(self.namespace));
        self.imports(&program.body);
        self.functions_first(&program.body);
        program.body.iter().for_each(|statement| self.statement(statement));
        self.scopes.pop();
    }

    pub(super) fn site(&self, span: Span) -> Site {
        Site { function: self.function, file: self.file, offset: span.start }
    }

    pub(super) fn is_module_level(&self) -> bool {
        self.scopes.iter().filter(|scope| scope.is_function).count() == 1
    }

    /// Opens a scope with nodes for its names.
    pub(super) fn open(&mut self, names: Names<'a>, is_function: bool) {
        let mut scope = Scope { constants: names.constants, is_function, ..Scope::default() };
        for name in names.names {
            let flow = &mut *self.flow;
            scope.nodes.entry(name).or_insert_with(|| flow.node());
        }
        self.scopes.push(scope);
    }

    /// Returns the node of a name; what is bound nowhere belongs to the platform.
    pub(super) fn lookup(&mut self, name: &str) -> Node {
        if let Some(node) = self.scopes.iter().rev().find_map(|scope| scope.nodes.get(name)) {
            return *node;
        }
        match name {
            "module" => self.holder,
            "exports" => self.flow.node_of(self.namespace),
            "undefined" | "arguments" => self.flow.node(),
            name => self.flow.node_of_path(name),
        }
    }

    pub(super) fn block(&mut self, statements: &'a [Statement<'a>]) {
        self.open(Names::of_block(statements), false);
        self.functions_first(statements);
        statements.iter().for_each(|statement| self.statement(statement));
        self.scopes.pop();
    }

    /// Functions are there before the statements around them run; a walk needs no more than their names.
    pub(super) fn functions_first(&mut self, statements: &'a [Statement<'a>]) {
        for statement in statements {
            if let Statement::FunctionDeclaration(function) = statement {
                self.function_declaration(function);
            }
        }
    }

    pub(super) fn function_declaration(&mut self, function: &'a Function<'a>) {
        // One of the signatures of a function of TypeScript.
        if function.body.is_none() {
            return;
        }
        let name = function.id.as_ref().map_or("default", |id| id.name.as_str());
        let (_, value) = self.function_value(function, Some(name), None);
        if function.id.is_some() {
            let variable = self.lookup(name);
            self.flow.copy(value, variable);
        }
    }

    /// Says that something is too deep to be followed, once for each place where that happens.
    pub(super) fn too_deep(&mut self, span: Span) -> bool {
        if self.depth <= MAX_DEPTH {
            return false;
        }
        let site = self.site(span);
        self.flow.direct(Effect::Unanalyzed, "an expression that is nested too deeply", site, &[]);
        true
    }

    pub(super) fn statement(&mut self, statement: &'a Statement<'a>) {
        self.depth += 1;
        if !self.too_deep(statement.span()) {
            self.statement_here(statement);
        }
        self.depth -= 1;
    }

    fn statement_here(&mut self, statement: &'a Statement<'a>) {
        match statement {
            Statement::BlockStatement(inner) => self.block(&inner.body),
            Statement::DoWhileStatement(inner) => {
                self.tested(&inner.test);
                self.statement(&inner.body);
            }
            Statement::ExpressionStatement(inner) => {
                self.expression(&inner.expression);
            }
            Statement::ForInStatement(inner) => {
                self.expression(&inner.right);
                let nothing = self.flow.node();
                self.for_left(&inner.left, nothing);
                self.statement(&inner.body);
                self.scopes.pop();
            }
            Statement::ForOfStatement(inner) => {
                let iterated = self.value(&inner.right);
                let each = self.iterated(iterated, inner.span);
                self.for_left(&inner.left, each);
                self.statement(&inner.body);
                self.scopes.pop();
            }
            Statement::ForStatement(inner) => {
                let mut names = Names::default();
                if let Some(ForStatementInit::VariableDeclaration(declaration)) = &inner.init {
                    declaration.declarations.iter().for_each(|one| names.pattern(&one.id));
                    if declaration.kind.is_var() {
                        names.names.clear();
                    }
                }
                self.open(names, false);
                match &inner.init {
                    Some(ForStatementInit::VariableDeclaration(declaration)) => self.variables(declaration),
                    Some(other) => {
                        if let Some(expression) = other.as_expression() {
                            self.expression(expression);
                        }
                    }
                    None => {}
                }
                for part in [&inner.test, &inner.update].into_iter().flatten() {
                    self.tested(part);
                }
                self.statement(&inner.body);
                self.scopes.pop();
            }
            Statement::IfStatement(inner) => {
                self.tested(&inner.test);
                self.statement(&inner.consequent);
                if let Some(alternate) = &inner.alternate {
                    self.statement(alternate);
                }
            }
            Statement::LabeledStatement(inner) => self.statement(&inner.body),
            Statement::ReturnStatement(inner) => {
                if let Some(argument) = &inner.argument {
                    let node = self.value(argument);
                    self.give(node);
                }
            }
            Statement::SwitchStatement(inner) => {
                self.tested(&inner.discriminant);
                for case in &inner.cases {
                    if let Some(test) = &case.test {
                        self.tested(test);
                    }
                    self.block(&case.consequent);
                }
            }
            Statement::ThrowStatement(inner) => {
                self.value(&inner.argument);
            }
            Statement::TryStatement(inner) => {
                self.block(&inner.block.body);
                if let Some(handler) = &inner.handler {
                    let mut names = Names::default();
                    if let Some(parameter) = &handler.param {
                        names.pattern(&parameter.pattern);
                    }
                    self.open(names, false);
                    self.block(&handler.body.body);
                    self.scopes.pop();
                }
                if let Some(last) = &inner.finalizer {
                    self.block(&last.body);
                }
            }
            Statement::WhileStatement(inner) => {
                self.tested(&inner.test);
                self.statement(&inner.body);
            }
            // Inside `with`, every name may be a member of anything.
            Statement::WithStatement(inner) => {
                let site = self.site(inner.span);
                self.value(&inner.object);
                self.flow.direct(Effect::DynUnresolved, "with", site, &[]);
                self.statement(&inner.body);
            }
            Statement::FunctionDeclaration(_) => {}
            other => {
                if let Some(declaration) = other.as_declaration() {
                    self.declaration(declaration);
                } else if let Some(module) = other.as_module_declaration() {
                    self.export(module);
                }
            }
        }
    }

    pub(super) fn declaration(&mut self, declaration: &'a Declaration<'a>) {
        match declaration {
            Declaration::VariableDeclaration(inner) if !inner.declare => self.variables(inner),
            Declaration::FunctionDeclaration(inner) => self.function_declaration(inner),
            Declaration::ClassDeclaration(inner) => {
                let name = inner.id.as_ref().map(|id| id.name.as_str());
                let class = self.class(inner, name);
                if let Some(name) = name {
                    let variable = self.lookup(name);
                    self.flow.copy(class, variable);
                }
            }
            Declaration::TSEnumDeclaration(inner) => {
                for member in &inner.body.members {
                    if let Some(value) = &member.initializer {
                        self.value(value);
                    }
                }
            }
            Declaration::TSNamespaceDeclaration(inner) if !inner.declare => self.namespace_block(inner),
            Declaration::TSImportEqualsDeclaration(inner) => self.import_equals(inner),
            _ => {}
        }
    }

    fn namespace_block(&mut self, namespace: &'a TSNamespaceDeclaration<'a>) {
        let object = self.flow.object();
        let held = self.flow.node_of(object);
        let variable = self.lookup(namespace.id.name.as_str());
        self.flow.copy(held, variable);
        match &namespace.body {
            TSNamespaceDeclarationBody::TSNamespaceDeclaration(inner) => self.namespace_block(inner),
            TSNamespaceDeclarationBody::TSModuleBlock(block) => {
                let outer = std::mem::replace(&mut self.namespace, object);
                self.block(&block.body);
                self.namespace = outer;
            }
        }
    }

    fn variables(&mut self, declaration: &'a VariableDeclaration<'a>) {
        for one in &declaration.declarations {
            if let Some(value) = &one.init {
                let name = one.id.get_identifier_name().map(|name| name.as_str());
                let node = self.named(value, name);
                self.bind(&one.id, node);
                if declaration.kind.is_using() || declaration.kind.is_await() {
                    for method in ["@@dispose", "@@asyncDispose"] {
                        self.special_method(node, method, &[], one.span);
                    }
                }
            }
            if let (Some(annotation), Some(name)) = (&one.type_annotation, one.id.get_identifier_name()) {
                let annotated = self.annotated(&annotation.type_annotation);
                let variable = self.lookup(name.as_str());
                self.flow.copy(annotated, variable);
            }
        }
    }

    /// Opens the scope of a loop and binds what each turn gives.
    fn for_left(&mut self, left: &'a ForStatementLeft<'a>, each: Node) {
        let mut names = Names::default();
        if let ForStatementLeft::VariableDeclaration(declaration) = left {
            if !declaration.kind.is_var() {
                declaration.declarations.iter().for_each(|one| names.pattern(&one.id));
            }
            self.open(names, false);
            for one in &declaration.declarations {
                self.bind(&one.id, each);
            }
        } else {
            self.open(names, false);
            if let Some(target) = left.as_assignment_target() {
                self.assign(target, each);
            }
        }
    }

    /// Returns the instances that a type names, where it names a class.
    pub(super) fn annotated(&mut self, annotation: &'a TSType<'a>) -> Node {
        let TSType::TSTypeReference(reference) = annotation else { return self.flow.node() };
        let TSTypeName::IdentifierReference(name) = &reference.type_name else { return self.flow.node() };
        let is_bound = self.scopes.iter().any(|scope| scope.nodes.contains_key(name.name.as_str()));
        if !is_bound {
            return self.flow.node();
        }
        let class = self.lookup(name.name.as_str());
        self.flow.instances(class)
    }
}
