//! Schemas from strangers: compiled or refused, and checked, without a panic or a hang.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringfence::Schema;
use ringfence_policy::{JsonLimits, parse_json};

fuzz_target!(|input: (&str, &str)| {
    let (schema, value) = input;
    if let (Ok(schema), Ok(value)) =
        (parse_json(schema, JsonLimits::DOCUMENT), parse_json(value, JsonLimits::ARGUMENTS))
        && let Ok(schema) = Schema::compile(&schema)
    {
        let _verdict = schema.check(&value);
    }
});
