//! What models and tools wrote, as it can be shown to a person: it cannot drive the terminal, hide, or look like a line of
//! ours.
//!
//! INVARIANT: nothing is taken out, since whoever agrees to a call must see all of it. What is not plain is spelled out as an
//! escape, and nothing here returns a control character other than a line break between the lines of [`json_lines`].

use std::fmt::Write as _;

use ringfence::text::is_invisible;
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

/// A word as a shell takes it, on one line and without a character that a terminal would obey.
pub(crate) fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else if word.chars().all(is_plain) {
        format!("'{}'", word.replace('\'', r"'\''"))
    } else {
        in_octal(word)
    }
}

/// The same with `$'…'`. Bytes are written in octal, which every shell that knows this quoting reads the same in every locale.
fn in_octal(word: &str) -> String {
    let mut text = String::from("$'");
    for c in word.chars() {
        match c {
            '\n' => text.push_str(r"\n"),
            '\t' => text.push_str(r"\t"),
            '\\' | '\'' => text.extend(['\\', c]),
            c if is_plain(c) => text.push(c),
            c => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    let _written = write!(text, "\\{byte:03o}");
                }
            }
        }
    }
    text.push('\'');
    text
}

/// Says whether a character takes its place on a line and nothing else. Letters that only look like others are letters, and
/// letters without a glyph are not.
fn is_plain(c: char) -> bool {
    c == ' ' || c.is_ascii_graphic() || (!c.is_ascii() && c.is_alphanumeric() && !is_invisible(c))
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
            ("a\u{3164}\u{115f}b",          r"a\u{3164}\u{115f}b"),
            ("\u{1160}c\u{ffa0}\u{13441}", r"\u{1160}c\u{ffa0}\u{13441}"),
        ];
        for (text, shown) in cases {
            assert_eq!(one_line(text), shown, "{text:?}");
        }
        assert_eq!(cell(&"x".repeat(100)).chars().count(), CELL);
    }

    #[test]
    fn no_invisible_character_is_shown_as_it_is() {
        for c in ('\0'..=char::MAX).filter(|c| is_invisible(*c)) {
            assert!(!is_plain(c), "U+{:04X} in a line", u32::from(c));
            assert!(!crate::print::line(&c.to_string()).contains(c), "U+{:04X} in a message", u32::from(c));
        }
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

    #[test]
    fn quotes_for_a_shell() {
        for (word, quoted) in [("a-b/c", "a-b/c"), ("", "''"), ("it's", r"'it'\''s'"), ("$x", "'$x'")] {
            assert_eq!(shell_word(word), quoted);
        }
        #[rustfmt::skip]
        let cases = [
            ("print(1)\nprint('\\2')",  r"$'print(1)\nprint(\'\\2\')'"),
            ("a\tb\u{1b}[31m7",         r"$'a\tb\033[31m7'"),
            ("a\u{2028}é",              r"$'a\342\200\250é'"),
            ("é ü",                     "'é ü'"),
        ];
        for (word, quoted) in cases {
            assert_eq!(shell_word(word), quoted);
            assert_eq!(one_line(quoted), quoted);
        }
    }
}
