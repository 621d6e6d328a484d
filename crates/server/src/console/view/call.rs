//! One call with everything that its record says, and what lies beside it.
//!
//! INVARIANT: what the tool returned before it was cleaned is in a view only where whoever asks was allowed to look and the audit
//! has kept that they did.

use ringfence::Role;
use ringfence::audit::{Filter, check_outputs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::port::{PolicyAnswer, PolicyQuestion, Surface};
use super::finding::FindingSeen;
use super::json as text;
use super::reach::{Connected, Process, Touch};
use super::row::Row;

/// How many steps of approvals are looked through.
const STEPS: usize = 200;
/// How many questions are put to the policy.
const QUESTIONS: usize = 3;

/// One call.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct CallView {
    /// The call in a line.
    #[serde(flatten)]
    pub(crate) row: Row,
    /// What its record says.
    #[serde(flatten)]
    pub(crate) said: CallSaid,
    /// What the tool was called with.
    pub(crate) arguments: Value,
    /// How long it was in each stage, in microseconds, in their order.
    pub(crate) stages: Vec<(String, u64)>,
    /// What cleaning found in the output.
    pub(crate) findings: Vec<FindingSeen>,
    /// What people were asked and said about it.
    pub(crate) approvals: Vec<Row>,
    /// What the policy says now about what the call was refused.
    pub(crate) policy: Vec<PolicySaid>,
    /// What the caller saw, where the call was done.
    pub(crate) clean: Option<Value>,
    /// Where what the tool returned is: `gone`, `kept`, `none` or `same`.
    pub(crate) raw_state: String,
    /// What the tool returned, where it was asked for.
    pub(crate) raw: Option<Value>,
    /// Why the outputs are not those that the record was written with.
    pub(crate) forged: Option<String>,
}

/// What the record of a call says, field by field.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct CallSaid {
    /// The number of the call in its process.
    pub(crate) call: u64,
    /// The session.
    pub(crate) session: Option<String>,
    /// SHA-256 of the tool's definition.
    pub(crate) tool_digest: Option<String>,
    /// The tool's risk.
    pub(crate) risk: Option<String>,
    /// `model` or `code`.
    pub(crate) asker: Option<String>,
    /// The personality it was decided under.
    pub(crate) personality: Option<String>,
    /// SHA-256 of that personality.
    pub(crate) policy_digest: Option<String>,
    /// The hash of the manifest that was in force.
    pub(crate) manifest: Option<String>,
    /// The idempotency key.
    pub(crate) idempotency_key: Option<String>,
    /// The fence that the key was claimed with.
    pub(crate) fence: Option<u64>,
    /// Whether the outcome is that of an earlier call.
    pub(crate) replayed: bool,
    /// How often the tool was tried.
    pub(crate) attempts: Option<u64>,
    /// Why it was not done, as one sentence.
    pub(crate) error: Option<String>,
    /// What would change a refusal.
    pub(crate) hint: Option<String>,
    /// The processes that it started.
    pub(crate) processes: Vec<Process>,
    /// The connections that it made or was refused.
    pub(crate) connections: Vec<Connected>,
    /// How many connections are not listed.
    pub(crate) connections_left_out: u64,
    /// What it touched or was refused.
    pub(crate) touched: Vec<Touch>,
    /// How many touches are not listed.
    pub(crate) touched_left_out: u64,
}

/// A question to the policy, and its answer.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct PolicySaid {
    /// What was asked.
    pub(crate) question: PolicyQuestion,
    /// What the policy says now.
    pub(crate) answer: PolicyAnswer,
}

/// Whether what the tool returned is wanted too.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct RawQuery {
    /// `show` to see what the tool returned before it was cleaned. It may hold credentials, needs the role approver, and the audit
    /// keeps who looked.
    raw: Option<String>,
}

impl CallView {
    /// Reads a call.
    pub(crate) async fn read(
        front: &Front,
        caller: &Caller,
        index: u64,
        query: &RawQuery,
    ) -> Result<Self, Fault> {
        let missing =
            || Fault::missing(format!("there is no call {index}")).hint("a call is named by its entry");
        let stored = front.store.log.entry(index).await?;
        let stored = stored.filter(|stored| stored.kind == "call").ok_or_else(missing)?;
        let record: Value = serde_json::from_str(&stored.record).map_err(|error| {
            Fault::unavailable(format!("the record of call {index} cannot be read: {error}"))
        })?;
        let mut said: CallSaid = serde_json::from_value(record.clone()).unwrap_or_default();
        let result = record.get("result");
        said.error = result.and_then(|result| result.get("error")?.as_str()).map(str::to_owned);
        let had_raw = record.get("outputs").is_some_and(|outputs| outputs.get("raw").is_some());
        let raw_state = match (&stored.raw, had_raw, &stored.clean) {
            (Some(_), _, _) => "kept",
            (None, true, _) => "gone",
            (None, false, Some(_)) => "same",
            (None, false, None) => "none",
        };
        let raw = match (query.raw.as_deref(), &stored.raw) {
            (Some("show"), Some(raw)) => {
                caller.at_least(Role::Approver)?;
                let about = json!({ "index": index, "run": stored.run, "tool": stored.tool });
                front.keep(caller, "looked at raw output", about).await?;
                Some(text::read(raw))
            }
            (Some("show"), None) => {
                caller.at_least(Role::Approver)?;
                None
            }
            _ => None,
        };
        let bytes = |text: &Option<String>| text.clone().map(String::into_bytes);
        let (kept_raw, kept_clean) = (bytes(&stored.raw), bytes(&stored.clean));
        let checked = check_outputs(stored.record.as_bytes(), kept_raw.as_deref(), kept_clean.as_deref());
        let tool = stored.tool.clone().unwrap_or_default();
        let steps = Filter {
            kind: Some("approval".to_owned()),
            run: stored.run.clone(),
            tool: stored.tool.clone(),
            below: Some(index),
            ..Filter::default()
        };
        let approvals = front.store.log.newest(&steps, STEPS).await?;
        Ok(Self {
            policy: asked(front, &tool, &said.touched).await,
            approvals: of_call(&approvals, said.call),
            arguments: record.get("arguments").cloned().unwrap_or_default(),
            stages: stages(&record),
            findings: record
                .get("findings")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map(FindingSeen::of)
                .collect(),
            clean: stored.clean.as_deref().map(|clean| output(text::read(clean))),
            raw_state: raw_state.to_owned(),
            raw,
            forged: checked.err().map(|error| error.to_string()),
            row: Row::of(&stored),
            said,
        })
    }
}

/// Returns what a caller saw of an envelope: the structured output, or else the text.
fn output(mut envelope: Value) -> Value {
    let mut take = |name: &str| envelope.as_object_mut().and_then(|fields| fields.remove(name));
    match take("structured").or_else(|| take("value")) {
        Some(output) => output,
        None => envelope,
    }
}

fn stages(record: &Value) -> Vec<(String, u64)> {
    let stages = record.get("stages").and_then(Value::as_object).into_iter().flatten();
    stages.map(|(name, taken)| (name.clone(), taken.as_u64().unwrap_or(0))).collect()
}

/// Returns the steps about a call: those that name it, and what people said about the same digests.
fn of_call(steps: &[ringfence::audit::Stored], call: u64) -> Vec<Row> {
    let read = |stored: &ringfence::audit::Stored| -> (Option<u64>, String) {
        let record: Value = serde_json::from_str(&stored.record).unwrap_or_default();
        let digest = record.get("digest").and_then(Value::as_str).unwrap_or_default().to_owned();
        (record.get("call").and_then(Value::as_u64), digest)
    };
    let steps: Vec<(&ringfence::audit::Stored, (Option<u64>, String))> =
        steps.iter().map(|stored| (stored, read(stored))).collect();
    let digests: Vec<String> = steps
        .iter()
        .filter(|(_, (own, _))| *own == Some(call))
        .map(|(_, (_, digest))| digest.clone())
        .collect();
    let is_own = |(own, digest): &(Option<u64>, String)| match own {
        Some(own) => *own == call,
        None => digests.contains(digest),
    };
    steps.iter().filter(|(_, read)| is_own(read)).map(|(stored, _)| Row::of(stored)).collect()
}

/// Asks the policy about what a call was refused; where it cannot be asked, nothing is said.
async fn asked(front: &Front, tool: &str, touched: &[Touch]) -> Vec<PolicySaid> {
    let refused = touched.iter().filter(|touch| touch.refused.is_some());
    let questions = refused.filter_map(|touch| {
        let surface = match touch.surface.as_str() {
            "binary" => Surface::Binary,
            "environment" => Surface::Environment,
            "host" => Surface::Host,
            "read" => Surface::Read,
            "secret" => Surface::Secret,
            "write" => Surface::Write,
            _ => return None,
        };
        Some(PolicyQuestion { tool: tool.to_owned(), surface, what: touch.what.clone() })
    });
    let mut all = Vec::new();
    for question in questions.take(QUESTIONS) {
        let put = question.clone();
        if let Ok(answer) = front.ask(move |desk| desk.ask(&put)).await {
            all.push(PolicySaid { question, answer });
        }
    }
    all
}
