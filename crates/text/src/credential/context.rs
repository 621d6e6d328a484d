//! Credentials without a prefix: the words around them make them one.
//!
//! A word such as `password`, then what separates it from its value in one of the many notations (JSON, YAML, XML, shell,
//! headers, tables, prose), then the value, judged on its own.

use std::ops::Range;

use memchr::memchr;

use super::announcer::{Announcer, ENDINGS, OPEN};
use super::rule::edge;
use super::value::Strength;

/// A value and how it stands there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Value {
    pub(crate) span: Range<usize>,
    pub(crate) quoted: bool,
    /// It stands on a line of its own, or after mere words, and so must convince by itself.
    pub(crate) loose: bool,
}

/// Finds the value that an announcer at a place announces.
pub(crate) fn value_of(text: &str, at: usize, announcer: &Announcer) -> Option<Value> {
    let bytes = text.as_bytes();
    if announcer.needs_edge() && !named(bytes, at) {
        return None;
    }
    let mut end = at + announcer.word.len();
    if announcer.word.is_ascii() {
        let rest = bytes.get(end..)?;
        let taken = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
            .count();
        if !ends_name(rest.get(..taken)?, announcer) {
            return None;
        }
        // `tokens: 4096` counts them; the digest of a thing is not the thing.
        end += taken;
    }
    let value = Reader { text, name: at, at: end }.value(announcer)?;
    let name = name_before(text, at);
    (name.is_empty() || !OPEN.iter().any(|word| starts_with_word(name, word))).then_some(value)
}

/// Tells whether the rest of a name leaves its meaning to the announcer.
fn ends_name(rest: &[u8], announcer: &Announcer) -> bool {
    let letters = || rest.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase);
    let Some(first) = letters().next() else { return true };
    ENDINGS.iter().any(|known| known.as_bytes().first() == Some(&first) && letters().eq(known.bytes()))
        && (announcer.strength == Strength::Weak || !letters().eq(*b"id"))
}

/// Tells whether a short word stands as a name or the end of one, and not within a word.
fn named(bytes: &[u8], at: usize) -> bool {
    edge(bytes, at)
        || at
            .checked_sub(1)
            .and_then(|index| bytes.get(index))
            .is_some_and(|byte| matches!(byte, b'_' | b'-'))
}

/// Returns the part of a name before an announcer.
pub(super) fn name_before(text: &str, at: usize) -> &str {
    let head = text.get(..at).unwrap_or_default();
    let start = head
        .bytes()
        .rev()
        .take(64)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        .count();
    head.get(head.len() - start..).unwrap_or_default()
}

fn starts_with_word(name: &str, word: &str) -> bool {
    let trimmed = name.trim_end_matches(['_', '-']);
    trimmed.len() >= word.len()
        && trimmed.as_bytes().last().map(u8::to_ascii_lowercase) == word.as_bytes().last().copied()
        && trimmed.get(trimmed.len() - word.len()..).is_some_and(|end| end.eq_ignore_ascii_case(word))
        && trimmed
            .get(..trimmed.len() - word.len())
            .is_some_and(|rest| rest.is_empty() || rest.ends_with(['_', '-']))
}

/// Tells whether the name is an option of a command, such as `--password`.
fn is_flag(text: &str, at: usize) -> bool {
    let name = name_before(text, at);
    let full_dash = text.get(at..).is_some_and(|rest| rest.starts_with('-'));
    let start = at - name.len();
    let before = text.as_bytes().get(..start).unwrap_or_default();
    (name.starts_with('-') || full_dash) && before.last().is_none_or(u8::is_ascii_whitespace)
}

/// Tells whether the name is that of an element, as in `<password>`.
fn name_is_tag(bytes: &[u8], at: usize) -> bool {
    let mut start = at;
    while start > 0
        && bytes
            .get(start - 1)
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':' | b'.'))
    {
        start -= 1;
    }
    start > 0 && bytes.get(start - 1) == Some(&b'<')
}

/// Reads from the end of a name to its value.
struct Reader<'a> {
    text: &'a str,
    /// Where the announcer stands.
    name: usize,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn eat(&mut self, token: &str) -> bool {
        self.eat_any(&[token])
    }

    /// Steps over the first of some tokens that stands here, in either case.
    fn eat_any(&mut self, tokens: &[&str]) -> bool {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let Some(first) = rest.first().map(u8::to_ascii_lowercase) else { return false };
        let stands = |token: &&&str| {
            // Nearly all are told apart by their first byte, which is never a capital.
            token.as_bytes().first() == Some(&first)
                && rest.get(..token.len()).is_some_and(|head| head.eq_ignore_ascii_case(token.as_bytes()))
        };
        let found = tokens.iter().find(stands).map_or(0, |token| token.len());
        self.at += found;
        found > 0
    }

    fn blanks(&mut self) -> usize {
        let count = self.rest().bytes().take(64).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        self.at += count;
        count
    }

    fn value(mut self, announcer: &Announcer) -> Option<Value> {
        // What closes the name: a quote, escaped or not, an index, emphasis.
        while self.eat_any(&["\\\"", "\\'", "\"", "'", "`", "]", "**", "__", "&quot;", "&#34;", "%22", ")"]) {
        }
        let spaced = self.blanks() > 0;
        let mut loose = false;
        if self.eat_any(&["==", "=~", "::", "://", "!="]) {
            return None;
        }
        if self.eat_any(&[":=", "=>", "->", "&#61;", "&#x3d;", "%3d", "%3a", "="]) {
            self.blanks();
        } else if self.eat_any(&[":", "\u{ff1a}", "\u{ff1d}"]) {
            loose = !self.line_of_its_own();
            self.blanks();
        } else if self.rest().starts_with('>')
            && name_is_tag(self.text.as_bytes(), self.name)
            && self.eat(">")
            || self.eat_any(&[", \"value\":", ",\"value\":", "value=", "; value="])
            || self.value_on_next_line()
        {
            self.blanks();
        } else if self.eat("|") {
            self.blanks();
            loose = true;
        } else if spaced
            && (is_flag(self.text, self.name)
                || self.netrc_line()
                || matches!(announcer.word, "identified by" | "securestring"))
        {
            self.eat("by password ");
        } else if self.eat_any(&[
            "is ",
            "was ",
            "ist ",
            "lautet ",
            "es ",
            "est ",
            "\u{e9} ",
            "\u{e8} ",
            "является ",
            "是",
            "为",
            "は",
            "to ",
            "for ",
        ]) {
            self.blanks();
            loose = true;
        } else {
            return None;
        }
        while self.eat_any(&["**", "__ "]) {
            self.blanks();
        }
        // A scheme is not the secret.
        while self.eat_any(&[
            "bearer ",
            "basic ",
            "token ",
            "bot ",
            "apikey ",
            "api-key ",
            "key ",
            "digest ",
            "negotiate ",
            "bearer%20",
            "bearer: ",
        ]) {}
        let (span, quoted) = self.take()?;
        Some(Value { span, quoted, loose: loose && !quoted })
    }

    /// After a colon: skips to the next line when nothing else stands on this one.
    fn line_of_its_own(&mut self) -> bool {
        let rest = self.rest();
        let trimmed = rest.trim_start_matches([' ', '\t', '\r']);
        if !trimmed.starts_with('\n') {
            return true;
        }
        let next = trimmed.trim_start();
        let line = next.lines().next().unwrap_or_default().trim();
        // Another name on the next line means that this one is empty.
        if line.len() < 8 || line.contains([' ', ':', '=']) {
            return true;
        }
        self.at += rest.len() - next.len();
        false
    }

    /// Skips `value:` under `name: DB_PASSWORD`, as in lists of variables.
    fn value_on_next_line(&mut self) -> bool {
        let rest = self.rest();
        let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n', ',']);
        if trimmed.len() == rest.len() || rest.len() - trimmed.len() > 80 {
            return false;
        }
        let body = trimmed.trim_start_matches(['"', '\'']);
        let Some(after) =
            body.get(..5).filter(|head| head.eq_ignore_ascii_case("value")).and_then(|_| body.get(5..))
        else {
            return false;
        };
        let after = after.trim_start_matches(['"', '\'', ' ']);
        let Some(after) = after.strip_prefix([':', '=']) else { return false };
        self.at += rest.len() - after.len();
        true
    }

    fn netrc_line(&self) -> bool {
        let head = self.text.get(..self.at).unwrap_or_default();
        let line = head.rsplit('\n').next().unwrap_or_default();
        line.contains("login ")
            || line.contains("machine ")
            || line.trim() == "password" && head.contains("machine ")
            || line.starts_with("ENV ")
            || line.starts_with("setenv ")
    }

    /// Takes the value itself.
    fn take(&mut self) -> Option<(Range<usize>, bool)> {
        const QUOTES: &[(&str, &str)] = &[
            ("\\\"", "\\\""),
            ("\\'", "\\'"),
            ("\"\"\"", "\"\"\""),
            ("\"", "\""),
            ("'", "'"),
            ("`", "`"),
            ("&quot;", "&quot;"),
            ("&#34;", "&#34;"),
            ("%22", "%22"),
            ("\u{201c}", "\u{201d}"),
            ("\u{201e}", "\u{201c}"),
            ("\u{ab}", "\u{bb}"),
            ("\u{300c}", "\u{300d}"),
            ("<![CDATA[", "]]>"),
        ];
        // The prefixes of strings in programs.
        if matches!(
            self.rest().as_bytes(),
            [b'b' | b'r' | b'f' | b'u' | b'@' | b'$' | b'L', b'"' | b'\'', ..]
        ) {
            self.at += 1;
        }
        for (open, close) in QUOTES {
            if !self.eat(open) {
                continue;
            }
            self.eat_any(&["bearer ", "basic ", "token ", "bot "]);
            let rest = self.rest();
            let line = memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len()).min(8_192);
            let line = rest.get(..rest.floor_char_boundary(line)).unwrap_or_default();
            let end = match *close {
                "\"" | "'" => closing(line, close.as_bytes().first().copied()?),
                _ => line.find(close),
            }
            // A value that was cut off has no end.
            .unwrap_or(line.len());
            return (end > 0).then(|| (self.at..self.at + end, true));
        }
        let rest = self.rest();
        let mut end = rest.len();
        for (index, point) in rest.char_indices() {
            let stop = point.is_whitespace()
                || matches!(point, '"' | '\'' | '`' | '<' | '>' | '\u{3002}' | '\u{ff0c}' | '\u{201d}')
                || matches!(point, '&' | ';' | '|') && self.ends_pair(index, point)
                || point == ',' && self.ends_pair(index, point)
                || point == '\\'
                    && rest.get(index + 1..).is_some_and(|next| next.starts_with(['"', 'n', '\'', 'r']));
            if stop || index > 8_192 {
                end = index;
                break;
            }
        }
        let value = rest.get(..end)?;
        let kept = value.trim_end_matches(['.', ',', ';', ')', ']', '}', '*', ':']);
        // `P4ss!(x)` keeps its bracket.
        let kept = if value.contains('(') && value.len() == kept.len() + 1 { value } else { kept };
        (!kept.is_empty()).then(|| (self.at..self.at + kept.len(), false))
    }

    /// Tells whether a sign in a bare value ends it: another pair, or nothing, follows.
    fn ends_pair(&self, index: usize, point: char) -> bool {
        let after = self.rest().get(index + 1..).unwrap_or_default();
        let name = after
            .trim_start_matches("amp;")
            .bytes()
            .take_while(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'[' | b']' | b' ')
            })
            .count();
        let after_name = after.trim_start_matches("amp;").as_bytes().get(name);
        after.is_empty()
            || after.starts_with(char::is_whitespace)
            || after.starts_with(['"', '\'', '}', '&', '|', '#'])
            || name > 0 && matches!(after_name, Some(b'=' | b':'))
            || point == '&' && self.in_query()
    }

    fn in_query(&self) -> bool {
        let head = self.text.get(..self.at).unwrap_or_default();
        let word = head.rsplit(char::is_whitespace).next().unwrap_or_default();
        word.contains(['?', '&']) || word.contains("://")
    }
}

/// Finds the closing quote that is not escaped.
fn closing(line: &str, quote: u8) -> Option<usize> {
    let mut escaped = false;
    line.bytes().position(|byte| {
        let found = byte == quote && !escaped;
        escaped = byte == b'\\' && !escaped;
        found
    })
}
