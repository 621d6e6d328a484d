//! What calls do: to functions and classes of the program, and to what the library offers.

use std::rc::Rc;

use super::flow::{Flow, FunctionId, Node, ObjectId, PathId, Rule, Site, Value};
use super::library::{Arguments, Special};
use super::subject_of;
use crate::Effect;

impl Flow<'_> {
    pub(super) fn call_of_path(&mut self, path: PathId, arguments: Option<&Arguments>, site: Site) {
        let text = self.path_text(path).to_owned();
        let effects = match arguments {
            Some(_) => self.catalog.call(&text, arguments),
            None => self.catalog.call(&text, None).union(self.catalog.read(&text)),
        };
        // Something of compiled or absent code that came from another package is that package's affair.
        let hides = effects.contains(Effect::Ffi) || effects.contains(Effect::Unanalyzed);
        if hides && !self.is_imported_here(&text, site) {
            return;
        }
        for effect in effects.iter() {
            let literals: Vec<String> = arguments
                .into_iter()
                .flat_map(|given| said(effect, given))
                .filter_map(|text| subject_of(effect, text))
                .take(1)
                .collect();
            self.direct(effect, &text, site, &literals);
        }
    }

    /// Runs a method that the language calls by itself: a constructor, or what makes an instance callable.
    pub(super) fn run_on(&mut self, call: u32, receiver: Node, value: Value) {
        let Some(made) = self.calls.get(call as usize) else { return };
        let (arguments, result, site) = (Rc::clone(&made.arguments), made.result, made.site);
        match value {
            Value::Object(object) => {
                if let Some(function) = self.objects.get(object.0 as usize).and_then(|data| data.function) {
                    self.run(function, &arguments, Some(receiver), result, site);
                }
            }
            Value::Path(path) => {
                if !arguments.is_passed {
                    self.call_of_path(path, Some(&arguments), site);
                }
            }
        }
    }

    pub(super) fn call_of_special(
        &mut self,
        special: Special,
        arguments: &Arguments,
        result: Node,
        site: Site,
    ) {
        let given = |position: usize| arguments.positional.get(position).copied();
        let text = |position: usize| arguments.texts.get(position).and_then(Option::as_deref);
        match special {
            Special::Apply(function, from) => {
                let named = arguments.named.iter().map(|(_, node)| *node);
                let positional: Vec<Node> =
                    arguments.positional.iter().skip(from).copied().chain(named).collect();
                let callees =
                    given(function).into_iter().chain(arguments.named.iter().map(|(_, node)| *node));
                for callee in callees.collect::<Vec<_>>() {
                    let arguments = Arguments { positional: positional.clone(), ..Arguments::default() };
                    let returned = self.call(callee, None, arguments, site);
                    self.copy(returned, result);
                }
            }
            Special::Assign => {
                let Some(target) = given(0) else { return };
                self.copy(target, result);
                for source in arguments.positional.iter().skip(1) {
                    self.inherit_all(target, *source);
                }
                let nothing = self.node();
                self.store_any(target, nothing, Some(site));
            }
            Special::Import(position) => {
                let module = self.import(text(position), site);
                self.copy(module, result);
            }
            Special::Member(object, name) => {
                let Some(object) = given(object) else { return };
                let member = match text(name) {
                    Some(name) => self.load(object, name, Some(site)),
                    None => self.load_any(object, Some(site)),
                };
                self.copy(member, result);
            }
            Special::Same(position) => {
                if let Some(node) = given(position) {
                    self.copy(node, result);
                }
            }
            Special::SetMember(object, name, value) => {
                let (Some(object), Some(value)) = (given(object), given(value)) else { return };
                match text(name) {
                    Some(name) => self.store(object, name, value, Some(site)),
                    None => self.store_any(object, value, Some(site)),
                }
            }
        }
    }

    pub(super) fn call_of_object(&mut self, call: u32, object: ObjectId, site: Site) {
        let Some(data) = self.objects.get(object.0 as usize) else { return };
        let (function, instance, class) = (data.function, data.instance, data.class);
        let Some(made) = self.calls.get(call as usize) else { return };
        let (arguments, result) = (Rc::clone(&made.arguments), made.result);
        if let Some(function) = function {
            self.run(function, &arguments, arguments.receiver, result, site);
            if arguments.is_construction {
                let instance = self.instance_of(object);
                self.add(result, Value::Object(instance));
                let this = self.function_at(function).map(|data| data.this);
                if let Some(this) = this {
                    self.add(this, Value::Object(instance));
                }
            }
        } else if let Some(instance) = instance {
            self.add(result, Value::Object(instance));
            let receiver = self.lone_node(instance);
            for constructor in self.catalog.constructors() {
                let name = self.symbol(constructor);
                let field = self.field(object, name);
                self.rule(field, Rule::Run(call, receiver));
            }
        }
        if let (Some(_), Some(caller)) = (class, self.catalog.caller()) {
            let name = self.symbol(caller);
            let field = self.field(object, name);
            let receiver = self.lone_node(object);
            self.rule(field, Rule::Run(call, receiver));
        }
    }

    /// Lets the arguments of a call reach the parameters of a function.
    fn run(
        &mut self,
        function: FunctionId,
        arguments: &Arguments,
        receiver: Option<Node>,
        result: Node,
        site: Site,
    ) {
        if !arguments.is_passed {
            self.edge(function, site);
        }
        let Some(data) = self.function_at(function) else { return };
        let (this, returns, rest) = (data.this, data.returns, data.rest);
        let parameters = data.parameters.clone();
        let takes_self = data.takes_self;
        self.copy(returns, result);
        if let Some(receiver) = receiver {
            self.copy(receiver, this);
        }
        let skipped: &[usize] = match (takes_self, receiver.is_some()) {
            (true, true) => &[1],
            (true, false) => &[0, 1],
            (false, _) => &[0],
        };
        for skip in skipped {
            for (index, argument) in arguments.positional.iter().enumerate() {
                match (parameters.get(index + skip), rest) {
                    (Some((_, parameter)), _) => self.copy(*argument, *parameter),
                    (None, Some(rest)) => self.store_any(rest, *argument, None),
                    (None, None) => {}
                }
            }
        }
        for (name, argument) in &arguments.named {
            match (parameters.iter().find(|(known, _)| *known == Some(*name)), rest) {
                (Some((_, parameter)), _) => self.copy(*argument, *parameter),
                (None, Some(rest)) => self.store_any(rest, *argument, None),
                (None, None) => {}
            }
        }
    }

    pub(super) fn run_methods_of(&mut self, receiver: Node, site: Site) {
        let values = self.nodes.get(receiver.0 as usize).map(|data| data.values.clone()).unwrap_or_default();
        for value in values {
            let Value::Object(instance) = value else { continue };
            let Some(class) = self.objects.get(instance.0 as usize).and_then(|data| data.class) else {
                continue;
            };
            let fields: Vec<Node> = self
                .objects
                .get(class.0 as usize)
                .map(|data| data.fields.values().map(|field| field.node).collect())
                .unwrap_or_default();
            fields.into_iter().for_each(|field| self.mention(field, site));
        }
    }
}

/// Returns the literals of a call that can say what is touched: an address may also come second (`request("GET", url)`) or by name.
fn said(effect: Effect, given: &Arguments) -> Vec<&String> {
    let is_address = matches!(effect, Effect::NetConnect | Effect::NetDns);
    let positional = given.texts.iter().take(if is_address { 2 } else { 1 }).flatten();
    let named = given
        .named_texts
        .iter()
        .filter(|(name, _)| matches!(name.as_str(), "url" | "host" | "hostname" | "args" | "file"));
    positional.chain(named.filter_map(|(_, text)| text.as_ref())).collect()
}
