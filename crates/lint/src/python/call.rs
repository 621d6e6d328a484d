//! What calls of Python pass, and what the language's own containers do with it.

use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::{Ranged, TextRange};

use super::walk::Walk;
use crate::dynamic::{Arguments, Node};

impl<'a> Walk<'a, '_, '_> {
    pub(super) fn call(&mut self, call: &'a ExprCall) -> Node {
        let site = self.site(call.range());
        let (mut receiver, mut method) = (None, None);
        let callee = match call.func.as_ref() {
            Expr::Attribute(member) => {
                let object = self.base(&member.value);
                self.reflect(member.attr.as_str(), site);
                receiver =
                    Some(if is_super(&member.value) { self.receiver.unwrap_or(object) } else { object });
                method = Some(member.attr.as_str());
                self.flow.load(object, member.attr.as_str(), Some(site))
            }
            Expr::Name(name) if name.id.as_str() == "super" => {
                call.arguments.args.iter().for_each(|argument| {
                    self.value(argument);
                });
                return self.class.map_or_else(|| self.flow.node(), |class| class.above);
            }
            Expr::Name(name)
                if matches!(name.id.as_str(), "globals" | "locals" | "vars") && call.arguments.is_empty() =>
            {
                let module = self.module_object;
                return self.flow.node_of(module);
            }
            other => self.expression(other),
        };
        let mut arguments = Arguments { receiver, ..Arguments::default() };
        for argument in &call.arguments.args {
            arguments.texts.push(self.text(argument).or_else(|| self.first_text(argument)));
            let node = self.value(argument);
            arguments.positional.push(node);
        }
        for keyword in &call.arguments.keywords {
            let node = self.value(&keyword.value);
            match &keyword.arg {
                Some(name) => {
                    let text = self.text(&keyword.value);
                    arguments.named_texts.push((name.as_str().to_owned(), text));
                    let symbol = self.flow.symbol(name.as_str());
                    arguments.named.push((symbol, node));
                }
                None => {
                    arguments.named_texts.push(("**".into(), None));
                    let each = self.flow.load_any(node, None);
                    arguments.positional.push(each);
                    arguments.texts.push(None);
                }
            }
        }
        let given = arguments.positional.clone();
        if let Some(without) = self.without_argument(&call.func) {
            arguments.is_passed = true;
            let arguments = Arguments { is_passed: false, ..arguments.clone() };
            self.flow.call(without, method, arguments, site);
        }
        let result = self.flow.call(callee, method, arguments, site);
        if let (Some(object), Some(method)) = (receiver, method) {
            self.container_method(object, method, &given, result);
        }
        if let Expr::Name(name) = call.func.as_ref()
            && let Some(first) = given.first()
        {
            self.converted(name.id.as_str(), *first, result, call.range());
        }
        result
    }

    /// What lists and dictionaries give back of what was put in.
    fn container_method(&mut self, object: Node, method: &str, given: &[Node], result: Node) {
        match method {
            "append" | "add" | "insert" | "appendleft" | "put" | "put_nowait" => {
                given.iter().for_each(|node| self.flow.store_any(object, *node, None));
            }
            "extend" | "update" => {
                for node in given {
                    let each = self.flow.load_any(*node, None);
                    self.flow.store_any(object, each, None);
                }
            }
            "get" | "pop" | "popleft" | "setdefault" | "values" | "items" | "get_nowait" => {
                let each = self.flow.load_any(object, None);
                self.flow.copy(each, result);
                given.iter().skip(1).for_each(|node| self.flow.copy(*node, result));
            }
            "copy" | "__aenter__" | "__enter__" => self.flow.copy(object, result),
            _ => {}
        }
    }

    /// What some functions of the language call on their argument.
    fn converted(&mut self, name: &str, first: Node, result: Node, range: TextRange) {
        let methods: &[&str] = match name {
            "str" | "print" | "format" => &["__str__", "__repr__", "__format__"],
            "repr" => &["__repr__"],
            "len" | "bool" => &["__len__", "__bool__"],
            "hash" => &["__hash__"],
            "int" | "float" => &["__int__", "__float__", "__index__"],
            "bytes" => &["__bytes__"],
            "abs" => &["__abs__"],
            "iter" | "list" | "tuple" | "set" | "sorted" | "sum" | "dict" | "enumerate" | "reversed"
            | "next" | "any" | "all" | "max" | "min" | "zip" => {
                let each = self.iterated(first, range);
                let object = self.flow.object();
                let any = self.flow.any_of(object);
                self.flow.copy(each, any);
                let held = self.flow.node_of(object);
                self.flow.copy(held, result);
                if name == "next" {
                    self.flow.copy(each, result);
                }
                &[]
            }
            _ => &[],
        };
        for method in methods {
            self.special_method(first, method, &[], range);
        }
    }
}

fn is_super(expression: &Expr) -> bool {
    matches!(expression, Expr::Call(call) if matches!(call.func.as_ref(), Expr::Name(name) if name.id.as_str() == "super"))
}
