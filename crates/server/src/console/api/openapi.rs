//! The document of the API, made from the endpoints themselves.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::super::fault::Problem;
use super::endpoint::Endpoint;

/// Sends the document.
pub(super) async fn show() -> axum::Json<Value> {
    axum::Json(super::document())
}

/// Writes the document of some endpoints.
pub(super) fn document(endpoints: &[Endpoint]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut schemas = settings.into_generator();
    let problem = schemas.subschema_for::<Problem>();
    let mut paths = Map::new();
    for endpoint in endpoints {
        let operation = operation(endpoint, &mut schemas, problem.as_value());
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(endpoint.method.as_str().to_ascii_lowercase(), operation);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "ringfence console",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "What agents do, what they may, and what happened. Every request needs `Authorization: Bearer` with the token of an approver, or a session of the console.",
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas.take_definitions(true),
        },
    })
}

fn operation(endpoint: &Endpoint, schemas: &mut SchemaGenerator, problem: &Value) -> Value {
    let mut parameters: Vec<Value> = in_path(endpoint.path)
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": path_schema(name) }))
        .collect();
    if let Some(make) = endpoint.query {
        parameters.extend(in_query(make(schemas).as_value(), schemas));
    }
    let refused =
        |why: &str| json!({ "description": why, "content": { "application/json": { "schema": problem } } });
    let (kind, answer) = endpoint.answer.unwrap_or(("application/json", None));
    let schema = match answer {
        Some(make) => make(schemas).to_value(),
        None => json!({}),
    };
    let mut operation = json!({
        "summary": endpoint.summary,
        "description": format!("Needs the role {}.", endpoint.role.as_str()),
        "operationId": name(endpoint),
        "parameters": parameters,
        "responses": {
            "200": { "description": "It was done.", "content": { kind: { "schema": schema } } },
            "400": refused("What was sent cannot be understood."),
            "401": refused("Nobody is logged in."),
            "403": refused("Whoever asks may not."),
            "404": refused("There is nothing of that name."),
            "409": refused("What was looked at is something else by now."),
            "429": refused("It is asked too often."),
            "503": refused("Something that is needed cannot be reached."),
        },
    });
    if let (Some(make), Some(operation)) = (endpoint.body, operation.as_object_mut()) {
        let schema = make(schemas).to_value();
        let body = json!({ "required": true, "content": { "application/json": { "schema": schema } } });
        operation.insert("requestBody".to_owned(), body);
    }
    operation
}

/// Returns a name for an endpoint, such as `postApprovalsIdDecide`.
fn name(endpoint: &Endpoint) -> String {
    let path = endpoint.path.strip_prefix("/api/v1/").unwrap_or(endpoint.path);
    let mut name = endpoint.method.as_str().to_ascii_lowercase();
    for part in path.split(['/', '-', '_']).map(|part| part.trim_matches(['{', '}', '*'])) {
        let mut letters = part.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}

/// Goes through the names in braces.
fn in_path(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn path_schema(name: &str) -> Value {
    if name == "index" {
        json!({ "type": "integer", "format": "uint64", "minimum": 0 })
    } else {
        json!({ "type": "string" })
    }
}

/// Writes the properties of an object as parameters of a query.
fn in_query(schema: &Value, schemas: &SchemaGenerator) -> Vec<Value> {
    let resolved = schema.get("$ref").and_then(Value::as_str).and_then(|own| own.rsplit('/').next());
    let schema = resolved.and_then(|name| schemas.definitions().get(name)).unwrap_or(schema);
    let required = |name: &str| {
        schema.get("required").and_then(Value::as_array).is_some_and(|all| all.iter().any(|own| own == name))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let one = |(name, schema): (&String, &Value)| json!({ "name": name, "in": "query", "required": required(name), "schema": without_null(schema) });
    properties.map(|all| all.iter().map(one).collect()).unwrap_or_default()
}

/// A query has no null: what may be absent is left out.
fn without_null(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(kinds) = schema.get_mut("type").and_then(Value::as_array_mut) {
        kinds.retain(|kind| kind != "null");
    }
    schema
}

#[cfg(test)]
mod tests {
    use axum::http::Method;

    use super::*;

    #[test]
    fn every_endpoint_is_in_the_document_and_every_name_is_there() {
        let endpoints = super::super::endpoints();
        let document = document(&endpoints);
        for endpoint in &endpoints {
            let method = endpoint.method.as_str().to_ascii_lowercase();
            let operation = &document["paths"][endpoint.path][&method];
            assert!(operation.is_object(), "{method} {}", endpoint.path);
            assert!(endpoint.method == Method::GET || endpoint.method == Method::POST);
        }
        let text = document.to_string();
        for part in text.split("\"#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(document["components"]["schemas"][name].is_object(), "{name}");
        }
    }
}
