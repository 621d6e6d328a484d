//! What the entries of the audit hold, each as it is written.
//!
//! INVARIANT: every time is written in milliseconds since 1970, as `at_ms`.

use std::sync::Arc;
use std::time::Duration;

use ringfence_policy::Code;
use serde::Serialize;
use serde_json::Value;

use crate::port::{ApproverName, Fence, KeyFinding, Role, Settlement};

/// A step on the way to an approval.
#[derive(Clone, Debug, Serialize)]
pub struct ApprovalStep {
    /// When, by the registry's clock.
    #[serde(rename = "at_ms", serialize_with = "millis")]
    pub at: Duration,
    /// The number of the call; absent for what a person says elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<u64>,
    /// The run.
    pub run: Arc<str>,
    /// The hash of the manifest that was in force, where one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Arc<str>>,
    /// The tool.
    pub tool: String,
    /// What was asked about.
    pub digest: String,
    /// What one person says is `agreed`, `changed` or `refused`. What the call learns is `asked`, and then `approved`,
    /// `changed`, `denied`, `expired`, `pending` or `unreachable`.
    pub step: &'static str,
    /// Who answered.
    pub by: Vec<String>,
    /// Why, where somebody said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ApprovalStep {
    /// Returns the one person who said something, where the step is that.
    pub(super) fn person(&self) -> Option<&str> {
        match (self.step, self.by.as_slice()) {
            ("agreed" | "changed" | "refused" | "withdrawn", [by]) => Some(by),
            _ => None,
        }
    }
}

/// Somebody who was made an approver, or is none any more.
#[derive(Clone, Debug, Serialize)]
pub struct ApproverChange {
    /// When, by the store's clock.
    #[serde(rename = "at_ms", serialize_with = "millis")]
    pub at: Duration,
    /// Who.
    pub name: ApproverName,
    /// `added` or `revoked`.
    pub change: &'static str,
    /// What they may do from now on; absent for somebody who was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
}

/// What a person did in the console.
#[derive(Clone, Debug, Serialize)]
pub struct ConsoleStep {
    /// When, by the console's clock.
    #[serde(rename = "at_ms", serialize_with = "millis")]
    pub at: Duration,
    /// Who.
    pub principal: String,
    /// What, such as `login`, `logout`, `accepted_pin`, `accepted_manifest`, `exported`, `verified` or `looked_at_raw`.
    pub action: &'static str,
    /// More about it.
    pub about: Value,
}

/// What a tool did with a handle after its call had ended.
#[derive(Clone, Debug, Serialize)]
pub struct LateUse {
    /// When, by the registry's clock.
    #[serde(rename = "at_ms", serialize_with = "millis")]
    pub at: Duration,
    /// The number of the call.
    pub call: u64,
    /// The run.
    pub run: Arc<str>,
    /// The hash of the manifest that was in force, where one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Arc<str>>,
    /// The tool.
    pub tool: Arc<str>,
    /// `read`, `write`, `host`, `secret`, `binary`, `environment` or `storage`; the name of the surface where a handle was
    /// asked for.
    pub surface: &'static str,
    /// The path, host, ref, program, variable or key.
    pub what: String,
    /// The code it was refused with; absent where it had begun before the call ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
}

/// What a person found out about a call in doubt.
#[derive(Clone, Debug, Serialize)]
pub struct KeySettlement {
    /// When, by the store's clock.
    #[serde(rename = "at_ms", serialize_with = "millis")]
    pub at: Duration,
    /// The personality and the tool.
    pub scope: String,
    /// The idempotency key.
    pub key: String,
    /// The fence of the call.
    pub fence: Fence,
    /// The run of the call.
    pub run: Arc<str>,
    /// `committed` or `failed`.
    pub settled: &'static str,
    /// Who says so.
    pub by: String,
    /// How they know.
    pub reason: String,
}

impl KeySettlement {
    /// Makes the entry for what a person found out about a call of `run`.
    pub fn new(finding: &KeyFinding, run: &str, at: Duration) -> Self {
        Self {
            at,
            scope: finding.name.scope.clone(),
            key: finding.name.key.clone(),
            fence: finding.fence,
            run: run.into(),
            settled: match finding.settlement {
                Settlement::Committed { .. } => "committed",
                Settlement::Failed => "failed",
                Settlement::Unknown => "unknown",
            },
            by: finding.by.clone(),
            reason: finding.reason.clone(),
        }
    }
}

/// Something that happened to an MCP server.
#[derive(Clone, Debug, Serialize)]
pub struct ServerStep {
    /// When, by the registry's clock.
    #[serde(rename = "at_ms", serialize_with = "millis")]
    pub at: Duration,
    /// The run of the session that it was started for.
    pub run: Arc<str>,
    /// The hash of the manifest that was in force, where one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Arc<str>>,
    /// What the operator calls it.
    pub server: String,
    /// `started`, `ended`, `connection`, `accepted` or `withheld`.
    pub step: &'static str,
    /// More about it: why it ended, what was reached, which definition.
    pub about: Value,
}

impl ServerStep {
    /// Returns the host that was reached or refused, where the step is that.
    pub(super) fn host(&self) -> Option<&str> {
        (self.step == "connection").then(|| self.about.get("host")?.as_str()).flatten()
    }
}

/// A personality that was put in force.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyChange {
    /// When, by the registry's clock.
    #[serde(rename = "at_ms", serialize_with = "millis")]
    pub at: Duration,
    /// The personality's name.
    pub personality: Option<Arc<str>>,
    /// SHA-256 over the personality.
    pub digest: String,
    /// The hash of the manifest that was in force, where one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Arc<str>>,
    /// Whether the registry has just been made.
    pub start: bool,
    /// The version of this library.
    pub version: &'static str,
}

fn millis<S: serde::Serializer>(at: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(in_millis(*at))
}

pub(super) fn in_millis(at: Duration) -> u64 {
    u64::try_from(at.as_millis()).unwrap_or(u64::MAX)
}
