//! Lets the values of a [`Flow`] run until nothing is new.
//!
//! INVARIANT: a value once in a node stays there, and every rule of a node has seen every value before it is done; so the result
//! does not depend on the order.

use std::collections::HashMap;
use std::rc::Rc;

use super::flow::{
    Arguments, Field, Flow, FunctionId, Node, Object, ObjectId, PackageId, PathId, Rule, Site, Special,
    Symbol, Value,
};
use super::{ScriptError, subject_of};
use crate::Effect;

const MAX_STEPS: usize = 80_000_000;
/// The name under which a getter answers every read.
pub(crate) const ANY_NAME: &str = "*";

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

impl Flow<'_> {
    /// Lets the values run, then judges by name the calls whose receiver is not known.
    pub(crate) fn solve(&mut self) -> Result<(), ScriptError> {
        self.settle()?;
        self.judge_by_name();
        self.settle()?;
        self.run_getters();
        Ok(())
    }

    fn settle(&mut self) -> Result<(), ScriptError> {
        let mut steps = 0_usize;
        while let Some(node) = self.work.pop_front() {
            let Some(data) = self.nodes.get_mut(node.0 as usize) else { continue };
            data.queued = false;
            let fresh: Vec<Value> = data.values.iter().skip(data.done).copied().collect();
            data.done = data.values.len();
            let rules = data.rules.clone();
            for rule in rules {
                for value in &fresh {
                    self.apply(rule, *value);
                    steps += 1;
                }
            }
            if steps > MAX_STEPS {
                return Err(ScriptError::Unsettled(MAX_STEPS));
            }
        }
        Ok(())
    }

    pub(super) fn apply(&mut self, rule: Rule, value: Value) {
        match (rule, value) {
            (Rule::Copy(to), value) => self.add(to, value),
            (Rule::Inherit(parent), Value::Object(object)) => self.inherit(object, parent),
            (Rule::Instance(to), Value::Object(object)) => {
                let is_class = |data: &Object| data.instance.is_some() || data.function.is_some();
                if self.objects.get(object.0 as usize).is_some_and(is_class) {
                    let instance = self.instance_of(object);
                    self.add(to, Value::Object(instance));
                }
            }
            (Rule::Instance(to), Value::Path(path)) => {
                let made = format!("{}()", self.path_text(path));
                let made = self.path(&made);
                if self.is_live(made) {
                    self.add(to, Value::Path(made));
                }
            }
            (Rule::Load(name, to, _), Value::Object(object)) => {
                let field = self.field(object, name);
                self.copy(field, to);
                let any = self.objects.get(object.0 as usize).and_then(|data| data.any);
                if let Some(any) = any {
                    self.copy(any, to);
                }
            }
            (Rule::Load(name, to, site), Value::Path(path)) => self.load_of_path(path, name, to, site),
            (Rule::LoadAny(to, _), Value::Object(object)) => {
                let all = self.all_of(object);
                self.copy(all, to);
            }
            (Rule::LoadAny(_, site), Value::Path(path)) => {
                let Some(site) = site else { return };
                let text = self.path_text(path).to_owned();
                if self.catalog.is_module(&text) {
                    self.direct(Effect::DynUnresolved, &format!("{text}[…]"), site, &[]);
                }
                self.catalog.read(&text).iter().for_each(|effect| self.direct(effect, &text, site, &[]));
            }
            (Rule::Store(name, from, _), Value::Object(object)) => {
                let field = self.field(object, name);
                self.copy(from, field);
            }
            (Rule::StoreAny(from, _), Value::Object(object)) => {
                let any = self.any_of(object);
                self.copy(from, any);
            }
            (Rule::Store(name, _, Some(site)), Value::Path(path)) => {
                let literals = [self.name(name).to_owned()];
                self.write_of_path(path, site, &literals);
            }
            (Rule::StoreAny(_, Some(site)), Value::Path(path)) => self.write_of_path(path, site, &[]),
            (Rule::Inherit(_) | Rule::Store(..) | Rule::StoreAny(..), Value::Path(_)) => {}
            (Rule::Mention(site), Value::Object(object)) => {
                if let Some(function) = self.objects.get(object.0 as usize).and_then(|data| data.function) {
                    self.edge(function, site);
                }
            }
            (Rule::Mention(site), Value::Path(path)) => self.call_of_path(path, None, site),
            (Rule::Call(call, site), Value::Object(object)) => self.call_of_object(call, object, site),
            (Rule::Run(call, receiver), value) => self.run_on(call, receiver, value),
            (Rule::Call(call, site), Value::Path(path)) => {
                let Some(made) = self.calls.get(call as usize) else { return };
                let (arguments, result, receiver) =
                    (made.arguments.clone(), made.result, made.arguments.receiver);
                if let Some(special) = self.catalog.special(self.path_text(path)) {
                    self.call_of_special(special, &arguments, result, site);
                }
                if !arguments.is_passed {
                    self.call_of_path(path, Some(&arguments), site);
                }
                if self.catalog.drives(self.path_text(path))
                    && let Some(receiver) = receiver
                {
                    self.run_methods_of(receiver, site);
                }
                let after = format!("{}()", self.path_text(path));
                let after = self.path(&after);
                if self.is_live(after) {
                    self.add(result, Value::Path(after));
                }
            }
        }
    }

    /// Returns the node of a field, inherited or not.
    fn field(&mut self, object: ObjectId, name: Symbol) -> Node {
        let Some(data) = self.objects.get(object.0 as usize) else { return self.node() };
        if let Some(field) = data.fields.get(&name) {
            return field.node;
        }
        let (parents, all) = (data.parents.clone(), data.all);
        let node = self.node_within(data.limit);
        if let Some(data) = self.objects.get_mut(object.0 as usize) {
            data.fields.insert(name, Field { node, is_own: false });
        }
        if let Some(all) = all {
            self.rule(node, Rule::Copy(all));
        }
        for parent in parents {
            self.rule(parent, Rule::Load(name, node, None));
        }
        node
    }

    /// Returns the node of everything in an object: what is read under an unknown name.
    fn all_of(&mut self, object: ObjectId) -> Node {
        if let Some(all) = self.objects.get(object.0 as usize).and_then(|data| data.all) {
            return all;
        }
        let all = self.node();
        let any = self.any_of(object);
        let (mut fields, mut parents) = (vec![any], Vec::new());
        if let Some(data) = self.objects.get_mut(object.0 as usize) {
            data.all = Some(all);
            fields.extend(data.fields.values().map(|field| field.node));
            parents.clone_from(&data.parents);
        }
        fields.into_iter().for_each(|field| self.copy(field, all));
        parents.into_iter().for_each(|parent| self.rule(parent, Rule::LoadAny(all, None)));
        all
    }

    fn load_of_path(&mut self, path: PathId, name: Symbol, to: Node, site: Option<Site>) {
        let member = match self.steps.get(&(path, name)) {
            Some(known) => *known,
            None => {
                let text = format!("{}.{}", self.path_text(path), self.name(name));
                let member = self.path(&text);
                self.steps.insert((path, name), member);
                member
            }
        };
        if let Some(site) = site {
            let effects = self.catalog.read(self.path_text(member));
            let parent = self.catalog.read(self.path_text(path));
            if !effects.is_empty() {
                let text = self.path_text(member).to_owned();
                effects.iter().for_each(|effect| self.direct(effect, &text, site, &[]));
            }
            // A member of the environment is the variable's name.
            let is_method = !self.catalog.call(self.path_text(member), None).is_empty();
            if parent.contains(Effect::EnvRead) && !is_method {
                let (text, variable) = (self.path_text(path).to_owned(), self.name(name).to_owned());
                self.direct(Effect::EnvRead, &text, site, &[variable]);
            }
        }
        if self.is_live(member) {
            self.add(to, Value::Path(member));
        }
    }

    fn write_of_path(&mut self, path: PathId, site: Site, literals: &[String]) {
        let text = self.path_text(path).to_owned();
        for effect in self.catalog.write(&text).iter() {
            self.direct(effect, &text, site, literals);
        }
    }

    fn call_of_path(&mut self, path: PathId, arguments: Option<&Arguments>, site: Site) {
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
    fn run_on(&mut self, call: u32, receiver: Node, value: Value) {
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

    fn call_of_special(&mut self, special: Special, arguments: &Arguments, result: Node, site: Site) {
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

    fn call_of_object(&mut self, call: u32, object: ObjectId, site: Site) {
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

    fn run_methods_of(&mut self, receiver: Node, site: Site) {
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

    /// A method called on something unknown is the only one of that name, or what the library calls so.
    fn judge_by_name(&mut self) {
        // What is put into something unknown may be called there.
        for (object, value, site) in std::mem::take(&mut self.stores) {
            let is_unknown = self.nodes.get(object.0 as usize).is_some_and(|data| data.values.is_empty());
            if is_unknown {
                self.mention(value, site);
            }
        }
        let mut methods: HashMap<Symbol, Option<FunctionId>> = HashMap::new();
        for object in &self.objects {
            for (name, field) in &object.fields {
                let values =
                    self.nodes.get(field.node.0 as usize).map_or(&[][..], |data| data.values.as_slice());
                for value in values {
                    let Value::Object(held) = value else { continue };
                    let function = self.objects.get(held.0 as usize).and_then(|data| data.function);
                    let is_method =
                        |id: &FunctionId| self.function_at(*id).is_some_and(|data| data.is_method);
                    let Some(function) = function.filter(is_method) else { continue };
                    let entry = methods.entry(*name).or_insert(Some(function));
                    if *entry != Some(function) {
                        *entry = None;
                    }
                }
            }
        }
        let mut found = Vec::new();
        for call in &self.calls {
            let Some(method) = call.method else { continue };
            let holds =
                |node: Node| self.nodes.get(node.0 as usize).is_some_and(|data| !data.values.is_empty());
            if call.arguments.receiver.is_none_or(holds) || holds(call.callee) {
                continue;
            }
            found.push((method, call.site, call.callee, call.arguments.texts.clone()));
        }
        for (method, site, callee, texts) in found {
            let name = self.name(method).to_owned();
            let effects = self.catalog.method(&name);
            if !effects.is_empty() {
                for effect in effects.iter() {
                    let literals: Vec<String> =
                        texts.iter().flatten().filter_map(|text| subject_of(effect, text)).take(1).collect();
                    self.direct(effect, &format!("….{name}"), site, &literals);
                }
            } else if !self.catalog.is_common(&name)
                && let Some(Some(function)) = methods.get(&method)
                && let Some(object) = self.function_at(*function).map(|data| data.object)
                // In another package the same name is chance, unless the project's own code calls it.
                && self.is_near(site.function, *function)
            {
                self.add(callee, Value::Object(object));
            }
        }
    }

    fn is_imported_here(&self, text: &str, site: Site) -> bool {
        let Some(package) = self.function_at(site.function).map(|data| data.package) else { return true };
        let is_of_a_package = text.starts_with("native:") || text.starts_with("missing:");
        let ends = text.match_indices(['.', '(']).map(|(at, _)| at).chain([text.len()]);
        !is_of_a_package
            || ends
                .filter_map(|end| text.get(..end))
                .any(|root| self.imports.contains(&(package, root.to_owned())))
    }

    fn is_near(&self, caller: FunctionId, callee: FunctionId) -> bool {
        let package = |id: FunctionId| self.function_at(id).map(|data| data.package);
        package(caller) == Some(PackageId(0)) || package(caller) == package(callee)
    }

    /// A read of a field that a getter answers runs the getter.
    fn run_getters(&mut self) {
        let whatever = self.symbol(ANY_NAME);
        let mut names: Vec<Symbol> =
            self.objects.iter().flat_map(|object| object.getters.iter().map(|(name, _)| *name)).collect();
        names.sort_unstable();
        names.dedup();
        let reads = std::mem::take(&mut self.reads);
        for (node, name, site) in reads {
            if names.binary_search(&name).is_err() && names.binary_search(&whatever).is_err() {
                continue;
            }
            let mut seen = Vec::new();
            self.run_getters_of(node, (name, whatever), site, &mut seen);
        }
    }

    fn run_getters_of(&mut self, node: Node, name: (Symbol, Symbol), site: Site, seen: &mut Vec<ObjectId>) {
        let values = self.nodes.get(node.0 as usize).map(|data| data.values.clone()).unwrap_or_default();
        for value in values {
            let Value::Object(object) = value else { continue };
            if seen.contains(&object) || seen.len() > 200 {
                continue;
            }
            seen.push(object);
            let Some(data) = self.objects.get(object.0 as usize) else { continue };
            let parents = data.parents.clone();
            let own: Vec<FunctionId> = data
                .getters
                .iter()
                .filter(|(known, _)| *known == name.0 || *known == name.1)
                .map(|(_, function)| *function)
                .collect();
            if own.is_empty() {
                parents.into_iter().for_each(|parent| self.run_getters_of(parent, name, site, seen));
            }
            own.into_iter().for_each(|function| self.edge(function, site));
        }
    }
}
