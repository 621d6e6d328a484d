//! What expressions of JavaScript evaluate to.

use oxc_ast::ast::{
    ArrayExpressionElement, BinaryOperator, ChainElement, ComputedMemberExpression, Expression,
    ObjectExpression, ObjectPropertyKind, PropertyKind, UnaryOperator,
};
use oxc_span::{GetSpan as _, Span};

use super::walk::Walk;
use crate::dynamic::{Arguments, Node};

impl<'a> Walk<'a, '_, '_> {
    /// Evaluates an expression whose value goes somewhere: a function in it may be called there.
    pub(super) fn value(&mut self, expression: &'a Expression<'a>) -> Node {
        let node = self.expression(expression);
        let inner = expression.get_inner_expression();
        if !matches!(inner, Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_))
            && !inner.is_literal()
        {
            let site = self.site(expression.span());
            // What came as an argument is answered for by whoever passed it.
            let mentioned = self.without_argument(inner).unwrap_or(node);
            self.flow.mention(mentioned, site);
        }
        node
    }

    /// Evaluates an expression that is only compared or tested.
    pub(super) fn tested(&mut self, expression: &'a Expression<'a>) -> Node {
        self.expression(expression)
    }

    /// Evaluates what is bound to a name. What a name holds counts where the name is used.
    pub(super) fn named(&mut self, expression: &'a Expression<'a>, name: Option<&str>) -> Node {
        match expression.get_inner_expression() {
            Expression::FunctionExpression(function) => {
                let (id, value) = self.function_value(function, name, None);
                self.belongs(id, function.span, name.is_some());
                value
            }
            Expression::ArrowFunctionExpression(arrow) => {
                let (id, value) = self.arrow_value(arrow, name);
                self.belongs(id, arrow.span, name.is_some());
                value
            }
            Expression::ClassExpression(class) => self.class(class, name),
            Expression::Identifier(_)
            | Expression::StaticMemberExpression(_)
            | Expression::ComputedMemberExpression(_)
            | Expression::ObjectExpression(_)
            | Expression::CallExpression(_) => self.expression(expression),
            _ => self.value(expression),
        }
    }

    /// A function written in another belongs to it; one that a module binds to a name runs only when something calls it.
    fn belongs(&mut self, id: crate::dynamic::FunctionId, span: Span, is_named: bool) {
        if !(is_named && self.is_module_level()) {
            let site = self.site(span);
            self.flow.edge(id, site);
        }
    }

    /// Returns what a parameter of the current function holds when no argument is given; `None` for every other name.
    pub(super) fn without_argument(&self, expression: &Expression<'a>) -> Option<Node> {
        let Expression::Identifier(name) = expression else { return None };
        let name = name.name.as_str();
        let innermost =
            self.scopes.iter().rev().find(|scope| scope.is_function || scope.nodes.contains_key(name))?;
        innermost.parameters.get(name).copied()
    }

    /// Evaluates an expression.
    pub(super) fn expression(&mut self, expression: &'a Expression<'a>) -> Node {
        self.depth += 1;
        let node = if self.too_deep(expression.span()) {
            self.flow.node()
        } else {
            self.expression_here(expression)
        };
        self.depth -= 1;
        node
    }

    fn expression_here(&mut self, expression: &'a Expression<'a>) -> Node {
        match expression {
            Expression::BooleanLiteral(_)
            | Expression::NullLiteral(_)
            | Expression::NumericLiteral(_)
            | Expression::BigIntLiteral(_)
            | Expression::RegExpLiteral(_)
            | Expression::StringLiteral(_)
            | Expression::NewTarget(_)
            | Expression::ImportMeta(_) => self.flow.node(),
            Expression::TemplateLiteral(inner) => {
                for part in &inner.expressions {
                    let node = self.value(part);
                    self.special_method(node, "toString", &[], inner.span);
                }
                self.flow.node()
            }
            Expression::Identifier(name) => self.lookup(name.name.as_str()),
            Expression::Super(_) => self.above.unwrap_or_else(|| self.flow.node()),
            Expression::ThisExpression(_) => self.this.unwrap_or_else(|| self.flow.node()),
            Expression::ArrayExpression(inner) => {
                let object = self.flow.object();
                let any = self.flow.any_of(object);
                for element in &inner.elements {
                    let node = match element {
                        ArrayExpressionElement::SpreadElement(spread) => {
                            let spread_node = self.value(&spread.argument);
                            self.iterated(spread_node, spread.span)
                        }
                        ArrayExpressionElement::Elision(_) => continue,
                        other => match other.as_expression() {
                            Some(expression) => self.element(expression, None),
                            None => continue,
                        },
                    };
                    self.flow.copy(node, any);
                }
                self.flow.node_of(object)
            }
            Expression::ArrowFunctionExpression(_)
            | Expression::FunctionExpression(_)
            | Expression::ClassExpression(_) => self.named(expression, None),
            Expression::AssignmentExpression(inner) => {
                let name = inner.left.get_identifier_name().map(str::to_owned).or_else(|| {
                    let member = inner.left.as_member_expression()?;
                    member.static_property_name().map(|name| name.to_string())
                });
                let value = self.named(&inner.right, name.as_deref());
                self.assign(&inner.left, value);
                value
            }
            Expression::AwaitExpression(inner) => {
                let node = self.expression(&inner.argument);
                let result = self.special_method(node, "then", &[], inner.span);
                self.flow.copy(node, result);
                result
            }
            Expression::BinaryExpression(inner) => {
                let is_test = inner.operator.is_equality() || inner.operator.is_compare();
                for side in [&inner.left, &inner.right] {
                    let node = if is_test { self.tested(side) } else { self.value(side) };
                    if inner.operator == BinaryOperator::Addition {
                        ["toString", "valueOf"].iter().for_each(|method| {
                            self.special_method(node, method, &[], inner.span);
                        });
                    }
                }
                self.flow.node()
            }
            Expression::CallExpression(call) => self.call(call),
            Expression::ChainExpression(inner) => match &inner.expression {
                ChainElement::CallExpression(call) => self.call(call),
                ChainElement::TSNonNullExpression(inner) => self.expression(&inner.expression),
                other => match other.as_member_expression() {
                    Some(member) => self.expression(member.as_expression()),
                    None => self.flow.node(),
                },
            },
            Expression::ConditionalExpression(inner) => {
                self.tested(&inner.test);
                self.either([&inner.consequent, &inner.alternate])
            }
            Expression::ImportExpression(inner) => {
                let site = self.site(inner.span);
                let text = self.text(&inner.source);
                if text.is_none() {
                    self.value(&inner.source);
                }
                let module = self.flow.import(text.as_deref(), site);
                self.interoperable(module, text.as_deref())
            }
            Expression::LogicalExpression(inner) => {
                // Of `a && b` only `b` is a function that goes on.
                if inner.operator.is_and() {
                    self.tested(&inner.left);
                    return self.element(&inner.right, None);
                }
                self.either([&inner.left, &inner.right])
            }
            Expression::NewExpression(new) => self.construction(new),
            Expression::ObjectExpression(inner) => self.object(inner),
            Expression::ParenthesizedExpression(inner) => self.expression(&inner.expression),
            Expression::SequenceExpression(inner) => {
                let mut last = self.flow.node();
                for part in &inner.expressions {
                    last = self.expression(part);
                }
                last
            }
            Expression::TaggedTemplateExpression(inner) => {
                let site = self.site(inner.span);
                let callee = self.expression(&inner.tag);
                let mut arguments = Arguments { positional: vec![self.flow.node()], ..Arguments::default() };
                arguments.texts.push(inner.quasi.quasis.first().map(|part| part.value.raw.to_string()));
                for part in &inner.quasi.expressions {
                    let node = self.value(part);
                    arguments.positional.push(node);
                    arguments.texts.push(None);
                }
                self.flow.call(callee, None, arguments, site)
            }
            Expression::UnaryExpression(inner) => {
                if inner.operator == UnaryOperator::Delete {
                    let nothing = self.flow.node();
                    self.assign_expression(inner.argument.get_inner_expression(), nothing);
                } else {
                    self.tested(&inner.argument);
                }
                self.flow.node()
            }
            Expression::UpdateExpression(inner) => {
                if let Some(member) = inner.argument.as_member_expression() {
                    let nothing = self.flow.node();
                    self.assign_expression(member.as_expression(), nothing);
                }
                self.flow.node()
            }
            Expression::YieldExpression(inner) => {
                if let Some(argument) = &inner.argument {
                    let node = self.value(argument);
                    self.give(node);
                    let each = self.flow.load_any(node, None);
                    self.give(each);
                }
                self.flow.node()
            }
            Expression::PrivateInExpression(inner) => {
                self.tested(&inner.right);
                self.flow.node()
            }
            Expression::JSXElement(inner) => {
                self.element_of_markup(inner);
                self.flow.node()
            }
            Expression::JSXFragment(inner) => {
                inner.children.iter().for_each(|child| self.child_of_markup(child));
                self.flow.node()
            }
            Expression::TSAsExpression(inner) => self.expression(&inner.expression),
            Expression::TSSatisfiesExpression(inner) => self.expression(&inner.expression),
            Expression::TSTypeAssertion(inner) => self.expression(&inner.expression),
            Expression::TSNonNullExpression(inner) => self.expression(&inner.expression),
            Expression::TSInstantiationExpression(inner) => self.expression(&inner.expression),
            Expression::V8IntrinsicExpression(inner) => {
                let site = self.site(inner.span);
                self.flow.direct(crate::Effect::DynUnresolved, "an intrinsic function", site, &[]);
                self.flow.node()
            }
            Expression::StaticMemberExpression(member) => {
                let object = self.base(&member.object);
                let site = self.site(member.span);
                self.member(object, member.property.name.as_str(), site, false)
            }
            Expression::PrivateFieldExpression(member) => {
                let object = self.base(&member.object);
                let site = self.site(member.span);
                self.flow.load(object, &format!("#{}", member.field.name), Some(site))
            }
            Expression::ComputedMemberExpression(member) => self.computed(member),
        }
    }

    /// Returns a member; of the `prototype` of a function, what its instances have.
    pub(super) fn member(
        &mut self,
        object: Node,
        name: &str,
        site: crate::dynamic::Site,
        is_base: bool,
    ) -> Node {
        let member = if is_base {
            self.flow.load_base(object, name, site)
        } else {
            self.flow.load(object, name, Some(site))
        };
        if name == "prototype" {
            let instances = self.flow.instances(object);
            self.flow.copy(instances, member);
        }
        member
    }

    fn computed(&mut self, member: &'a ComputedMemberExpression<'a>) -> Node {
        let object = self.base(&member.object);
        let site = self.site(member.span);
        if let Some(name) = self.text(&member.expression) {
            return self.member(object, &name, site, false);
        }
        self.tested(&member.expression);
        let is_number = matches!(member.expression.get_inner_expression(), Expression::NumericLiteral(_));
        self.flow.load_any(object, (!is_number).then_some(site))
    }

    /// Evaluates what a member is taken of: reading the member counts, not reading the whole.
    pub(super) fn base(&mut self, expression: &'a Expression<'a>) -> Node {
        match expression.get_inner_expression() {
            Expression::StaticMemberExpression(member) => {
                let object = self.base(&member.object);
                let site = self.site(member.span);
                self.member(object, member.property.name.as_str(), site, true)
            }
            Expression::ChainExpression(inner) => match &inner.expression {
                ChainElement::StaticMemberExpression(member) => {
                    let object = self.base(&member.object);
                    let site = self.site(member.span);
                    self.member(object, member.property.name.as_str(), site, true)
                }
                _ => self.expression(expression),
            },
            Expression::ComputedMemberExpression(member) => {
                let name = self.text(&member.expression);
                match name {
                    Some(name) => {
                        let object = self.base(&member.object);
                        let site = self.site(member.span);
                        self.member(object, &name, site, true)
                    }
                    None => self.expression(expression),
                }
            }
            _ => self.expression(expression),
        }
    }

    fn either(&mut self, parts: [&'a Expression<'a>; 2]) -> Node {
        let result = self.flow.node();
        for part in parts {
            let node = self.element(part, None);
            self.flow.copy(node, result);
        }
        result
    }

    /// A part of a literal or of a choice: a module that only names a function does not run it.
    fn element(&mut self, expression: &'a Expression<'a>, name: Option<&str>) -> Node {
        let is_plain = matches!(
            expression.get_inner_expression(),
            Expression::Identifier(_)
                | Expression::ObjectExpression(_)
                | Expression::StaticMemberExpression(_)
        );
        if is_plain || name.is_some() { self.named(expression, name) } else { self.value(expression) }
    }

    fn object(&mut self, literal: &'a ObjectExpression<'a>) -> Node {
        let object = self.flow.object();
        let held = self.flow.node_of(object);
        for property in &literal.properties {
            match property {
                ObjectPropertyKind::SpreadProperty(spread) => {
                    let node = self.value(&spread.argument);
                    self.flow.inherit(object, node);
                }
                ObjectPropertyKind::ObjectProperty(one) => {
                    let key = self.key(&one.key);
                    let function = match &one.value {
                        Expression::FunctionExpression(function) => Some(function),
                        _ => None,
                    };
                    if let Some(function) = function {
                        let shown = key.as_deref().unwrap_or("<computed>");
                        let (id, value) = self.function_value(function, Some(shown), Some(held));
                        self.belongs(id, function.span, true);
                        self.hold(object, key.as_deref(), one.kind != PropertyKind::Init, id, value);
                        continue;
                    }
                    let value = self.element(&one.value, key.as_deref().or(Some("<computed>")));
                    let field = match key {
                        Some(key) => {
                            let symbol = self.flow.symbol(&key);
                            self.flow.define(object, symbol)
                        }
                        None => self.flow.any_of(object),
                    };
                    self.flow.copy(value, field);
                }
            }
        }
        held
    }

    /// Returns what iterating gives.
    pub(super) fn iterated(&mut self, node: Node, span: Span) -> Node {
        let each = self.flow.load_any(node, None);
        // A generator's result is what it yields.
        self.flow.copy(node, each);
        for method in ["@@iterator", "@@asyncIterator"] {
            let iterator = self.special_method(node, method, &[], span);
            self.flow.copy(iterator, each);
            let next = self.special_method(iterator, "next", &[], span);
            let value = self.flow.load(next, "value", None);
            self.flow.copy(value, each);
        }
        each
    }

    /// Calls a method that the language calls, where the object has it.
    pub(super) fn special_method(&mut self, object: Node, method: &str, given: &[Node], span: Span) -> Node {
        if matches!(method, "toString" | "valueOf" | "then") && !self.flow.follows_operators() {
            return self.flow.node();
        }
        let site = self.site(span);
        self.flow.call_method(object, method, given, site)
    }
}
