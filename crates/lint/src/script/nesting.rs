//! Whether JavaScript source is nested so deeply that reading it would exhaust the stack.
//!
//! The parser calls itself for each level and has no limit of its own, so the levels are counted beforehand. A level is a bracket
//! or an operator, keyword or element that takes what follows as a part. Where `/` may begin a regular expression or divide, the
//! usual rule of the token before decides; source that is made to mislead that rule can only make the count larger or the parser
//! meet what the big stack still holds for files of ordinary size.

const MAX_BRACKETS: usize = 1_500;
const MAX_CHAIN: usize = 20_000;

/// Says whether a parser can read the text without going deeper than is safe.
pub(super) fn is_shallow(text: &str) -> bool {
    let mut scan = Scan {
        bytes: text.as_bytes(),
        at: 0,
        outer: Vec::new(),
        chain: 0,
        before: Before::Operator,
        ended: None,
    };
    scan.run()
}

/// What the token before was: after a value, `/` divides.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Operator,
    Value,
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// For each open bracket the chain before it, and whether it is the `${` of a template.
    outer: Vec<(usize, bool)>,
    chain: usize,
    before: Before,
    /// The chain of a statement that has ended: an `else` takes it up again.
    ended: Option<usize>,
}

impl Scan<'_> {
    fn run(&mut self) -> bool {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'"' | b'\'' => self.string(byte),
                b'`' => self.template(),
                b'/' if self.peek(1) == Some(b'/') => self.skip_to(b"\n"),
                b'/' if self.peek(1) == Some(b'*') => self.skip_to(b"*/"),
                b'/' if self.before == Before::Operator => self.regular_expression(),
                b'(' | b'[' | b'{' => {
                    self.outer.push((self.chain, false));
                    self.chain = 0;
                    self.step(Before::Operator);
                }
                b')' | b']' | b'}' => self.close(byte),
                b';' => {
                    self.ended = Some(self.chain);
                    self.chain = 0;
                    self.step(Before::Operator);
                }
                b',' => {
                    self.chain = 0;
                    self.step(Before::Operator);
                }
                b if b.is_ascii_whitespace() => self.at += 1,
                b if b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'\\') || b >= 0x80 => {
                    self.word();
                }
                _ => {
                    self.chain += 1;
                    self.step(Before::Operator);
                }
            }
            if self.outer.len() > MAX_BRACKETS || self.chain > MAX_CHAIN {
                return false;
            }
        }
        true
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn step(&mut self, before: Before) {
        self.at += 1;
        self.before = before;
    }

    fn close(&mut self, byte: u8) {
        let (chain, is_template) = self.outer.pop().unwrap_or((0, false));
        if byte == b'}' && is_template {
            self.chain = chain;
            self.template();
            return;
        }
        self.ended = Some(chain + 1);
        self.chain = if byte == b'}' { 0 } else { chain + 1 };
        self.step(if byte == b'}' { Before::Operator } else { Before::Value });
    }

    fn word(&mut self) {
        let start = self.at;
        while self
            .peek(0)
            .is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'\\') || b >= 0x80)
        {
            self.at += 1;
        }
        let word = self.bytes.get(start..self.at).unwrap_or_default();
        let takes_more: &[&[u8]] = &[
            b"if",
            b"else",
            b"for",
            b"while",
            b"do",
            b"with",
            b"typeof",
            b"void",
            b"delete",
            b"await",
            b"new",
            b"yield",
            b"async",
            b"return",
            b"case",
            b"throw",
            b"in",
            b"of",
            b"instanceof",
            b"extends",
            b"keyof",
            b"infer",
            b"function",
        ];
        if word == b"else" {
            self.chain = self.ended.unwrap_or(self.chain);
        }
        if takes_more.contains(&word) {
            self.chain += 1;
            self.before = Before::Operator;
        } else {
            self.before = Before::Value;
        }
    }

    fn string(&mut self, quote: u8) {
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b if b == quote || b == b'\n' => break,
                _ => {}
            }
        }
        self.before = Before::Value;
    }

    /// Reads a template from its first or a later part, up to its end or to `${`.
    fn template(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\\' => self.at += 2,
                b'`' => {
                    self.step(Before::Value);
                    return;
                }
                b'$' if self.peek(1) == Some(b'{') => {
                    self.at += 2;
                    self.outer.push((self.chain, true));
                    self.chain = 0;
                    self.before = Before::Operator;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    fn regular_expression(&mut self) {
        self.at += 1;
        let mut in_class = false;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => break,
                b'\n' => break,
                _ => {}
            }
        }
        self.before = Before::Value;
    }

    fn skip_to(&mut self, end: &[u8]) {
        while self.at < self.bytes.len()
            && !self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(end))
        {
            self.at += 1;
        }
        self.at += end.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_source_is_told_from_long_source() {
        let cases = [
            ("brackets", "(".repeat(5_000), false),
            ("arrays", "[".repeat(5_000), false),
            ("sums", "1+".repeat(30_000) + "1", false),
            ("signs", "!".repeat(30_000) + "1", false),
            ("arrows", "a=>".repeat(30_000) + "1", false),
            ("ifs", "if(a)".repeat(30_000) + ";", false),
            ("else ifs", "if(a)b();else ".repeat(30_000) + ";", false),
            ("templates", "`${".repeat(5_000), false),
            ("types", "type A=".to_owned() + &"A<".repeat(30_000), false),
            ("a long list", "[".to_owned() + &"1,".repeat(100_000) + "]", true),
            ("many statements", "var a=f(1);".repeat(50_000), true),
            ("brackets in a string", format!("x='{}'", "(".repeat(5_000)), true),
            ("brackets in a pattern", format!("x=/{}/;", "\\(".repeat(5_000)), true),
            ("brackets in a comment", format!("/*{}*/", "(".repeat(5_000)), true),
        ];
        for (what, text, shallow) in cases {
            assert_eq!(is_shallow(&text), shallow, "{what}");
        }
    }
}
