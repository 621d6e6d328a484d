//! What destructuring binds and what assignments change.

use oxc_ast::ast::{
    AssignmentTarget, AssignmentTargetMaybeDefault, AssignmentTargetProperty, BindingPattern, Expression,
    PropertyKey,
};

use super::walk::Walk;
use crate::dynamic::Node;

impl<'a> Walk<'a, '_, '_> {
    /// Lets the names of a pattern hold the parts of a value.
    pub(super) fn bind(&mut self, pattern: &'a BindingPattern<'a>, value: Node) {
        match pattern {
            BindingPattern::BindingIdentifier(name) => {
                let variable = self.lookup(name.name.as_str());
                self.flow.copy(value, variable);
            }
            BindingPattern::ObjectPattern(inner) => {
                for property in &inner.properties {
                    let part = self.part(&property.key, value);
                    self.bind(&property.value, part);
                }
                if let Some(rest) = &inner.rest {
                    self.bind(&rest.argument, value);
                }
            }
            BindingPattern::ArrayPattern(inner) => {
                let each = self.flow.load_any(value, None);
                for element in inner.elements.iter().flatten() {
                    self.bind(element, each);
                }
                if let Some(rest) = &inner.rest {
                    self.bind(&rest.argument, value);
                }
            }
            BindingPattern::AssignmentPattern(inner) => {
                let name = inner.left.get_identifier_name().map(|name| name.as_str());
                let default = self.named(&inner.right, name);
                self.bind(&inner.left, default);
                self.bind(&inner.left, value);
            }
        }
    }

    fn part(&mut self, key: &'a PropertyKey<'a>, value: Node) -> Node {
        use oxc_span::GetSpan as _;
        let site = self.site(key.span());
        match self.key(key) {
            Some(name) => self.flow.load(value, &name, Some(site)),
            None => self.flow.load_any(value, Some(site)),
        }
    }

    /// Returns the name that a key always has.
    pub(super) fn key(&mut self, key: &'a PropertyKey<'a>) -> Option<String> {
        match key {
            PropertyKey::StaticIdentifier(name) => Some(name.name.to_string()),
            PropertyKey::PrivateIdentifier(name) => Some(format!("#{}", name.name)),
            other => {
                let expression = other.as_expression()?;
                let text = self.text(expression);
                if text.is_none() {
                    self.expression(expression);
                }
                text
            }
        }
    }

    /// Lets the target of an assignment hold a value.
    pub(super) fn assign(&mut self, target: &'a AssignmentTarget<'a>, value: Node) {
        match target {
            AssignmentTarget::AssignmentTargetIdentifier(name) => {
                let variable = self.lookup(name.name.as_str());
                self.flow.copy(value, variable);
            }
            AssignmentTarget::ArrayAssignmentTarget(inner) => {
                let each = self.flow.load_any(value, None);
                for element in inner.elements.iter().flatten() {
                    self.assign_default(element, each);
                }
                if let Some(rest) = &inner.rest {
                    self.assign(&rest.target, value);
                }
            }
            AssignmentTarget::ObjectAssignmentTarget(inner) => {
                for property in &inner.properties {
                    match property {
                        AssignmentTargetProperty::AssignmentTargetPropertyIdentifier(one) => {
                            let name = one.binding.name.as_str();
                            let site = self.site(one.span);
                            let part = self.flow.load(value, name, Some(site));
                            let variable = self.lookup(name);
                            self.flow.copy(part, variable);
                            if let Some(default) = &one.init {
                                let default = self.value(default);
                                self.flow.copy(default, variable);
                            }
                        }
                        AssignmentTargetProperty::AssignmentTargetPropertyProperty(one) => {
                            let part = self.part(&one.name, value);
                            self.assign_default(&one.binding, part);
                        }
                    }
                }
                if let Some(rest) = &inner.rest {
                    self.assign(&rest.target, value);
                }
            }
            AssignmentTarget::TSAsExpression(inner) => self.assign_expression(&inner.expression, value),
            AssignmentTarget::TSSatisfiesExpression(inner) => {
                self.assign_expression(&inner.expression, value);
            }
            AssignmentTarget::TSNonNullExpression(inner) => self.assign_expression(&inner.expression, value),
            AssignmentTarget::TSTypeAssertion(inner) => self.assign_expression(&inner.expression, value),
            other => {
                if let Some(member) = other.as_member_expression() {
                    self.assign_expression(member.as_expression(), value);
                }
            }
        }
    }

    fn assign_default(&mut self, target: &'a AssignmentTargetMaybeDefault<'a>, value: Node) {
        match target {
            AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(inner) => {
                let default = self.value(&inner.init);
                self.assign(&inner.binding, default);
                self.assign(&inner.binding, value);
            }
            other => {
                if let Some(target) = other.as_assignment_target() {
                    self.assign(target, value);
                }
            }
        }
    }

    /// Changes a member of something.
    pub(super) fn assign_expression(&mut self, target: &'a Expression<'a>, value: Node) {
        match target {
            Expression::StaticMemberExpression(member) => {
                let object = self.base(&member.object);
                let site = self.site(member.span);
                self.flow.store(object, member.property.name.as_str(), value, Some(site));
            }
            Expression::PrivateFieldExpression(member) => {
                let object = self.base(&member.object);
                let site = self.site(member.span);
                self.flow.store(object, &format!("#{}", member.field.name), value, Some(site));
            }
            Expression::ComputedMemberExpression(member) => {
                let object = self.base(&member.object);
                let site = self.site(member.span);
                match self.text(&member.expression) {
                    Some(name) => self.flow.store(object, &name, value, Some(site)),
                    None => {
                        self.value(&member.expression);
                        self.flow.store_any(object, value, Some(site));
                    }
                }
            }
            Expression::Identifier(name) => {
                let variable = self.lookup(name.name.as_str());
                self.flow.copy(value, variable);
            }
            other => {
                self.expression(other);
            }
        }
    }
}
