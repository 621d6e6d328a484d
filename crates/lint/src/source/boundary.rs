//! The types of ringfence that code may use without more being said: the handles judge every use, and the rest touches nothing.
//!
//! INVARIANT: only types of the package `ringfence` itself are known here; everything else in it is followed like any other code.

use crate::EffectSet;
use crate::catalog::of_handle;

/// What a method of a type of ringfence does: `None` for a type that is not at the boundary.
pub(crate) fn of_method(type_name: &str, method: &str) -> Option<EffectSet> {
    let is_quiet = matches!(type_name, "Context" | "Run" | "ToolBuilder");
    of_handle(type_name, method).or_else(|| is_quiet.then_some(EffectSet::NONE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effect::{self, FsRead, FsWrite, NetConnect};

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
