//! Cleaning twice is cleaning once, adds nothing but markers, and does not depend on how the bytes came.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringfence_text::{Action, Cleaner, clean, replace_lone_surrogates};

fuzz_target!(|input: (&[u8], u8)| {
    let (bytes, step) = input;
    let mut cleaner = Cleaner::new();
    let mut streamed = String::new();
    for chunk in bytes.chunks(usize::from(step).max(1)) {
        streamed += &cleaner.push(chunk);
    }
    streamed += &cleaner.finish();

    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let cleaned = clean(text);
    assert_eq!(streamed, cleaned.text);
    assert_eq!(cleaned.findings.is_empty(), cleaned.text == text);
    let mut markers = 0;
    for finding in &cleaned.findings {
        assert!(text.get(finding.span.clone()).is_some());
        if let Action::Replaced(with) = &finding.action {
            markers += with.len();
        }
    }
    assert!(cleaned.text.len() <= text.len() + markers);
    let again = clean(&cleaned.text);
    assert_eq!(again.text, cleaned.text);
    assert!(again.findings.is_empty());
    let _read = replace_lone_surrogates(text);
});
