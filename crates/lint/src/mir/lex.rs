//! Takes Rust source apart into words and signs: just enough to find headers and attributes without building a tree.
//!
//! INVARIANT: what stands in comments, strings and characters never becomes a word.

/// One word, sign or string.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Token<'a> {
    /// Its text; of a string what stands between the quotes.
    pub(super) text: &'a str,
    /// What it is.
    pub(super) kind: Kind,
    /// Where it starts in the file.
    pub(super) at: usize,
}

/// What a token is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Sign,
    String,
    Word,
}

/// Returns the tokens of a text.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer { text, at: 0, found: Vec::new() };
    while lexer.step().is_some() {}
    lexer.found
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    found: Vec<Token<'a>>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn step(&mut self) -> Option<()> {
        let rest = self.rest();
        let c = rest.chars().next()?;
        if c.is_whitespace() {
            self.at += c.len_utf8();
        } else if rest.starts_with("//") {
            self.at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            self.at += comment_end(rest);
        } else if let Some(end) = raw_string(rest) {
            self.at += end;
        } else if c == '"' || rest.starts_with("b\"") || rest.starts_with("c\"") {
            self.string(usize::from(c != '"') + 1);
        } else if c == '\'' || rest.starts_with("b'") {
            self.character(usize::from(c != '\'') + 1);
        } else if c.is_alphanumeric() || c == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            self.push(end, Kind::Word);
        } else {
            self.push(c.len_utf8(), Kind::Sign);
        }
        Some(())
    }

    fn push(&mut self, length: usize, kind: Kind) {
        let text = self.rest().get(..length).unwrap_or("");
        self.found.push(Token { text, kind, at: self.at });
        self.at += length.max(1);
    }

    fn string(&mut self, open: usize) {
        let start = self.at + open;
        let mut escaped = false;
        let inside = self.text.get(start..).unwrap_or("");
        let end = inside
            .find(|c: char| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            })
            .unwrap_or(inside.len());
        self.found.push(Token { text: inside.get(..end).unwrap_or(""), kind: Kind::String, at: self.at });
        self.at = start + end + 1;
    }

    /// A character, or the quote of a lifetime.
    fn character(&mut self, open: usize) {
        let inside = self.rest().get(open..).unwrap_or("");
        let mut chars = inside.chars();
        match (chars.next(), chars.next()) {
            (Some('\\'), _) => {
                let end = inside.get(2..).and_then(|more| more.find('\'')).map_or(1, |at| at + 3);
                self.at += open + end;
            }
            (Some(one), Some('\'')) => self.at += open + one.len_utf8() + 1,
            _ => self.at += open,
        }
    }
}

fn comment_end(text: &str) -> usize {
    let mut depth = 0_u32;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Returns the length of a raw string, if one starts here.
fn raw_string(text: &str) -> Option<usize> {
    let rest =
        text.strip_prefix("br").or_else(|| text.strip_prefix("cr")).or_else(|| text.strip_prefix('r'))?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let inside = rest.trim_start_matches('#').strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = inside.find(&close)?;
    Some(text.len() - inside.len() + end + close.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_characters_hold_no_words() {
        let text =
            "a /* b /* c */ d */ // e\n 'f' '\\'' b'g' \"h \\\" i\" r#\"j\" k\"# &'l m r\"n\" '\\u{41}' o";
        let words: Vec<&str> =
            tokens(text).iter().filter(|token| token.kind == Kind::Word).map(|token| token.text).collect();
        assert_eq!(words, ["a", "l", "m", "o"]);
    }

    #[test]
    fn broken_text_is_read_to_an_end() {
        for text in ["\"", "'", "/*", "r#\"", "b'", "'\\", "é'ü", "\\"] {
            let _tokens = tokens(text);
        }
    }
}
