//! What expressions of Python evaluate to.

use ruff_python_ast::{Comprehension, Expr, ExprLambda, InterpolatedStringElement, Operator, Parameters};
use ruff_text_size::{Ranged, TextRange};

use super::scope::Bound;
use super::walk::Walk;
use crate::dynamic::{Node, Site};
use crate::{Effect, FunctionKind};

impl<'a> Walk<'a, '_, '_> {
    /// Evaluates an expression whose value goes somewhere: a function in it may be called there.
    pub(super) fn value(&mut self, expression: &'a Expr) -> Node {
        let node = self.expression(expression);
        if !matches!(expression, Expr::Lambda(_)) && !expression.is_literal_expr() {
            let site = self.site(expression.range());
            // What came as an argument is answered for by whoever passed it.
            let mentioned = self.without_argument(expression).unwrap_or(node);
            self.flow.mention(mentioned, site);
        }
        node
    }

    /// Evaluates an expression.
    pub(super) fn expression(&mut self, expression: &'a Expr) -> Node {
        match expression {
            Expr::BoolOp(inner) => self.either(inner.values.iter()),
            Expr::Named(inner) => {
                let value = self.value(&inner.value);
                self.assign(&inner.target, value);
                value
            }
            Expr::BinOp(inner) => {
                let (left, right) = (self.value(&inner.left), self.value(&inner.right));
                let (method, reflected) = operator_methods(inner.op);
                let result = self.special_method(left, method, &[right], inner.range());
                let other = self.special_method(right, reflected, &[left], inner.range());
                // `[f] + [g]` holds what both hold, and `Path(a) / b` is a path.
                for node in [left, right, other] {
                    self.flow.copy(node, result);
                }
                result
            }
            Expr::UnaryOp(inner) => {
                let operand = self.value(&inner.operand);
                ["__neg__", "__invert__", "__bool__"].iter().for_each(|method| {
                    self.special_method(operand, method, &[], inner.range());
                });
                self.flow.node()
            }
            Expr::Lambda(inner) => self.lambda(inner),
            Expr::If(inner) => {
                self.value(&inner.test);
                self.either([inner.body.as_ref(), inner.orelse.as_ref()].into_iter())
            }
            Expr::Dict(inner) => {
                let object = self.flow.object();
                for item in &inner.items {
                    let value = self.element(&item.value);
                    match item.key.as_ref().map(|key| (key, self.text(key))) {
                        Some((_, Some(text))) => {
                            let symbol = self.flow.symbol(&text);
                            let field = self.flow.define(object, symbol);
                            self.flow.copy(value, field);
                        }
                        Some((key, None)) => {
                            self.value(key);
                            let any = self.flow.any_of(object);
                            self.flow.copy(value, any);
                        }
                        None => self.flow.inherit(object, value),
                    }
                }
                self.flow.node_of(object)
            }
            Expr::Set(inner) => self.container(inner.elts.iter()),
            Expr::List(inner) => self.container(inner.elts.iter()),
            Expr::Tuple(inner) => self.container(inner.elts.iter()),
            Expr::ListComp(inner) => self.comprehension(&inner.generators, &[&inner.elt]),
            Expr::SetComp(inner) => self.comprehension(&inner.generators, &[&inner.elt]),
            Expr::Generator(inner) => self.comprehension(&inner.generators, &[&inner.elt]),
            Expr::DictComp(inner) => {
                let parts: Vec<&'a Expr> =
                    inner.key.as_deref().into_iter().chain([inner.value.as_ref()]).collect();
                self.comprehension(&inner.generators, &parts)
            }
            Expr::Await(inner) => {
                let awaited = self.expression(&inner.value);
                let result = self.special_method(awaited, "__await__", &[], inner.range());
                self.flow.copy(awaited, result);
                result
            }
            Expr::Yield(inner) => {
                if let Some(value) = &inner.value {
                    self.give(value);
                }
                self.flow.node()
            }
            Expr::YieldFrom(inner) => {
                self.give(&inner.value);
                self.flow.node()
            }
            Expr::Compare(inner) => {
                let left = self.value(&inner.left);
                for other in &inner.comparators {
                    let right = self.value(other);
                    for method in ["__eq__", "__lt__", "__gt__", "__ne__", "__le__", "__ge__"] {
                        self.special_method(left, method, &[right], inner.range());
                    }
                    self.special_method(right, "__contains__", &[left], inner.range());
                }
                self.flow.node()
            }
            Expr::Call(inner) => self.call(inner),
            Expr::FString(inner) => {
                for element in inner.value.elements() {
                    self.interpolated(element);
                }
                self.flow.node()
            }
            Expr::TString(inner) => {
                for element in inner.value.elements() {
                    self.interpolated(element);
                }
                self.flow.node()
            }
            Expr::Attribute(inner) => {
                let object = self.base(&inner.value);
                let site = self.site(inner.range());
                let member = self.flow.load(object, inner.attr.as_str(), Some(site));
                if matches!(inner.attr.as_str(), "__dict__" | "__class__") {
                    self.flow.copy(object, member);
                }
                self.reflect(inner.attr.as_str(), site);
                member
            }
            Expr::Subscript(inner) => {
                let object = self.base(&inner.value);
                let site = self.site(inner.range());
                let result = self.special_method(object, "__getitem__", &[], inner.range());
                match self.text(&inner.slice) {
                    Some(key) => {
                        let member = self.flow.load(object, &key, Some(site));
                        self.flow.copy(member, result);
                    }
                    None => {
                        self.value(&inner.slice);
                        let is_number = matches!(
                            inner.slice.as_ref(),
                            Expr::NumberLiteral(_) | Expr::Slice(_) | Expr::UnaryOp(_)
                        );
                        let member = self.flow.load_any(object, (!is_number).then_some(site));
                        self.flow.copy(member, result);
                        if matches!(inner.slice.as_ref(), Expr::Slice(_)) {
                            self.flow.copy(object, result);
                        }
                    }
                }
                result
            }
            Expr::Starred(inner) => {
                let object = self.value(&inner.value);
                self.flow.load_any(object, None)
            }
            Expr::Name(inner) => match inner.id.as_str() {
                "__builtins__" => self.flow.node_of_path("builtins"),
                "__class__" => self.class.map_or_else(|| self.flow.node(), |class| class.itself),
                name => self.lookup(name),
            },
            Expr::Slice(inner) => {
                for part in [&inner.lower, &inner.upper, &inner.step].into_iter().flatten() {
                    self.value(part);
                }
                self.flow.node()
            }
            Expr::StringLiteral(_)
            | Expr::BytesLiteral(_)
            | Expr::NumberLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::EllipsisLiteral(_)
            | Expr::IpyEscapeCommand(_) => self.flow.node(),
        }
    }

    /// Evaluates what a member is taken of: reading the member counts, not reading the whole.
    pub(super) fn base(&mut self, expression: &'a Expr) -> Node {
        match expression {
            Expr::Attribute(inner) => {
                let object = self.base(&inner.value);
                let site = self.site(inner.range());
                let member = self.flow.load_base(object, inner.attr.as_str(), site);
                if matches!(inner.attr.as_str(), "__dict__" | "__class__") {
                    self.flow.copy(object, member);
                }
                self.reflect(inner.attr.as_str(), site);
                member
            }
            other => self.expression(other),
        }
    }

    /// What reaches every object of the program hides what is reached.
    pub(super) fn reflect(&mut self, name: &str, site: Site) {
        if matches!(
            name,
            "__subclasses__" | "__globals__" | "__builtins__" | "f_globals" | "f_locals" | "f_builtins"
        ) {
            self.flow.direct(Effect::DynUnresolved, name, site, &[]);
        }
    }

    /// Evaluates an annotation: what is annotated holds an instance of the class.
    pub(super) fn annotation(&mut self, annotation: &'a Expr) -> Node {
        let result = self.flow.node();
        match annotation {
            Expr::Name(_) | Expr::Attribute(_) => {
                let class = self.annotated_class(annotation);
                let instance = self.flow.instances(class);
                self.flow.copy(instance, result);
            }
            Expr::BinOp(inner) => {
                for side in [&inner.left, &inner.right] {
                    let node = self.annotation(side);
                    self.flow.copy(node, result);
                }
            }
            Expr::Subscript(inner) => {
                let wrapper = match inner.value.as_ref() {
                    Expr::Name(name) => name.id.as_str(),
                    Expr::Attribute(member) => member.attr.as_str(),
                    _ => "",
                };
                let parts: Vec<&'a Expr> = match inner.slice.as_ref() {
                    Expr::Tuple(tuple) => tuple.elts.iter().collect(),
                    single => vec![single],
                };
                match wrapper {
                    "Optional" | "Union" | "Annotated" | "Awaitable" | "Final" | "ClassVar" => {
                        for part in parts {
                            let node = self.annotation(part);
                            self.flow.copy(node, result);
                        }
                    }
                    "list" | "List" | "tuple" | "Tuple" | "set" | "Set" | "dict" | "Dict" | "Iterable"
                    | "Sequence" | "Iterator" | "AsyncIterator" | "Generator" | "Mapping" => {
                        let object = self.flow.object();
                        let any = self.flow.any_of(object);
                        for part in parts {
                            let node = self.annotation(part);
                            self.flow.copy(node, any);
                        }
                        let held = self.flow.node_of(object);
                        self.flow.copy(held, result);
                    }
                    _ => {
                        let class = self.annotated_class(&inner.value);
                        let instance = self.flow.instances(class);
                        self.flow.copy(instance, result);
                    }
                }
            }
            // `"Path"`: a name in quotation marks.
            Expr::StringLiteral(inner) => {
                let text = inner.value.to_str();
                let is_name =
                    text.split('.').all(|part| part.chars().all(|c| c.is_alphanumeric() || c == '_'));
                let mut parts = text.split('.');
                if is_name && let Some(first) = parts.next() {
                    let mut class = self.lookup(first);
                    for part in parts {
                        class = self.flow.load(class, part, None);
                    }
                    let instance = self.flow.instances(class);
                    self.flow.copy(instance, result);
                }
            }
            _ => {}
        }
        result
    }

    /// An annotation is read by nobody, so that reading it does nothing.
    fn annotated_class(&mut self, annotation: &'a Expr) -> Node {
        match annotation {
            Expr::Name(name) => self.lookup(name.id.as_str()),
            Expr::Attribute(member) => {
                let object = self.annotated_class(&member.value);
                self.flow.load(object, member.attr.as_str(), None)
            }
            _ => self.flow.node(),
        }
    }

    /// Returns what iterating gives.
    pub(super) fn iterated(&mut self, node: Node, range: TextRange) -> Node {
        let each = self.flow.load_any(node, None);
        // A generator's result is what it yields.
        self.flow.copy(node, each);
        for method in ["__iter__", "__aiter__"] {
            let iterator = self.special_method(node, method, &[], range);
            self.flow.copy(iterator, each);
            for next in ["__next__", "__anext__"] {
                let given = self.special_method(iterator, next, &[], range);
                self.flow.copy(given, each);
            }
        }
        for next in ["__next__", "__anext__"] {
            let given = self.special_method(node, next, &[], range);
            self.flow.copy(given, each);
        }
        each
    }

    /// Calls a method that the language calls, where the object has it.
    pub(super) fn special_method(
        &mut self,
        object: Node,
        method: &str,
        given: &[Node],
        range: TextRange,
    ) -> Node {
        let is_plain = [
            "__enter__",
            "__aenter__",
            "__exit__",
            "__aexit__",
            "__iter__",
            "__aiter__",
            "__next__",
            "__anext__",
            "__await__",
        ]
        .contains(&method);
        if !is_plain && !self.flow.follows_operators() {
            return self.flow.node();
        }
        let site = self.site(range);
        self.flow.call_method(object, method, given, site)
    }

    fn either(&mut self, parts: impl Iterator<Item = &'a Expr>) -> Node {
        let result = self.flow.node();
        for part in parts {
            let node = self.value(part);
            self.flow.copy(node, result);
        }
        result
    }

    fn container(&mut self, elements: impl Iterator<Item = &'a Expr>) -> Node {
        let object = self.flow.object();
        let any = self.flow.any_of(object);
        for element in elements {
            let node = self.element(element);
            self.flow.copy(node, any);
        }
        self.flow.node_of(object)
    }

    /// An element of a container of a module is not run by the module.
    fn element(&mut self, element: &'a Expr) -> Node {
        if self.scopes.len() == 1 && matches!(element, Expr::Name(_) | Expr::Lambda(_)) {
            self.expression(element)
        } else {
            self.value(element)
        }
    }

    fn comprehension(&mut self, generators: &'a [Comprehension], elements: &[&'a Expr]) -> Node {
        for generator in generators {
            let iterated = self.expression(&generator.iter);
            let each = self.iterated(iterated, generator.iter.range());
            self.assign(&generator.target, each);
            generator.ifs.iter().for_each(|test| {
                self.value(test);
            });
        }
        let object = self.flow.object();
        let any = self.flow.any_of(object);
        for element in elements {
            let node = self.value(element);
            self.flow.copy(node, any);
        }
        self.flow.node_of(object)
    }

    fn give(&mut self, value: &'a Expr) {
        let node = self.value(value);
        if let Some(returns) = self.flow.function_at(self.function).map(|data| data.returns) {
            self.flow.copy(node, returns);
            let each = self.flow.load_any(node, None);
            self.flow.copy(each, returns);
        }
    }

    fn interpolated(&mut self, element: &'a InterpolatedStringElement) {
        if let InterpolatedStringElement::Interpolation(inner) = element {
            let node = self.value(&inner.expression);
            for method in ["__format__", "__str__", "__repr__"] {
                self.special_method(node, method, &[], inner.range());
            }
            if let Some(format) = &inner.format_spec {
                format.elements.iter().for_each(|element| self.interpolated(element));
            }
        }
    }

    fn lambda(&mut self, lambda: &'a ExprLambda) -> Node {
        let line = self.flow.place(self.file, lambda.range().start().to_u32()).map_or(0, |place| place.line);
        let function = self.new_function(&format!("<lambda:{line}>"), FunctionKind::Closure, lambda.range());
        let bound = Bound::of_expression(&lambda.body);
        let body = |walk: &mut Self| walk.give_lambda(&lambda.body);
        match &lambda.parameters {
            Some(parameters) => self.enter(function, parameters, None, bound, body),
            None => self.enter(function, no_parameters(), None, bound, body),
        }
        // A lambda belongs to the function around it; one of a module runs only when something calls it.
        if self.scopes.len() > 1 {
            let site = self.site(lambda.range());
            self.flow.edge(function, site);
        }
        let object = self.flow.function_at(function).map(|data| data.object);
        match object {
            Some(object) => self.flow.node_of(object),
            None => self.flow.node(),
        }
    }

    fn give_lambda(&mut self, body: &'a Expr) {
        let node = self.value(body);
        if let Some(returns) = self.flow.function_at(self.function).map(|data| data.returns) {
            self.flow.copy(node, returns);
        }
    }
}

fn no_parameters() -> &'static Parameters {
    static NONE: std::sync::LazyLock<Parameters> = std::sync::LazyLock::new(Parameters::default);
    &NONE
}

const fn operator_methods(operator: Operator) -> (&'static str, &'static str) {
    match operator {
        Operator::Add => ("__add__", "__radd__"),
        Operator::Sub => ("__sub__", "__rsub__"),
        Operator::Mult => ("__mul__", "__rmul__"),
        Operator::MatMult => ("__matmul__", "__rmatmul__"),
        Operator::Div => ("__truediv__", "__rtruediv__"),
        Operator::Mod => ("__mod__", "__rmod__"),
        Operator::Pow => ("__pow__", "__rpow__"),
        Operator::LShift => ("__lshift__", "__rlshift__"),
        Operator::RShift => ("__rshift__", "__rrshift__"),
        Operator::BitOr => ("__or__", "__ror__"),
        Operator::BitXor => ("__xor__", "__rxor__"),
        Operator::BitAnd => ("__and__", "__rand__"),
        Operator::FloorDiv => ("__floordiv__", "__rfloordiv__"),
    }
}
