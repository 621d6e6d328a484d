//! Names that code does not have to import: the packages it uses, and what the standard library makes known everywhere.

use std::collections::HashMap;

use super::super::model::Unit;
use super::Found;
use crate::{Project, TargetKind};

/// Returns what each unit calls the others.
pub(super) fn externs(project: &Project, units: &[Unit]) -> Vec<HashMap<String, Found>> {
    let mut libraries = HashMap::new();
    for (number, unit) in units.iter().enumerate() {
        if matches!(unit.kind, TargetKind::Library | TargetKind::ProcMacro) {
            libraries.insert(unit.package, number);
        }
    }
    let of = |package: usize| -> Option<Found> {
        // The C library is told by its names alone.
        if project.packages.get(package)?.name == "libc" {
            return Some(Found::Outside("libc".into()));
        }
        libraries.get(&package).map(|unit| Found::Module((*unit, 0)))
    };
    let externs = |unit: &Unit| {
        let mut map = HashMap::new();
        let Some(package) = project.packages.get(unit.package) else { return map };
        for dependency in &package.dependencies {
            map.extend(of(dependency.package).map(|found| (dependency.name.clone(), found)));
        }
        if unit.kind == TargetKind::Binary
            && let Some(library) = package.target(TargetKind::Library)
        {
            map.extend(of(unit.package).map(|found| (library.name.clone(), found)));
        }
        map
    };
    units.iter().map(externs).collect()
}

/// Returns the full path of a name that is known everywhere.
pub(super) fn prelude(name: &str) -> Option<&'static str> {
    Some(match name {
        "Box" => "std::boxed::Box",
        "Option" | "Some" | "None" => "std::option::Option",
        "Result" | "Ok" | "Err" => "std::result::Result",
        "String" => "std::string::String",
        "ToString" => "std::string::ToString",
        "Vec" => "std::vec::Vec",
        "str" => "str",
        "Clone" => "std::clone::Clone",
        "Default" => "std::default::Default",
        "Drop" => "std::ops::Drop",
        "Fn" | "FnMut" | "FnOnce" => "std::ops::Fn",
        "From" | "Into" => "std::convert::From",
        "TryFrom" | "TryInto" => "std::convert::TryFrom",
        "Iterator" => "std::iter::Iterator",
        "IntoIterator" => "std::iter::IntoIterator",
        "drop" => "std::mem::drop",
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64" | "i128" | "isize"
        | "f32" | "f64" | "bool" | "char" => "primitive",
        _ => return None,
    })
}
