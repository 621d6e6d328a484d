//! Elements of markup in JavaScript.

use oxc_ast::ast::{
    JSXAttributeItem, JSXAttributeValue, JSXChild, JSXElement, JSXElementName, JSXExpression,
};

use super::walk::Walk;
use crate::dynamic::Arguments;

impl<'a> Walk<'a, '_, '_> {
    pub(super) fn element_of_markup(&mut self, element: &'a JSXElement<'a>) {
        self.depth += 1;
        if self.too_deep(element.span) {
            self.depth -= 1;
            return;
        }
        if let JSXElementName::IdentifierReference(name) = &element.opening_element.name {
            let node = self.lookup(name.name.as_str());
            let site = self.site(element.span);
            self.flow.call(node, None, Arguments::default(), site);
        }
        for attribute in &element.opening_element.attributes {
            match attribute {
                JSXAttributeItem::Attribute(attribute) => match &attribute.value {
                    Some(JSXAttributeValue::ExpressionContainer(inner)) => self.contained(&inner.expression),
                    Some(JSXAttributeValue::Element(inner)) => self.element_of_markup(inner),
                    _ => {}
                },
                JSXAttributeItem::SpreadAttribute(inner) => {
                    self.value(&inner.argument);
                }
            }
        }
        element.children.iter().for_each(|child| self.child_of_markup(child));
        self.depth -= 1;
    }

    pub(super) fn child_of_markup(&mut self, child: &'a JSXChild<'a>) {
        match child {
            JSXChild::Text(_) => {}
            JSXChild::Element(inner) => self.element_of_markup(inner),
            JSXChild::Fragment(inner) => inner.children.iter().for_each(|child| self.child_of_markup(child)),
            JSXChild::ExpressionContainer(inner) => self.contained(&inner.expression),
            JSXChild::Spread(inner) => {
                self.value(&inner.expression);
            }
        }
    }

    fn contained(&mut self, inner: &'a JSXExpression<'a>) {
        if let Some(expression) = inner.as_expression() {
            self.value(expression);
        }
    }
}
