//! What a question says.

use std::path::PathBuf;

use ringfence::policy::{Capabilities, Reach, SafetyClass, ToolName};
use ringfence::{Asker, Personality, Refusal};
use serde_json::{Map, Value};

use super::admission::Circumstances;
use super::invalid;

/// One question.
pub(super) struct Question {
    pub(super) subject: Subject,
    pub(super) personality: Option<Personality>,
    pub(super) want: Want,
    pub(super) cwd: Option<PathBuf>,
    pub(super) circumstances: Circumstances,
}

/// Whose reach is asked about.
pub(super) enum Subject {
    /// A tool declared in the question.
    Declared(Box<DeclaredTool>),
    /// A tool of the toolbox.
    Named(String),
}

/// What a question declares of a tool.
pub(super) struct DeclaredTool {
    pub(super) name: Option<ToolName>,
    pub(super) class: Option<SafetyClass>,
    pub(super) capabilities: Capabilities,
    pub(super) input: Option<Value>,
    pub(super) output: Option<Value>,
}

/// What is wanted.
pub(super) enum Want {
    /// To be called with these arguments.
    Arguments(Value),
    /// To be called with arguments that are still text.
    RawArguments(String),
    /// To reach something.
    Reach(Reach),
}

impl Question {
    /// Reads a question; every key it does not know is an error.
    pub(super) fn read(value: Value) -> Result<Self, Refusal> {
        let Value::Object(mut map) = value else { return Err(invalid("a question is a JSON object")) };
        map.shift_remove("id");
        let want = want(map.shift_remove("want").ok_or_else(|| invalid("the question has no `want`"))?)?;
        let personality = match map.shift_remove("personality") {
            None | Some(Value::Null) => None,
            Some(value) => Some(
                serde_json::from_value(value).map_err(|error| invalid(format!("personality: {error}")))?,
            ),
        };
        let cwd = match map.shift_remove("cwd") {
            None | Some(Value::Null) => None,
            Some(Value::String(path)) => Some(PathBuf::from(path)),
            Some(_) => return Err(invalid("`cwd` is not a string")),
        };
        let circumstances = circumstances(&mut map)?;
        let subject = match (map.shift_remove("tool"), map.shift_remove("declare")) {
            (Some(Value::String(tool)), None) => Subject::Named(tool),
            (None, Some(Value::Object(declare))) => declared(declare)?,
            (Some(_), Some(_)) => return Err(invalid("give `tool` or `declare`, not both")),
            (Some(_), None) => return Err(invalid("`tool` is not a string")),
            (None, Some(_)) => return Err(invalid("`declare` is not an object")),
            (None, None) => return Err(invalid("the question has neither `tool` nor `declare`")),
        };
        if let Some(key) = map.keys().next() {
            return Err(invalid(format!("unknown key `{key}` in the question")));
        }
        Ok(Self { subject, personality, want, cwd, circumstances })
    }
}

fn declared(mut declare: Map<String, Value>) -> Result<Subject, Refusal> {
    // Present but null is a schema that is null, not a schema that is absent.
    let input = declare.shift_remove("input");
    // A whole declaration may be given; what a model or a reviewer reads is not judged.
    let output = declare.shift_remove("output");
    for field in ["description", "risk", "title"] {
        declare.shift_remove(field);
    }
    let fault = |error: serde_json::Error| invalid(format!("declare: {error}"));
    let class = declare.shift_remove("class").map(serde_json::from_value).transpose().map_err(fault)?;
    let name = declare.shift_remove("name").map(serde_json::from_value).transpose().map_err(fault)?;
    let capabilities = serde_json::from_value(Value::Object(declare)).map_err(fault)?;
    Ok(Subject::Declared(Box::new(DeclaredTool { name, class, capabilities, input, output })))
}

/// Reads how the call is made: `asked_by`, `after` and `idempotency_key`.
fn circumstances(map: &mut Map<String, Value>) -> Result<Circumstances, Refusal> {
    let asker = match map.shift_remove("asked_by") {
        None | Some(Value::Null) => Asker::default(),
        Some(value) => serde_json::from_value(value)
            .map_err(|_| invalid("`asked_by` is neither \"code\" nor \"model\""))?,
    };
    let after = match map.shift_remove("after") {
        None | Some(Value::Null) => Vec::new(),
        Some(value) => serde_json::from_value(value)
            .map_err(|error| invalid(format!("`after` is not a list of tools: {error}")))?,
    };
    let key = match map.shift_remove("idempotency_key") {
        None | Some(Value::Null) => None,
        Some(Value::String(key)) => Some(key),
        Some(_) => return Err(invalid("`idempotency_key` is not a string")),
    };
    Ok(Circumstances { asker, after, key })
}

fn want(value: Value) -> Result<Want, Refusal> {
    let Value::Object(map) = value else { return Err(invalid("`want` is not an object")) };
    let mut entries = map.into_iter();
    let (Some((key, value)), None) = (entries.next(), entries.next()) else {
        return Err(invalid("`want` has exactly one key"));
    };
    match (key.as_str(), value) {
        ("args", arguments) => Ok(Want::Arguments(arguments)),
        ("args_raw", Value::String(text)) => Ok(Want::RawArguments(text)),
        ("args_raw", _) => Err(invalid("`args_raw` is not a string")),
        (_, value) => {
            let reach = Value::Object(Map::from_iter([(key, value)]));
            serde_json::from_value(reach).map(Want::Reach).map_err(|error| invalid(format!("want: {error}")))
        }
    }
}
