//! How foreign text is put into a page: as text, with what could not be seen made visible.
//!
//! INVARIANT: templates have no other way to show a value, so that nothing is markup by accident and nothing is hidden. What is
//! written is safe as text and inside a quoted attribute.

use std::fmt::{Result, Write};

use askama::filters::Escaper;

/// Escapes text for HTML, and writes characters that cannot be seen, or that change how others are seen, as `⟦U+202E⟧`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plain;

impl Escaper for Plain {
    fn write_escaped_str<W: Write>(&self, mut out: W, text: &str) -> Result {
        let mut rest = text;
        while let Some((at, odd)) = rest.char_indices().find(|(_, character)| !is_plain(*character)) {
            let (before, after) = rest.split_at(at);
            out.write_str(before)?;
            match odd {
                '&' => out.write_str("&amp;")?,
                '<' => out.write_str("&lt;")?,
                '>' => out.write_str("&gt;")?,
                '"' => out.write_str("&quot;")?,
                '\'' => out.write_str("&#39;")?,
                hidden => write!(out, "⟦U+{:04X}⟧", u32::from(hidden))?,
            }
            rest = after.split_at(odd.len_utf8()).1;
        }
        out.write_str(rest)
    }
}

/// Says whether a character can be written as it is.
fn is_plain(character: char) -> bool {
    match character {
        '&' | '<' | '>' | '"' | '\'' => false,
        '\n' | '\t' => true,
        _ => !is_hidden(character),
    }
}

/// Says whether a character cannot be seen, or changes how others are seen.
pub(crate) const fn is_hidden(character: char) -> bool {
    ringfence::text::is_invisible(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text_and_everything_is_seen() {
        #[rustfmt::skip]
        let cases = [
            ("plain é 漢\n\tx",                   "plain é 漢\n\tx"),
            ("<img src=x onerror=alert(1)>",      "&lt;img src=x onerror=alert(1)&gt;"),
            ("\"'&",                              "&quot;&#39;&amp;"),
            ("DE\u{200b}89\u{202e}XYZ",           "DE⟦U+200B⟧89⟦U+202E⟧XYZ"),
            ("a\u{e0041}\u{1b}[31m\r\u{0}",       "a⟦U+E0041⟧⟦U+001B⟧[31m⟦U+000D⟧⟦U+0000⟧"),
            ("A\u{feff}1\u{a0}2\u{3000}3\u{e000}",  "A⟦U+FEFF⟧1⟦U+00A0⟧2⟦U+3000⟧3⟦U+E000⟧"),
            ("a\u{3164}b\u{115f}\u{1160}c\u{ffa0}",  "a⟦U+3164⟧b⟦U+115F⟧⟦U+1160⟧c⟦U+FFA0⟧"),
            ("x\u{2800}y\u{fe0f}z\u{13441}",       "x⟦U+2800⟧y⟦U+FE0F⟧z⟦U+13441⟧"),
            ("",                                  ""),
        ];
        for (text, expected) in cases {
            let mut shown = String::new();
            Plain.write_escaped_str(&mut shown, text).unwrap();
            assert_eq!(shown, expected, "{text:?}");
        }
    }
}
