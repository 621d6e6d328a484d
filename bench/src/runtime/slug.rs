//! The tool that is measured: a title in, a slug out, the same work as `guest/examples/slug` does.

use std::error::Error;
use std::sync::Arc;

use futures_util::future::ready;
use ringfence::{AuditSink, Backends, Capabilities, MemoryAudit, Registry, Tool, ToolError, tool};
use serde_json::{Value, json};

/// Keeps letters and digits in lower case, and joins what is between them with single hyphens.
pub fn slug(title: &str) -> String {
    title
        .to_lowercase()
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

/// Returns the arguments of the call that is measured.
pub fn arguments() -> Value {
    json!({ "title": "A Tool Gets Exactly the Reach It Declared, and No More" })
}

/// Returns the function as a tool in this process, with the declaration of the component.
///
/// # Errors
///
/// The declaration is not accepted.
pub fn in_process() -> Result<Arc<dyn Tool>, Box<dyn Error>> {
    let tool = tool("slug")
        .description("Turn a title into the part of an address that stands for it")
        .capabilities(Capabilities::default())
        .input_schema(json!({
            "type": "object",
            "properties": { "title": { "type": "string", "maxLength": 1000 } },
            "required": ["title"],
            "additionalProperties": false,
        }))
        .output_schema(json!({ "type": "string" }))
        .run(|arguments: Value, _context| {
            let title = arguments.get("title").and_then(Value::as_str);
            ready(title.map(|title| json!(slug(title))).ok_or_else(|| ToolError::new("there is no title")))
        })?;
    Ok(Arc::new(tool))
}

/// Returns a registry with one tool, and the audit that must be emptied now and then.
///
/// # Errors
///
/// The tool is not accepted.
pub fn registry(tool: &Arc<dyn Tool>) -> Result<(Registry, Arc<MemoryAudit>), Box<dyn Error>> {
    let audit = Arc::new(MemoryAudit::default());
    let registry = Registry::builder()
        .personality(serde_json::from_value(json!({ "id": "measured" }))?)
        .backends(Backends::none())
        .audit(Arc::clone(&audit) as Arc<dyn AuditSink>)
        .build();
    registry.register_shared(tool)?;
    Ok((registry, audit))
}
