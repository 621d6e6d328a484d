//! JSON as people read it: what cannot be seen is written as an escape, and nothing is lost by that.
//!
//! INVARIANT: what is written here is the same value when it is read again.

use serde_json::Value;

use super::super::plain::is_hidden;

/// Writes a value over several lines, with everything that cannot be seen as `\uXXXX`.
pub(crate) fn pretty(value: &Value) -> String {
    visible(&serde_json::to_string_pretty(value).unwrap_or_default())
}

/// Writes a value in one line, with everything that cannot be seen as `\uXXXX`.
pub(crate) fn compact(value: &Value) -> String {
    visible(&value.to_string())
}

/// Writes what cannot be seen in a JSON text as escapes. Such characters stand only inside of strings, where an escape is the
/// same character; line ends and tabs between values stay.
pub(crate) fn visible(json: &str) -> String {
    use std::fmt::Write as _;
    let mut shown = String::with_capacity(json.len());
    for character in json.chars() {
        if matches!(character, '\n' | '\t') || !is_hidden(character) {
            shown.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _written = write!(shown, "\\u{unit:04x}");
        }
    }
    shown
}

/// Reads a text that should be JSON; a text that is none is shown as the string it is.
pub(crate) fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_hidden_and_nothing_is_lost() {
        #[rustfmt::skip]
        let cases = [
            (json!("plain é 漢"),              "\"plain é 漢\""),
            (json!("a\u{202e}b\u{200b}"),      "\"a\\u202eb\\u200b\""),
            (json!("tag \u{e0041}"),           "\"tag \\udb40\\udc41\""),
            (json!({"k\u{2066}": "\u{7f}"}),   "{\"k\\u2066\":\"\\u007f\"}"),
            (json!("line\nend\ttab\u{1b}"),    "\"line\\nend\\ttab\\u001b\""),
            (json!([1, null, true, 1.5]),      "[1,null,true,1.5]"),
        ];
        for (value, expected) in cases {
            assert_eq!(compact(&value), expected);
            for text in [compact(&value), pretty(&value)] {
                assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value, "{text}");
            }
        }
    }

    #[test]
    fn what_is_no_json_is_a_text() {
        assert_eq!(read("{\"a\":1}"), json!({ "a": 1 }));
        assert_eq!(read("{oops"), json!("{oops"));
    }
}
