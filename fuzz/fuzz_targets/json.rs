//! What the strict reader accepts, serde_json accepts with the same value; and the value reads back from its text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringfence_policy::{JsonLimits, parse_json};

fuzz_target!(|text: &str| {
    if let Ok(value) = parse_json(text, JsonLimits::ARGUMENTS) {
        let theirs: serde_json::Value = serde_json::from_str(text).expect("strict accepts only JSON");
        assert_eq!(value, theirs);
        JsonLimits::ARGUMENTS.check(&value).expect("what was read is within the limits");
        let again = parse_json(&value.to_string(), JsonLimits::ARGUMENTS).expect("what was written reads back");
        assert_eq!(again, value);
    }
});
