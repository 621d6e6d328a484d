//! A command line as one text: split into words as a shell would, and what only a shell understands is refused.

use crate::error::CommandError;

/// Splits a command line.
pub(crate) fn split(line: &str) -> Result<Vec<String>, CommandError> {
    let wrong = |message: String, hint| CommandError::Input { message, hint: Some(hint) };
    let unclosed =
        || wrong("the command has a quote that is not closed".into(), "close it, or write `\\` before it");
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next().ok_or_else(unclosed)? {
                        '\'' => break,
                        other => word.push(other),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next().ok_or_else(unclosed)? {
                        '"' => break,
                        '\\' if matches!(rest.peek(), Some('"' | '\\')) => word.extend(rest.next()),
                        other => word.push(other),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(rest.next().ok_or_else(unclosed)?),
            '|' | ';' | '&' | '<' | '>' | '`' => {
                return Err(wrong(
                    format!("`{c}` is for a shell, and no shell is involved"),
                    "quote it, or fence a script: `--command -- sh script.sh`",
                ));
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    if words.is_empty() {
        return Err(wrong("the command is empty".into(), "write it as in `rg -- {pattern} ${workspace}`"));
    }
    Ok(words)
}

/// A word as a shell reads it back.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '=' | '@' | '+' | ',')
    };
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        #[rustfmt::skip]
        let cases: &[(&str, &[&str])] = &[
            ("rg -n -- {pattern} ${workspace}",  &["rg", "-n", "--", "{pattern}", "${workspace}"]),
            ("  a   b\t",                        &["a", "b"]),
            ("sh -c 'echo \"$1\"; ls'",          &["sh", "-c", "echo \"$1\"; ls"]),
            (r#"a "b \"c\" \d" e\ f"#,           &["a", r#"b "c" \d"#, "e f"]),
            ("a '' \"\"",                        &["a", "", ""]),
            ("a'b'\"c\"d",                       &["abcd"]),
        ];
        for (line, words) in cases {
            assert_eq!(split(line).unwrap(), *words, "{line}");
        }
        for line in ["", "  ", "a 'b", "a \"b", "a \\", "a | b", "a; b", "a && b", "a > b", "a `b`"] {
            assert!(split(line).is_err(), "{line}");
        }
    }

    #[test]
    fn what_is_quoted_is_split_into_the_same_word() {
        for word in ["plain", "two words", "it's", "", "{\"a\": 1}", "$HOME;`x`", "a\\b"] {
            assert_eq!(split(&quoted(word)).unwrap(), [word], "{word}");
        }
    }
}
