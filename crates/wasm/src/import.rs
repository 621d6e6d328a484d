//! What a component imports, down to single functions: that, and not what it says, is what it can do.
//!
//! INVARIANT: every function a component could call outside itself is in the list.

use ringfence::policy::Surface;
use wasmparser::component_types::{ComponentAnyTypeId, ComponentEntityType};
use wasmparser::{Parser, Payload, Validator, WasmFeatures};

use crate::error::malformed;
use crate::surface::{Need, need};
use crate::{Package, WasmError};

/// One thing that a component imports.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Import {
    /// The interface and the function, as in `wasi:http/outgoing-handler@0.2.0#handle`; the interface alone where only its types are used.
    pub name: String,
    /// The surface that a tool must declare for it; none where everybody may have it, or where it is not known.
    pub needs: Option<Surface>,
    /// Whether this runtime knows it. What it does not know is refused.
    pub known: bool,
}

/// Returns what a component imports and which surface each import needs.
///
/// # Errors
///
/// The component is not valid.
pub fn imports(package: &Package) -> Result<Vec<Import>, WasmError> {
    of_bytes(package.bytes())
}

/// Returns the imports of a component that need not declare anything yet.
pub(crate) fn of_bytes(bytes: &[u8]) -> Result<Vec<Import>, WasmError> {
    let types = Validator::new_with_features(features()).validate_all(bytes);
    let types = types.map_err(|error| malformed(&error))?;
    let mut found = Vec::new();
    for name in names(bytes)? {
        let Some(item) = types.as_ref().component_item_for_import(&name) else {
            found.push(import(&name, None));
            continue;
        };
        let instance = match item.ty {
            ComponentEntityType::Instance(instance) => instance,
            // The name of a shape, such as a record that functions take: nothing can be done with it.
            ComponentEntityType::Type { created: ComponentAnyTypeId::Defined(_), .. } => continue,
            // A function, a resource or a module on its own: nothing of that kind is offered.
            _ => {
                found.push(Import { name, needs: None, known: false });
                continue;
            }
        };
        let exports = types.as_ref().get(instance).map(|instance| &instance.exports);
        let before = found.len();
        for (member, item) in exports.into_iter().flatten() {
            match item.ty {
                ComponentEntityType::Func(_) => found.push(import(&name, Some(member))),
                ComponentEntityType::Type { .. } => {}
                ComponentEntityType::Component(_)
                | ComponentEntityType::Instance(_)
                | ComponentEntityType::Module(_)
                | ComponentEntityType::Value(_) => {
                    found.push(Import { name: format!("{name}#{member}"), needs: None, known: false });
                }
            }
        }
        if found.len() == before {
            found.push(import(&name, None));
        }
    }
    Ok(found)
}

/// Returns the names that the component itself imports; those of components inside it are its own affair.
fn names(bytes: &[u8]) -> Result<Vec<String>, WasmError> {
    let (mut names, mut depth) = (Vec::new(), 0_usize);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(|error| malformed(&error))? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    names.push(import.map_err(|error| malformed(&error))?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(names)
}

fn import(interface: &str, function: Option<&str>) -> Import {
    let need = need(interface, function.unwrap_or_default());
    Import {
        name: function.map_or_else(|| interface.to_owned(), |function| format!("{interface}#{function}")),
        needs: match need {
            Need::Surface(surface) => Some(surface),
            Need::Nothing | Need::Unknown => None,
        },
        known: need != Need::Unknown,
    }
}

/// What a component may be made of, as far as this check goes; the engine has its own, narrower list.
fn features() -> WasmFeatures {
    WasmFeatures::default()
}
