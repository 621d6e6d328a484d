//! The reference pages of the API, kept as the code has them.
#![expect(
    clippy::disallowed_methods,
    reason = "the reference pages lie in the repository, and a variable says that they are to be written"
)]

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::Value;

/// Compares a page with the repository, or writes it.
#[track_caller]
fn reference(name: &str, page: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, page, "run the tests with UPDATE_REFERENCE=1 to write docs/reference/{name} anew");
}

#[test]
fn the_document_is_in_the_repository() {
    let document = ringfence_server::console::document();
    let text = serde_json::to_string_pretty(&document).unwrap();
    reference("http-api.json", &format!("{text}\n"));
    reference("http-api.md", &readable(&document));
}

/// Writes the document for people.
fn readable(document: &Value) -> String {
    let mut page = String::from(
        "# The HTTP API of the console\n\n\
        Generated from the code; [`http-api.json`](http-api.json) is the same as an OpenAPI document, and a console serves it at \
        `/api/v1/openapi.json`.\n\n\
        Every request needs `Authorization: Bearer` with the token of a person (`ringfence approver add NAME --role ROLE`). \
        What goes wrong is answered with a [`Problem`](#problem).\n",
    );
    let paths = document["paths"].as_object().unwrap();
    for (path, operations) in paths {
        for (method, operation) in operations.as_object().unwrap() {
            let (method, text) = (method.to_uppercase(), |name: &str| operation[name].as_str().unwrap());
            write!(page, "\n## {method} {path}\n\n{}. {}\n", text("summary"), text("description")).unwrap();
            let parameters = operation["parameters"].as_array().unwrap();
            if !parameters.is_empty() {
                page.push_str("\n| parameter | in | needed | type | what |\n|---|---|---|---|---|\n");
            }
            for one in parameters {
                let (name, place) = (one["name"].as_str().unwrap(), one["in"].as_str().unwrap());
                let needed = if one["required"] == true { "yes" } else { "no" };
                let what = one["schema"]["description"].as_str().unwrap_or_default();
                writeln!(page, "| `{name}` | {place} | {needed} | {} | {what} |", kind(&one["schema"]))
                    .unwrap();
            }
            if let Some(body) = operation.get("requestBody") {
                let schema = &body["content"]["application/json"]["schema"];
                write!(page, "\nTakes {} as JSON.\n", kind(schema)).unwrap();
            }
            for (media, content) in operation["responses"]["200"]["content"].as_object().unwrap() {
                let schema = &content["schema"];
                let answer = if schema == &serde_json::json!({}) {
                    String::new()
                } else {
                    format!(", {}", kind(schema))
                };
                write!(page, "\nAnswers `{media}`{answer}.\n").unwrap();
            }
        }
    }
    page.push_str("\n# Types\n");
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        write!(page, "\n## {name}\n\n{}\n", schema["description"].as_str().unwrap_or_default()).unwrap();
        fields(&mut page, schema);
    }
    page
}

/// Writes what a type is made of.
fn fields(page: &mut String, schema: &Value) {
    if let Some(properties) = schema["properties"].as_object() {
        page.push_str("\n| field | needed | type | what |\n|---|---|---|---|\n");
        for (field, own) in properties {
            let needed = schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == field));
            let what = own["description"].as_str().unwrap_or_default();
            let needed = if needed { "yes" } else { "no" };
            writeln!(page, "| `{field}` | {needed} | {} | {what} |", kind(own)).unwrap();
        }
    }
    if let Some(variants) = schema["oneOf"].as_array() {
        page.push_str("\n| value | what |\n|---|---|\n");
        for one in variants {
            writeln!(page, "| {} | {} |", kind(one), one["description"].as_str().unwrap_or_default())
                .unwrap();
        }
    }
}

/// Says in a few words what a schema admits.
fn kind(schema: &Value) -> String {
    let link = |name: &str| format!("[`{name}`](#{})", name.to_lowercase());
    if let Some(own) = schema["$ref"].as_str() {
        return link(own.rsplit('/').next().unwrap());
    }
    if let Some(value) = schema.get("const") {
        return format!("`{value}`");
    }
    for name in ["anyOf", "oneOf"] {
        if let Some(all) = schema[name].as_array() {
            return all.iter().map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    let one = |name: &str| match name {
        "array" => format!("list of {}", kind(&schema["items"])),
        other => other.to_owned(),
    };
    match &schema["type"] {
        Value::String(name) => one(name),
        Value::Array(names) => {
            names.iter().map(|name| one(name.as_str().unwrap())).collect::<Vec<_>>().join(" or ")
        }
        _ => "anything".to_owned(),
    }
}
