//! What calls pass, and what the language's own containers do with it.

use oxc_ast::ast::{Argument, CallExpression, Expression, NewExpression, ObjectPropertyKind};
use oxc_span::Span;

use super::walk::Walk;
use crate::Effect;
use crate::dynamic::{Arguments, Node};

/// What compilers call to make modules of the two kinds fit each other.
const INTEROPERABLE: [&str; 8] = [
    "__importDefault",
    "__importStar",
    "__toESM",
    "_interopRequireDefault",
    "_interopRequireWildcard",
    "_interop_require_default",
    "_interop_require_wildcard",
    "_interopNamespace",
];

impl<'a> Walk<'a, '_, '_> {
    pub(super) fn call(&mut self, call: &'a CallExpression<'a>) -> Node {
        let site = self.site(call.span);
        let (mut receiver, mut method) = (None, None);
        let callee_expression = call.callee.get_inner_expression();
        let callee = match callee_expression {
            Expression::StaticMemberExpression(member) => {
                let object = self.base(&member.object);
                receiver = Some(object);
                method = Some(member.property.name.to_string());
                self.flow.load(object, member.property.name.as_str(), Some(site))
            }
            Expression::ComputedMemberExpression(member) => {
                let object = self.base(&member.object);
                receiver = Some(object);
                method = self.text(&member.expression);
                match &method {
                    Some(name) => self.flow.load(object, name, Some(site)),
                    None => {
                        self.tested(&member.expression);
                        self.flow.load_any(object, Some(site))
                    }
                }
            }
            Expression::PrivateFieldExpression(member) => {
                let object = self.base(&member.object);
                receiver = Some(object);
                self.flow.load(object, &format!("#{}", member.field.name), Some(site))
            }
            other => self.expression(other),
        };
        let is_super = matches!(callee_expression, Expression::Super(_));
        let of_super = matches!(
            callee_expression.as_member_expression().map(|member| member.object()),
            Some(Expression::Super(_))
        );
        if is_super || of_super {
            receiver = self.this;
        }
        let mut arguments = self.arguments(&call.arguments);
        arguments.receiver = receiver;
        arguments.is_construction = is_super;
        self.reflection(callee_expression, method.as_deref(), call.span);
        let name = match callee_expression {
            Expression::Identifier(name) => Some(name.name.as_str()),
            _ => method.as_deref(),
        };
        let given = arguments.positional.clone();
        let texts = arguments.texts.clone();
        if let Some(without) = self.without_argument(callee_expression) {
            arguments.is_passed = true;
            let arguments = Arguments { is_passed: false, ..arguments.clone() };
            self.flow.call(without, None, arguments, site);
        }
        let result = self.flow.call(callee, method.as_deref(), arguments, site);
        if let Some(name) = name {
            self.compiled(name, call, &given, result);
        }
        if let (Some(object), Some(method)) = (receiver, method.as_deref()) {
            self.container_method(object, method, &given, &texts, result, call.span);
        }
        result
    }

    pub(super) fn construction(&mut self, new: &'a NewExpression<'a>) -> Node {
        let site = self.site(new.span);
        let callee = self.expression(&new.callee);
        let mut arguments = self.arguments(&new.arguments);
        arguments.is_construction = true;
        let first = arguments.positional.first().copied();
        let result = self.flow.call(callee, None, arguments, site);
        if let Expression::Identifier(name) = new.callee.get_inner_expression()
            && matches!(name.name.as_str(), "Map" | "Set" | "WeakMap" | "Array" | "WeakRef")
        {
            let object = self.flow.object();
            let any = self.flow.any_of(object);
            if let Some(first) = first {
                let each = self.flow.load_any(first, None);
                let second = self.flow.load_any(each, None);
                self.flow.copy(each, any);
                self.flow.copy(second, any);
            }
            let held = self.flow.node_of(object);
            self.flow.copy(held, result);
        }
        result
    }

    fn arguments(&mut self, given: &'a [Argument<'a>]) -> Arguments {
        let mut arguments = Arguments::default();
        for argument in given {
            match argument {
                Argument::SpreadElement(spread) => {
                    let node = self.value(&spread.argument);
                    let each = self.iterated(node, spread.span);
                    arguments.positional.push(each);
                    arguments.texts.push(None);
                }
                other => {
                    let Some(expression) = other.as_expression() else { continue };
                    let node = self.value(expression);
                    arguments.positional.push(node);
                    arguments.texts.push(self.text(expression).or_else(|| self.address(expression)));
                    self.flow_options(expression, &mut arguments);
                }
            }
        }
        arguments
    }

    /// Returns the address that `new URL("…")` always has.
    fn address(&self, expression: &'a Expression<'a>) -> Option<String> {
        let Expression::NewExpression(new) = expression.get_inner_expression() else { return None };
        let Expression::Identifier(name) = &new.callee else { return None };
        (name.name == "URL").then(|| self.text(new.arguments.first()?.as_expression()?)).flatten()
    }

    /// The host in `{ host: "…" }` is said literally.
    fn flow_options(&mut self, expression: &'a Expression<'a>, arguments: &mut Arguments) {
        let Expression::ObjectExpression(object) = expression.get_inner_expression() else { return };
        for property in &object.properties {
            let ObjectPropertyKind::ObjectProperty(one) = property else { continue };
            let Some(name) = one.key.static_name() else { continue };
            if matches!(name.as_ref(), "host" | "hostname" | "url") {
                arguments.named_texts.push((name.to_string(), self.text(&one.value)));
            }
        }
    }

    /// `x.constructor.constructor("code")` and `(() => {}).constructor("code")` make functions of text.
    fn reflection(&mut self, callee: &'a Expression<'a>, method: Option<&str>, span: Span) {
        if method != Some("constructor") {
            return;
        }
        let object = callee.as_member_expression().map(|member| member.object().get_inner_expression());
        let is_function = |object: &Expression<'_>| match object {
            Expression::FunctionExpression(_) | Expression::ArrowFunctionExpression(_) => true,
            other => other.as_member_expression().is_some_and(|member| {
                member.static_property_name().is_some_and(|name| name == "constructor")
            }),
        };
        if object.is_some_and(is_function) {
            let site = self.site(span);
            self.flow.direct(Effect::DynUnresolved, "constructor", site, &[]);
        }
    }

    /// What compilers and bundlers write for imports and exports.
    fn compiled(&mut self, name: &str, call: &'a CallExpression<'a>, given: &[Node], result: Node) {
        match (name, given) {
            (name, [module, ..]) if INTEROPERABLE.contains(&name) => {
                let both = self.interoperable(*module, None);
                self.flow.copy(both, result);
            }
            ("__exportStar", [module, target, ..]) | ("__reExport" | "__copyProps", [target, module, ..]) => {
                self.flow.inherit_all(*target, *module);
                self.flow.copy(*target, result);
            }
            ("__export", [target, ..]) => {
                let Some(Expression::ObjectExpression(all)) =
                    call.arguments.get(1).and_then(Argument::as_expression)
                else {
                    return;
                };
                for property in &all.properties {
                    let ObjectPropertyKind::ObjectProperty(one) = property else { continue };
                    let Some(name) = one.key.static_name() else { continue };
                    let getter = self.named(&one.value, Some(name.as_ref()));
                    self.offer_result(*target, name.as_ref(), getter, one.span);
                }
            }
            ("defineProperty", [target, _, _, ..]) => {
                let arguments = &call.arguments;
                let name =
                    arguments.get(1).and_then(Argument::as_expression).and_then(|name| self.text(name));
                let Some(Expression::ObjectExpression(all)) =
                    arguments.get(2).and_then(Argument::as_expression)
                else {
                    return;
                };
                let Some(name) = name else { return };
                for property in &all.properties {
                    let ObjectPropertyKind::ObjectProperty(one) = property else { continue };
                    match one.key.static_name().as_deref() {
                        Some("get") => {
                            let getter = self.named(&one.value, Some(&name));
                            self.offer_result(*target, &name, getter, one.span);
                        }
                        Some("value") => {
                            let value = self.named(&one.value, Some(&name));
                            self.flow.store(*target, &name, value, None);
                        }
                        _ => {}
                    }
                }
            }
            // Copies every member of one object into another, under whatever name a library has for it.
            ("mixin" | "mergeDescriptors" | "extend" | "defaults", [target, source, ..]) => {
                self.flow.inherit_all(*target, *source);
                self.flow.copy(*target, result);
            }
            ("inherits", [class, above, ..]) => {
                self.flow.inherit_all(*class, *above);
                let instances = self.flow.instances(*above);
                self.flow.inherit_all(*class, instances);
            }
            ("create", [parent, ..]) => {
                let object = self.flow.object();
                self.flow.inherit(object, *parent);
                let held = self.flow.node_of(object);
                self.flow.copy(held, result);
            }
            _ => {}
        }
    }

    /// Offers what a getter gives, and lets nobody answer for the getter itself.
    fn offer_result(&mut self, target: Node, name: &str, getter: Node, span: Span) {
        let site = self.site(span);
        let arguments = Arguments { is_passed: true, ..Arguments::default() };
        let value = self.flow.call(getter, None, arguments, site);
        self.flow.store(target, name, value, None);
    }

    /// What arrays, maps, promises and functions do with what they are given.
    fn container_method(
        &mut self,
        object: Node,
        method: &str,
        given: &[Node],
        texts: &[Option<String>],
        result: Node,
        span: Span,
    ) {
        let site = self.site(span);
        match method {
            "then" | "catch" | "finally" => {
                for callback in given {
                    let arguments =
                        Arguments { positional: vec![object], texts: vec![None], ..Arguments::default() };
                    let returned = self.flow.call(*callback, None, arguments, site);
                    self.flow.copy(returned, result);
                }
                self.flow.copy(object, result);
            }
            "forEach" | "map" | "filter" | "find" | "some" | "every" | "flatMap" | "reduce" | "findLast"
            | "sort" => {
                let each = self.flow.load_any(object, None);
                if let Some(callback) = given.first() {
                    let positional = vec![each, each, object];
                    let arguments = Arguments { positional, texts: vec![None; 3], ..Arguments::default() };
                    let returned = self.flow.call(*callback, None, arguments, site);
                    if matches!(method, "map" | "flatMap" | "reduce") {
                        let list = self.flow.object();
                        let any = self.flow.any_of(list);
                        self.flow.copy(returned, any);
                        let held = self.flow.node_of(list);
                        self.flow.copy(held, result);
                        self.flow.copy(returned, result);
                    }
                }
                match method {
                    "filter" | "sort" => self.flow.copy(object, result),
                    "find" | "findLast" => self.flow.copy(each, result),
                    _ => {}
                }
            }
            "push" | "unshift" | "add" | "set" | "append" => {
                given.iter().for_each(|node| self.flow.store_any(object, *node, None));
            }
            "get" | "pop" | "shift" | "at" | "values" | "entries" | "next" => {
                let each = self.flow.load_any(object, None);
                self.flow.copy(each, result);
            }
            "slice" | "concat" | "reverse" | "flat" => self.flow.copy(object, result),
            "call" | "apply" => {
                let each = given.get(1).map(|list| self.flow.load_any(*list, None));
                let positional = match (method, each) {
                    ("apply", Some(each)) => vec![each; 4],
                    ("apply", None) => Vec::new(),
                    _ => given.iter().skip(1).copied().collect(),
                };
                let texts =
                    if method == "call" { texts.iter().skip(1).cloned().collect() } else { vec![None; 4] };
                let arguments =
                    Arguments { receiver: given.first().copied(), positional, texts, ..Arguments::default() };
                let returned = self.flow.call(object, None, arguments, site);
                self.flow.copy(returned, result);
            }
            "bind" => {
                self.flow.copy(object, result);
                self.flow.mention(object, site);
            }
            _ => {}
        }
    }
}
