//! Following a path that a body names to what it means.

use super::super::kind::{Kind, Scope, texts};
use super::super::model::{Form, Manner, Route};
use super::super::name::{Found, Id};
use super::{Act, Builder, Seen, outside_names};
use crate::{Effect, EffectSet, catalog};

impl Builder<'_> {
    /// Follows the paths of a macro that end with a name it is given.
    pub(super) fn completed(&mut self, act: Act<'_>, of: Id, names: &[String], seen: &mut Seen<'_>) {
        let Some(known) = self.kinds.function(of) else { return };
        for prefix in &known.body.prefixes {
            for name in names {
                let mut route = prefix.clone();
                route.segments.push(name.clone());
                self.route_in(act, of, &route, Manner::Scanned, seen);
            }
        }
    }

    /// Follows a path, whether it is called or passed on.
    pub(super) fn route(&mut self, act: Act<'_>, route: &Route, manner: Manner, seen: &mut Seen<'_>) {
        self.route_in(act, act.id, route, manner, seen);
    }

    /// Follows a path that is read where another function is.
    fn route_in(&mut self, act: Act<'_>, at: Id, route: &Route, manner: Manner, seen: &mut Seen<'_>) {
        let Some(function) = self.kinds.function(at) else { return };
        let scope = Scope::of(at.0, function);
        if let Some((subject, position)) = &route.subject {
            let kind = self.kinds.typed(scope, subject, 0);
            self.subject(act, &kind, route, *position);
            self.types(act, &kind, seen);
            return;
        }
        let first = route.segments.first().map_or("", String::as_str);
        if first == "Self" || scope.generics.iter().any(|(name, _)| name == first) {
            let start = Route { segments: vec![first.to_owned()], ..Route::default() };
            let kind = self.kinds.typed(scope, &Form::Route(start), 0);
            if route.segments.len() == 2 {
                self.associated(act, &kind, route.last());
            }
            self.types(act, &kind, seen);
            return;
        }
        for (found, rest) in self.kinds.world.resolve(at.0, function.module, route) {
            match found {
                Found::Function(to) => self.call_function(act, to),
                Found::Foreign(to) => self.foreign(act, to),
                Found::Type(to) => {
                    let kept = route.segments.len().saturating_sub(rest);
                    let segments = route.segments.iter().take(kept).cloned().collect();
                    let start = Route { segments, ..route.clone() };
                    let kind = self.kinds.typed(scope, &Form::Route(start), 0);
                    if rest == 1 && !self.kinds.world.has_variant(to, route.last()) {
                        self.associated(act, &kind, route.last());
                    }
                    outside_names(&kind, &mut seen.outside);
                    self.types(act, &kind, seen);
                }
                Found::Trait(of) if rest == 1 => {
                    let all = match of.0 == act.id.0 {
                        true => self.kinds.every(of, route.last()),
                        false => self.kinds.methods(&Kind::Bound([of].into()), route.last()),
                    };
                    all.into_iter().for_each(|to| self.call_function(act, to));
                }
                Found::Outside(path) => {
                    seen.outside.insert(path.to_string());
                    seen.outside.extend(path.rsplit_once("::").map(|(owner, _)| owner.to_owned()));
                    self.outside(act, &path, manner);
                }
                Found::Gap((unit, module)) => {
                    let name = format!("{}::{}", self.kinds.world.module_path(unit, module), route.last());
                    self.touch(act, EffectSet::of(Effect::Unanalyzed), &name, &[]);
                }
                Found::Macro(_) | Found::Module(_) | Found::Trait(_) => {}
            }
        }
    }

    /// Follows `<Type as Trait>::name`.
    fn subject(&mut self, act: Act<'_>, kind: &Kind, route: &Route, position: usize) {
        let methods = self.kinds.methods(kind, route.last());
        if !methods.is_empty() {
            methods.into_iter().for_each(|to| self.call_function(act, to));
            return;
        }
        if position == 0 {
            self.associated(act, kind, route.last());
            return;
        }
        let Some(function) = self.kinds.function(act.id) else { return };
        let segments = route.segments.iter().take(position).cloned().collect();
        let of = Route { segments, global: route.global, ..Route::default() };
        for (found, _) in self.kinds.world.resolve(act.id.0, function.module, &of) {
            match found {
                Found::Outside(path) => {
                    self.outside(act, &format!("{path}::{}", route.last()), Manner::Called);
                }
                Found::Trait(of) => {
                    let all = self.kinds.methods(&Kind::Bound([of].into()), route.last());
                    all.into_iter().for_each(|to| self.call_function(act, to));
                }
                _ => {}
            }
        }
    }

    /// Follows `Type::name`.
    fn associated(&mut self, act: Act<'_>, kind: &Kind, method: &str) {
        for to in self.kinds.methods(kind, method) {
            self.call_function(act, to);
        }
        if let Kind::Outside(path, _) = kind {
            self.outside(act, &format!("{path}::{method}"), Manner::Called);
        }
    }

    /// Looks up a path of the standard library or of C.
    fn outside(&mut self, act: Act<'_>, path: &str, manner: Manner) {
        if let Some(name) = path.strip_prefix("libc::") {
            // In tokens an unknown name may as well be a type; elsewhere only functions are lower case.
            let is_type = manner == Manner::Scanned && catalog::of_foreign(name).is_none();
            let is_lower = name.starts_with(|first: char| first.is_lowercase() || first == '_');
            if !is_type && is_lower && !name.contains("::") {
                self.foreign_name(act, name, path);
            }
            return;
        }
        self.touch(act, catalog::of_path(path), path, &texts(act.arguments));
        if let Some((owner, name)) = path.rsplit_once("::") {
            for to in self.kinds.methods(&Kind::Outside(owner.into(), [].into()), name) {
                self.call_function(act, to);
            }
        }
    }

    fn foreign(&mut self, act: Act<'_>, to: Id) {
        let world = self.kinds.world;
        let Some((name, _)) = world.units.get(to.0).and_then(|unit| unit.foreign.get(to.1)) else { return };
        self.foreign_name(act, name, &format!("{}::{name}", world.package_name(to.0)));
    }

    fn foreign_name(&mut self, act: Act<'_>, name: &str, shown: &str) {
        let effects = *self.foreign.entry(name.to_owned()).or_insert_with(|| catalog::of_foreign(name));
        self.touch(act, effects.unwrap_or(EffectSet::of(Effect::Ffi)), shown, &[]);
    }
}
