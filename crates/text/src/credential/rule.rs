//! The shape of a credential with a vendor's prefix: what it starts with and what must follow.

use std::fmt::Write as _;
use std::ops::Range;

/// A set of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    pub(crate) has: fn(u8) -> bool,
    /// The same as a class of a regular expression.
    pub(crate) pattern: &'static str,
}

macro_rules! class {
    ($name:ident, $bytes:pat, $pattern:literal) => {
        pub(crate) const $name: Class = Class { has: |byte| matches!(byte, $bytes), pattern: $pattern };
    };
}

class!(ALNUM, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9', "[A-Za-z0-9]");
class!(BASE32, b'A'..=b'Z' | b'2'..=b'7', "[A-Z2-7]");
class!(BASE64, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'/' | b'=' | b'_' | b'-', "[A-Za-z0-9+/=_-]");
class!(DASHED, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-', "[A-Za-z0-9_-]");
class!(DIGIT, b'0'..=b'9', "[0-9]");
class!(DOTTED, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.', "[A-Za-z0-9_.-]");
class!(HEX, b'a'..=b'f' | b'A'..=b'F' | b'0'..=b'9', "[A-Fa-f0-9]");
class!(LOWER, b'a'..=b'z' | b'0'..=b'9', "[a-z0-9]");
class!(PATH, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'/' | b'@' | b'.' | b'%', "[A-Za-z0-9_/@.%-]");
class!(TILDE, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'~' | b'%', "[A-Za-z0-9_.~%-]");
class!(UPPER, b'A'..=b'Z' | b'0'..=b'9', "[A-Z0-9]");
class!(UUID, b'a'..=b'f' | b'A'..=b'F' | b'0'..=b'9' | b'-', "[A-Fa-f0-9-]");
class!(WORD, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_', "[A-Za-z0-9_]");

/// One part of what follows the prefix.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// Exactly so many bytes of a class.
    Exactly(Class, usize),
    /// This text.
    Text(&'static str),
    /// At least so many bytes of a class, and all that follow.
    Run(Class, usize),
}

/// What may stand before the prefix.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Left {
    /// Anything: the prefix is unmistakable.
    Any,
    /// No letter, digit or the like: the prefix could be the end of a word.
    Edge,
}

/// A credential with a prefix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) label: &'static str,
    pub(crate) prefix: &'static str,
    pub(crate) left: Left,
    /// What belongs to it before the prefix.
    pub(crate) ahead: Option<(Class, usize)>,
    pub(crate) body: &'static [Part],
}

impl Rule {
    /// Matches at a place where the prefix stands; returns the whole credential and what follows the prefix.
    pub(crate) fn matches(&self, text: &[u8], at: usize) -> Option<(Range<usize>, Range<usize>)> {
        let mut start = at;
        if let Some((class, least)) = self.ahead {
            while start > 0 && text.get(start - 1).is_some_and(|byte| (class.has)(*byte)) {
                start -= 1;
            }
            if at - start < least {
                return None;
            }
        } else if self.needs_edge() && !edge(text, at) {
            return None;
        }
        let begun = at + self.prefix.len();
        let mut end = begun;
        for part in self.body {
            let rest = text.get(end..)?;
            end += match *part {
                Part::Exactly(class, count) => {
                    let taken = rest.iter().take(count).take_while(|byte| (class.has)(**byte)).count();
                    (taken == count).then_some(count)?
                }
                Part::Text(text) => rest.starts_with(text.as_bytes()).then_some(text.len())?,
                Part::Run(class, least) => {
                    let taken = rest.iter().take_while(|byte| (class.has)(**byte)).count();
                    (taken >= least).then_some(taken)?
                }
            };
        }
        // A sentence ends after a credential, not in it.
        while end > begun && text.get(end - 1).is_some_and(|byte| matches!(byte, b'.' | b'-')) {
            end -= 1;
        }
        Some((start..end, begun..end))
    }

    /// Tells whether the prefix counts only where a word can start.
    pub(crate) fn needs_edge(&self) -> bool {
        self.ahead.is_none() && self.left == Left::Edge
    }

    /// Returns how many bytes a match has at least.
    #[cfg(test)]
    pub(crate) fn shortest(&self) -> usize {
        self.ahead.map_or(0, |(_, least)| least) + self.prefix.len() + self.least()
    }

    /// Returns how many bytes follow the prefix at least.
    pub(crate) fn least(&self) -> usize {
        let parts = self.body.iter().map(|part| match part {
            Part::Exactly(_, count) | Part::Run(_, count) => *count,
            Part::Text(text) => text.len(),
        });
        parts.sum()
    }

    /// Returns the rule as a regular expression, as one would write it first.
    pub(crate) fn pattern(&self) -> String {
        let mut pattern = String::new();
        // Writing to a string cannot fail.
        if let Some((class, least)) = self.ahead {
            let _written = write!(pattern, "{}{{{least},}}", class.pattern);
        } else if self.left == Left::Edge {
            pattern.push_str(r"\b");
        }
        escape(self.prefix, &mut pattern);
        for part in self.body {
            match part {
                Part::Exactly(class, count) => {
                    let _written = write!(pattern, "{}{{{count}}}", class.pattern);
                }
                Part::Text(text) => escape(text, &mut pattern),
                Part::Run(class, least) => {
                    let _written = write!(pattern, "{}{{{least},}}", class.pattern);
                }
            }
        }
        pattern
    }
}

fn escape(text: &str, out: &mut String) {
    for point in text.chars() {
        if !point.is_alphanumeric() && point.is_ascii() {
            out.push('\\');
        }
        out.push(point);
    }
}

/// Tells whether a word can start here: the byte before is none of a word, or the end of a percent escape.
pub(crate) fn edge(text: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|index| text.get(index)).copied();
    match before(1) {
        None => true,
        Some(byte) if byte.is_ascii_alphanumeric() => {
            before(3) == Some(b'%') && byte.is_ascii_hexdigit() && before(2).is_some_and(|byte| byte.is_ascii_hexdigit())
                // The `n` of an escaped line end, as in JSON.
                || before(2) == Some(b'\\') && matches!(byte, b'n' | b't' | b'r')
        }
        Some(byte) => !matches!(byte, b'_' | b'-'),
    }
}
