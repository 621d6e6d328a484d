//! How much a component becomes when it is put together.
//!
//! A component may hold others and instantiate each more than once, and so may they: a kilobyte can stand for more instances than a
//! machine has memory, and the engine writes each of them out before anything runs.
//!
//! INVARIANT: what passes stands for at most [`MOST`] instances of components, nested at most [`DEEPEST`] deep.

use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, ComponentTypeRef,
    Parser, Payload,
};

use crate::WasmError;
use crate::error::said;

/// The most instances of components.
const MOST: u64 = 1_000;
/// How deep components may be nested.
const DEEPEST: usize = 16;

/// A component that is being read.
#[derive(Default)]
struct Frame {
    /// What each component that it can instantiate stands for, by its index.
    components: Vec<u64>,
    /// What it stands for itself.
    instances: u64,
}

/// Refuses a component that would become too much, or that hands components around, so that nobody can say how much.
///
/// # Errors
///
/// It is malformed, too large, or too involved.
pub(crate) fn check(bytes: &[u8]) -> Result<(), WasmError> {
    let malformed = |error| WasmError::Malformed { problem: said(&error) };
    let mut stack = vec![Frame::default()];
    // Core modules are read through; their ends are theirs.
    let mut modules = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(malformed)? {
            Payload::ModuleSection { .. } => modules += 1,
            Payload::End(_) if modules > 0 => modules -= 1,
            Payload::ComponentSection { .. } => {
                if stack.len() >= DEEPEST {
                    return Err(involved("components are nested too deep in it"));
                }
                stack.push(Frame::default());
            }
            Payload::End(_) if stack.len() > 1 => {
                let ended = stack.pop().unwrap_or_default();
                if let Some(frame) = stack.last_mut() {
                    frame.components.push(ended.instances.saturating_add(1));
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section {
                    aliased(&mut stack, &alias.map_err(malformed)?)?;
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section {
                    instantiated(&mut stack, &instance.map_err(malformed)?)?;
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section {
                    if let ComponentTypeRef::Component(_) = import.map_err(malformed)?.ty {
                        return Err(involved("a component in it is handed another one"));
                    }
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section {
                    whole(export.map_err(malformed)?.kind)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn aliased(stack: &mut [Frame], alias: &ComponentAlias<'_>) -> Result<(), WasmError> {
    match alias {
        ComponentAlias::InstanceExport { kind, .. } => whole(*kind),
        ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
            let above = usize::try_from(*count).ok().and_then(|count| stack.len().checked_sub(count + 1));
            let found =
                above.and_then(|above| stack.get(above)?.components.get(usize::try_from(*index).ok()?));
            let found = *found.ok_or_else(|| involved("it names a component that is not there"))?;
            if let Some(frame) = stack.last_mut() {
                frame.components.push(found);
            }
            Ok(())
        }
        ComponentAlias::CoreInstanceExport { .. } | ComponentAlias::Outer { .. } => Ok(()),
    }
}

fn instantiated(stack: &mut [Frame], instance: &ComponentInstance<'_>) -> Result<(), WasmError> {
    let Some(frame) = stack.last_mut() else { return Ok(()) };
    match instance {
        ComponentInstance::FromExports(exports) => exports.iter().try_for_each(|export| whole(export.kind)),
        ComponentInstance::Instantiate { component_index, args } => {
            args.iter().try_for_each(|argument| whole(argument.kind))?;
            let found = usize::try_from(*component_index).ok().and_then(|index| frame.components.get(index));
            let found = found.ok_or_else(|| involved("it names a component that is not there"))?;
            frame.instances = frame.instances.saturating_add(*found);
            if frame.instances > MOST {
                return Err(involved("it stands for more than 1,000 instances"));
            }
            Ok(())
        }
    }
}

/// Refuses a component where one is handed around as a value.
fn whole(kind: ComponentExternalKind) -> Result<(), WasmError> {
    match kind {
        ComponentExternalKind::Component => Err(involved("a component in it is handed another one")),
        _ => Ok(()),
    }
}

const fn involved(problem: &'static str) -> WasmError {
    WasmError::Involved { problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component that instantiates the one inside it twice, so many levels deep.
    fn doubled(levels: usize) -> Vec<u8> {
        let mut text = "(component)".to_owned();
        for _ in 0..levels {
            let inner = text.replacen("(component", "(component $c", 1);
            text = format!("(component {inner} (instance (instantiate $c)) (instance (instantiate $c)))");
        }
        wat::parse_str(text).unwrap()
    }

    #[test]
    fn what_would_become_too_much_is_refused_before_it_is_put_together() {
        for levels in 0..=6 {
            assert!(check(&doubled(levels)).is_ok(), "{levels}");
        }
        // Two to the power of its depth.
        for levels in [9, 12, 14, 40] {
            assert!(matches!(check(&doubled(levels)), Err(WasmError::Involved { .. })), "{levels}");
        }
    }

    #[test]
    fn the_way_around_by_names_from_outside_is_counted_too() {
        let mut text = "(component (component $a0)".to_owned();
        for level in 1..12 {
            let below = level - 1;
            text.push_str(&format!(
                "(component $a{level} (alias outer 1 $a{below} (component $x)) (instance (instantiate $x)) (instance (instantiate $x)))"
            ));
        }
        text.push_str("(instance (instantiate $a11)))");
        let bytes = wat::parse_str(text).unwrap();
        assert!(matches!(check(&bytes), Err(WasmError::Involved { .. })));
    }

    #[test]
    fn components_that_are_handed_around_are_refused() {
        let bytes = wat::parse_str("(component (component $a (import \"b\" (component))) )").unwrap();
        assert!(matches!(check(&bytes), Err(WasmError::Involved { .. })));
    }
}
