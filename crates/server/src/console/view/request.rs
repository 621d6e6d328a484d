//! A request for approval: what is asked, who has said what, and who is still missing.

use ringfence::{FiledRequest, RequestState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::enter::encode;
use super::super::front::now;
use super::fold::{Piece, fold};
use super::json;
use super::shown::{Argument, arguments};
use super::time::{Moment, lasting};
use super::what::short;

/// A request for approval.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Request {
    /// Its name.
    pub(crate) id: String,
    /// `approved`, `denied`, `expired`, `open`, `replaced` or `taken`.
    pub(crate) state: String,
    /// The tool that would be called.
    pub(crate) tool: String,
    /// SHA-256 of the tool's definition.
    pub(crate) tool_digest: String,
    /// The safety class of the call.
    pub(crate) class: String,
    /// The agent that proposes the call, who may not decide.
    pub(crate) proposer: String,
    /// The run of the call.
    pub(crate) run: String,
    /// The session of the run.
    pub(crate) session: String,
    /// The personality that the call was asked under.
    pub(crate) personality: Option<String>,
    /// The caller's idempotency key.
    pub(crate) key: Option<String>,
    /// The directory that relative paths start from.
    pub(crate) directory: Option<String>,
    /// What the tool would be called with.
    pub(crate) arguments: Value,
    /// What an approval is bound to.
    pub(crate) digest: String,
    /// How many people must agree.
    pub(crate) needed: u64,
    /// How many people are still missing.
    pub(crate) missing: u64,
    /// Who has said what, in order.
    pub(crate) said: Vec<Said>,
    /// When it was asked, in milliseconds since 1970.
    pub(crate) asked_ms: u64,
    /// When it expires, in milliseconds since 1970.
    pub(crate) expires_ms: u64,
    /// The request with other arguments that it stands in the place of.
    pub(crate) replaces: Option<String>,
}

/// What a person said about a request.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Said {
    /// Who.
    pub(crate) by: String,
    /// `approve`, `change` or `deny`.
    pub(crate) word: String,
    /// Why.
    pub(crate) reason: String,
    /// When, in milliseconds since 1970.
    pub(crate) at_ms: u64,
}

impl Said {
    /// Returns when it was said.
    pub(crate) const fn at(&self) -> Moment {
        Moment(self.at_ms)
    }

    /// Says it in words.
    pub(crate) fn what(&self) -> &'static str {
        match self.word.as_str() {
            "approve" => "agreed",
            "change" => "agreed to other arguments",
            _ => "refused",
        }
    }
}

impl Request {
    /// Reads what is filed.
    pub(crate) fn of(filed: &FiledRequest) -> Self {
        let FiledRequest { id, request, state, asked, expires, decided, replaces } = filed;
        let millis = |at: &std::time::Duration| u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
        let needed = request.needed.approvals();
        let missing = if *state == RequestState::Open { needed.saturating_sub(decided.len()) } else { 0 };
        let call = request.call.as_ref();
        Self {
            id: id.clone(),
            state: state.as_str().to_owned(),
            tool: request.tool.to_string(),
            tool_digest: request.tool_digest.to_string(),
            class: request.class.as_str().to_owned(),
            proposer: request.proposer.to_string(),
            run: request.run.to_string(),
            session: request.session.to_string(),
            personality: call.and_then(|call| call.personality.as_deref()).map(str::to_owned),
            key: call.and_then(|call| call.key.clone()),
            directory: call.and_then(|call| call.directory.as_ref()).map(|path| path.display().to_string()),
            arguments: (*request.arguments).clone(),
            digest: request.digest.clone(),
            needed: needed as u64,
            missing: missing as u64,
            said: decided
                .iter()
                .map(|one| Said {
                    by: one.by.clone(),
                    word: one.word.as_str().to_owned(),
                    reason: one.reason.clone(),
                    at_ms: one.at_ms,
                })
                .collect(),
            asked_ms: millis(asked),
            expires_ms: millis(expires),
            replaces: replaces.clone(),
        }
    }

    /// Says whether it waits for people.
    pub(crate) fn is_open(&self) -> bool {
        self.state == "open"
    }

    /// Returns when it was asked.
    pub(crate) const fn asked(&self) -> Moment {
        Moment(self.asked_ms)
    }

    /// Returns when it expires.
    pub(crate) const fn expires(&self) -> Moment {
        Moment(self.expires_ms)
    }

    /// Returns when it was decided, or when its time was up.
    pub(crate) fn ended(&self) -> Moment {
        let last = self.said.last().map(|said| said.at_ms);
        Moment(if self.state == "expired" { self.expires_ms } else { last.unwrap_or(self.asked_ms) })
    }

    /// Says how much time is left.
    pub(crate) fn left(&self) -> String {
        let now = u64::try_from(now().as_millis()).unwrap_or(u64::MAX);
        match self.expires_ms.checked_sub(now) {
            None | Some(0) => "expired".to_owned(),
            Some(left) => lasting(std::time::Duration::from_secs(left.div_ceil(1000))),
        }
    }

    /// Says who has agreed and how many are missing.
    pub(crate) fn standing(&self) -> String {
        let names: Vec<&str> = self.said.iter().map(|said| said.by.as_str()).collect();
        let people = |count: u64| if count == 1 { "1 person".to_owned() } else { format!("{count} people") };
        match (names.as_slice(), self.is_open()) {
            ([], true) => format!("{} must agree", people(self.missing)),
            (names, true) => format!("{} agreed; {} more must agree", names.join(", "), people(self.missing)),
            ([], false) => "nobody decided".to_owned(),
            (names, false) => names.join(", "),
        }
    }

    /// Returns the arguments for reading.
    pub(crate) fn pieces(&self) -> Vec<Piece> {
        fold(&self.arguments)
    }

    /// Returns the arguments as the list shows them, and whether that is all of them.
    pub(crate) fn shown(&self) -> (Vec<Argument>, bool) {
        arguments(&self.arguments)
    }

    /// Returns what a decision in the list is bound to: the request, and the digest of what was shown.
    pub(crate) fn pick(&self) -> String {
        format!("{}:{}", self.id, self.digest)
    }

    /// Says in a few words what it is, for whoever does not see the list.
    pub(crate) fn label(&self) -> String {
        format!("{}: {}", self.tool, self.label_rest())
    }

    /// Returns the beginning of the arguments.
    pub(crate) fn label_rest(&self) -> String {
        let (shown, _) = self.shown();
        let words = shown.iter().map(|one| format!("{} {}", one.name, one.value));
        short(words.collect::<Vec<_>>().join(", ").trim_start(), 120)
    }

    /// Returns the arguments for editing and comparing.
    pub(crate) fn pretty(&self) -> String {
        json::pretty(&self.arguments)
    }

    /// Returns the arguments as they are kept, in one line.
    pub(crate) fn raw(&self) -> String {
        json::compact(&self.arguments)
    }

    /// Returns the address of its page.
    pub(crate) fn href(&self) -> String {
        format!("/approvals/{}", encode(&self.id))
    }

    /// Returns the address of its run.
    pub(crate) fn run_href(&self) -> String {
        format!("/runs/{}", encode(&self.run))
    }

    /// Returns the address of its tool.
    pub(crate) fn tool_href(&self) -> String {
        format!("/tools?text={}", encode(&self.tool))
    }
}
