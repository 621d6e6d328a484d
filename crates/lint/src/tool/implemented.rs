//! Types that implement `ringfence::Tool`.

use super::{Entry, Finder, FoundTool};
use crate::EffectSet;
use crate::source::kind::Kind;
use crate::source::name::Id;

impl Finder<'_> {
    /// Returns the types of the own packages that are tools; what they declare, only running them would tell.
    pub(super) fn implemented(&self) -> Vec<FoundTool> {
        let own = self.world.units.iter().enumerate().filter(|(unit, _)| self.is_own(*unit));
        let all =
            own.flat_map(|(unit, one)| (0..one.implementations.len()).map(move |number| (unit, number)));
        all.filter_map(|id| self.implementation(id)).collect()
    }

    fn implementation(&self, id: Id) -> Option<FoundTool> {
        let found = self.kinds.traits.get(&id)?;
        if !self.is_of_ringfence(found, "Tool") {
            return None;
        }
        let known = self.world.units.get(id.0)?.implementations.get(id.1)?;
        let functions: Vec<Id> = known.functions.iter().map(|number| (id.0, *number)).collect();
        let named = |id: &Id| self.kinds.function(*id).is_some_and(|function| function.name == "call");
        let entry = functions.iter().find(|id| named(id))?;
        let others = functions.iter().filter(|id| !named(id));
        Some(FoundTool {
            name: self.type_of(*entry).map_or_else(|| self.function_name(*entry), |(name, _)| name),
            package: self.package_id(id.0),
            place: self.place(id.0, known.spot),
            entry: Entry::Function(self.function_name(*entry)),
            others: others.map(|id| Entry::Function(self.function_name(*id))).collect(),
            declared: None,
            unread: EffectSet::NONE,
            incomplete: None,
        })
    }

    /// Returns the name of the type that a function belongs to, and its module's path.
    fn type_of(&self, id: Id) -> Option<(String, String)> {
        let function = self.kinds.function(id)?;
        match self.kinds.own(crate::source::kind::Scope::of(id.0, function), 0) {
            Kind::Local(own, _) => {
                let known = self.world.units.get(own.0)?.types.get(own.1)?;
                Some((known.name.clone(), self.world.module_path(own.0, known.module)))
            }
            _ => None,
        }
    }
}
