//! What is evident of the type of an expression, and of the variables that a pattern makes.

use std::sync::Arc;

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Expr, Lit, Pat, Stmt};

use super::body::BodyReader;
use super::form;
use super::model::{Argument, Form, Mention, Route, Value};

/// How many calls of a chain are looked through for the type of its end.
const MAX_CHAIN: usize = 200;

impl BodyReader<'_, '_> {
    /// Declares the variables of a pattern that `value` is taken apart by.
    pub(super) fn bind(&mut self, pattern: &Pat, value: &Value) {
        match pattern {
            Pat::Ident(one) => {
                let name = one.ident.unraw().to_string();
                // A name in capitals is a constant or a unit variant, and binds nothing.
                if !name.starts_with(char::is_uppercase) {
                    self.declare(&name, value.clone());
                }
                if let Some((_, inner)) = &one.subpat {
                    self.bind(inner, value);
                }
            }
            Pat::Type(one) => {
                let form = form::form(&one.ty);
                self.mention(Mention::Type { form: form.clone(), spot: self.spot(one.ty.span()) });
                let value = if matches!(form, Form::Unknown) { value.clone() } else { Value::Typed(form) };
                self.bind(&one.pat, &value);
            }
            Pat::Reference(one) => self.bind(&one.pat, value),
            Pat::Paren(one) => self.bind(&one.pat, value),
            Pat::Guard(one) => self.bind(&one.pat, value),
            Pat::Or(one) => one.cases.iter().for_each(|case| self.bind(case, value)),
            Pat::Slice(one) => {
                let element = Value::Element(Arc::new(value.clone()));
                one.elems.iter().for_each(|inner| self.bind(inner, &element));
            }
            Pat::Tuple(one) => {
                for (index, inner) in one.elems.iter().enumerate() {
                    self.bind(inner, &Value::Field(Arc::new(value.clone()), index.to_string()));
                }
            }
            Pat::TupleStruct(one) => {
                let name =
                    one.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
                for (index, inner) in one.elems.iter().enumerate() {
                    let part = match name.as_str() {
                        "Some" | "Ok" | "Ready" => Value::Peeled(Arc::new(value.clone())),
                        "Err" => Value::Unknown,
                        _ => Value::Field(
                            Arc::new(Value::Call(form::route(&one.path), Arc::from([]))),
                            index.to_string(),
                        ),
                    };
                    self.bind(inner, &part);
                }
            }
            Pat::Struct(one) => {
                let whole = Arc::new(Value::Call(form::route(&one.path), Arc::from([])));
                for field in &one.fields {
                    let name = match &field.member {
                        syn::Member::Named(name) => name.unraw().to_string(),
                        syn::Member::Unnamed(index) => index.index.to_string(),
                    };
                    self.bind(&field.pat, &Value::Field(Arc::clone(&whole), name));
                }
            }
            _ => {}
        }
    }

    /// Returns what is evident of an expression's type.
    pub(super) fn value(&self, expression: &Expr, depth: usize) -> Value {
        if depth > MAX_CHAIN {
            return Value::Unknown;
        }
        let inner = |one: &Expr| Arc::new(self.value(one, depth + 1));
        match expression {
            Expr::Await(one) => Value::Peeled(inner(&one.base)),
            Expr::Call(one) => match &*one.func {
                Expr::Path(path) if !self.is_local(&path.path, path.qself.is_some()) => {
                    Value::Call(form::qualified(path.qself.as_ref(), &path.path), self.arguments(&one.args))
                }
                _ => Value::Unknown,
            },
            Expr::Cast(one) => Value::Typed(form::form(&one.ty)),
            Expr::Closure(one) => Value::Closure(self.spot(closure_start(one))),
            Expr::Field(one) => match &one.member {
                syn::Member::Named(name) => Value::Field(inner(&one.base), name.unraw().to_string()),
                syn::Member::Unnamed(index) => Value::Field(inner(&one.base), index.index.to_string()),
            },
            Expr::Group(one) => self.value(&one.expr, depth + 1),
            Expr::Index(one) => Value::Element(inner(&one.expr)),
            Expr::Lit(one) => match &one.lit {
                Lit::Str(_) => {
                    Value::Typed(Form::Route(Route { segments: vec!["str".into()], ..Route::default() }))
                }
                _ => Value::Unknown,
            },
            Expr::Macro(one) => Value::Macro(form::route(&one.mac.path)),
            Expr::MethodCall(one) => {
                Value::Method(inner(&one.receiver), one.method.unraw().to_string(), self.arguments(&one.args))
            }
            Expr::Paren(one) => self.value(&one.expr, depth + 1),
            Expr::Path(one) => {
                match one.path.get_ident().and_then(|name| self.local(&name.unraw().to_string())) {
                    Some(number) => Value::Local(number),
                    None => Value::Route(form::qualified(one.qself.as_ref(), &one.path)),
                }
            }
            Expr::Reference(one) => self.value(&one.expr, depth + 1),
            Expr::Struct(one) => Value::Typed(Form::Route(form::qualified(one.qself.as_ref(), &one.path))),
            Expr::Try(one) => Value::Peeled(inner(&one.expr)),
            Expr::Unary(one) => self.value(&one.expr, depth + 1),
            Expr::Unsafe(one) => self.last(&one.block.stmts, depth),
            Expr::Block(one) => self.last(&one.block.stmts, depth),
            _ => Value::Unknown,
        }
    }

    fn last(&self, statements: &[Stmt], depth: usize) -> Value {
        match statements.last() {
            Some(Stmt::Expr(expression, None)) if statements.len() == 1 => self.value(expression, depth + 1),
            _ => Value::Unknown,
        }
    }

    pub(super) fn is_local(&self, path: &syn::Path, has_subject: bool) -> bool {
        !has_subject && path.get_ident().is_some_and(|name| self.local(&name.unraw().to_string()).is_some())
    }

    pub(super) fn arguments<'e>(&self, arguments: impl IntoIterator<Item = &'e Expr>) -> Arc<[Argument]> {
        arguments.into_iter().map(|argument| self.argument(argument)).collect()
    }

    pub(super) fn argument(&self, argument: &Expr) -> Argument {
        match argument {
            Expr::Array(one) => {
                let texts = one.elems.iter().map(|element| match self.argument(element) {
                    Argument::Text(text) => Some(text),
                    _ => None,
                });
                texts.collect::<Option<Vec<_>>>().map_or(Argument::Other, Argument::Texts)
            }
            Expr::Closure(one) => Argument::Closure(self.spot(closure_start(one))),
            Expr::Group(one) => self.argument(&one.expr),
            Expr::Lit(one) => match &one.lit {
                Lit::Str(text) => Argument::Text(text.value()),
                Lit::Bool(flag) => Argument::Flag(flag.value),
                Lit::Int(number) => number.base10_parse().map_or(Argument::Other, Argument::Number),
                _ => Argument::Other,
            },
            Expr::Paren(one) => self.argument(&one.expr),
            Expr::Path(one) => {
                match one.path.get_ident().and_then(|name| self.local(&name.unraw().to_string())) {
                    Some(number) => Argument::Local(number),
                    None => Argument::Route(form::qualified(one.qself.as_ref(), &one.path)),
                }
            }
            Expr::Reference(one) => self.argument(&one.expr),
            _ => Argument::Other,
        }
    }
}

/// Returns where a closure starts, without its attributes.
pub(super) fn closure_start(closure: &syn::ExprClosure) -> Span {
    let parts = [
        closure.lifetimes.as_ref().map(|lifetimes| lifetimes.for_token.span),
        closure.constness.map(|token| token.span),
        closure.asyncness.map(|token| token.span),
        closure.capture.map(|token| token.span),
    ];
    parts.into_iter().flatten().next().unwrap_or_else(|| closure.inputs_begin.span())
}
