//! The help of every command has examples, and every example can be typed.

use crate::command;
use crate::commands::man::all;
use crate::init::split;

/// Returns the words behind `ringfence` of an example, up to where the shell goes on with something else.
fn words(line: &str) -> Vec<String> {
    let mut quote = None;
    let mut kept = String::new();
    for c in line.chars() {
        match (quote, c) {
            (None, '|') if kept.contains("ringfence") => break,
            // What comes before is another program.
            (None, '|') => kept.clear(),
            (None, '>' | '<') => break,
            // A word for the reader.
            (None, '#') if kept.ends_with(' ') => break,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
        if !(quote.is_none() && c == '|') {
            kept.push(c);
        }
    }
    split(&kept).unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[test]
fn every_command_has_examples_that_are_read() {
    let mut root = command();
    root.build();
    let mut read = 0;
    for own in all(&root) {
        let name = own.get_bin_name().unwrap_or("ringfence").to_owned();
        let help = own.get_after_help().map(ToString::to_string).unwrap_or_default();
        let mut lines = help.lines();
        assert_eq!(lines.next(), Some("Examples:"), "`{name}` has no examples in its help");
        let examples: Vec<&str> = lines.collect();
        assert!(!examples.is_empty(), "`{name}` has no examples");
        for example in examples {
            let words = words(example.strip_prefix("  ").unwrap_or_else(|| panic!("{name}: {example}")));
            assert_eq!(words.first().map(String::as_str), Some("ringfence"), "{name}: {example}");
            // The command may be a parent, whose examples are those of its children.
            assert!(words.join(" ").starts_with(&name), "{name}: {example} is of another command");
            let parsed = command().try_get_matches_from(&words);
            assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
            read += 1;
        }
    }
    assert!(read > 80, "{read}");
}

#[test]
fn what_cannot_be_typed_is_noticed() {
    for example in ["ringfence check --no-such-flag", "ringfence audit show", "ringfence nosuch"] {
        assert!(command().try_get_matches_from(words(example)).is_err(), "{example}");
    }
    assert_eq!(words("echo '{\"a\": \"|\"}' | ringfence ask > x"), ["ringfence", "ask"]);
}
