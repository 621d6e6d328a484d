//! What models and tools wrote, as it can be shown to a person: it cannot drive the terminal, hide, or look like a line of
//! ours.
//!
//! INVARIANT: [`one_line`] returns no line break, and nothing here returns a control character other than a line break.

use ringfence::text::clean;
use serde_json::Value;

/// How much of a foreign text a cell of a table shows.
const CELL: usize = 60;

/// Returns a text on one line.
pub(crate) fn one_line(text: &str) -> String {
    clean(text).text.chars().map(|c| if is_plain(c) { c } else { ' ' }).collect()
}

/// Returns a text on one line, shortened for a table.
pub(crate) fn cell(text: &str) -> String {
    let line = one_line(text);
    if line.chars().count() <= CELL {
        return line;
    }
    line.chars().take(CELL - 1).chain(['…']).collect()
}

/// JSON that a person is to read.
pub(crate) struct ReadableJson {
    /// The JSON over several lines, cleaned.
    pub(crate) text: String,
    /// Whether cleaning took something out of it, so that it is not all there is.
    pub(crate) is_altered: bool,
}

/// Lays JSON out for a person. Credentials and what cannot be seen are taken out, and it is said that they were.
pub(crate) fn readable_json(value: &Value) -> ReadableJson {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let cleaned = clean(&text);
    let shown = cleaned.text.chars().map(|c| if c == '\n' || is_plain(c) { c } else { ' ' }).collect();
    ReadableJson { is_altered: cleaned.text != text || shown != text, text: shown }
}

/// Returns JSON on one line for a program, whole: beside ASCII it spells out only letters and digits, and escapes the rest.
pub(crate) fn json_line(value: &Value) -> String {
    escaped(&value.to_string())
}

/// The same over several lines.
pub(crate) fn json_lines(value: &Value) -> String {
    escaped(&serde_json::to_string_pretty(value).unwrap_or_default())
}

/// Escapes what is neither ASCII nor a letter or digit. In JSON such characters are in strings only.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if (c.is_ascii() && c != '\u{7f}') || c.is_alphanumeric() {
            text.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    text
}

/// Says whether a character takes its place on a line and nothing else.
fn is_plain(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_drives_the_terminal() {
        #[rustfmt::skip]
        let cases = [
            // written                      shown
            ("plain",                       "plain"),
            ("two\nlines\r\tand",           "two lines  and"),
            ("\u{1b}[31mred\u{1b}[0m",      "red"),
            ("a\u{9b}31mb",                 "ab"),
            ("a\u{202e}b\u{200b}c",         "abc"),
            ("a\u{2028}b\u{7}c\u{7f}d",     "a b c d"),
        ];
        for (text, shown) in cases {
            let line = one_line(text);
            assert!(line.chars().all(is_plain), "{text:?}");
            assert_eq!(line.replace(' ', ""), shown.replace(' ', ""), "{text:?}");
        }
        assert_eq!(cell(&"x".repeat(100)).chars().count(), CELL);
    }

    #[test]
    fn json_stays_the_same_value() {
        let value = json!({"ключ": "a\u{202e}\u{1b}\n\u{9b}🦀é\u{7f}"});
        let line = json_line(&value);
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
        assert!(line.is_ascii() || line.chars().all(char::is_alphanumeric) || line.contains("ключ"));
        assert!(!line.contains(['\u{202e}', '\u{9b}', '\u{7f}', '🦀']), "{line}");
        assert!(!readable_json(&json!({"a": "b"})).is_altered);
        assert!(readable_json(&json!({"a": "\u{202e}b"})).is_altered);
    }
}
