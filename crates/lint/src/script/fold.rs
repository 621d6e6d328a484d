//! Texts that can be known before a program runs.

use oxc_ast::ast::{BinaryOperator, Expression};

use super::walk::Walk;

const MAX_FOLDS: usize = 20;
const MAX_TEXT: usize = 4_000;

impl<'a> Walk<'a, '_, '_> {
    /// Returns the text that an expression always has.
    pub(super) fn text(&self, expression: &'a Expression<'a>) -> Option<String> {
        self.fold(expression, 0).filter(|text| text.len() <= MAX_TEXT)
    }

    fn fold(&self, expression: &'a Expression<'a>, depth: usize) -> Option<String> {
        if depth > MAX_FOLDS {
            return None;
        }
        match expression.get_inner_expression() {
            Expression::StringLiteral(inner) => Some(inner.value.to_string()),
            Expression::TemplateLiteral(inner) => {
                let mut whole = String::new();
                let mut parts = inner.expressions.iter();
                for quasi in &inner.quasis {
                    whole.push_str(quasi.value.cooked.as_ref()?.as_str());
                    if !quasi.tail {
                        whole.push_str(&self.fold(parts.next()?, depth + 1)?);
                    }
                }
                Some(whole)
            }
            Expression::BinaryExpression(inner) if inner.operator == BinaryOperator::Addition => {
                Some(self.fold(&inner.left, depth + 1)? + &self.fold(&inner.right, depth + 1)?)
            }
            Expression::CallExpression(call) => {
                let Expression::StaticMemberExpression(method) = &call.callee else { return None };
                let Expression::ArrayExpression(parts) = method.object.get_inner_expression() else {
                    return None;
                };
                if method.property.name != "join" {
                    return None;
                }
                let between = match call.arguments.first() {
                    Some(argument) => self.fold(argument.as_expression()?, depth + 1)?,
                    None => ",".into(),
                };
                let parts: Option<Vec<String>> =
                    parts.elements.iter().map(|part| self.fold(part.as_expression()?, depth + 1)).collect();
                Some(parts?.join(&between))
            }
            Expression::StaticMemberExpression(member) => {
                let Expression::Identifier(object) = &member.object else { return None };
                (object.name == "Symbol").then(|| format!("@@{}", member.property.name))
            }
            Expression::Identifier(name) => {
                let name = name.name.as_str();
                let scope = self.scopes.iter().rev().find(|scope| scope.nodes.contains_key(name))?;
                self.fold(scope.constants.get(name)?, depth + 1)
            }
            _ => None,
        }
    }
}
