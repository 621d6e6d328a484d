//! Which names a body of Python code binds.

use std::collections::{HashMap, HashSet};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{ExceptHandler, Expr, ExprContext, Pattern, Stmt};

/// The names of one body: a module's, a class's or a function's.
#[derive(Debug, Default)]
pub(super) struct Bound<'a> {
    /// How often each name is bound, and the value where it is a plain assignment.
    pub(super) names: HashMap<&'a str, (usize, Option<&'a Expr>)>,
    /// The names that belong to an outer body.
    pub(super) outer: HashSet<&'a str>,
}

impl<'a> Bound<'a> {
    /// Looks through a body, and not into the functions and classes in it.
    pub(super) fn of(body: &'a [Stmt]) -> Self {
        let mut bound = Self::default();
        bound.visit_body(body);
        bound
    }

    /// Looks through one expression, of a lambda.
    pub(super) fn of_expression(body: &'a Expr) -> Self {
        let mut bound = Self::default();
        bound.visit_expr(body);
        bound
    }

    /// Returns the only value that a name has, where it is bound once.
    pub(super) fn constant(&self, name: &str) -> Option<&'a Expr> {
        self.names.get(name).filter(|(count, _)| *count == 1).and_then(|(_, value)| *value)
    }

    fn bind(&mut self, name: &'a str, value: Option<&'a Expr>) {
        let entry = self.names.entry(name).or_insert((0, value));
        entry.0 += 1;
    }
}

impl<'a> Visitor<'a> for Bound<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => self.bind(function.name.as_str(), None),
            Stmt::ClassDef(class) => self.bind(class.name.as_str(), None),
            Stmt::Global(global) => self.outer.extend(global.names.iter().map(|name| name.as_str())),
            Stmt::Nonlocal(outer) => self.outer.extend(outer.names.iter().map(|name| name.as_str())),
            Stmt::Import(import) => {
                for alias in &import.names {
                    let whole = alias.name.as_str();
                    let first = whole.split('.').next().unwrap_or(whole);
                    self.bind(alias.asname.as_ref().map_or(first, |name| name.as_str()), None);
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    self.bind(alias.asname.as_ref().unwrap_or(&alias.name).as_str(), None);
                }
            }
            Stmt::Assign(assign) => {
                if let [Expr::Name(name)] = assign.targets.as_slice() {
                    self.bind(name.id.as_str(), Some(&assign.value));
                    self.visit_expr(&assign.value);
                } else {
                    visitor::walk_stmt(self, statement);
                }
            }
            Stmt::AnnAssign(assign) => {
                match assign.target.as_ref() {
                    Expr::Name(name) => self.bind(name.id.as_str(), assign.value.as_deref()),
                    target => self.visit_expr(target),
                }
                if let Some(value) = &assign.value {
                    self.visit_expr(value);
                }
            }
            // Twice, so that the name is no constant.
            Stmt::AugAssign(assign) => {
                if let Expr::Name(name) = assign.target.as_ref() {
                    self.bind(name.id.as_str(), None);
                    self.bind(name.id.as_str(), None);
                }
                self.visit_expr(&assign.value);
            }
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if name.ctx == ExprContext::Store => self.bind(name.id.as_str(), None),
            Expr::Lambda(_) => {}
            _ => visitor::walk_expr(self, expression),
        }
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        if let Some(name) = &inner.name {
            self.bind(name.as_str(), None);
        }
        visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = match pattern {
            Pattern::MatchAs(inner) => inner.name.as_ref(),
            Pattern::MatchStar(inner) => inner.name.as_ref(),
            Pattern::MatchMapping(inner) => inner.rest.as_ref(),
            _ => None,
        };
        if let Some(name) = name {
            self.bind(name.as_str(), None);
        }
        visitor::walk_pattern(self, pattern);
    }
}
