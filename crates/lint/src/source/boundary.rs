//! The types of ringfence that code may use without more being said: the handles judge every use, and the rest touches nothing.
//!
//! INVARIANT: only types of the package `ringfence` itself are known here; everything else in it is followed like any other code.

use crate::Effect::{EnvRead, Exec, FsRead, FsWrite, NetConnect};
use crate::{Effect, EffectSet};

/// What a method of a type of ringfence does: `None` for a type that is not at the boundary.
pub(crate) fn of_method(type_name: &str, method: &str) -> Option<EffectSet> {
    let effects: &[Effect] = match (type_name, method) {
        ("ScopedFs", "read" | "read_bytes" | "list" | "metadata" | "exists") => &[FsRead],
        (
            "ScopedFs",
            "write" | "append" | "create_dir" | "create_dir_all" | "remove" | "remove_all" | "rename",
        ) => &[FsWrite],
        ("ScopedFs", "copy") => &[FsRead, FsWrite],
        ("ScopedFetch", "fetch" | "get") => &[NetConnect],
        ("ScopedProcess", "spawn") => &[Exec],
        ("ScopedEnvironment", "get" | "has") => &[EnvRead],
        ("ScopedFs" | "ScopedFetch" | "ScopedProcess" | "ScopedEnvironment" | "ScopedSecrets", _)
        | ("KeyValueStore" | "Context" | "ToolBuilder" | "Run", _) => &[],
        _ => return None,
    };
    Some(effects.iter().copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_do_what_their_methods_say() {
        #[rustfmt::skip]
        let cases: [(&str, &str, Option<&[Effect]>); 6] = [
            ("ScopedFs",      "read",   Some(&[FsRead])),
            ("ScopedFs",      "copy",   Some(&[FsRead, FsWrite])),
            ("ScopedFetch",   "get",    Some(&[NetConnect])),
            ("Context",       "fs",     Some(&[])),
            ("ScopedSecrets", "get",    Some(&[])),
            ("HostFiles",     "pin",    None),
        ];
        for (owner, method, wanted) in cases {
            let wanted = wanted.map(|effects| effects.iter().copied().collect());
            assert_eq!(of_method(owner, method), wanted, "{owner}::{method}");
        }
    }
}
