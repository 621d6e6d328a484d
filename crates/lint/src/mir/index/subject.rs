//! Finds the type that an impl is for.

use super::{Entry, Index};
use crate::mir::head::{Head, Inside, is_projection};
use crate::mir::path::{Path, Type};
use crate::mir::source::is_parameter;
use crate::mir::summary::{Block, Summary};

impl<'a> Index<'a> {
    /// Finds the type of an impl: `None` if it is a parameter, so that the impl is for every type.
    pub(super) fn subject(
        &mut self,
        unit: usize,
        summary: &'a Summary,
        block: &'a Block,
        entry: Entry<'a>,
    ) -> Option<Vec<Head>> {
        let receiver = entry
            .item
            .inputs
            .first()
            .filter(|_| entry.item.method)
            .map(|word| Type::read(summary.text(*word)));
        let Some(text) = block.subject.map(|word| summary.text(word)) else {
            return self.made_subject(unit, summary, receiver, entry);
        };
        let parameters: Vec<&str> = block.parameters.iter().map(|word| summary.text(*word)).collect();
        if is_parameter(text, &parameters) {
            return None;
        }
        let written = Type::read(text);
        let Type::Path(path) = written.behind() else {
            return Some(match self.heads.unnamed(written.behind()) {
                Some(head) => vec![head],
                None => self
                    .heads
                    .inside(unit, written.behind(), Inside::Mentioned)
                    .heads
                    .into_iter()
                    .take(1)
                    .collect(),
            });
        };
        // The compiler's own name for the type is better than the one that is written.
        let signature =
            entry.item.inputs.iter().chain([&entry.item.output]).map(|word| Type::read(summary.text(*word)));
        for ty in receiver.into_iter().chain(signature) {
            if let Some(full) = find(&ty, path.tail()) {
                let named = self.heads.named(unit, full);
                if !named.heads.is_empty() {
                    return Some(named.heads.clone());
                }
            }
        }
        let module =
            entry.name.split("::<impl at").next().filter(|module| !module.starts_with('<')).unwrap_or("");
        Some(self.heads.written(unit, module, path))
    }

    /// Finds the type of an impl that a macro or a derive made.
    fn made_subject(
        &mut self,
        unit: usize,
        summary: &'a Summary,
        receiver: Option<Type<'a>>,
        entry: Entry<'a>,
    ) -> Option<Vec<Head>> {
        if let Some(receiver) = receiver {
            let mut ty = receiver.behind().clone();
            while let Type::Path(path) = &ty
                && path.tail() == "Pin"
                && let Some(inner) = path.segments.last().and_then(|segment| segment.args.first())
            {
                ty = inner.behind().clone();
            }
            if let Type::Path(path) = &ty {
                let named = self.heads.named(unit, path);
                if named.parameter {
                    return None;
                }
                let mut heads = named.heads.clone();
                if matches!(path.tail(), "Box" | "Rc" | "Arc")
                    && let Some(Type::Path(inner)) =
                        path.segments.last().and_then(|segment| segment.args.first())
                {
                    heads.extend(&self.heads.named(unit, inner).heads);
                }
                return Some(heads);
            }
            return Some(self.heads.inside(unit, &ty, Inside::Mentioned).heads);
        }
        // Without a receiver it is one of the crate's own types in what it gives or takes; if there is none, it may be any type.
        let own = format!("{unit}:");
        for word in [&entry.item.output].into_iter().chain(&entry.item.inputs) {
            let mut heads =
                self.heads.inside(unit, &Type::read(summary.text(*word)), Inside::Mentioned).heads;
            heads.retain(|head| self.heads.text(*head).starts_with(&own));
            if !heads.is_empty() {
                return Some(heads);
            }
        }
        None
    }
}

/// Finds a type with that last name in a type.
fn find<'p, 'a>(ty: &'p Type<'a>, tail: &str) -> Option<&'p Path<'a>> {
    match ty {
        Type::Path(path) if path.tail() == tail && !is_projection(path) => Some(path),
        Type::Path(path) => {
            path.segments.iter().flat_map(|segment| &segment.args).find_map(|ty| find(ty, tail))
        }
        Type::List(inner) | Type::Pointer(inner) | Type::Reference(inner) => find(inner, tail),
        Type::Tuple(items) => items.iter().find_map(|ty| find(ty, tail)),
        _ => None,
    }
}
