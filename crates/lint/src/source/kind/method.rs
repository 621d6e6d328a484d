//! The functions that a call of a method may run.

use std::rc::Rc;

use super::super::name::{Found, Id};
use super::super::outside;
use super::{Key, Kind, Kinds};

impl Kinds<'_> {
    /// Returns the functions of a name that a value of a type has, through what it points to.
    pub(crate) fn methods(&self, kind: &Kind, name: &str) -> Vec<Id> {
        match kind {
            Kind::Bound(traits) | Kind::Dynamic(traits) => {
                let mut found: Vec<Id> = traits.iter().filter_map(|id| self.asked(*id, name, 0)).collect();
                if matches!(kind, Kind::Dynamic(_)) {
                    let implementors = traits.iter().flat_map(|id| self.implementors.get(id)).flatten();
                    found.extend(implementors.flat_map(|one| self.implemented(*one, name)));
                }
                found
            }
            Kind::Local(id, _) => {
                let own = self.keyed(&Key::Local(*id), name);
                match self.targets.get(id) {
                    // What it derefs to; not that type itself once more, nor a circle of two.
                    Some(target) if own.is_empty() => match target {
                        Kind::Local(next, _) => self.keyed(&Key::Local(*next), name),
                        other => self.methods(other, name),
                    },
                    _ => own,
                }
            }
            Kind::Outside(path, arguments) => {
                let own = self.keyed(&Key::Outside(Rc::clone(path)), name);
                match outside::target(path, arguments) {
                    Some(target) if own.is_empty() => self.methods(&target, name),
                    _ => own,
                }
            }
            Kind::List(_) | Kind::Tuple(_) | Kind::Unknown => Vec::new(),
        }
    }

    fn keyed(&self, key: &Key, name: &str) -> Vec<Id> {
        let own: Vec<Id> =
            self.methods.get(key).and_then(|methods| methods.get(name)).cloned().unwrap_or_default();
        if !own.is_empty() {
            return own;
        }
        // What a trait provides where the implementation does not.
        let implementations = self.implementations.get(key).into_iter().flatten();
        let traits = implementations.filter_map(|one| match self.traits.get(one) {
            Some(Found::Trait(id)) => Some(*id),
            _ => None,
        });
        traits.filter_map(|id| self.asked(id, name, 0)).collect()
    }

    /// Returns the function of a trait or of those above it.
    fn asked(&self, id: Id, name: &str, depth: usize) -> Option<Id> {
        let known = self.world.units.get(id.0)?.traits.get(id.1)?;
        let own = known
            .functions
            .iter()
            .find(|number| self.function((id.0, **number)).is_some_and(|one| one.name == name));
        if let Some(number) = own {
            return Some((id.0, *number));
        }
        if depth > 8 {
            return None;
        }
        known.parents.iter().flat_map(|parent| self.world.resolve(id.0, known.module, parent)).find_map(
            |(found, _)| match found {
                Found::Trait(parent) if parent != id => self.asked(parent, name, depth + 1),
                _ => None,
            },
        )
    }

    fn implemented(&self, implementation: Id, name: &str) -> Option<Id> {
        let known = self.world.units.get(implementation.0)?.implementations.get(implementation.1)?;
        let functions = known.functions.iter().map(|number| (implementation.0, *number));
        functions.into_iter().find(|id| self.function(*id).is_some_and(|one| one.name == name))
    }

    /// Returns the functions of a trait's name: what it provides and every implementation.
    pub(crate) fn every(&self, id: Id, name: &str) -> Vec<Id> {
        self.methods(&Kind::Dynamic(Rc::from([id])), name)
    }
}
