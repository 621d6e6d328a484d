//! What the console asks of whoever holds the policy, the pins and the manifest: files, which are no power of this crate.
//!
//! INVARIANT: a change is made only to what was looked at. Whoever changes something names the digest they saw, and what is
//! something else by now stays as it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Answers what the console asks of the policy and everything beside it. It may block.
pub trait Desk: Send + Sync {
    /// Lists every tool, prompt and instruction that is known, accepted or not, by server and key.
    ///
    /// # Errors
    ///
    /// The files cannot be read or trusted.
    fn definitions(&self) -> Result<Vec<Definition>, DeskError>;

    /// Returns one definition with the accepted one beside it; nothing where there is none of that name.
    ///
    /// # Errors
    ///
    /// The files cannot be read or trusted.
    fn definition(&self, id: &DefinitionId) -> Result<Option<DefinitionPage>, DeskError>;

    /// Accepts or rejects a definition that has this very digest.
    ///
    /// # Errors
    ///
    /// It is another one by now, or it cannot be written down; then nothing was changed.
    fn judge(&self, id: &DefinitionId, digest: &str, judgement: Judgement) -> Result<(), DeskError>;

    /// Returns what a call of a tool would be granted, by the name that callers use; nothing where no such tool is known.
    ///
    /// # Errors
    ///
    /// The files cannot be read or trusted.
    fn grant(&self, tool: &str) -> Result<Option<Vec<ReachRow>>, DeskError>;

    /// Returns the policy in force.
    ///
    /// # Errors
    ///
    /// The files cannot be read or trusted.
    fn policy(&self) -> Result<PolicyPage, DeskError>;

    /// Decides a question as a call would be, without doing anything.
    ///
    /// # Errors
    ///
    /// The question cannot be understood, or the files cannot be read.
    fn ask(&self, question: &PolicyQuestion) -> Result<PolicyAnswer, DeskError>;

    /// Compares the manifest of the policy as it is now with the accepted one.
    ///
    /// # Errors
    ///
    /// The files cannot be read or trusted.
    fn manifest(&self) -> Result<ManifestPage, DeskError>;

    /// Accepts the manifest with this very hash.
    ///
    /// # Errors
    ///
    /// It is another one by now, or it cannot be written down; then nothing was changed.
    fn accept_manifest(&self, hash: &str) -> Result<(), DeskError>;

    /// Says what this machine can enforce, by trying it. It takes a moment.
    ///
    /// # Errors
    ///
    /// It cannot be tried.
    fn enforcement(&self) -> Result<Vec<Enforcement>, DeskError>;
}

/// Why something was not answered or not changed.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DeskError {
    /// What was asked cannot be understood.
    #[error("{message}")]
    Input {
        /// What is wrong with it.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// What was looked at is something else by now.
    #[error("{0}")]
    Changed(String),
    /// There is nothing of that name.
    #[error("{0}")]
    Missing(String),
    /// A file cannot be read, trusted or written.
    #[error("{message}")]
    Files {
        /// What is wrong.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
}

/// What a definition is called: by its server and key.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct DefinitionId {
    /// The MCP server; absent for a tool of the policy file itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// `tool:NAME`, `prompt:NAME` or `instructions`.
    pub key: String,
}

/// Where a definition stands.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// It differs from the accepted one, and is withheld.
    Changed,
    /// Nobody has judged it, and it is withheld.
    New,
    /// It looks like one that was accepted under another name, and is withheld.
    Renamed,
    /// It may do more than the accepted manifest says, and is refused.
    Widened,
    /// Somebody has rejected it.
    Rejected,
    /// It is offered without a pin, because its file has none.
    Unpinned,
    /// Somebody has accepted it.
    Accepted,
}

impl Trust {
    /// Returns it as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::New => "new",
            Self::Renamed => "renamed",
            Self::Widened => "widened",
            Self::Rejected => "rejected",
            Self::Unpinned => "unpinned",
            Self::Accepted => "accepted",
        }
    }

    /// Says whether it waits for a person.
    pub const fn waits(self) -> bool {
        matches!(self, Self::Changed | Self::New | Self::Renamed)
    }
}

/// A definition as it is listed.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Definition {
    /// What it is called.
    #[serde(flatten)]
    pub id: DefinitionId,
    /// The name that callers use, for a tool.
    pub name: String,
    /// What it says of itself.
    pub description: String,
    /// Where it stands.
    pub trust: Trust,
    /// Why it is withheld or refused, as one sentence.
    pub why: Option<String>,
    /// The safety class that its calls are judged by.
    pub class: Option<String>,
    /// SHA-256 of the definition in hexadecimal.
    pub digest: String,
    /// SHA-256 of the accepted definition, where another one is.
    pub accepted_digest: Option<String>,
    /// What the scan says of it: `accept`, `flag` or `quarantine`.
    pub verdict: Option<String>,
    /// What the scan found.
    pub findings: Vec<ScanFinding>,
    /// What it reaches.
    pub reach: Vec<ReachRow>,
}

/// What a scan found in a definition.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ScanFinding {
    /// The rule.
    pub rule: String,
    /// Where in the definition.
    pub place: String,
    /// What was found.
    pub message: String,
}

/// What a tool reaches on one surface.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ReachRow {
    /// `network`, `read`, `write`, `secrets`, `storage`, `process` or `environment`.
    pub surface: String,
    /// What it declared and the personality permits.
    pub granted: Vec<String>,
    /// What it declared and the personality does not permit.
    pub refused: Vec<String>,
}

/// One definition, with the accepted one beside it.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct DefinitionPage {
    /// The definition.
    #[serde(flatten)]
    pub definition: Definition,
    /// The accepted definition as JSON text, where there is one.
    pub old: Option<String>,
    /// The definition as JSON text.
    pub new: String,
    /// What differs, worst first, one sentence each.
    pub changes: Vec<String>,
}

/// What a person says of a definition.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// It may be offered.
    Accept,
    /// It is withheld for good.
    Reject,
}

/// The policy in force.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct PolicyPage {
    /// The file.
    pub file: String,
    /// Its text.
    pub text: String,
    /// The personality's name.
    pub personality: Option<String>,
    /// What the personality allows.
    pub ceiling: Vec<ReachRow>,
    /// Which class needs whom.
    pub approvals: Vec<ApprovalRule>,
    /// The names of the tools that questions can be asked about.
    pub tools: Vec<String>,
}

/// Whose agreement calls of a class need.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ApprovalRule {
    /// The class.
    pub class: String,
    /// `allow`, `ask`, `ask-two` or `forbid`.
    pub decision: String,
}

/// What may be asked about.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Surface {
    /// A URL, or a host with or without a port.
    Host,
    /// Reading a file.
    Read,
    /// Writing a file.
    Write,
    /// A secret by its ref.
    Secret,
    /// A program by its name.
    Binary,
    /// An environment variable.
    Environment,
}

/// A question to the policy.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct PolicyQuestion {
    /// The tool, by the name that callers use.
    pub tool: String,
    /// What kind of thing.
    pub surface: Surface,
    /// Which.
    pub what: String,
}

/// What the policy says to a question.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct PolicyAnswer {
    /// Whether it is allowed.
    pub allowed: bool,
    /// The code of the refusal.
    pub code: Option<String>,
    /// The reason, as one sentence.
    pub message: String,
    /// What would change it.
    pub hint: Option<String>,
    /// The lines of the policy that decided: those that admit it, or those that it is not in.
    pub lines: Vec<PolicyLine>,
}

/// A line of the policy.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct PolicyLine {
    /// Its number, from 1 on.
    pub number: u64,
    /// Its text.
    pub text: String,
}

/// The manifest of the policy as it is now, compared with the accepted one.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ManifestPage {
    /// The file of the accepted manifest.
    pub file: String,
    /// The hash of the accepted manifest, where there is one.
    pub accepted: Option<String>,
    /// The hash of the manifest as it is now.
    pub current: String,
    /// What differs, worst first.
    pub changes: Vec<ManifestChange>,
}

/// A difference between two manifests.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ManifestChange {
    /// Such as `tool.exec.widened`.
    pub code: String,
    /// `error`, `warning` or `note`.
    pub level: String,
    /// `widened`, `narrowed` or `changed`.
    pub direction: String,
    /// The tool or server it is about.
    pub subject: String,
    /// The difference, as one sentence.
    pub message: String,
}

/// What this machine can enforce of one thing.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Enforcement {
    /// What.
    pub subject: String,
    /// `works`, `partly`, `missing` or another word of the doctor.
    pub state: String,
    /// What was seen.
    pub detail: String,
    /// What to do.
    pub fix: Option<String>,
}
