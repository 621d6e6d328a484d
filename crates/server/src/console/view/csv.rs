//! Entries as lines of CSV, for spreadsheets.
//!
//! INVARIANT: no field is taken for a formula, and a field is one field whatever it holds (RFC 4180). What cannot be seen is written
//! as `⟦U+202E⟧`, as on the pages.

use std::fmt::Write as _;

use super::super::plain::is_hidden;
use super::Row;

/// The names of the columns, as a line.
pub(crate) const HEAD: &str =
    "index,time,kind,tool,what,result,code,run,host,class,principal,duration_ms\r\n";

/// Writes an entry as a line.
pub(crate) fn line(row: &Row) -> String {
    let optional = |field: &Option<String>| text(field.as_deref().unwrap_or_default());
    let duration = row.duration_us.map(|us| format!("{}.{:03}", us / 1000, us % 1000)).unwrap_or_default();
    let fields = [
        row.index.to_string(),
        row.at().utc(),
        text(&row.kind),
        optional(&row.tool),
        text(&row.what),
        text(&row.state),
        optional(&row.code),
        optional(&row.run),
        optional(&row.host),
        optional(&row.class),
        optional(&row.principal),
        duration,
    ];
    let mut line = fields.join(",");
    line.push_str("\r\n");
    line
}

/// Writes a text as a field. One that a spreadsheet would take for a formula begins with an apostrophe.
fn text(text: &str) -> String {
    let mut field = String::with_capacity(text.len() + 2);
    let first = text.trim_start().chars().next();
    let is_formula = matches!(first, Some('=' | '+' | '-' | '@' | '|' | '%' | '＝' | '＋' | '－' | '＠'))
        || text.starts_with(['\t', '\r', '\n']);
    field.push('"');
    if is_formula {
        field.push('\'');
    }
    for character in text.chars() {
        match character {
            '"' => field.push_str("\"\""),
            '\n' | '\t' => field.push(' '),
            // Writing to a string does not fail.
            hidden if is_hidden(hidden) => drop(write!(field, "⟦U+{:04X}⟧", u32::from(hidden))),
            plain => field.push(plain),
        }
    }
    field.push('"');
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_field_is_a_formula_and_every_field_is_one() {
        #[rustfmt::skip]
        let cases = [
            ("plain é 漢",                  "\"plain é 漢\""),
            ("",                            "\"\""),
            ("=HYPERLINK(\"http://x\")",    "\"'=HYPERLINK(\"\"http://x\"\")\""),
            ("+1", "\"'+1\""), ("-1", "\"'-1\""), ("@SUM(A1)", "\"'@SUM(A1)\""), ("|cmd", "\"'|cmd\""),
            ("＝1",                         "\"'＝1\""),
            ("  =1",                        "\"'  =1\""),
            ("\t=1",                        "\"' =1\""),
            ("\r=1",                        "\"'⟦U+000D⟧=1\""),
            ("a,b\r\nc\"d",                 "\"a,b⟦U+000D⟧ c\"\"d\""),
            ("a\u{202e}=1",                 "\"a⟦U+202E⟧=1\""),
            ("\u{feff}=1",                  "\"⟦U+FEFF⟧=1\""),
        ];
        for (given, expected) in cases {
            assert_eq!(text(given), expected, "{given:?}");
        }
    }
}
