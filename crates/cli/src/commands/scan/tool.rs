//! A tool as any of the formats describes it.

use ringfence::policy::Declaration;
use ringfence_text::Definition;
use serde_json::{Map, Value};

/// What is scanned of a tool. Whatever is missing is empty.
#[derive(Debug, Default)]
pub(super) struct Tool {
    pub(super) name: String,
    title: Option<String>,
    description: Option<String>,
    input_schema: Option<Value>,
    output_schema: Option<Value>,
}

impl Tool {
    /// Reads a list: bare, in MCP's result, or a toolbox.
    pub(super) fn list(value: Value) -> Result<Vec<Self>, &'static str> {
        const NO_LIST: &str = "there is no list of tools";
        let items = match value {
            Value::Array(items) => items,
            Value::Object(mut map) => {
                let inner = match map.remove("result") {
                    Some(Value::Object(inner)) => inner,
                    _ => map,
                };
                match ["tools", "tool"].into_iter().find_map(|key| inner.get(key).cloned()) {
                    Some(Value::Array(items)) => items,
                    _ => return Err(NO_LIST),
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return Err(NO_LIST),
        };
        let object = |item| match item {
            Value::Object(map) => Self::read(map),
            _ => Err("a tool is a JSON object"),
        };
        items.into_iter().map(object).collect()
    }

    /// Reads one tool; the fields of a toolbox and other spellings count too.
    pub(super) fn read(mut map: Map<String, Value>) -> Result<Self, &'static str> {
        let mut text = |key, message| match map.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(message),
        };
        let name = text("name", "`name` is not a string")?.unwrap_or_default();
        let title = text("title", "`title` is not a string")?;
        let description = text("description", "`description` is not a string")?;
        let mut schema = |keys: &[&str]| keys.iter().find_map(|key| map.remove(*key));
        Ok(Self {
            name,
            title,
            description,
            input_schema: schema(&["inputSchema", "input_schema", "parameters", "input"]),
            output_schema: schema(&["outputSchema", "output_schema", "output"]),
        })
    }

    /// Lends what is scanned.
    pub(super) fn definition(&self) -> Definition<'_> {
        Definition {
            name: &self.name,
            title: self.title.as_deref(),
            description: self.description.as_deref(),
            input_schema: self.input_schema.as_ref(),
            output_schema: self.output_schema.as_ref(),
        }
    }
}

impl From<Declaration> for Tool {
    fn from(declaration: Declaration) -> Self {
        Self {
            name: declaration.name.to_string(),
            title: declaration.title,
            description: Some(declaration.description),
            input_schema: Some(declaration.input),
            output_schema: Some(declaration.output),
        }
    }
}
