//! Arguments that are repeated in headers: a tool's schema says which, by `x-mcp-header`.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use serde_json::value::RawValue;

use super::version::header;
use crate::raw::RawObject;

/// Where a schema names the header of an argument.
const ANNOTATION: &str = "x-mcp-header";

/// Checks that every argument that a schema wants in a header is in that header, and no other value. Headers that the schema
/// does not name mean nothing.
pub(super) fn check(headers: &HeaderMap, schema: &Value, arguments: Option<&RawValue>) -> Result<(), String> {
    // A tool with one annotation that cannot be followed is one that clients leave out; there is nothing to compare.
    let Some(annotations) = annotations(schema) else { return Ok(()) };
    for Annotation { path, name } in annotations {
        let full = format!("Mcp-Param-{name}");
        let given = header(headers, &full).map_err(|_| format!("the header `{full}` is not clear"))?;
        let argument =
            argument(arguments, &path).map_err(|()| format!("the argument of `{full}` is not clear"))?;
        match (given, argument) {
            (None, None) => {}
            (Some(given), Some(argument)) if says(given, &argument) => {}
            (Some(_), Some(_)) => return Err(format!("the header `{full}` is not what the body says")),
            (Some(_), None) => return Err(format!("the header `{full}` is there, its argument is not")),
            (None, Some(_)) => return Err(format!("the header `{full}` is missing")),
        }
    }
    Ok(())
}

/// Reads what a header says: as it is, or wrapped where it could not be written as it is; nothing where the wrapping is broken.
pub(super) fn unwrapped(text: &str) -> Option<String> {
    match text.strip_prefix("=?base64?").and_then(|inner| inner.strip_suffix("?=")) {
        Some(inner) => STANDARD.decode(inner).ok().and_then(|bytes| String::from_utf8(bytes).ok()),
        None => Some(text.to_owned()),
    }
}

struct Annotation<'a> {
    path: Vec<&'a str>,
    name: &'a str,
}

/// Returns the annotations of a schema; nothing where one of them cannot be followed.
fn annotations(schema: &Value) -> Option<Vec<Annotation<'_>>> {
    let mut found: Vec<Annotation<'_>> = Vec::new();
    let mut open = vec![(Vec::new(), schema)];
    while let Some((path, schema)) = open.pop() {
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path: Vec<&str> = path.iter().copied().chain([name.as_str()]).collect();
            if let Some(annotation) = property.get(ANNOTATION) {
                let name = annotation.as_str().filter(|name| is_token(name))?;
                let kind = property.get("type").and_then(Value::as_str);
                let is_new = found.iter().all(|other| !other.name.eq_ignore_ascii_case(name));
                if !is_new || !matches!(kind, Some("string" | "integer" | "boolean")) {
                    return None;
                }
                found.push(Annotation { path: path.clone(), name });
            }
            open.push((path, property));
        }
    }
    Some(found)
}

fn is_token(name: &str) -> bool {
    let is_sign = |byte| b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_sign(byte))
}

/// Returns an argument that can be in a header; nothing where it is absent, null, or not of such a kind. An object in which a
/// member appears twice could be read in two ways.
fn argument(arguments: Option<&RawValue>, path: &[&str]) -> Result<Option<Value>, ()> {
    let Some(mut value) = arguments.map(ToOwned::to_owned) else { return Ok(None) };
    for name in path {
        if !value.get().starts_with('{') {
            return Ok(None);
        }
        let mut object = RawObject::parse(&value).map_err(|_| ())?;
        let Some(inner) = object.remove(name) else { return Ok(None) };
        value = inner;
    }
    let value: Value = serde_json::from_str(value.get()).map_err(|_| ())?;
    Ok(matches!(value, Value::Bool(_) | Value::Number(_) | Value::String(_)).then_some(value))
}

fn says(given: &str, argument: &Value) -> bool {
    let Some(given) = unwrapped(given) else { return false };
    match argument {
        Value::String(text) => given == *text,
        Value::Bool(truth) => given == truth.to_string(),
        Value::Number(number) => {
            let number = number.to_string();
            given == number || whole(&given).is_some_and(|given| whole(&number) == Some(given))
        }
        _ => false,
    }
}

/// Reads a whole number, also where it is written as one that need not be; nothing where a digit could be lost.
fn whole(text: &str) -> Option<i128> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let number: f64 = text.parse().ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole, and small enough to be exact")]
    (number.fract() == 0.0 && number.abs() < EXACT).then_some(number as i128)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    type Case = (&'static str, &'static [(&'static str, &'static str)], bool);

    #[test]
    fn headers_say_what_the_arguments_say() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "count": { "type": "integer", "x-mcp-header": "Count" },
            "deep": { "type": "object", "properties": { "flag": { "type": "boolean", "x-mcp-header": "Flag" } } },
            "free": { "type": "string" },
        } });
        #[rustfmt::skip]
        let cases: [Case; 24] = [
            (r#"{}"#,                                     &[],                                              true),
            (r#"{"free":"x"}"#,                           &[("mcp-param-other", "y")],                      true),
            (r#"{"region":"eu"}"#,                        &[("mcp-param-region", "eu")],                    true),
            (r#"{"region":"eu"}"#,                        &[("Mcp-Param-REGION", "  eu  ")],                true),
            (r#"{"region":"eu"}"#,                        &[("mcp-param-region", "=?base64?ZXU=?=")],       true),
            (r#"{"region":"zürich"}"#,                    &[("mcp-param-region", "=?base64?esO8cmljaA==?=")], true),
            (r#"{"region":"eu"}"#,                        &[("mcp-param-region", "=?base64?ZXU?=")],        false),
            (r#"{"region":"eu"}"#,                        &[("mcp-param-region", "=?base64?ZXV=?=")],       false),
            (r#"{"region":"eu"}"#,                        &[("mcp-param-region", "=?base64?*?=")],          false),
            (r#"{"region":"eu"}"#,                        &[("mcp-param-region", "EU")],                    false),
            (r#"{"region":"eu"}"#,                        &[],                                              false),
            (r#"{"region":"eu"}"#,                        &[("mcp-param-region", "eu"), ("mcp-param-region", "eu")], false),
            (r#"{"region":null}"#,                        &[],                                              true),
            (r#"{"region":null}"#,                        &[("mcp-param-region", "eu")],                    false),
            (r#"{}"#,                                     &[("mcp-param-region", "eu")],                    false),
            (r#"{"region":"eu","region":"us"}"#,          &[("mcp-param-region", "us")],                    false),
            (r#"{"count":42}"#,                           &[("mcp-param-count", "42.0")],                   true),
            (r#"{"count":42.0}"#,                         &[("mcp-param-count", "42")],                     true),
            (r#"{"count":9007199254740993}"#,             &[("mcp-param-count", "9007199254740992")],       false),
            (r#"{"count":42}"#,                           &[("mcp-param-count", "43")],                     false),
            (r#"{"deep":{"flag":true}}"#,                 &[("mcp-param-flag", "true")],                    true),
            (r#"{"deep":{"flag":true}}"#,                 &[("mcp-param-flag", "false")],                   false),
            (r#"{"deep":{"flag":true}}"#,                 &[],                                              false),
            (r#"{"deep":3}"#,                             &[],                                              true),
        ];
        for (arguments, given, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in given {
                headers.append(name.parse::<axum::http::HeaderName>().unwrap(), value.parse().unwrap());
            }
            let raw: Box<RawValue> = serde_json::from_str(arguments).unwrap();
            let found = check(&headers, &schema, Some(&raw));
            assert_eq!(found.is_ok(), expected, "{arguments} {given:?}: {found:?}");
        }
        assert!(check(&HeaderMap::new(), &schema, None).is_ok());
    }

    #[test]
    fn annotations_that_cannot_be_followed_are_none() {
        for property in [
            json!({ "a": { "type": "number", "x-mcp-header": "A" } }),
            json!({ "a": { "x-mcp-header": "A" } }),
            json!({ "a": { "type": "string", "x-mcp-header": "A B" } }),
            json!({ "a": { "type": "string", "x-mcp-header": 1 } }),
            json!({ "a": { "type": "string", "x-mcp-header": "A" }, "b": { "type": "string", "x-mcp-header": "a" } }),
        ] {
            assert!(annotations(&json!({ "properties": property })).is_none(), "{property}");
        }
    }
}
