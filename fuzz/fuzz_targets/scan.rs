//! A scan never panics, says the same twice, and points into the text; names collide mutually.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringfence_text::{Definition, collide, refused, scan, visible_description};
use serde_json::json;

fuzz_target!(|texts: (&str, &str)| {
    let (name, description) = texts;
    let schema = json!({"properties": {name: {"description": description}}});
    let definition = Definition::new(name).description(description).input_schema(&schema);
    let first = scan(&definition);
    assert_eq!(first, scan(&definition));
    for finding in &first.findings {
        let text = match finding.field.as_str() {
            "/description" => description,
            "/name" => name,
            _ => continue,
        };
        assert!(text.get(finding.span.clone()).is_some());
    }
    assert_eq!(collide(name, description), collide(description, name));
    assert!(collide(name, name));
    if refused(name).is_none() {
        assert!(name.is_ascii() && (1..=64).contains(&name.len()));
    }
    assert!(visible_description(description).chars().count() <= 4_096);
});
