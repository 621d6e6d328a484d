//! Whether a function can be the one that a call means, by their types.
//!
//! INVARIANT: only what surely differs does not fit: parameters, associated types and what is not understood fit everything.

use super::path::{Path, Type};

/// Says whether a type of a definition can be the type of a call.
pub(super) fn fits(defined: &Type<'_>, given: &Type<'_>) -> bool {
    match (defined, given) {
        (Type::Other | Type::Opaque(_), _) | (_, Type::Other | Type::Opaque(_)) => true,
        (Type::Path(path), other) | (other, Type::Path(path)) if is_open(path) => {
            // A primitive has one name of one part, like a parameter, but it is only itself.
            !is_primitive(path)
                || matches!(other, Type::Path(other) if is_open(other) && (!is_primitive(other) || other.tail() == path.tail()))
        }
        (Type::Path(defined), Type::Path(given)) => {
            let (left, right) = (arguments(defined), arguments(given));
            defined.tail() == given.tail()
                && (left.len() != right.len()
                    || left.iter().zip(right).all(|(left, right)| fits(left, right)))
        }
        (Type::Reference(left), Type::Reference(right))
        | (Type::Pointer(left), Type::Pointer(right))
        | (Type::List(left), Type::List(right)) => fits(left, right),
        (Type::Tuple(left), Type::Tuple(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| fits(left, right))
        }
        (Type::Dyn(left), Type::Dyn(right)) => left.first().map(Path::tail) == right.first().map(Path::tail),
        (Type::Function(left), Type::Function(right)) => left.inputs.len() == right.inputs.len(),
        (Type::Closure(left), Type::Closure(right)) => left == right,
        _ => false,
    }
}

/// Says whether a path can be a parameter or stand for another type.
fn is_open(path: &Path<'_>) -> bool {
    path.qualified.is_some() || path.segments.len() == 1
}

fn is_primitive(path: &Path<'_>) -> bool {
    path.qualified.is_none()
        && matches!(
            path.tail(),
            "bool"
                | "char"
                | "f32"
                | "f64"
                | "i128"
                | "i16"
                | "i32"
                | "i64"
                | "i8"
                | "isize"
                | "str"
                | "u128"
                | "u16"
                | "u32"
                | "u64"
                | "u8"
                | "usize"
        )
}

fn arguments<'p, 'a>(path: &'p Path<'a>) -> &'p [Type<'a>] {
    path.segments.last().map_or(&[], |segment| &segment.args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_surely_differs_does_not_fit() {
        #[rustfmt::skip]
        let cases = [
            ("&T",                 "&a::D",               true),
            ("&str",               "&str",                true),
            ("&str",               "&u8",                 false),
            ("std::fs::File",      "&str",                false),
            ("D",                  "dep::D",              true),
            ("m::Vec<T>",          "std::vec::Vec<u8>",   true),
            ("m::A<std::b::C>",    "m::A<std::b::D>",     false),
            ("u8",                 "a::D",                false),
            ("T",                  "u8",                  true),
            ("(A, m::B)",          "(u8, m::C)",          false),
            ("<T as X>::Y",        "(u8, u8)",            true),
            ("impl X",             "u8",                  true),
            ("[T; 3]",             "&[T]",                false),
        ];
        for (defined, given, expected) in cases {
            assert_eq!(fits(&Type::read(defined), &Type::read(given)), expected, "{defined} {given}");
        }
    }
}
