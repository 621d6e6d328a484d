//! What models and tools wrote, as it can be shown to a person: it cannot drive the terminal, hide, or look like a line of
//! ours.
//!
//! INVARIANT: nothing is taken out, since whoever agrees to a call must see all of it. What is not plain is spelled out as an
//! escape, and nothing here returns a control character other than a line break between the lines of [`json_lines`].

use serde_json::Value;

/// How much of a foreign text a cell of a table shows.
const CELL: usize = 60;

/// Returns a text on one line, with everything that is neither ASCII nor a letter or digit spelled out.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if is_plain(c) { line.push(c) } else { line.extend(c.escape_unicode()) }
    }
    line
}

/// Returns a text on one line, shortened for a table.
pub(crate) fn cell(text: &str) -> String {
    let line = one_line(text);
    if line.chars().count() <= CELL {
        return line;
    }
    line.chars().take(CELL - 1).chain(['…']).collect()
}

/// Returns JSON on one line, whole: it can be read as the same value, and beside ASCII it has only letters and digits.
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
        if c == '\n' || is_plain(c) {
            text.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    text
}

/// Says whether a character takes its place on a line and nothing else. Letters that only look like others are letters.
pub(crate) fn is_plain(c: char) -> bool {
    c == ' ' || c.is_ascii_graphic() || (!c.is_ascii() && c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_drives_the_terminal_and_nothing_is_hidden() {
        #[rustfmt::skip]
        let cases = [
            // written                      shown
            ("plain",                       "plain"),
            ("two\nlines\tand",             r"two\u{a}lines\u{9}and"),
            ("\u{1b}[31mred\u{1b}[0m",      r"\u{1b}[31mred\u{1b}[0m"),
            ("a\u{9b}31mb",                 r"a\u{9b}31mb"),
            ("a\u{202e}b\u{200b}c",         r"a\u{202e}b\u{200b}c"),
            ("a\u{2028}b\u{7f}d",           r"a\u{2028}b\u{7f}d"),
            ("<!-- hidden --> é",           "<!-- hidden --> é"),
        ];
        for (text, shown) in cases {
            assert_eq!(one_line(text), shown, "{text:?}");
        }
        assert_eq!(cell(&"x".repeat(100)).chars().count(), CELL);
    }

    #[test]
    fn json_stays_the_same_value() {
        let value = json!({"ключ": "a\u{202e}\u{1b}\n\u{9b}🦀é\u{7f}", "b": "<!--", "c": "-->"});
        for text in [json_line(&value), json_lines(&value)] {
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
            assert!(!text.contains(['\u{202e}', '\u{9b}', '\u{7f}', '🦀']), "{text}");
        }
        assert!(!json_line(&value).contains('\n'));
    }
}
