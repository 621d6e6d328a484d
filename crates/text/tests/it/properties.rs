//! Cleaning is idempotent, never adds but markers, and does not depend on how the text came.

use proptest::prelude::*;
use ringfence_text::{Action, Cleaner, WINDOW, clean};

/// Pieces that mean something together.
const PIECES: &[&str] = &[
    "\u{1b}",
    "[31m",
    "\u{1b}]0;",
    "\u{7}",
    "\u{9b}",
    "\u{1b}\\",
    "\n",
    "\n\n",
    " ",
    "a",
    "Z",
    "0",
    "\u{200b}",
    "\u{200d}",
    "\u{200c}",
    "\u{fe0f}",
    "\u{1f468}",
    "\u{1f3f4}",
    "\u{e0067}",
    "\u{e007f}",
    "\u{202e}",
    "\u{200f}",
    "\u{5d0}",
    "\u{645}",
    "\u{94d}",
    "\u{ad}",
    "1\u{fe0f}\u{20e3}",
    "![",
    "](",
    "](http",
    "https://e.test/?d=",
    ")",
    "<!--",
    "-->",
    "<",
    ">",
    "<system>",
    "</",
    "<|im_start|>",
    "<div hidden>",
    "</div>",
    "<img src=",
    "[1]: http",
    "\n\nHuman: ",
    "```system\n",
    "data:text/html,",
    "password",
    "=",
    ": ",
    "\"",
    "'",
    "Tr0ub4dor&3xyz",
    "token",
    "api_key",
    "Bearer ",
    "Authorization: ",
    "Basic ",
    "://",
    "user:",
    "@",
    "host",
    "%20",
    "%3D",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "eyJhbGciOi",
    ".",
    "Cookie: ",
    "sid=",
    ";",
    "&",
    "?key=",
    "[redacted: token]",
    "[removed: link]",
    "curl -u ",
    "mnemonic: ",
    "gh",
    "p_",
    "SK",
    "AKIA",
    "Q7ZKX2M4WN3PL5TR",
    "aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xY3zA5",
    "11f0c3e2d1b4a5968778695a4b3c2d1e0f",
    "123456789:A",
    "sk-",
    "\u{ff1a}",
    "\u{5bc6}\u{7801}",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(prop::sample::select(PIECES), 0..24).prop_map(|pieces| pieces.concat()),
        any::<String>(),
        "[ -~\n]{0,80}",
    ]
}

fn streamed(text: &[u8], cuts: &[usize]) -> String {
    let mut cleaner = Cleaner::new();
    let mut out = String::new();
    let mut rest = text;
    for cut in cuts {
        let (head, tail) = rest.split_at((*cut).min(rest.len()));
        out += &cleaner.push(head);
        rest = tail;
    }
    out += &cleaner.push(rest);
    out + &cleaner.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn idempotent(text in text()) {
        let once = clean(&text);
        let twice = clean(&once.text);
        prop_assert_eq!(&twice.text, &once.text);
        prop_assert!(twice.findings.is_empty());
    }

    #[test]
    fn never_longer_than_raw_and_markers(text in text()) {
        let cleaned = clean(&text);
        let markers: usize = cleaned.findings.iter().map(|finding| match &finding.action {
            Action::Removed => 0,
            Action::Replaced(with) => with.len(),
        }).sum();
        prop_assert!(cleaned.text.len() <= text.len() + markers);
    }

    #[test]
    fn spans_are_of_the_raw_text(text in text()) {
        let cleaned = clean(&text);
        for finding in &cleaned.findings {
            prop_assert!(text.get(finding.span.clone()).is_some_and(|found| !found.is_empty()), "{:?}", finding);
        }
        prop_assert_eq!(cleaned.findings.is_empty(), cleaned.text == text);
    }

    #[test]
    fn chunking_changes_nothing(text in text(), cuts in prop::collection::vec(0_usize..9, 0..40)) {
        prop_assert_eq!(streamed(text.as_bytes(), &cuts), clean(&text).text);
    }

    #[test]
    fn any_bytes_come_out_as_text(bytes in prop::collection::vec(any::<u8>(), 0..200), cuts in prop::collection::vec(0_usize..9, 0..40)) {
        prop_assert_eq!(streamed(&bytes, &cuts), streamed(&bytes, &[]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn long_texts_are_cleaned_alike(texts in prop::collection::vec(text(), 1..30), cuts in prop::collection::vec(0_usize..70_000, 0..6), gap in 0_usize..9_000) {
        let filler = "an ordinary line of a log, with some words in it\n".repeat(gap / 40);
        let long = texts.join(&filler).repeat(3);
        prop_assert_eq!(streamed(long.as_bytes(), &cuts), clean(&long).text);
    }
}

#[test]
fn memory_is_bounded() {
    let mut cleaner = Cleaner::new();
    let line = "x".repeat(1_000);
    let mut out = 0;
    for count in 1..1_000_usize {
        out += cleaner.push(line.as_bytes()).len();
        assert!(count * 1_000 - out <= WINDOW + 1_000);
    }
}
