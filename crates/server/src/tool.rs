//! A server's tool in the pipeline: whatever is decided about a call is decided before this runs.

use std::sync::{Arc, PoisonError, Weak};

use futures_util::future::{BoxFuture, FutureExt};
use ringfence::policy::{Declaration, JsonLimits, parse_json};
use ringfence::{Code, Context, Refusal, Tool, ToolError};
use serde_json::{Value, json};

use crate::era::Hello;
use crate::question::{label_error, take_off_addresses};
use crate::raw::{RawObject, raw};
use crate::tie::Tie;
use crate::upstream::Upstream;
use crate::upstream::connection::Gone;

/// What a call asks the server for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Asks {
    /// A tool.
    Tool,
    /// A prompt, filled in.
    Prompt,
    /// The contents of a resource.
    Resource,
}

impl Asks {
    /// What is asked for beside tools. It goes through the same pipeline under a name of its own.
    pub(crate) const OTHERS: [Self; 2] = [Self::Prompt, Self::Resource];

    /// Returns the method.
    pub(crate) const fn method(self) -> &'static str {
        match self {
            Self::Tool => "tools/call",
            Self::Prompt => "prompts/get",
            Self::Resource => "resources/read",
        }
    }

    /// Returns the name under which calls that are no tool's are decided and recorded.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tool => "",
            Self::Prompt => "mcp.prompts.get",
            Self::Resource => "mcp.resources.read",
        }
    }

    /// Returns what stands for a definition where the server sends none.
    pub(crate) fn definition(self) -> Value {
        json!({ "name": self.name(), "inputSchema": { "type": "object" } })
    }

    /// Returns what a person or a rule is shown of the parameters: those of the call, not of the protocol.
    pub(crate) fn arguments(self, params: &RawObject) -> Result<Value, Refusal> {
        let invalid = |error: String| {
            Refusal::new(Code::InputInvalid, format!("the arguments are not usable: {error}"))
        };
        let parsed =
            |text: &str| parse_json(text, JsonLimits::ARGUMENTS).map_err(|error| invalid(error.to_string()));
        match self {
            Self::Tool => {
                params.get("arguments").map_or_else(|| Ok(json!({})), |written| parsed(written.get()))
            }
            Self::Prompt | Self::Resource => {
                let members = params
                    .iter()
                    .filter(|(name, _)| *name == "name" || *name == "uri" || *name == "arguments");
                let members: RawObject =
                    members.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
                parsed(members.to_raw().get())
            }
        }
    }
}

/// A tool of a server.
pub(crate) struct ServerTool {
    declaration: Declaration,
    /// The server's own name for it.
    name: String,
    asks: Asks,
    upstream: Weak<Upstream>,
    /// Whether the server says what its structured results look like.
    has_output: bool,
}

impl ServerTool {
    pub(crate) const fn new(
        declaration: Declaration,
        name: String,
        asks: Asks,
        upstream: Weak<Upstream>,
        has_output: bool,
    ) -> Self {
        Self { declaration, name, asks, upstream, has_output }
    }

    /// Returns the parameters for the server: as the client wrote them where nobody has changed them.
    fn params(&self, arguments: &Value, context: &Context, tie: Option<&Arc<Tie>>) -> RawObject {
        let mut params = tie.map(|tie| tie.params.clone()).unwrap_or_default();
        match self.asks {
            Asks::Tool => {
                params.set("name", raw(&self.name));
                if !tie.is_some_and(|tie| tie.sent(arguments)) {
                    params.set("arguments", raw(arguments));
                }
            }
            Asks::Prompt | Asks::Resource => {
                for (name, value) in arguments.as_object().into_iter().flatten() {
                    // A prompt is offered under a longer name than its server has for it.
                    let own = value.as_str().filter(|_| name == "name" && self.asks == Asks::Prompt);
                    let own = own.and_then(|offered| self.upstream.upgrade()?.spec.own(offered).map(raw));
                    if let Some(own) = own {
                        params.set(name, own);
                        continue;
                    }
                    let written =
                        params.get(name).and_then(|own| serde_json::from_str::<Value>(own.get()).ok());
                    if written.as_ref() != Some(value) {
                        params.set(name, raw(value));
                    }
                }
            }
        }
        if let Some((key, _)) = context.idempotency_key() {
            let mut meta = params.object("_meta").unwrap_or_default();
            meta.set(KEY, raw(key));
            params.set("_meta", meta.to_raw());
        }
        params
    }

    async fn ask(&self, arguments: &Value, context: Context) -> Result<Value, ToolError> {
        let gone = || ToolError::new("the session is over").not_executed();
        let upstream = self.upstream.upgrade().ok_or_else(gone)?;
        let tie = context.carried::<Tie>();
        let session = upstream.session.upgrade().ok_or_else(gone)?;
        let hello = session.hello().unwrap_or_else(|| Hello::legacy(RawObject::default()));
        let mut params = self.params(arguments, &context, tie.as_ref());
        if session.house().transparent().is_none() {
            // Tasks are not offered where several servers have them: whose a task is could not be told.
            params.remove("task");
        }
        // The pipeline holds the call to its `wall`, where it has one.
        let answer = upstream.request(&hello, self.asks.method(), params, tie.as_ref()).await;
        let answer = answer.map_err(|gone| unreachable(&upstream, &gone))?;
        let mut answer = answer;
        let result = match &mut answer {
            Ok(result) => parse_json(result.get(), crate::clean::limits_of(result.get()))
                .map(|mut value| {
                    if crate::clean::take_off_ours(&mut value) | take_off_addresses(&mut value) {
                        *result = raw(&value);
                    }
                    value
                })
                .map_err(|error| ToolError::new(format!("what the server returned cannot be used: {error}"))),
            Err(error) => {
                *error = label_error(&upstream.spec.name, upstream.spec.elicitation, std::mem::take(error));
                let message = RawObject::parse(error).ok().and_then(|error| error.text("message"));
                Err(ToolError::new(message.unwrap_or_else(|| "the server answered with an error".into()))
                    .permanent())
            }
        };
        let failed = |value: &Value| value.get("isError") == Some(&Value::Bool(true));
        if let Some(tie) = &tie {
            *tie.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        }
        match result {
            Ok(value) if failed(&value) => Err(ToolError::new(text_of(&value)).permanent()),
            Ok(value) if !value.is_object() => Err(ToolError::new("the server's result is no object")),
            other => other,
        }
    }
}

/// The member of `_meta` that holds the idempotency key of a call, from the client and to the server.
pub const KEY: &str = "ringfence/idempotencyKey";

impl Tool for ServerTool {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn call<'a>(&'a self, arguments: &'a Value, context: Context) -> BoxFuture<'a, Result<Value, ToolError>> {
        self.ask(arguments, context).boxed()
    }

    fn described<'v>(&self, output: &'v Value) -> Option<&'v Value> {
        const NOTHING: &Value = &Value::Null;
        // A task that was begun has no result yet, neither structured nor otherwise.
        let has_result = output.get("structuredContent").is_some() || output.get("content").is_some();
        let is_task = output.get("task").is_some() || output.get("taskId").is_some();
        if !self.has_output || (is_task && !has_result) {
            return None;
        }
        Some(output.get("structuredContent").unwrap_or(NOTHING))
    }
}

fn unreachable(upstream: &Upstream, gone: &Gone) -> ToolError {
    let name = &upstream.spec.name;
    if gone.asked {
        ToolError::new(format!("server `{name}` ended while it worked on this: {}", gone.why))
    } else {
        ToolError::new(gone.why.clone()).not_executed()
    }
}

/// Returns what a result says as text.
fn text_of(result: &Value) -> String {
    let parts = result.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<&str> = parts.filter_map(|part| part.get("text")?.as_str()).collect();
    if texts.is_empty() { "the tool failed and did not say why".to_owned() } else { texts.join("\n") }
}
