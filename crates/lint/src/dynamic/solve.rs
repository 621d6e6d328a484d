//! Lets the values of a [`Flow`] run until nothing is new.
//!
//! INVARIANT: a value once in a node stays there, and every rule of a node has seen every value before it is done; so the result
//! does not depend on the order.

use std::collections::HashMap;

use super::flow::{
    Field, Flow, FunctionId, Node, Object, ObjectId, PackageId, PathId, Rule, Site, Symbol, Value,
};
use super::{ScriptError, subject_of};
use crate::Effect;

const MAX_STEPS: usize = 80_000_000;
/// The name under which a getter answers every read.
pub(crate) const ANY_NAME: &str = "*";

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
    pub(super) fn field(&mut self, object: ObjectId, name: Symbol) -> Node {
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

    pub(super) fn is_imported_here(&self, text: &str, site: Site) -> bool {
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
