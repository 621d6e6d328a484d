//! What the audit keeps: one entry for each thing that happened, and the line a store makes of it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, ready};
use ringfence_egress::Evidence;
use ringfence_policy::{Code, SafetyClass};
use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::Value;

use super::step::{
    ApprovalStep, ApproverChange, ConsoleStep, KeySettlement, LateUse, PolicyChange, ServerStep, in_millis,
};
use super::{Columns, OutputDigests};
use crate::event::Record;
use crate::outcome::Outcome;

/// One thing that happened.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub enum AuditEntry<'a> {
    /// People were asked about a call, or have answered.
    Approval(&'a ApprovalStep),
    /// Somebody was made an approver, or is none any more.
    Approver(&'a ApproverChange),
    /// A call has ended. `raw` is what the tool returned, or the text it failed with, where cleaning changed it; nobody else gets to see it, and it
    /// may hold credentials.
    Call {
        /// Its record.
        record: &'a Record,
        /// What the tool returned or said, if that is not what the record holds.
        raw: Option<&'a Value>,
    },
    /// A connection of a call has ended or was refused, or a name was.
    Connection {
        /// The record of the call.
        record: &'a Record,
        /// What was seen.
        evidence: &'a Evidence,
    },
    /// A person did something in the console.
    Console(&'a ConsoleStep),
    /// A tool used a handle after its call had ended.
    Late(&'a LateUse),
    /// A personality was put in force; at the start of a registry, its first.
    Policy(&'a PolicyChange),
    /// Something happened to an MCP server: it was started, it ended, it reached something, or a definition of it was judged.
    Server(&'a ServerStep),
    /// A person found out what became of a call in doubt.
    Settlement(&'a KeySettlement),
}

/// Keeps what happened. An outcome that cannot be kept is withheld from the caller.
pub trait AuditSink: Send + Sync {
    /// Keeps entries in their order: all of them or none.
    ///
    /// # Errors
    ///
    /// Why they could not be kept.
    fn append<'a>(&'a self, entries: &'a [AuditEntry<'a>]) -> BoxFuture<'a, Result<(), String>>;
}

/// An entry as a store keeps it: the record that goes into the tree, and the outputs that lie beside it.
#[derive(Clone, Debug)]
pub struct AuditLine {
    /// `approval`, `approver`, `call`, `connection`, `console`, `late`, `policy`, `server` or `settlement`.
    pub kind: &'static str,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The run it belongs to.
    pub run: Option<Arc<str>>,
    /// The tool it is about.
    pub tool: Option<Arc<str>>,
    /// The code of what was not done.
    pub code: Option<Code>,
    /// The class of the tool that was called.
    pub class: Option<SafetyClass>,
    /// The host that was asked for.
    pub host: Option<Arc<str>>,
    /// The person, or whoever proposed the call.
    pub principal: Option<Arc<str>>,
    /// The record, as one line of JSON. It holds the digests of the outputs, not the outputs of a call that was done.
    pub record: String,
    /// What the tool returned or failed with, if cleaning changed it.
    pub raw: Option<String>,
    /// What the caller saw.
    pub clean: Option<String>,
}

impl AuditEntry<'_> {
    /// Makes the line.
    ///
    /// # Errors
    ///
    /// Something that is no JSON, which would be a bug.
    pub fn line(&self) -> Result<AuditLine, serde_json::Error> {
        let line = self.unchecked_line()?;
        // A verification reads the columns back from the record.
        debug_assert_eq!(Columns::read(line.record.as_bytes()).as_ref(), Some(&Columns::from(&line)));
        Ok(line)
    }

    fn unchecked_line(&self) -> Result<AuditLine, serde_json::Error> {
        match self {
            Self::Approval(step) => Ok(AuditLine {
                run: Some(Arc::clone(&step.run)),
                tool: Some(step.tool.as_str().into()),
                principal: step.person().map(Arc::from),
                ..plain("approval", step.at, step)?
            }),
            Self::Call { record, raw } => call(record, *raw),
            Self::Connection { record, evidence } => {
                let body = ConnectionBody {
                    at_ms: in_millis(record.at),
                    call: record.call,
                    run: &record.run,
                    manifest: record.manifest.as_deref(),
                    tool: &record.tool,
                    evidence,
                };
                Ok(AuditLine {
                    run: Some(Arc::clone(&record.run)),
                    tool: Some(Arc::clone(&record.tool)),
                    code: match &evidence.verdict {
                        ringfence_egress::Verdict::Refused { code, .. } => Some(*code),
                        _ => None,
                    },
                    host: Some(evidence.host.as_str().into()),
                    ..plain("connection", record.at, &body)?
                })
            }
            Self::Approver(change) => Ok(AuditLine {
                principal: Some(change.name.as_str().into()),
                ..plain("approver", change.at, change)?
            }),
            Self::Console(step) => Ok(AuditLine {
                principal: Some(step.principal.as_str().into()),
                ..plain("console", step.at, step)?
            }),
            Self::Late(late) => Ok(AuditLine {
                run: Some(Arc::clone(&late.run)),
                tool: Some(Arc::clone(&late.tool)),
                code: late.code,
                ..plain("late", late.at, late)?
            }),
            Self::Policy(change) => plain("policy", change.at, change),
            Self::Server(step) => Ok(AuditLine {
                run: Some(Arc::clone(&step.run)),
                host: step.host().map(Arc::from),
                ..plain("server", step.at, step)?
            }),
            Self::Settlement(settlement) => Ok(AuditLine {
                run: Some(Arc::clone(&settlement.run)),
                principal: Some(settlement.by.as_str().into()),
                ..plain("settlement", settlement.at, settlement)?
            }),
        }
    }
}

/// A record with its kind.
#[derive(Serialize)]
struct Tagged<'a, T> {
    kind: &'static str,
    #[serde(flatten)]
    body: &'a T,
}

/// What the record of a connection holds.
#[derive(Serialize)]
struct ConnectionBody<'a> {
    at_ms: u64,
    call: u64,
    run: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest: Option<&'a str>,
    tool: &'a str,
    #[serde(flatten)]
    evidence: &'a Evidence,
}

/// What the record of a call holds: the digests of its outputs in place of its result, where it was done; the digest of the raw
/// error beside its result, where cleaning changed that.
struct CallBody<'a> {
    record: &'a Record,
    digests: Option<OutputDigests>,
}

impl Serialize for CallBody<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let result = (!self.record.outcome().is_done()).then(|| self.record.outcome());
        self.record.write(&mut map, result)?;
        if let Some(digests) = &self.digests {
            map.serialize_entry("outputs", digests)?;
        }
        map.end()
    }
}

fn plain(kind: &'static str, at: Duration, body: &impl Serialize) -> Result<AuditLine, serde_json::Error> {
    Ok(AuditLine {
        kind,
        at: in_millis(at),
        run: None,
        tool: None,
        code: None,
        class: None,
        host: None,
        principal: None,
        record: serde_json::to_string(&Tagged { kind, body })?,
        raw: None,
        clean: None,
    })
}

/// The outputs of a call that was done lie beside its record, because raw ones may be deleted when their time is up.
fn call(record: &Record, raw: Option<&Value>) -> Result<AuditLine, serde_json::Error> {
    let raw = raw.map(Value::to_string);
    let clean = match record.outcome() {
        Outcome::Done(_) => Some(serde_json::to_string(record.outcome())?),
        Outcome::Failed(_) | Outcome::Refused(_) => None,
    };
    let digests = OutputDigests::of(raw.as_deref().map(str::as_bytes), clean.as_deref().map(str::as_bytes));
    let digests = (digests != OutputDigests::default()).then_some(digests);
    Ok(AuditLine {
        run: Some(Arc::clone(&record.run)),
        tool: Some(Arc::clone(&record.tool)),
        code: record.refusal_code().or(record.outcome().code()),
        class: record.class,
        principal: Some(Arc::clone(&record.proposer)),
        raw,
        clean,
        ..plain("call", record.at, &CallBody { record, digests })?
    })
}

/// Entries in memory, newest last. Raw outputs are not kept.
#[derive(Debug, Default)]
pub struct MemoryAudit(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    records: Vec<Record>,
    lines: Vec<String>,
}

impl MemoryAudit {
    /// Returns the records of calls so far.
    pub fn records(&self) -> Vec<Record> {
        self.lock().records.clone()
    }

    /// Returns the records of calls so far and forgets everything.
    pub fn take(&self) -> Vec<Record> {
        std::mem::take(&mut *self.lock()).records
    }

    /// Returns everything else that was kept: approvals, connections and policies, as lines of JSON.
    pub fn lines(&self) -> Vec<String> {
        self.lock().lines.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AuditSink for MemoryAudit {
    fn append<'a>(&'a self, entries: &'a [AuditEntry<'a>]) -> BoxFuture<'a, Result<(), String>> {
        let mut kept = self.lock();
        for entry in entries {
            match entry {
                AuditEntry::Call { record, .. } => kept.records.push((*record).clone()),
                other => match other.line() {
                    Ok(line) => kept.lines.push(line.record),
                    Err(error) => return ready(Err(error.to_string())).boxed(),
                },
            }
        }
        ready(Ok(())).boxed()
    }
}
