//! Whether a `#[cfg(...)]` holds: yes, no, or only the build script knows.
//!
//! INVARIANT: an item is left out only when its condition is certainly false.

use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, LitBool, LitStr, Meta, Token};

use crate::{Cfg, SourcePackage, TargetKind};

/// An answer of three.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Truth {
    No,
    Maybe,
    Yes,
}

impl Truth {
    fn not(self) -> Self {
        match self {
            Self::No => Self::Yes,
            Self::Maybe => Self::Maybe,
            Self::Yes => Self::No,
        }
    }
}

impl From<bool> for Truth {
    fn from(is: bool) -> Self {
        if is { Self::Yes } else { Self::No }
    }
}

/// What conditions are judged by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions<'a> {
    cfg: &'a Cfg,
    package: &'a SourcePackage,
}

/// Names that no build of a program sets.
const NEVER: &[&str] = &[
    "test",
    "doc",
    "docsrs",
    "doctest",
    "miri",
    "loom",
    "kani",
    "fuzzing",
    "bootstrap",
    "rustfmt",
    "clippy",
];

/// Keys whose values the compiler lists in full.
const LISTED: &[&str] = &[
    "target_arch",
    "target_os",
    "target_family",
    "target_env",
    "target_endian",
    "target_pointer_width",
    "target_vendor",
    "target_abi",
    "panic",
];

impl<'a> Conditions<'a> {
    pub(crate) fn new(cfg: &'a Cfg, package: &'a SourcePackage) -> Self {
        Self { cfg, package }
    }

    /// Judges the attributes of an item.
    pub(crate) fn holds(&self, attributes: &[Attribute]) -> Truth {
        attributes.iter().map(|attribute| self.attribute(&attribute.meta)).min().unwrap_or(Truth::Yes)
    }

    fn attribute(&self, meta: &Meta) -> Truth {
        let Meta::List(list) = meta else { return Truth::Yes };
        if list.path.is_ident("cfg") {
            return list
                .parse_args_with(|input: ParseStream<'_>| self.predicate(input))
                .unwrap_or(Truth::Maybe);
        }
        if list.path.is_ident("cfg_attr") {
            return list
                .parse_args_with(|input: ParseStream<'_>| self.conditional(input))
                .unwrap_or(Truth::Maybe);
        }
        Truth::Yes
    }

    /// Judges the condition inside `cfg_attr(condition, cfg(...))`.
    fn conditional(&self, input: ParseStream<'_>) -> syn::Result<Truth> {
        let condition = self.predicate(input)?;
        input.parse::<Token![,]>()?;
        let inner = Punctuated::<Meta, Token![,]>::parse_terminated(input)?;
        let given = inner.iter().map(|meta| self.attribute(meta)).min().unwrap_or(Truth::Yes);
        Ok(match condition {
            Truth::No => Truth::Yes,
            Truth::Yes => given,
            Truth::Maybe => given.max(Truth::Maybe),
        })
    }

    /// Returns the attributes of `cfg_attr(condition, attributes)` that may apply, beside the plain ones.
    pub(crate) fn applied(&self, attributes: &[Attribute]) -> Vec<Meta> {
        let mut applied = Vec::new();
        for attribute in attributes {
            match &attribute.meta {
                Meta::List(list) if list.path.is_ident("cfg_attr") => {
                    let given = list.parse_args_with(|input: ParseStream<'_>| {
                        let condition = self.predicate(input)?;
                        input.parse::<Token![,]>()?;
                        let inner = Punctuated::<Meta, Token![,]>::parse_terminated(input)?;
                        Ok(if condition == Truth::No { Vec::new() } else { inner.into_iter().collect() })
                    });
                    applied.extend(given.unwrap_or_default());
                }
                plain => applied.push(plain.clone()),
            }
        }
        applied
    }

    /// Judges one condition.
    pub(crate) fn predicate(&self, input: ParseStream<'_>) -> syn::Result<Truth> {
        if input.peek(LitBool) {
            return Ok(input.parse::<LitBool>()?.value.into());
        }
        let name = Ident::parse_any(input)?.unraw().to_string();
        if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            let value = input.parse::<LitStr>()?.value();
            return Ok(self.pair(&name, &value));
        }
        if !input.peek(syn::token::Paren) {
            return Ok(self.name(&name));
        }
        let inner;
        syn::parenthesized!(inner in input);
        if !matches!(name.as_str(), "all" | "any" | "not") {
            inner.parse::<proc_macro2::TokenStream>()?;
            return Ok(Truth::Maybe);
        }
        let mut parts = Vec::new();
        while !inner.is_empty() {
            parts.push(self.predicate(&inner)?);
            if !inner.is_empty() {
                inner.parse::<Token![,]>()?;
            }
        }
        Ok(match name.as_str() {
            "all" => parts.into_iter().min().unwrap_or(Truth::Yes),
            "any" => parts.into_iter().max().unwrap_or(Truth::No),
            _ => parts.first().copied().unwrap_or(Truth::Maybe).not(),
        })
    }

    fn pair(&self, key: &str, value: &str) -> Truth {
        if key == "feature" {
            return self.package.features.contains(value).into();
        }
        if self.cfg.has(key, value) {
            return Truth::Yes;
        }
        if LISTED.contains(&key) { Truth::No } else { self.unknown() }
    }

    fn name(&self, name: &str) -> Truth {
        match name {
            "debug_assertions" | "overflow_checks" => Truth::Maybe,
            "windows" | "unix" => self.cfg.is_set(name).into(),
            "proc_macro" => self.package.target(TargetKind::ProcMacro).is_some().into(),
            _ if self.cfg.is_set(name) => Truth::Yes,
            _ if NEVER.contains(&name) => Truth::No,
            _ => self.unknown(),
        }
    }

    /// A build script may set anything.
    fn unknown(&self) -> Truth {
        if self.package.target(TargetKind::BuildScript).is_some() { Truth::Maybe } else { Truth::No }
    }
}

#[cfg(test)]
mod tests {
    use syn::parse::Parser;

    use super::*;
    use crate::project::LINUX;
    use crate::source::tests::package;

    fn judged(text: &str, build_script: &[TargetKind]) -> Truth {
        let cfg = Cfg::parse(LINUX).unwrap();
        let package = package(&["net"], build_script);
        let attributes = Attribute::parse_outer.parse_str(text).unwrap();
        Conditions::new(&cfg, &package).holds(&attributes)
    }

    #[test]
    fn leaves_out_only_what_is_certainly_false() {
        #[rustfmt::skip]
        let cases = [
            ("#[cfg(unix)]",                                         Truth::Yes),
            ("#[cfg(windows)]",                                      Truth::No),
            ("#[cfg(not(windows))]",                                 Truth::Yes),
            ("#[cfg(test)]",                                         Truth::No),
            ("#[cfg(feature = \"net\")]",                            Truth::Yes),
            ("#[cfg(feature = \"off\")]",                            Truth::No),
            ("#[cfg(all(unix, feature = \"off\"))]",                 Truth::No),
            ("#[cfg(any(windows, feature = \"net\"))]",              Truth::Yes),
            ("#[cfg(all())]",                                        Truth::Yes),
            ("#[cfg(any())]",                                        Truth::No),
            ("#[cfg(false)]",                                        Truth::No),
            ("#[cfg(debug_assertions)]",                             Truth::Maybe),
            ("#[cfg(not(debug_assertions))]",                        Truth::Maybe),
            ("#[cfg(unix)] #[cfg(feature = \"off\")]",               Truth::No),
            ("#[cfg_attr(unix, cfg(feature = \"off\"))]",            Truth::No),
            ("#[cfg_attr(windows, cfg(feature = \"off\"))]",         Truth::Yes),
            ("#[cfg(target_os = \"macos\")]",                        Truth::No),
            ("#[cfg(target_feature = \"avx512f\")]",                 Truth::No),
            ("#[cfg(odd)]",                                          Truth::No),
            ("#[cfg(version(\"1.90\"))]",                            Truth::Maybe),
            ("#[inline] #[doc = \"cfg(windows)\"]",                  Truth::Yes),
        ];
        for (text, wanted) in cases {
            assert_eq!(judged(text, &[]), wanted, "{text}");
        }
    }

    #[test]
    fn a_build_script_may_set_what_nobody_else_knows() {
        #[rustfmt::skip]
        let cases = [
            ("#[cfg(odd)]",                      Truth::Maybe),
            ("#[cfg(not(odd))]",                 Truth::Maybe),
            ("#[cfg(odd = \"value\")]",          Truth::Maybe),
            ("#[cfg(all(windows, odd))]",        Truth::No),
            ("#[cfg(any(unix, odd))]",           Truth::Yes),
            ("#[cfg(test)]",                     Truth::No),
            ("#[cfg(target_os = \"odd\")]",      Truth::No),
        ];
        for (text, wanted) in cases {
            assert_eq!(judged(text, &[TargetKind::BuildScript]), wanted, "{text}");
        }
    }
}
