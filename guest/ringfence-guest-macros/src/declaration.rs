//! What a declaration must be before anything is built from it.
//!
//! Ringfence judges a declaration in full when the component is registered. This is the part of it that an author
//! should not have to wait for.
//!
//! INVARIANT: a text that passes is a JSON object with a name, a description, two schemas and capabilities, and
//! without a field that ringfence does not know.

use serde_json::{Map, Value};

const FIELDS: &[&str] = &[
    "name",
    "title",
    "description",
    "input",
    "output",
    "capabilities",
    "class",
    "risk",
    "idempotency",
    "constraints",
    "limits",
];
const SURFACES: &[&str] = &["network", "secrets", "storage", "fs_reach", "environment"];

/// Says what is wrong with a declaration, all at once.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("the declaration is not JSON: {error}"))?;
    let Value::Object(fields) = value else {
        return Err("the declaration is not a JSON object".to_owned());
    };
    let mut gaps = Vec::new();
    for name in ["name", "description"] {
        if !matches!(fields.get(name), Some(Value::String(text)) if !text.trim().is_empty()) {
            gaps.push(format!("`{name}` must be a text that is not empty"));
        }
    }
    for name in ["input", "output"] {
        if !matches!(fields.get(name), Some(Value::Object(_))) {
            gaps.push(format!("`{name}` must be a JSON schema, such as {{\"type\": \"string\"}}"));
        }
    }
    match fields.get("capabilities") {
        Some(Value::Object(capabilities)) => gaps.extend(surfaces(capabilities)),
        _ => gaps.push("`capabilities` must be an object; `{}` is a tool that touches nothing".to_owned()),
    }
    for name in fields.keys().filter(|name| !FIELDS.contains(&name.as_str())) {
        gaps.push(format!(
            "`{name}` is no field of a component's declaration; they are {}",
            FIELDS.join(", ")
        ));
    }
    if gaps.is_empty() { Ok(()) } else { Err(format!("the declaration is incomplete: {}", gaps.join("; "))) }
}

fn surfaces(capabilities: &Map<String, Value>) -> Vec<String> {
    let mut gaps = Vec::new();
    for name in capabilities.keys().map(String::as_str) {
        if name == "process" {
            gaps.push("`capabilities.process` is refused, because a component starts no programs".to_owned());
        } else if !SURFACES.contains(&name) && name != "fsReach" {
            gaps.push(format!("`capabilities.{name}` is no surface; they are {}", SURFACES.join(", ")));
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str =
        r#"{"name": "a", "description": "b", "input": {}, "output": {}, "capabilities": {"network": {}}}"#;

    #[test]
    fn says_what_is_missing() {
        #[rustfmt::skip]
        let cases = [
            // written                 instead                       said
            (r#""name": "a""#,         r#""name": " ""#,             "`name` must be a text"),
            (r#""description": "b""#,  r#""description": 1"#,        "`description` must be a text"),
            (r#""input": {}"#,         r#""input": "in.json""#,      "`input` must be a JSON schema"),
            (r#""output": {}"#,        r#""risk": "low""#,           "`output` must be a JSON schema"),
            (r#"{"network": {}}"#,     "null",                       "`capabilities` must be an object"),
            (r#""network": {}"#,       r#""netwrok": {}"#,           "`capabilities.netwrok` is no surface"),
            (r#""network": {}"#,       r#""process": {}"#,           "a component starts no programs"),
            (r#""name": "a""#,         r#""name": "a", "command": []"#, "`command` is no field"),
            ("}}",                     "}",                          "the declaration is not JSON"),
            (WHOLE,                    "[]",                         "is not a JSON object"),
        ];
        assert_eq!(check(WHOLE), Ok(()));
        for (written, instead, said) in cases {
            assert!(WHOLE.contains(written), "{written}");
            let message = check(&WHOLE.replacen(written, instead, 1)).unwrap_err();
            assert!(message.contains(said), "{instead}: {message}");
        }
    }
}
