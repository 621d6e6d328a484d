//! What is of the standard library: its functions and the methods of its traits.

use std::rc::Rc;

use super::{Meaning, last_name};
use crate::mir::fit::fits;
use crate::mir::head::{Found, is_projection};
use crate::mir::index::{Index, Node};
use crate::mir::path::{Path, Qualified, Signature, Type};
use crate::mir::runs::{self, Traits};
use crate::{Effect, EffectSet, catalog};

impl Index<'_> {
    /// A function of the standard library.
    pub(super) fn standard(
        &mut self,
        path: &Path<'_>,
        types: Found,
        signature: Option<&Signature<'_>>,
    ) -> Rc<Meaning> {
        let plain = path.plain();
        let shown = plain.replacen("core::", "std::", 1).replacen("alloc::", "std::", 1);
        let mut runs = runs::by_path(path);
        if signature.is_some_and(|signature| runs::drops(path, &signature.inputs)) {
            runs = runs.with(Traits::DROP);
        }
        runs = runs.with(self.objects(&types));
        if plain.contains("io::Error::") || plain.contains("io::error::Error::") {
            runs = runs.with(runs::by_trait("Error", ""));
        }
        let mut effects = catalog::of_path(&plain);
        if path.tail().starts_with("transmute")
            && let Some([from, to]) = path.segments.last().map(|segment| segment.args.as_slice())
            && holds_pointer(to)
            && !holds_pointer(from)
            && !matches!(to, Type::Path(path) if path.segments.len() == 1)
        {
            effects.insert(Effect::DynUnresolved);
        }
        Rc::new(Meaning {
            effects,
            opens: plain == "std::fs::OpenOptions::open",
            shown,
            types,
            runs,
            ..Meaning::default()
        })
    }

    /// A method of a trait of the standard library.
    pub(super) fn standard_method(
        &mut self,
        unit: usize,
        path: &Path<'_>,
        block: &Qualified<'_>,
        of: &Path<'_>,
        types: Found,
        signature: Option<&Signature<'_>>,
    ) -> Rc<Meaning> {
        let method = last_name(path);
        let shown = format!("{}::{method}", of.plain()).replacen("core::", "std::", 1);
        let mut effects = catalog::of_path(&shown);
        if of.tail() == "ToSocketAddrs" && !names_text(&block.subject) {
            effects = EffectSet::NONE;
        }
        let mut meaning = Meaning { effects, shown, types, ..Meaning::default() };
        if matches!(of.tail(), "Fn" | "FnMut" | "FnOnce" | "AsyncFn" | "AsyncFnMut" | "AsyncFnOnce") {
            return Rc::new(meaning);
        }
        if let Some(found) = self.conversion(unit, block, of) {
            meaning.targets = found;
            meaning.runs = self.objects(&meaning.types);
            return Rc::new(meaning);
        }
        let wanted = (self.name(of.tail()), self.name(method));
        let subject = self.outermost(unit, block.subject.behind());
        let bit = Traits::one(of.tail());
        for found in subject.heads.iter().filter_map(|head| self.methods.get(head)).flatten() {
            let same = found.of.is_none_or(|found| found == wanted.0)
                && (found.standard.meets(bit) || bit.is_empty());
            if same && found.name == wanted.1 && self.is_given(found, &meaning.types.heads) {
                meaning.targets.push(found.node);
            }
        }
        self.fitting(&mut meaning.targets, signature);
        if meaning.targets.is_empty() {
            meaning.runs = runs::by_trait(of.tail(), method).with(self.objects(&meaning.types));
            if signature.is_some_and(|signature| runs::drops(path, &signature.inputs)) {
                meaning.runs = meaning.runs.with(Traits::DROP);
            }
        }
        Rc::new(meaning)
    }

    /// Returns the traits of the objects among some types: what becomes such an object is run by it.
    fn objects(&self, types: &Found) -> Traits {
        let names = types.heads.iter().filter_map(|head| self.heads.text(*head).strip_prefix("dyn:std:"));
        names.fold(Traits::NONE, |runs, name| runs.with(runs::by_trait(name, "")))
    }

    /// Finds the `From` that a conversion runs, by the types of both sides; `None` if that cannot be told.
    fn conversion(&mut self, unit: usize, block: &Qualified<'_>, of: &Path<'_>) -> Option<Vec<Node>> {
        let argument = of.segments.last()?.args.first()?;
        let (from, to) = match of.tail() {
            "Into" | "TryInto" => (block.subject.clone(), argument.clone()),
            "FromResidual" => (last_argument(argument), last_argument(&block.subject)),
            _ => return None,
        };
        let Type::Path(target) = &to else { return None };
        let named = self.heads.named(unit, target);
        if named.parameter || is_projection(target) || matches!(from, Type::Other | Type::Opaque(_)) {
            return None;
        }
        let wanted = self.name(if of.tail() == "TryInto" { "try_from" } else { "from" });
        let all: Vec<Node> = named
            .heads
            .iter()
            .filter_map(|head| self.methods.get(head))
            .flatten()
            .filter(|method| method.name == wanted)
            .map(|method| method.node)
            .collect();
        if all.is_empty() {
            return None;
        }
        let fitting = |node: &Node| {
            let entry = self.entries.get(*node as usize)?;
            let input = self.summaries.get(entry.unit)?.text(*entry.item.inputs.first()?);
            Some(fits(&Type::read(input), &from))
        };
        Some(all.iter().copied().filter(|node| fitting(node).unwrap_or(true)).collect())
    }
}

/// Returns the last generic argument of a type: of a result its error.
fn last_argument<'a>(ty: &Type<'a>) -> Type<'a> {
    match ty {
        Type::Path(path) => {
            path.segments.last().and_then(|segment| segment.args.last()).cloned().unwrap_or(Type::Other)
        }
        _ => Type::Other,
    }
}

/// Says whether a type is or holds a function pointer.
fn holds_pointer(ty: &Type<'_>) -> bool {
    match ty {
        Type::Function(_) => true,
        Type::Path(path) => path.segments.iter().flat_map(|segment| &segment.args).any(holds_pointer),
        Type::List(inner) | Type::Reference(inner) | Type::Pointer(inner) => holds_pointer(inner),
        Type::Tuple(items) => items.iter().any(holds_pointer),
        _ => false,
    }
}

/// Says whether an address may be a name: text is in the type, or what the caller chooses.
fn names_text(ty: &Type<'_>) -> bool {
    match ty {
        Type::Path(path) => {
            matches!(path.tail(), "str" | "String")
                || path.qualified.is_some()
                || path.segments.len() == 1
                || path.segments.iter().flat_map(|segment| &segment.args).any(names_text)
        }
        Type::List(inner) | Type::Reference(inner) => names_text(inner),
        Type::Tuple(items) => items.first().is_some_and(names_text),
        Type::Opaque(_) => true,
        _ => false,
    }
}
