//! Reading a body: what it calls and names, and what is evident of the types of its variables.
//!
//! INVARIANT: a name that is a variable at its place is never read as a path.

use std::collections::HashMap;
use std::sync::Arc;

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Expr, Pat, Stmt};

use super::form;
use super::model::{Argument, Block, Body, Form, Manner, Mention, Spot, Value};
use super::reader::Reader;
use super::value::closure_start;
use crate::Effect;

/// Reads one body.
pub(crate) struct BodyReader<'r, 'p> {
    pub(crate) reader: &'r mut Reader<'p>,
    /// The module that paths start from: the one for items inside the body, once there is one.
    pub(crate) module: usize,
    pub(crate) body: Body,
    scopes: Vec<HashMap<String, usize>>,
    /// The block that mentions go to.
    current: usize,
    /// What the body belongs to, for the names of items inside it.
    name: String,
    /// Whether the body has a module for its items.
    has_items: bool,
}

impl<'r, 'p> BodyReader<'r, 'p> {
    pub(crate) fn new(reader: &'r mut Reader<'p>, module: usize, spot: Spot, name: &str) -> Self {
        let body = Body { blocks: vec![Block { spot, mentions: Vec::new() }], ..Body::default() };
        Self {
            reader,
            module,
            body,
            scopes: vec![HashMap::new()],
            current: 0,
            name: name.to_owned(),
            has_items: false,
        }
    }

    /// Makes a parameter known.
    pub(crate) fn parameter(&mut self, pattern: &Pat, value: &Value) {
        self.bind(pattern, value);
    }

    /// Makes `self` known.
    pub(crate) fn receiver(&mut self, form: Form) {
        self.declare("self", Value::Typed(form));
    }

    pub(crate) fn spot(&self, span: Span) -> Spot {
        self.reader.spot(span)
    }

    pub(crate) fn mention(&mut self, mention: Mention) {
        if let Some(block) = self.body.blocks.get_mut(self.current) {
            block.mentions.push(mention);
        }
    }

    pub(crate) fn local(&self, name: &str) -> Option<usize> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).copied()
    }

    pub(super) fn declare(&mut self, name: &str, value: Value) {
        self.body.variables.push(value);
        let number = self.body.variables.len() - 1;
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), number);
        }
    }

    fn scoped(&mut self, inside: impl FnOnce(&mut Self)) {
        self.scopes.push(HashMap::new());
        inside(self);
        self.scopes.pop();
    }

    /// Reads something inside a block of its own, a closure or an async block.
    fn block(&mut self, spot: Spot, inside: impl FnOnce(&mut Self)) {
        self.body.blocks.push(Block { spot, mentions: Vec::new() });
        let number = self.body.blocks.len() - 1;
        self.mention(Mention::Block(number));
        let before = std::mem::replace(&mut self.current, number);
        self.scoped(inside);
        self.current = before;
    }

    /// Reads a closure whose parameters get what `given` says.
    fn closure(&mut self, closure: &syn::ExprClosure, given: impl Fn(usize) -> Value) {
        let spot = self.spot(closure_start(closure));
        self.block(spot, |reader| {
            for (position, parameter) in closure.inputs.iter().enumerate() {
                reader.bind(parameter, &given(position));
            }
            reader.visit_expr(&closure.body);
        });
    }

    fn given(&mut self, forms: Vec<Form>, span: Span) {
        let spot = self.spot(span);
        for form in forms {
            self.mention(Mention::Type { form, spot });
        }
    }

    fn route(&mut self, path: &syn::ExprPath, arguments: Arc<[Argument]>, manner: Manner) {
        if self.is_local(&path.path, path.qself.is_some()) {
            return;
        }
        let route = form::qualified(path.qself.as_ref(), &path.path);
        let spot = self.spot(path.path.segments.last().map_or_else(|| path.span(), |last| last.ident.span()));
        self.given(route.arguments.clone(), path.span());
        self.mention(Mention::Route { route, arguments, spot, manner });
    }
}

impl<'ast> Visit<'ast> for BodyReader<'_, '_> {
    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.scoped(|reader| {
            // Items are known in the whole block, before the place they are written at.
            for statement in &block.stmts {
                if let Stmt::Item(item) = statement {
                    reader.item(item);
                }
            }
            block.stmts.iter().for_each(|statement| reader.visit_stmt(statement));
        });
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let attributes = match statement {
            Stmt::Local(local) => local.attrs.as_slice(),
            Stmt::Macro(one) => one.attrs.as_slice(),
            Stmt::Expr(expression, _) => attributes(expression),
            Stmt::Item(_) => return,
        };
        if self.reader.is_out(attributes) {
            return;
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        let mut value = Value::Unknown;
        if let Some(init) = &local.init {
            self.visit_expr(&init.expr);
            value = self.value(&init.expr, 0);
            if let Some((_, otherwise)) = &init.diverge {
                self.visit_expr(otherwise);
            }
        }
        self.visit_pat(&local.pat);
        self.bind(&local.pat, &value);
    }

    fn visit_expr_let(&mut self, one: &'ast syn::ExprLet) {
        self.visit_expr(&one.expr);
        self.visit_pat(&one.pat);
        let value = self.value(&one.expr, 0);
        self.bind(&one.pat, &value);
    }

    fn visit_expr_if(&mut self, one: &'ast syn::ExprIf) {
        self.scoped(|reader| {
            reader.visit_expr(&one.cond);
            reader.visit_block(&one.then_branch);
        });
        if let Some((_, otherwise)) = &one.else_branch {
            self.visit_expr(otherwise);
        }
    }

    fn visit_expr_while(&mut self, one: &'ast syn::ExprWhile) {
        self.scoped(|reader| {
            reader.visit_expr(&one.cond);
            reader.visit_block(&one.body);
        });
    }

    fn visit_expr_for_loop(&mut self, one: &'ast syn::ExprForLoop) {
        self.visit_expr(&one.expr);
        let value = self.value(&one.expr, 0);
        self.runs(value.clone(), &["into_iter", "next"], one.for_token.span);
        let element = Value::Element(Arc::new(value));
        self.scoped(|reader| {
            reader.visit_pat(&one.pat);
            reader.bind(&one.pat, &element);
            reader.visit_block(&one.body);
        });
    }

    fn visit_expr_match(&mut self, one: &'ast syn::ExprMatch) {
        self.visit_expr(&one.expr);
        let value = self.value(&one.expr, 0);
        for arm in &one.arms {
            if self.reader.is_out(&arm.attrs) {
                continue;
            }
            self.scoped(|reader| {
                reader.bind(&arm.pat, &value);
                reader.visit_pat(&arm.pat);
                reader.visit_expr(&arm.body);
            });
        }
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        self.closure(closure, |_| Value::Unknown);
    }

    fn visit_expr_async(&mut self, one: &'ast syn::ExprAsync) {
        let spot = self.spot(one.async_token.span);
        self.block(spot, |reader| reader.visit_block(&one.block));
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        let arguments = self.arguments(&call.args);
        match &*call.func {
            Expr::Path(path) => self.route(path, arguments, Manner::Called),
            other => self.visit_expr(other),
        }
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.visit_expr(&call.receiver);
        let receiver = Arc::new(self.value(&call.receiver, 0));
        let name = call.method.unraw().to_string();
        if let Some(turbofish) = &call.turbofish {
            self.given(form::given(turbofish), turbofish.span());
        }
        let arguments = self.arguments(&call.args);
        let spot = self.spot(call.method.span());
        let mention = Mention::Method { receiver: (*receiver).clone(), name: name.clone(), arguments, spot };
        self.mention(mention);
        for argument in &call.args {
            match argument {
                Expr::Closure(closure) => self.closure(closure, |position| Value::Given {
                    receiver: Arc::clone(&receiver),
                    method: name.clone(),
                    position,
                }),
                other => self.visit_expr(other),
            }
        }
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        self.route(path, Arc::from([]), Manner::Passed);
    }

    fn visit_expr_struct(&mut self, one: &'ast syn::ExprStruct) {
        let form = Form::Route(form::qualified(one.qself.as_ref(), &one.path));
        let spot = self.spot(one.path.span());
        self.mention(Mention::Type { form, spot });
        for field in &one.fields {
            if !self.reader.is_out(&field.attrs) {
                self.visit_expr(&field.expr);
            }
        }
        if let Some(rest) = &one.rest {
            self.visit_expr(rest);
        }
    }

    fn visit_expr_binary(&mut self, one: &'ast syn::ExprBinary) {
        let value = self.value(&one.left, 0);
        self.runs(value, operator(&one.op), one.op.span());
        visit::visit_expr_binary(self, one);
    }

    fn visit_expr_unary(&mut self, one: &'ast syn::ExprUnary) {
        let value = self.value(&one.expr, 0);
        self.runs(value, &["neg", "not", "deref", "deref_mut"], one.op.span());
        visit::visit_expr_unary(self, one);
    }

    fn visit_expr_index(&mut self, one: &'ast syn::ExprIndex) {
        let value = self.value(&one.expr, 0);
        self.runs(value, &["index", "index_mut"], one.bracket_token.span.open());
        visit::visit_expr_index(self, one);
    }

    fn visit_expr_await(&mut self, one: &'ast syn::ExprAwait) {
        let value = self.value(&one.base, 0);
        self.runs(value, &["into_future", "poll"], one.await_token.span);
        visit::visit_expr_await(self, one);
    }

    fn visit_expr_cast(&mut self, one: &'ast syn::ExprCast) {
        self.visit_expr(&one.expr);
        let (form, spot) = (form::form(&one.ty), self.spot(one.ty.span()));
        self.mention(Mention::Type { form, spot });
    }

    fn visit_macro(&mut self, one: &'ast syn::Macro) {
        self.invocation(one);
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        match expression {
            Expr::Verbatim(tokens) => self.tokens(tokens.clone()),
            other => visit::visit_expr(self, other),
        }
    }

    fn visit_type(&mut self, _: &'ast syn::Type) {}

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
}

impl BodyReader<'_, '_> {
    /// Reads an item inside the body, into a module of its own below the one the body is in.
    fn item(&mut self, item: &syn::Item) {
        if !self.has_items {
            self.has_items = true;
            self.module = self.reader.module(self.module, self.name.clone(), true);
        }
        self.reader.item(self.module, item);
    }

    /// Notes functions that run without being named.
    pub(crate) fn runs(&mut self, value: Value, names: &'static [&'static str], span: Span) {
        if !matches!(value, Value::Unknown) {
            let spot = self.spot(span);
            self.mention(Mention::Runs { value, names, spot });
        }
    }

    /// Notes what the body returns.
    pub(crate) fn returned(&mut self, form: Form, span: Span) {
        let spot = self.spot(span);
        self.mention(Mention::Returned { form, spot });
    }

    pub(crate) fn direct(&mut self, effect: Effect, name: String, spot: Spot) {
        self.mention(Mention::Direct { effect, name, spot });
    }
}

/// Returns the functions that an operator runs.
fn operator(operator: &syn::BinOp) -> &'static [&'static str] {
    use syn::BinOp as Op;
    match operator {
        Op::Add(_) | Op::AddAssign(_) => &["add", "add_assign"],
        Op::Sub(_) | Op::SubAssign(_) => &["sub", "sub_assign"],
        Op::Mul(_) | Op::MulAssign(_) => &["mul", "mul_assign"],
        Op::Div(_) | Op::DivAssign(_) => &["div", "div_assign"],
        Op::Rem(_) | Op::RemAssign(_) => &["rem", "rem_assign"],
        Op::BitAnd(_) | Op::BitAndAssign(_) => &["bitand", "bitand_assign"],
        Op::BitOr(_) | Op::BitOrAssign(_) => &["bitor", "bitor_assign"],
        Op::BitXor(_) | Op::BitXorAssign(_) => &["bitxor", "bitxor_assign"],
        Op::Shl(_) | Op::ShlAssign(_) => &["shl", "shl_assign"],
        Op::Shr(_) | Op::ShrAssign(_) => &["shr", "shr_assign"],
        Op::Eq(_) | Op::Ne(_) => &["eq", "ne"],
        Op::Lt(_) | Op::Le(_) | Op::Gt(_) | Op::Ge(_) => &["partial_cmp", "lt", "le", "gt", "ge"],
        _ => &[],
    }
}

/// Returns the attributes of an expression that may carry a condition in statement position.
fn attributes(expression: &Expr) -> &[syn::Attribute] {
    match expression {
        Expr::Assign(one) => &one.attrs,
        Expr::Block(one) => &one.attrs,
        Expr::Call(one) => &one.attrs,
        Expr::ForLoop(one) => &one.attrs,
        Expr::If(one) => &one.attrs,
        Expr::Loop(one) => &one.attrs,
        Expr::Macro(one) => &one.attrs,
        Expr::Match(one) => &one.attrs,
        Expr::MethodCall(one) => &one.attrs,
        Expr::Return(one) => &one.attrs,
        Expr::Struct(one) => &one.attrs,
        Expr::Unsafe(one) => &one.attrs,
        Expr::While(one) => &one.attrs,
        _ => &[],
    }
}
