//! Places, operands and literals inside the statements of MIR.

use std::borrow::Cow;

use crate::mir::path::balanced_end;

/// Splits at the first `needle` outside brackets and quotes.
pub(super) fn split_top<'a>(text: &'a str, needle: &str) -> Option<(&'a str, &'a str)> {
    let first = needle.chars().next()?;
    let mut from = 0;
    loop {
        let rest = text.get(from..)?;
        let at = from + balanced_end(rest, |c| c == first);
        let here = text.get(at..)?;
        if let Some(after) = here.strip_prefix(needle) {
            return Some((text.get(..at)?, after));
        }
        from = at + here.chars().next()?.len_utf8();
    }
}

/// Returns the parts between top-level commas.
pub(super) fn split_list(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let end = balanced_end(rest, |c| c == ',');
        let part = rest.get(..end).unwrap_or("").trim();
        if !part.is_empty() {
            parts.push(part);
        }
        match rest.get(end..).and_then(|more| more.strip_prefix(',')) {
            Some(more) => rest = more,
            None => return parts,
        }
    }
}

/// Returns the number of the local that a place starts from.
pub(super) fn base(place: &str) -> Option<usize> {
    let start = place.find('_')?;
    let digits = place.get(start + 1..)?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse().ok()
}

/// Says whether a place is a part of its local: a field of it.
pub(super) fn is_part(place: &str) -> bool {
    place.contains(": ") || place.contains(" as ")
}

/// Returns the type of a place, given the types of the locals.
pub(super) fn type_of<'a>(place: &'a str, locals: &[&'a str]) -> Option<&'a str> {
    let place = place.trim();
    if let Some(inside) = place.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        if let Some(pointer) = inside.strip_prefix('*') {
            return Some(pointee(type_of(pointer, locals)?));
        }
        if let Some((_, found)) = split_top(inside, ": ") {
            return Some(found);
        }
        if let Some((whole, _)) = split_top(inside, " as ") {
            return type_of(whole, locals);
        }
    }
    if place.ends_with(']') {
        return type_of(place.get(..place.rfind('[')?)?, locals);
    }
    locals.get(base(place)?).copied().filter(|found| !found.is_empty())
}

fn pointee(found: &str) -> &str {
    let found = found.strip_prefix('&').unwrap_or(found);
    let found =
        if found.starts_with('\'') { found.split_once(' ').map_or(found, |(_, rest)| rest) } else { found };
    ["mut ", "*mut ", "*const "].iter().find_map(|prefix| found.strip_prefix(prefix)).unwrap_or(found)
}

/// Returns the place of an operand: `move _1`, `copy (*_2)`.
pub(super) fn operand(text: &str) -> Option<&str> {
    let text = text.trim();
    text.strip_prefix("move ").or_else(|| text.strip_prefix("copy "))
}

/// Returns the string of `const "…"`.
pub(super) fn literal(text: &str) -> Option<Cow<'_, str>> {
    let quoted = text.trim().strip_prefix("const \"")?;
    let inside = quoted.strip_suffix('"')?;
    if !inside.contains('\\') {
        return Some(Cow::Borrowed(inside));
    }
    let mut out = String::new();
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some('r')) => out.push('\r'),
            ('\\', Some('0')) => out.push('\0'),
            ('\\', Some('u')) => {
                let code: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
                out.extend(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32));
            }
            ('\\', Some(other)) | (other, _) => out.push(other),
        }
    }
    Some(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_a_place() {
        let locals = ["()", "&mut a::B", "std::vec::Vec<C>", "*const fn()"];
        #[rustfmt::skip]
        let cases = [
            ("_2",                                  Some("std::vec::Vec<C>")),
            ("(*_1)",                               Some("a::B")),
            ("(*_3)",                               Some("fn()")),
            ("((*_1).0: std::string::String)",      Some("std::string::String")),
            ("(((*_1) as Some).0: D<X = Y>)",       Some("D<X = Y>")),
            ("_2[_9]",                              Some("std::vec::Vec<C>")),
            ("_7",                                  None),
        ];
        for (place, expected) in cases {
            assert_eq!(type_of(place, &locals), expected, "{place}");
        }
    }

    #[test]
    fn literals_and_lists() {
        assert_eq!(literal(r#"const "a\"b\u{41}\n""#).as_deref(), Some("a\"bA\n"));
        assert_eq!(literal("const 3_u8"), None);
        assert_eq!(
            split_list(r#"move _1, const "a, (b", [copy _2, copy _3]"#),
            ["move _1", r#"const "a, (b""#, "[copy _2, copy _3]"]
        );
        assert_eq!(
            split_top("(_1.0: dyn X<A = B>) = move _2", " = "),
            Some(("(_1.0: dyn X<A = B>)", "move _2"))
        );
    }
}
