//! Which names a body of JavaScript binds.

use std::collections::HashMap;

use oxc_ast::ast::{
    BindingPattern, Declaration, Expression, ForStatementInit, ForStatementLeft, Statement,
    VariableDeclaration,
};

use crate::dynamic::Node;

/// One body that binds names: a module, a function or a block.
#[derive(Default)]
pub(super) struct Scope<'a> {
    pub(super) nodes: HashMap<&'a str, Node>,
    /// The values of constants.
    pub(super) constants: HashMap<&'a str, &'a Expression<'a>>,
    /// The parameters, with what they hold when no argument is given.
    pub(super) parameters: HashMap<&'a str, Node>,
    pub(super) is_function: bool,
}

/// What a body binds, before nodes are made for it.
#[derive(Default)]
pub(super) struct Names<'a> {
    pub(super) names: Vec<&'a str>,
    pub(super) constants: HashMap<&'a str, &'a Expression<'a>>,
}

impl<'a> Names<'a> {
    /// The names that the statements of a block bind in the block itself.
    pub(super) fn of_block(statements: &'a [Statement<'a>]) -> Self {
        let mut found = Self::default();
        for statement in statements {
            match statement {
                Statement::ExportDeclaration(export) => found.declaration(&export.declaration),
                Statement::ExportDefaultDeclaration(export) => match &export.declaration {
                    oxc_ast::ast::ExportDefaultDeclarationKind::FunctionDeclaration(function) => {
                        found.names.extend(function.id.as_ref().map(|id| id.name.as_str()));
                    }
                    oxc_ast::ast::ExportDefaultDeclarationKind::ClassDeclaration(class) => {
                        found.names.extend(class.id.as_ref().map(|id| id.name.as_str()));
                    }
                    _ => {}
                },
                other => {
                    if let Some(declaration) = other.as_declaration() {
                        found.declaration(declaration);
                    }
                }
            }
        }
        found
    }

    /// The names that `var` binds anywhere in a function, and not in the functions in it.
    pub(super) fn hoisted(&mut self, statements: &'a [Statement<'a>]) {
        statements.iter().for_each(|statement| self.hoisted_of(statement));
    }

    fn hoisted_of(&mut self, statement: &'a Statement<'a>) {
        match statement {
            Statement::VariableDeclaration(declaration) => self.variables(declaration),
            Statement::BlockStatement(inner) => self.hoisted(&inner.body),
            Statement::IfStatement(inner) => {
                self.hoisted_of(&inner.consequent);
                if let Some(alternate) = &inner.alternate {
                    self.hoisted_of(alternate);
                }
            }
            Statement::ForStatement(inner) => {
                if let Some(ForStatementInit::VariableDeclaration(declaration)) = &inner.init {
                    self.variables(declaration);
                }
                self.hoisted_of(&inner.body);
            }
            Statement::ForInStatement(inner) => {
                self.left(&inner.left);
                self.hoisted_of(&inner.body);
            }
            Statement::ForOfStatement(inner) => {
                self.left(&inner.left);
                self.hoisted_of(&inner.body);
            }
            Statement::WhileStatement(inner) => self.hoisted_of(&inner.body),
            Statement::DoWhileStatement(inner) => self.hoisted_of(&inner.body),
            Statement::LabeledStatement(inner) => self.hoisted_of(&inner.body),
            Statement::WithStatement(inner) => self.hoisted_of(&inner.body),
            Statement::SwitchStatement(inner) => {
                inner.cases.iter().for_each(|case| self.hoisted(&case.consequent));
            }
            Statement::TryStatement(inner) => {
                self.hoisted(&inner.block.body);
                if let Some(handler) = &inner.handler {
                    self.hoisted(&handler.body.body);
                }
                if let Some(last) = &inner.finalizer {
                    self.hoisted(&last.body);
                }
            }
            _ => {}
        }
    }

    fn left(&mut self, left: &'a ForStatementLeft<'a>) {
        if let ForStatementLeft::VariableDeclaration(declaration) = left {
            self.variables(declaration);
        }
    }

    fn variables(&mut self, declaration: &'a VariableDeclaration<'a>) {
        if declaration.kind.is_var() {
            for one in &declaration.declarations {
                self.pattern(&one.id);
            }
        }
    }

    /// Takes in the names that a declaration binds.
    pub(super) fn declaration(&mut self, declaration: &'a Declaration<'a>) {
        match declaration {
            Declaration::VariableDeclaration(inner) => {
                for one in &inner.declarations {
                    self.pattern(&one.id);
                    if let (BindingPattern::BindingIdentifier(name), Some(value), true) =
                        (&one.id, &one.init, inner.kind.is_const())
                    {
                        self.constants.insert(name.name.as_str(), value);
                    }
                }
            }
            Declaration::FunctionDeclaration(inner) => {
                self.names.extend(inner.id.as_ref().map(|id| id.name.as_str()));
            }
            Declaration::ClassDeclaration(inner) => {
                self.names.extend(inner.id.as_ref().map(|id| id.name.as_str()));
            }
            Declaration::TSEnumDeclaration(inner) => self.names.push(inner.id.name.as_str()),
            Declaration::TSNamespaceDeclaration(inner) => self.names.push(inner.id.name.as_str()),
            Declaration::TSImportEqualsDeclaration(inner) => self.names.push(inner.id.name.as_str()),
            _ => {}
        }
    }

    /// Takes in the names of a pattern.
    pub(super) fn pattern(&mut self, pattern: &'a BindingPattern<'a>) {
        match pattern {
            BindingPattern::BindingIdentifier(name) => self.names.push(name.name.as_str()),
            BindingPattern::ObjectPattern(inner) => {
                inner.properties.iter().for_each(|property| self.pattern(&property.value));
                if let Some(rest) = &inner.rest {
                    self.pattern(&rest.argument);
                }
            }
            BindingPattern::ArrayPattern(inner) => {
                inner.elements.iter().flatten().for_each(|element| self.pattern(element));
                if let Some(rest) = &inner.rest {
                    self.pattern(&rest.argument);
                }
            }
            BindingPattern::AssignmentPattern(inner) => self.pattern(&inner.left),
        }
    }
}
