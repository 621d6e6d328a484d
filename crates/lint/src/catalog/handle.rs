//! The scoped handles of ringfence: what goes through them is judged on every use.

use super::set;
use crate::Effect::{EnvRead, Exec, FsRead, FsWrite, NetConnect};
use crate::EffectSet;

/// Returns what a method of a scoped handle does; `None` for any other type.
///
/// Secrets and the store have no effect of their own: nothing outside the gateway is touched.
pub fn of_handle(handle: &str, method: &str) -> Option<EffectSet> {
    Some(match (handle, method) {
        ("ScopedFs", "exists" | "list" | "metadata" | "read" | "read_bytes") => set(&[FsRead]),
        (
            "ScopedFs",
            "append" | "create_dir" | "create_dir_all" | "remove" | "remove_all" | "rename" | "write",
        ) => set(&[FsWrite]),
        ("ScopedFs", "copy") => set(&[FsRead, FsWrite]),
        ("ScopedFetch", _) => set(&[NetConnect]),
        ("ScopedProcess", "spawn") => set(&[Exec]),
        ("ScopedEnvironment", "get" | "has") => set(&[EnvRead]),
        ("KeyValueStore" | "ScopedEnvironment" | "ScopedFs" | "ScopedProcess" | "ScopedSecrets", _) => {
            EffectSet::NONE
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_told_by_type_and_method() {
        assert_eq!(of_handle("ScopedFs", "read"), Some(set(&[FsRead])));
        assert_eq!(of_handle("ScopedSecrets", "get"), Some(EffectSet::NONE));
        assert_eq!(of_handle("Registry", "read"), None);
    }
}
