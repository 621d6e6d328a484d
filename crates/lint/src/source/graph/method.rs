//! Following a method call: by the type of its receiver where that is evident, by its name where the name says enough.

use super::super::kind::{Kind, texts};
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
        let methods = self.kinds.methods(&kind, name);
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
