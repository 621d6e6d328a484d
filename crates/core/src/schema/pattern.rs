//! Patterns of a schema are ECMA-262; the engine that runs them in linear time is not quite.
//!
//! Where the two dialects read one text differently, the text is rewritten or refused, so that a pattern never
//! admits more here than its author meant.

/// Every pattern of a schema together, so that compiling them stays quick.
pub(super) const MAX_PATTERNS: usize = 256;
/// The characters of every pattern of a schema together.
pub(super) const MAX_PATTERN_TEXT: usize = 32 << 10;

/// Returns the pattern as the engine must read it.
///
/// `.` does not match a line end of any kind in ECMA-262, so that `^.+$` keeps a carriage return out.
pub(super) fn ecma(pattern: &str) -> Result<String, &'static str> {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern.chars().peekable();
    let mut in_class = false;
    let mut quantified = false;
    while let Some(character) = rest.next() {
        let mut quantifies = false;
        match character {
            '\\' => {
                out.push('\\');
                out.extend(rest.next());
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            _ if in_class => {
                // The engine nests classes and has set operators; ECMA-262 reads these as characters.
                if character == '[' {
                    out.push('\\');
                }
                if matches!(character, '&' | '~' | '-') && rest.peek() == Some(&character) {
                    return Err("a class with a doubled `&`, `~` or `-` is not supported");
                }
                out.push(character);
            }
            '[' => {
                in_class = true;
                out.push('[');
                if rest.peek() == Some(&'^') {
                    rest.next();
                    out.push('^');
                }
                if rest.peek() == Some(&']') {
                    return Err("an empty class is not supported");
                }
            }
            '.' => out.push_str(r"[^\n\r\u{2028}\u{2029}]"),
            '(' => {
                out.push('(');
                if rest.peek() == Some(&'?') {
                    let mut ahead = rest.clone();
                    ahead.next();
                    match (ahead.next(), ahead.next()) {
                        (Some('=' | '!'), _) | (Some('<'), Some('=' | '!')) => {
                            return Err("look-around cannot be checked in linear time");
                        }
                        (Some(':' | '<'), _) => {}
                        _ => return Err("inline flags are not part of ECMA-262"),
                    }
                    // The `?` belongs to the group, not to a quantifier.
                    out.extend(rest.next());
                }
            }
            '*' | '+' | '?' => {
                // One `?` after a quantifier makes it lazy; anything else after one is an error.
                if quantified && character != '?' {
                    return Err("a quantifier follows a quantifier");
                }
                quantifies = !quantified;
                out.push(character);
            }
            '}' => {
                quantifies = true;
                out.push('}');
            }
            other => out.push(other),
        }
        quantified = quantifies;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewrites_what_the_engine_reads_otherwise() {
        #[rustfmt::skip]
        let cases = [
            ("^.$",          Ok(r"^[^\n\r\u{2028}\u{2029}]$")),
            (r"^\.$",        Ok(r"^\.$")),
            ("[.]",          Ok("[.]")),
            ("[[]",          Ok(r"[\[]")),
            (r"[\]a]",       Ok(r"[\]a]")),
            ("(?:a)+?",      Ok("(?:a)+?")),
            ("(?<n>a)",      Ok("(?<n>a)")),
            ("a{2,3}?",      Ok("a{2,3}?")),
            ("a?b*c+",       Ok("a?b*c+")),
            ("(a?)?",        Ok("(a?)?")),
            ("(?i)a",        Err("inline flags are not part of ECMA-262")),
            ("(?P<n>a)",     Err("inline flags are not part of ECMA-262")),
            ("(?=a)",        Err("look-around cannot be checked in linear time")),
            ("(?<!a)",       Err("look-around cannot be checked in linear time")),
            ("a**",          Err("a quantifier follows a quantifier")),
            ("a++",          Err("a quantifier follows a quantifier")),
            ("[]]",          Err("an empty class is not supported")),
            ("[^]",          Err("an empty class is not supported")),
            ("[a&&b]",       Err("a class with a doubled `&`, `~` or `-` is not supported")),
        ];
        for (pattern, expected) in cases {
            assert_eq!(ecma(pattern).as_deref().map_err(|error| *error), expected, "{pattern}");
        }
    }
}
