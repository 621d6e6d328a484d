//! The names of functions, as reports write them.

use super::super::kind::{Kind, Kinds, Scope};
use super::super::model::{Owner, Sort};
use super::super::name::Id;

/// Returns the path of a function, as reports write it.
pub(crate) fn name(kinds: &Kinds<'_>, id: Id) -> String {
    let world = kinds.world;
    let Some(function) = kinds.function(id) else { return String::new() };
    let at = |module| world.module_path(id.0, module);
    match function.owner {
        Owner::Module if function.sort == Sort::Macro => {
            format!("{}::{}!", at(function.module), function.name)
        }
        Owner::Module => {
            let own = world.units.get(id.0).and_then(|unit| unit.modules.get(function.module));
            let module =
                own.filter(|own| own.is_body && own.name == function.name).and_then(|own| own.parent);
            format!("{}::{}", at(module.unwrap_or(function.module)), function.name)
        }
        Owner::Trait(number) => {
            let known = world.units.get(id.0).and_then(|unit| unit.traits.get(number));
            known.map_or_else(String::new, |known| {
                format!("{}::{}::{}", at(known.module), known.name, function.name)
            })
        }
        Owner::Implementation(number) => {
            let Some(known) = world.units.get(id.0).and_then(|unit| unit.implementations.get(number)) else {
                return String::new();
            };
            let owner = match kinds.own(Scope::of(id.0, function), 0) {
                Kind::Local(own, _) => world
                    .units
                    .get(own.0)
                    .and_then(|unit| {
                        unit.types
                            .get(own.1)
                            .map(|one| format!("{}::{}", world.module_path(own.0, one.module), one.name))
                    })
                    .unwrap_or_default(),
                Kind::Outside(path, _) => path.to_string(),
                _ => "_".to_owned(),
            };
            match &known.of {
                Some(of) => format!("<{owner} as {}>::{}", of.last(), function.name),
                None => format!("{owner}::{}", function.name),
            }
        }
    }
}
