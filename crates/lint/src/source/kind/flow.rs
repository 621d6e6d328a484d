//! What comes out of a value: what its methods return, its fields, what iterating over it yields, what it hands to closures.

use super::super::model::{Owner, Route};
use super::super::outside;
use super::{Kind, Kinds, MAX_DEPTH, Scope};

impl Kinds<'_> {
    /// Returns what a method yields.
    pub(super) fn returned(&self, kind: &Kind, name: &str, depth: usize) -> Kind {
        if let Some(id) = self.methods(kind, name).first() {
            return self.output(*id, depth);
        }
        if let Kind::Outside(path, arguments) = kind {
            let known = outside::method(kind, name);
            if matches!(known, Kind::Unknown)
                && let Some(target) = outside::target(path, arguments)
            {
                return if depth < MAX_DEPTH {
                    self.returned(&target, name, depth + 1)
                } else {
                    Kind::Unknown
                };
            }
            return known;
        }
        match name {
            // What every type can have, or derives.
            "clone" | "as_ref" | "as_mut" | "borrow" | "by_ref" | "to_owned" | "into_iter" | "iter" => {
                kind.clone()
            }
            _ => outside::method(kind, name),
        }
    }

    pub(super) fn element(&self, kind: &Kind, depth: usize) -> Kind {
        if matches!(kind, Kind::Local(..))
            && let Some(id) = self.methods(kind, "next").first()
        {
            return outside::peeled(&self.output(*id, depth));
        }
        outside::element(kind)
    }

    pub(super) fn field(&self, kind: &Kind, name: &str, depth: usize) -> Kind {
        match kind {
            Kind::Tuple(parts) => name
                .parse::<usize>()
                .ok()
                .and_then(|index| parts.get(index).cloned())
                .unwrap_or(Kind::Unknown),
            Kind::Local(id, arguments) => {
                let Some(known) = self.world.units.get(id.0).and_then(|unit| unit.types.get(id.1)) else {
                    return Kind::Unknown;
                };
                let given = self.given(*id, arguments);
                let scope = Scope {
                    unit: id.0,
                    module: known.module,
                    owner: Owner::Module,
                    generics: &[],
                    given: &given,
                };
                let field = known.fields.iter().find(|(own, _)| own == name);
                field.map_or(Kind::Unknown, |(_, form)| self.typed(scope, form, depth + 1))
            }
            Kind::Outside(path, arguments) => outside::target(path, arguments)
                .map_or(Kind::Unknown, |target| self.field(&target, name, depth + 1)),
            _ => Kind::Unknown,
        }
    }

    /// Returns what a method hands to the closure that it is given.
    pub(super) fn handed(&self, kind: &Kind, method: &str, position: usize) -> Kind {
        if let Kind::Local(id, _) = kind
            && self.world.package_name(id.0) == "ringfence"
        {
            let wanted = match (method, position) {
                ("run" | "run_blocking" | "reconcile", 1) => "Context",
                ("available_when", 0) => "ScopedEnvironment",
                _ => return Kind::Unknown,
            };
            let route = Route { segments: vec![wanted.to_owned()], ..Route::default() };
            let scope = Scope { unit: id.0, module: 0, owner: Owner::Module, generics: &[], given: &[] };
            return self.named(scope, &route, 0);
        }
        match (method, position) {
            ("map" | "and_then" | "is_some_and" | "is_ok_and" | "map_or" | "map_or_else" | "inspect", 0)
                if matches!(kind, Kind::Outside(path, _) if outside::CONTAINERS.contains(&&**path)) =>
            {
                outside::peeled(kind)
            }
            (
                "map" | "for_each" | "filter" | "filter_map" | "flat_map" | "any" | "all" | "find"
                | "position" | "inspect" | "take_while" | "skip_while" | "try_for_each" | "retain",
                0,
            )
            | ("fold" | "try_fold", 1) => self.element(kind, 0),
            _ => Kind::Unknown,
        }
    }
}
