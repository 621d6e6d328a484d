//! Texts that can be known before a program runs.

use ruff_python_ast::{Expr, InterpolatedStringElement, Operator};

use super::walk::Walk;

const MAX_FOLDS: usize = 20;
const MAX_TEXT: usize = 4_000;

impl<'a> Walk<'a, '_, '_> {
    /// Returns the text that an expression always has.
    pub(super) fn text(&self, expression: &'a Expr) -> Option<String> {
        self.fold(expression, 0).filter(|text| text.len() <= MAX_TEXT)
    }

    /// Returns the first text of a list: the program of a command line, the host of an address.
    pub(super) fn first_text(&self, expression: &'a Expr) -> Option<String> {
        match expression {
            Expr::List(inner) => self.text(inner.elts.first()?),
            Expr::Tuple(inner) => self.text(inner.elts.first()?),
            _ => None,
        }
    }

    fn fold(&self, expression: &'a Expr, depth: usize) -> Option<String> {
        if depth > MAX_FOLDS {
            return None;
        }
        match expression {
            Expr::StringLiteral(inner) => Some(inner.value.to_str().to_owned()),
            Expr::BytesLiteral(inner) => String::from_utf8(inner.value.bytes().collect()).ok(),
            Expr::BinOp(inner) if inner.op == Operator::Add => {
                Some(self.fold(&inner.left, depth + 1)? + &self.fold(&inner.right, depth + 1)?)
            }
            Expr::FString(inner) => {
                let mut whole = String::new();
                for part in inner.value.iter() {
                    match part {
                        ruff_python_ast::FStringPart::Literal(literal) => whole.push_str(&literal.value),
                        ruff_python_ast::FStringPart::FString(inner) => {
                            for element in &inner.elements {
                                match element {
                                    InterpolatedStringElement::Literal(literal) => {
                                        whole.push_str(&literal.value);
                                    }
                                    InterpolatedStringElement::Interpolation(inner) => {
                                        whole.push_str(&self.fold(&inner.expression, depth + 1)?);
                                    }
                                }
                            }
                        }
                    }
                }
                Some(whole)
            }
            Expr::Call(inner) => match (inner.func.as_ref(), inner.arguments.args.as_ref()) {
                (Expr::Attribute(method), [Expr::List(parts)]) if method.attr.as_str() == "join" => {
                    let between = self.fold(&method.value, depth + 1)?;
                    let parts: Option<Vec<String>> =
                        parts.elts.iter().map(|part| self.fold(part, depth + 1)).collect();
                    Some(parts?.join(&between))
                }
                _ => None,
            },
            Expr::Name(inner) => {
                let name = inner.id.as_str();
                if name == "__name__" {
                    return Some(self.module.clone());
                }
                let scope = self.scopes.iter().rev().find(|scope| scope.bound.names.contains_key(name))?;
                self.fold(scope.bound.constant(name)?, depth + 1)
            }
            _ => None,
        }
    }
}
