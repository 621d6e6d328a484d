//! What the client answers when a server asks: for a completion, for input, for roots.

use std::path::Path;

use serde_json::{Map, Value, json};

/// Who answers an elicitation: the person, by its message and schema.
pub(crate) type Person = Box<dyn FnMut(&Value) -> Value + Send>;

/// The capabilities of a client and its answers.
pub(crate) struct Answers {
    roots: Option<Value>,
    sampling: bool,
    person: Option<Person>,
    /// Results of tasks that the server asked for; `None`: a client without tasks.
    tasks: Option<Vec<Value>>,
}

impl Default for Answers {
    /// A client without any capability.
    fn default() -> Self {
        Self { roots: None, sampling: false, person: None, tasks: None }
    }
}

impl Answers {
    /// A client that has them all, with one root, and a person who accepts everything.
    pub(crate) fn everything(root: &Path) -> Self {
        let uri = format!("file://{}", root.display());
        Self {
            roots: Some(json!([{"uri": uri, "name": "workspace"}])),
            sampling: true,
            person: Some(Box::new(accept)),
            tasks: Some(Vec::new()),
        }
    }

    /// A client with nothing but a person.
    pub(crate) fn person(person: impl FnMut(&Value) -> Value + Send + 'static) -> Self {
        Self { person: Some(Box::new(person)), ..Self::default() }
    }

    /// As sent in `initialize`, or in every request of the modern era.
    pub(crate) fn capabilities(&self) -> Value {
        let mut all = Map::new();
        if self.roots.is_some() {
            all.insert("roots".to_owned(), json!({"listChanged": true}));
        }
        if self.sampling {
            all.insert("sampling".to_owned(), json!({}));
        }
        if self.person.is_some() {
            all.insert("elicitation".to_owned(), json!({"form": {}, "url": {}}));
        }
        if self.tasks.is_some() {
            let requests = json!({"sampling": {"createMessage": {}}, "elicitation": {"create": {}}});
            all.insert("tasks".to_owned(), json!({"list": {}, "cancel": {}, "requests": requests}));
        }
        Value::Object(all)
    }

    /// The result for a request of the server, or `None` when the client does not have that.
    pub(crate) fn answer(&mut self, method: &str, params: &Value) -> Option<Value> {
        if let Some(number) = params["taskId"].as_str().and_then(|id| id.strip_prefix("task-")) {
            let result = self.tasks.as_ref()?.get(number.parse::<usize>().ok()?)?;
            return Some(if method == "tasks/result" { result.clone() } else { task(number) });
        }
        let result = self.at_once(method, params)?;
        if params.get("task").is_none() {
            return Some(result);
        }
        let tasks = self.tasks.as_mut()?;
        tasks.push(result);
        Some(json!({"task": task(&(tasks.len() - 1).to_string())}))
    }

    fn at_once(&mut self, method: &str, params: &Value) -> Option<Value> {
        match method {
            "ping" => Some(json!({})),
            "roots/list" => self.roots.as_ref().map(|roots| json!({"roots": roots})),
            "sampling/createMessage" if self.sampling => Some(json!({
                "role": "assistant", "model": "canned", "stopReason": "endTurn",
                "content": {"type": "text", "text": "a completion"},
            })),
            "elicitation/create" => self.person.as_mut().map(|person| person(params)),
            _ => None,
        }
    }
}

/// A task of the client, done as soon as it is asked for.
fn task(number: &str) -> Value {
    let moment = "2026-01-01T00:00:00Z";
    json!({
        "taskId": format!("task-{number}"), "status": "completed", "ttl": 60_000, "pollInterval": 50,
        "createdAt": moment, "lastUpdatedAt": moment,
    })
}

/// Accepts, with the default of each field, or something that fits.
fn accept(params: &Value) -> Value {
    let mut content = Map::new();
    for (name, schema) in params["requestedSchema"]["properties"].as_object().into_iter().flatten() {
        let value = schema.get("default").cloned().unwrap_or_else(|| match schema["type"].as_str() {
            Some("boolean") => json!(true),
            Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
            Some("array") => json!([]),
            _ => schema["enum"]
                .get(0)
                .or(schema["oneOf"][0].get("const"))
                .cloned()
                .unwrap_or_else(|| json!("text")),
        });
        content.insert(name.clone(), value);
    }
    json!({"action": "accept", "content": content})
}
