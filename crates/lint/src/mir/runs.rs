//! Which traits a call into the standard library may run on the types it is given.
//!
//! The standard library knows only its own traits, so a call with a program's type runs at most that type's methods of those.
//! Which of them is told by the callee, generously: a method that does nothing costs nothing.
//!
//! INVARIANT: a trait that is not in [`NAMES`] is never run by the standard library.

use super::path::{Path, Type};

/// A set of traits of the standard library.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Traits(u64);

/// The traits, by last name; the position is the bit.
const NAMES: &[&str] = &[
    "Drop",
    "Iterator",
    "DoubleEndedIterator",
    "ExactSizeIterator",
    "IntoIterator",
    "FromIterator",
    "Extend",
    "Sum",
    "Product",
    "Display",
    "Debug",
    "LowerHex",
    "UpperHex",
    "Octal",
    "Binary",
    "LowerExp",
    "UpperExp",
    "Pointer",
    "Write",
    "Read",
    "BufRead",
    "Seek",
    "Future",
    "IntoFuture",
    "Hash",
    "Hasher",
    "BuildHasher",
    "PartialEq",
    "Eq",
    "PartialOrd",
    "Ord",
    "Clone",
    "Default",
    "From",
    "Into",
    "TryFrom",
    "TryInto",
    "FromStr",
    "ToString",
    "ToOwned",
    "AsRef",
    "AsMut",
    "Borrow",
    "BorrowMut",
    "Deref",
    "DerefMut",
    "Index",
    "IndexMut",
    "Error",
    "Arithmetic",
    "RangeBounds",
    "Wake",
    "Termination",
    "GlobalAlloc",
    "ToSocketAddrs",
    "AsFd",
    "Step",
    "CloneFromCell",
    "Try",
];

const ARITHMETIC: &[&str] = &[
    "Add",
    "AddAssign",
    "BitAnd",
    "BitAndAssign",
    "BitOr",
    "BitOrAssign",
    "BitXor",
    "BitXorAssign",
    "Div",
    "DivAssign",
    "Mul",
    "MulAssign",
    "Neg",
    "Not",
    "Rem",
    "RemAssign",
    "Shl",
    "ShlAssign",
    "Shr",
    "ShrAssign",
    "Sub",
    "SubAssign",
];

impl Traits {
    pub(super) const NONE: Self = Self(0);
    pub(super) const DROP: Self = Self(1);
    /// How many traits there can be.
    pub(super) const COUNT: u32 = 64;

    /// Returns the set of one trait, empty for a trait that std never runs.
    pub(super) fn one(name: &str) -> Self {
        let name = if ARITHMETIC.contains(&name) {
            "Arithmetic"
        } else if matches!(name, "AsRawFd" | "AsSocket" | "IntoRawFd" | "FromRawFd") {
            "AsFd"
        } else {
            name
        };
        NAMES.iter().position(|known| *known == name).map_or(Self::NONE, |bit| Self(1 << bit))
    }

    fn of(names: &[&str]) -> Self {
        names.iter().fold(Self::NONE, |set, name| set.with(Self::one(name)))
    }

    /// Returns the traits that tell one type by another: the items of an iterator, what a future gives.
    pub(super) fn telling() -> Self {
        Self::of(&[
            "Iterator",
            "DoubleEndedIterator",
            "IntoIterator",
            "Future",
            "IntoFuture",
            "Deref",
            "DerefMut",
            "Index",
        ])
    }

    /// Returns what is in both.
    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns what is in either.
    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns what is in this one and not in the other.
    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Says whether the two have a trait in common.
    pub(super) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the numbers of the traits in it.
    pub(super) fn bits(self) -> impl Iterator<Item = u32> {
        (0..Self::COUNT).filter(move |bit| self.0 & (1 << bit) != 0)
    }

    /// Says whether nothing is in it.
    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the traits that a method may belong to whose trait is not known.
    pub(super) fn with_method(method: &str) -> Self {
        match method {
            "drop" => Self::DROP,
            "next" | "size_hint" | "fold" | "try_fold" | "nth" | "count" => Self::one("Iterator"),
            "next_back" => Self::one("DoubleEndedIterator"),
            "fmt" => formatting(),
            "poll" => Self::one("Future"),
            "from" => Self::one("From"),
            "try_from" => Self::one("TryFrom"),
            "from_str" => Self::one("FromStr"),
            "clone" | "clone_from" => Self::one("Clone"),
            "default" => Self::one("Default"),
            "deref" => Self::one("Deref"),
            "deref_mut" => Self::one("DerefMut"),
            "eq" | "ne" => Self::one("PartialEq"),
            "cmp" | "partial_cmp" => Self::of(&["Ord", "PartialOrd"]),
            "hash" => Self::one("Hash"),
            "read" | "read_buf" | "read_to_end" | "read_to_string" | "read_exact" => Self::one("Read"),
            "write" | "write_all" | "flush" | "write_str" | "write_fmt" | "write_char" => Self::one("Write"),
            "index" => Self::one("Index"),
            "index_mut" => Self::one("IndexMut"),
            "as_ref" => Self::one("AsRef"),
            "borrow" => Self::one("Borrow"),
            "into_iter" => Self::one("IntoIterator"),
            "into_future" => Self::one("IntoFuture"),
            "from_iter" => Self::one("FromIterator"),
            "extend" => Self::one("Extend"),
            "wake" | "wake_by_ref" => Self::one("Wake"),
            "to_socket_addrs" => Self::one("ToSocketAddrs"),
            _ => Self::NONE,
        }
    }
}

fn formatting() -> Traits {
    Traits::of(&[
        "Display", "Debug", "LowerHex", "UpperHex", "Octal", "Binary", "LowerExp", "UpperExp", "Pointer",
    ])
}

/// Returns the traits that a method of a trait may run on the types it mentions: the trait itself, and those its adapters need.
pub(super) fn by_trait(name: &str, method: &str) -> Traits {
    let own = Traits::one(name);
    own.with(match name {
        "Iterator"
        | "DoubleEndedIterator"
        | "ExactSizeIterator"
        | "IntoIterator"
        | "FromIterator"
        | "Extend"
        | "Sum"
        | "Product" => {
            let made =
                if matches!(method, "unzip" | "partition") { Traits::one("Default") } else { Traits::NONE };
            made.with(Traits::of(&[
                "Iterator",
                "DoubleEndedIterator",
                "ExactSizeIterator",
                "IntoIterator",
                "FromIterator",
                "Extend",
                "Sum",
                "Product",
                "PartialEq",
                "Eq",
                "PartialOrd",
                "Ord",
                "Hash",
                "Hasher",
                "BuildHasher",
                "Clone",
                "Borrow",
            ]))
        }
        "Into" | "From" => Traits::of(&["From", "Into", "Wake", "Clone"]),
        "TryInto" | "TryFrom" => Traits::of(&["From", "Into", "TryFrom", "TryInto"]),
        "FromResidual" | "Try" => Traits::of(&["From", "Into"]),
        "ToString" => Traits::one("Display"),
        "Error" => Traits::of(&["Display", "Debug"]),
        "ToOwned" => Traits::of(&["Clone", "Borrow"]),
        "PartialOrd" | "Ord" => Traits::of(&["PartialOrd", "Ord"]),
        "Hash" | "BuildHasher" | "Hasher" => Traits::of(&["Hash", "Hasher", "BuildHasher"]),
        "Deref" | "DerefMut" | "AsRef" | "AsMut" | "Borrow" | "BorrowMut" => {
            Traits::of(&["Deref", "DerefMut", "AsRef", "AsMut", "Borrow", "BorrowMut"])
        }
        "Index" | "IndexMut" => Traits::of(&[
            "Deref",
            "DerefMut",
            "Index",
            "IndexMut",
            "Borrow",
            "Hash",
            "Eq",
            "PartialEq",
            "Ord",
            "PartialOrd",
            "BuildHasher",
            "Hasher",
        ]),
        "Read" | "BufRead" | "Seek" | "Write" => Traits::of(&["Read", "BufRead", "Seek", "Write"]),
        "Future" | "IntoFuture" => Traits::of(&["Future", "IntoFuture"]),
        "Termination" => Traits::of(&["Debug"]),
        _ => Traits::NONE,
    })
}

/// Returns the traits that a function of the standard library may run, by its path.
pub(super) fn by_path(path: &Path<'_>) -> Traits {
    let name = path.tail();
    let module = path.segments.get(1).map_or("", |segment| segment.name);
    match name {
        "new_debug" => return Traits::one("Debug"),
        "new_lower_hex" => return Traits::one("LowerHex"),
        "new_upper_hex" => return Traits::one("UpperHex"),
        "new_octal" => return Traits::one("Octal"),
        "new_binary" => return Traits::one("Binary"),
        "new_lower_exp" => return Traits::one("LowerExp"),
        "new_upper_exp" => return Traits::one("UpperExp"),
        "new_pointer" => return Traits::one("Pointer"),
        "new_display" | "panic_display" | "unreachable_display" => return Traits::one("Display"),
        "parse" => return Traits::one("FromStr"),
        "unwrap_or_default" | "take" | "or_default" | "get_or_insert_default" => {
            return Traits::one("Default");
        }
        _ => {}
    }
    let common = Traits::of(&[
        "Hash",
        "Hasher",
        "BuildHasher",
        "PartialEq",
        "Eq",
        "PartialOrd",
        "Ord",
        "Borrow",
        "Debug",
        "Clone",
        "Deref",
        "AsRef",
        "RangeBounds",
        "Wake",
        "Error",
    ]);
    match module {
        "io" => common.with(Traits::of(&["Read", "BufRead", "Seek", "Write"])),
        "iter" | "array" => common.with(by_trait("Iterator", name)).with(Traits::one("Default")),
        "fmt" => formatting().with(Traits::one("Write")),
        "future" | "task" => common.with(by_trait("Future", name)),
        "net" => common.with(Traits::one("ToSocketAddrs")),
        "slice" | "str" | "string"
            if matches!(name, "concat" | "join" | "connect" | "extend_from_slice" | "repeat") =>
        {
            common.with(Traits::one("Clone"))
        }
        "vec" | "collections" if matches!(name, "splice" | "extend" | "from_iter") => {
            common.with(by_trait("Iterator", name))
        }
        "rc" | "sync" if name == "unwrap_or_clone" => common,
        _ => common,
    }
}

/// Says whether a function of the standard library may drop a value of the types that it takes.
///
/// What it takes by value it may drop, unless it only stores it; what it takes by reference it may drop parts of, if its name says so.
pub(super) fn drops(path: &Path<'_>, inputs: &[Type<'_>]) -> bool {
    match path.tail() {
        "clear" | "dedup" | "dedup_by" | "dedup_by_key" | "drain" | "drop" | "drop_in_place" | "fill"
        | "make_mut" | "remove_entry" | "resize" | "resize_with" | "retain" | "retain_mut" | "set"
        | "splice" | "store" | "truncate" | "assume_init_drop" | "advance_by" | "clone_from"
        | "clone_from_slice" => true,
        "append" | "as_mut" | "as_ref" | "borrow" | "borrow_mut" | "clone" | "deref" | "deref_mut"
        | "enumerate" | "extend" | "forget" | "from" | "from_raw" | "get_or_init" | "get_unchecked_mut"
        | "insert" | "into" | "into_boxed_slice" | "into_future" | "into_inner" | "into_iter"
        | "into_pin" | "into_raw" | "leak" | "new" | "new_unchecked" | "pin" | "push" | "push_back"
        | "push_front" | "push_str" | "replace" | "send" | "swap" | "unwrap" | "expect" | "write"
        | "into_parts" | "must_use" | "black_box" | "read" | "branch" | "from_output" | "from_residual"
        | "ok" | "map_err" | "rev" | "chain" | "peekable" | "fuse" | "map" | "filter" | "take" | "skip"
        | "cloned" | "copied" | "by_ref" => false,
        _ => inputs.iter().any(|input| !matches!(input, Type::Reference(_) | Type::Pointer(_))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callee_tells_what_it_runs() {
        #[rustfmt::skip]
        let cases = [
            ("core::fmt::rt::Argument::<'_>::new_display::<&D>", "Display",  true),
            ("core::fmt::rt::Argument::<'_>::new_display::<&D>", "Debug",    false),
            ("std::vec::Vec::<W>::push",                         "Iterator", false),
            ("std::collections::HashMap::<K, V>::insert",        "Hash",     true),
            ("core::str::<impl str>::parse::<T>",                "FromStr",  true),
            ("std::io::copy::<R, W>",                            "Read",     true),
            ("std::mem::swap::<T>",                              "Default",  false),
        ];
        for (path, name, runs) in cases {
            assert_eq!(by_path(&Path::read(path)).meets(Traits::one(name)), runs, "{path} {name}");
        }
        assert!(by_trait("Into", "into").meets(Traits::one("From")));
        assert!(by_trait("ToString", "to_string").meets(Traits::one("Display")));
        assert!(Traits::one("Act").is_empty());
        assert!(NAMES.len() <= 64);
    }

    #[test]
    fn a_callee_drops_what_it_takes_unless_it_stores_it() {
        let owned = [Type::read("a::D")];
        let lent = [Type::read("&mut std::vec::Vec<a::D>")];
        assert!(drops(&Path::read("std::mem::drop::<a::D>"), &owned));
        assert!(drops(&Path::read("std::vec::Vec::<a::D>::clear"), &lent));
        assert!(!drops(&Path::read("std::vec::Vec::<a::D>::len"), &lent));
        assert!(!drops(&Path::read("std::boxed::Box::<a::D>::new"), &owned));
        assert!(!drops(&Path::read("std::mem::forget::<a::D>"), &owned));
    }
}
