//! Following a method call: by the type of its receiver where that is evident, by its name where the name says enough.

use super::super::kind::{Kind, Scope, texts};
use super::super::model::{Body, Value};
use super::super::name::Id;
use super::super::outside::{self, ORDINARY, TELLING, TOGETHER};
use super::{Act, Builder, Seen, literal};
use crate::catalog;

impl Builder<'_> {
    /// Follows a method call.
    pub(super) fn method(
        &mut self,
        act: Act<'_>,
        body: &Body,
        receiver: &Value,
        name: &str,
        seen: &Seen<'_>,
    ) {
        let kind = self.kinds.of_value(act.id, body, receiver, 0);
        let mut methods = self.kinds.methods(&kind, name);
        if matches!(kind, Kind::Outside(..)) {
            // A method that another package adds to a type of the standard library is seen only where the package is used.
            let seen = self.seen.get(act.id.0);
            methods.retain(|id| {
                let is_seen = id.0 == act.id.0 || seen.is_some_and(|seen| seen.contains(&id.0));
                let owner = self.kinds.function(*id).map(|one| self.kinds.own(Scope::of(id.0, one), 0));
                is_seen || !matches!(owner, Some(Kind::Outside(..)))
            });
        }
        if !methods.is_empty() {
            methods.into_iter().for_each(|to| self.call_function(act, to));
            return;
        }
        if let Kind::Outside(path, of) = &kind {
            let mut at = Some((path.to_string(), of.clone()));
            while let Some((path, of)) = at {
                let full = format!("{path}::{name}");
                let mut effects = catalog::of_path(&full);
                if full == "std::fs::OpenOptions::open" {
                    effects = literal::opened(body, receiver).unwrap_or(effects);
                }
                if !effects.is_empty() {
                    let mut literals = literal::literals(body, receiver, 0);
                    literals.extend(texts(act.arguments));
                    self.touch(act, effects, &full, &literals);
                    return;
                }
                at = match outside::target(&path, &of) {
                    Some(Kind::Outside(path, of)) => Some((path.to_string(), of)),
                    _ => None,
                };
            }
        }
        self.unknown(act, &kind, name, seen);
    }

    /// A method of a value whose type is not evident.
    fn unknown(&mut self, act: Act<'_>, kind: &Kind, name: &str, seen: &Seen<'_>) {
        let all = self.kinds.blanket.get(name).cloned().unwrap_or_default();
        let seen_units = self.seen.get(act.id.0).cloned().unwrap_or_default();
        for to in all.into_iter().filter(|id| id.0 == act.id.0 || seen_units.contains(&id.0)) {
            self.call_function(act, to);
        }
        if name == "to_string" {
            let shown = self.kinds.methods(kind, "fmt");
            shown.into_iter().for_each(|to| self.call_function(act, to));
        }
        let is_known = matches!(kind, Kind::Outside(..) | Kind::List(_) | Kind::Tuple(_));
        let own: &[Id] =
            self.by_name.get(act.id.0).and_then(|methods| methods.get(name)).map_or(&[], Vec::as_slice);
        if let [only] = own
            && !is_known
        {
            let only = *only;
            self.call_function(act, only);
            return;
        }
        if own.is_empty()
            && (!is_known || name == "to_socket_addrs")
            && let Some((_, path)) = TELLING.iter().find(|(method, _)| *method == name)
        {
            self.touch(act, catalog::of_path(path), path, &[]);
            return;
        }
        if is_known {
            return;
        }
        let together =
            TOGETHER.iter().find(|(method, owner)| *method == name && seen.outside.contains(*owner));
        if let Some((_, owner)) = together {
            let path = format!("{owner}::{name}");
            self.touch(act, catalog::of_path(&path), &path, &[]);
            return;
        }
        if own.is_empty() && !ORDINARY.contains(&name) {
            let far = self.seen.get(act.id.0).into_iter().flatten();
            let all: Vec<Id> = far
                .filter_map(|unit| self.by_name.get(*unit)?.get(name))
                .flatten()
                .copied()
                .take(2)
                .collect();
            if let [only] = all.as_slice() {
                self.call_function(act, *only);
            }
        }
    }
}
