//! What is of the program: the items of its crates, the methods of its traits, and what they take from other languages.

use std::rc::Rc;

use super::{Meaning, last_name};
use crate::mir::head::{Found, Inside, is_projection};
use crate::mir::index::{Index, Node};
use crate::mir::path::{Path, Qualified, Signature, Type};
use crate::{Effect, EffectSet, catalog};

impl Index<'_> {
    /// A function, static or method without a trait, of a crate of the program.
    pub(super) fn item(
        &mut self,
        unit: usize,
        path: &Path<'_>,
        types: Found,
        signature: Option<&Signature<'_>>,
    ) -> Rc<Meaning> {
        let plain = path.plain();
        let mut meaning = Meaning { types, shown: plain.clone(), ..Meaning::default() };
        let (first, rest) = plain.split_once("::").unwrap_or((&plain, ""));
        let crates = if rest.is_empty() { Vec::new() } else { self.heads.crates(unit, first).to_vec() };
        meaning.targets = self.exact(unit, &plain).to_vec();
        if !meaning.targets.is_empty() {
            return Rc::new(meaning);
        }
        for other in &crates {
            if let Some(found) = self.known_crate(unit, *other, rest) {
                return found;
            }
            meaning.targets.extend(self.exact(*other, rest));
        }
        if !meaning.targets.is_empty() {
            self.fitting(&mut meaning.targets, signature);
            return Rc::new(meaning);
        }
        if signature.is_some_and(|signature| signature.foreign) {
            let owner = crates.first().copied().unwrap_or(unit);
            return self.foreign(owner, path, path.tail());
        }
        meaning.targets = self.inherent_of(unit, path);
        self.fitting(&mut meaning.targets, signature);
        if meaning.targets.is_empty()
            && let Some(other) = self.standard_path(unit, &plain)
        {
            return self.standard(&Path::read(&other), meaning.types, signature);
        }
        if meaning.targets.is_empty() {
            meaning.targets = self.reached_otherwise(unit, &crates, path, signature);
        }
        if meaning.targets.is_empty()
            && ["std::", "core::", "alloc::"].iter().any(|root| plain.starts_with(root))
        {
            return self.standard(path, meaning.types, signature);
        }
        Rc::new(meaning)
    }

    /// A method of a trait of the program.
    pub(super) fn method(
        &mut self,
        unit: usize,
        path: &Path<'_>,
        block: &Qualified<'_>,
        of: &Path<'_>,
        types: Found,
        signature: Option<&Signature<'_>>,
    ) -> Rc<Meaning> {
        let method = last_name(path);
        let (of, method) = (self.name(of.tail()), self.name(method));
        let shown = path.tail().to_owned();
        let mut meaning = Meaning { shown, types, ..Meaning::default() };
        if let Type::Dyn(traits) = block.subject.behind() {
            // The trait may be implemented for the object type itself.
            let own = self.heads.inside(unit, block.subject.behind(), Inside::Mentioned);
            meaning.targets = self.methods_of(&own.heads, of, method);
            let objects = traits.first().map(Path::tail).map(|tail| self.name(tail));
            if meaning.targets.is_empty() || objects == Some(of) {
                let all = self
                    .implementors(of, method)
                    .map(|(_, node)| node)
                    .chain(self.default_of(of, method).iter().copied());
                meaning.targets = all.collect();
            }
            return Rc::new(meaning);
        }
        let subject = self.outermost(unit, block.subject.behind());
        if subject.generic && subject.heads.is_empty() {
            meaning.needs = Some((of, method));
            meaning.told = matches!(block.subject.behind(), Type::Path(path) if is_projection(path));
            meaning.targets = self.for_all(of, method).collect();
            return Rc::new(meaning);
        }
        meaning.targets = self.methods_of(&subject.heads, of, method);
        self.fitting(&mut meaning.targets, signature);
        if meaning.targets.is_empty() {
            meaning.targets = self.for_all(of, method).collect();
        }
        if meaning.targets.is_empty() {
            meaning.targets = self.default_of(of, method).to_vec();
        }
        Rc::new(meaning)
    }

    /// A function or variable of another language.
    pub(super) fn foreign(&mut self, owner: usize, path: &Path<'_>, name: &str) -> Rc<Meaning> {
        // The names of that crate are those of C, whatever they are on other systems.
        let is_libc = self.units.get(owner).is_some_and(|unit| unit.name == "libc");
        let renamed = self.summaries.get(owner).filter(|_| !is_libc).and_then(|summary| {
            let pairs = &summary.source.renamed;
            pairs
                .iter()
                .find(|(rust, _)| summary.text(*rust) == name)
                .map(|(_, linked)| summary.text(*linked).to_owned())
        });
        let name = renamed.unwrap_or_else(|| name.to_owned());
        if let Some(nodes) = self.exported.get(name.as_str()).filter(|nodes| !nodes.is_empty()) {
            return Rc::new(Meaning { targets: nodes.clone(), shown: name, ..Meaning::default() });
        }
        // The numbers at the end of a symbol's name tell versions apart.
        let effects = catalog::of_foreign(name.trim_start_matches('\u{1}'))
            .unwrap_or_else(|| EffectSet::of(Effect::Ffi));
        let shown = if path.segments.len() > 1 { path.plain() } else { format!("extern {name}") };
        Meaning::by_name(shown, effects)
    }

    /// `Type::method`.
    fn inherent_of(&mut self, unit: usize, path: &Path<'_>) -> Vec<Node> {
        let mut ty = path.clone();
        let Some(last) = ty.segments.pop() else { return Vec::new() };
        if ty.segments.is_empty() {
            return Vec::new();
        }
        let name = self.name(last.name);
        let named = self.heads.named(unit, &ty);
        named.heads.iter().filter_map(|head| self.inherent.get(&(*head, name))).flatten().copied().collect()
    }

    /// An item that is reached by another path than that of its definition: by its last name, in its crate and those below.
    fn reached_otherwise(
        &mut self,
        unit: usize,
        crates: &[usize],
        path: &Path<'_>,
        signature: Option<&Signature<'_>>,
    ) -> Vec<Node> {
        let last = self.name(path.tail());
        let own = [unit];
        for start in if crates.is_empty() { &own[..] } else { crates } {
            for below in self.heads.below.get(*start).into_iter().flatten() {
                let fitting =
                    |node: &Node| signature.is_none_or(|signature| self.node_fits(*node, signature));
                let found: Vec<Node> = self.with_last(*below, last).iter().copied().filter(fitting).collect();
                if !found.is_empty() {
                    return found;
                }
            }
        }
        Vec::new()
    }

    /// What is known of a crate by name: the scoped handles, and the crates that wrap system calls.
    fn known_crate(&mut self, from: usize, krate: usize, rest: &str) -> Option<Rc<Meaning>> {
        let unit = self.units.get(krate)?;
        if from == krate {
            return None;
        }
        let shown = format!("{}::{rest}", unit.name);
        if unit.name == "ringfence" && !unit.own {
            // These are other crates under another name.
            if ["egress::", "policy::", "sandbox::", "text::"].iter().any(|module| rest.starts_with(module)) {
                return None;
            }
            let mut back = rest.rsplit("::");
            let (method, handle) = (back.next().unwrap_or(""), back.next().unwrap_or(""));
            let effects = catalog::of_handle(handle, method).unwrap_or_default();
            return Some(Rc::new(Meaning { effects, mediated: true, shown, ..Meaning::default() }));
        }
        catalog::of_wrapper(&unit.name, rest).map(|effects| Meaning::by_name(shown, effects))
    }
}
