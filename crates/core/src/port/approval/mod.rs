//! The port behind which requests for approval are filed, decided by people, and taken once.
//!
//! A request goes `open → approved | denied | replaced | expired`, and an approved one is `taken` by the one call that
//! runs for it. People are known by name and prove it with a token, of which a store keeps only the hash.
//!
//! INVARIANT: an approval is worth something for one digest, once, before it expires.

mod memory;
mod principal;
mod request;
mod token;
mod waiting;

use std::time::Duration;

use futures_util::future::BoxFuture;
use ringfence_policy::Code;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::approver::Approval;
use super::store::StoreError;
use crate::audit::ApprovalStep;

pub use memory::MemoryApprovals;
pub use principal::{ApproverEntry, Principal, Proof, Role, RoleError};
pub use request::{ApprovalRequest, RunCount, WaitingCall};
pub use token::{ApproverName, ApproverNameError, ApproverToken, TokenHash};
pub use waiting::StoreApprover;

/// Where a request stands.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestState {
    /// Enough people agreed, and no call has taken it yet.
    Approved,
    /// Somebody refused. It stays refused until it expires, so that asking again does not wear people down.
    Denied,
    /// Nobody took it in time.
    Expired,
    /// It waits for people.
    Open,
    /// Somebody agreed to other arguments instead: another request stands in its place.
    Replaced,
    /// A call ran for it.
    Taken,
}

impl RequestState {
    /// Every state.
    pub const ALL: [Self; 6] =
        [Self::Approved, Self::Denied, Self::Expired, Self::Open, Self::Replaced, Self::Taken];

    /// Returns the state as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Open => "open",
            Self::Replaced => "replaced",
            Self::Taken => "taken",
        }
    }
}

/// What a call that waits for people finds.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// Enough people agreed, and from now on it belongs to whoever was told this, and to nobody else.
    Approved(Vec<Approval>),
    /// Somebody agreed to other arguments, which are to be judged and asked about in their own right.
    Changed {
        /// The other arguments.
        arguments: Value,
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// Somebody refused.
    Denied {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// Nobody has agreed in time, or what was agreed to was not taken in time.
    Expired,
    /// It waits for people.
    Open,
    /// Another call has taken it.
    Taken,
}

/// A request with what became of it.
#[derive(Clone, Debug)]
pub struct FiledRequest {
    /// A short random name.
    pub id: String,
    /// What was asked.
    pub request: ApprovalRequest,
    /// Where it stands.
    pub state: RequestState,
    /// When it was filed, since 1970.
    pub asked: Duration,
    /// When it expires, since 1970.
    pub expires: Duration,
    /// Who said what, in order.
    pub decided: Vec<Decided>,
    /// The request that it stands in the place of.
    pub replaces: Option<String>,
}

/// What one person said.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Decided {
    /// Who.
    pub by: String,
    /// What.
    pub word: Word,
    /// Why.
    pub reason: String,
    /// When, since 1970.
    pub at_ms: u64,
}

/// What a person can say.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    /// Agrees.
    Approve,
    /// Agrees to other arguments.
    Change,
    /// Refuses.
    Deny,
    /// Takes back an approval that no call has taken yet. It is kept in the audit, and the vote is gone.
    Withdraw,
}

impl Word {
    /// Returns the word as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Change => "change",
            Self::Deny => "deny",
            Self::Withdraw => "withdraw",
        }
    }

    /// Returns the step that the audit keeps of it.
    const fn step(self) -> &'static str {
        match self {
            Self::Approve => "agreed",
            Self::Change => "changed",
            Self::Deny => "refused",
            Self::Withdraw => "withdrawn",
        }
    }
}

/// What a person decides about a request.
#[derive(Clone, Debug)]
pub struct PersonDecision {
    /// The request.
    pub id: String,
    /// Who decides.
    pub by: Proof,
    /// What they say.
    pub word: Word,
    /// With [`Word::Change`], the request with the other arguments, made by [`ApprovalRequest::with_arguments`].
    pub changed: Option<ApprovalRequest>,
    /// Why.
    pub reason: String,
}

impl FiledRequest {
    /// Takes back what `by` agreed to: the vote is gone, and the request is open again where it is short of people without it.
    /// The rules of every store.
    ///
    /// # Errors
    ///
    /// It was taken, refused, replaced or has expired, or `by` has not agreed to it.
    pub fn withdraw(&mut self, by: &ApproverName) -> Result<(), ApprovalError> {
        match self.state {
            RequestState::Approved | RequestState::Open => {}
            RequestState::Expired => return Err(ApprovalError::Expired),
            state => return Err(ApprovalError::NotOpen { state }),
        }
        let Some(place) = self.decided.iter().position(|decided| decided.by == by.as_str()) else {
            return Err(ApprovalError::NotApproved { by: by.clone() });
        };
        self.decided.remove(place);
        if self.decided.len() < self.request.needed.approvals() {
            self.state = RequestState::Open;
        }
        Ok(())
    }

    /// Returns the entry of the audit for what a person said about this request.
    pub fn step(&self, word: Word, by: &ApproverName, reason: &str, at: Duration) -> ApprovalStep {
        ApprovalStep {
            at,
            call: None,
            run: self.request.run.clone(),
            manifest: None,
            tool: self.request.tool.to_string(),
            digest: self.request.digest.clone(),
            step: word.step(),
            by: vec![by.to_string()],
            reason: Some(reason.to_owned()),
        }
    }
}

/// Which requests to list.
#[derive(Clone, Debug, Default)]
pub struct RequestFilter {
    /// Only those that stand here.
    pub state: Option<RequestState>,
    /// Only those of this run.
    pub run: Option<String>,
    /// Only those of calls of this tool.
    pub tool: Option<String>,
    /// How many at most, newest first; 0 is no limit.
    pub most: usize,
}

/// Requests that can be read, and those that cannot.
#[derive(Clone, Debug, Default)]
pub struct ListedRequests {
    /// Those that can be read, newest first.
    pub requests: Vec<FiledRequest>,
    /// Those whose rows were damaged or forged. Nobody can decide about them, and no call runs for them.
    pub damaged: Vec<DamagedRequest>,
}

/// A request that cannot be read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DamagedRequest {
    /// Its name, as far as it can be read.
    pub id: String,
    /// Why it cannot be read.
    pub why: String,
}

/// A request that somebody is to be told of.
#[derive(Clone, Debug)]
pub struct Notice {
    /// The request.
    pub filed: FiledRequest,
    /// How often it was tried before.
    pub attempts: u32,
}

/// Why a request or an approver was left as it was.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ApprovalError {
    /// One decision each.
    #[error("`{by}` has already decided about this request")]
    Already {
        /// Who.
        by: ApproverName,
    },
    /// The changed request is not about the same call, or none was given.
    #[error("the changed request is not one of the same tool, run and proposer with other arguments")]
    Changed,
    /// It was too late.
    #[error("the request has expired")]
    Expired,
    /// There is somebody of that name.
    #[error("there is an approver named `{0}` already")]
    NameTaken(ApproverName),
    /// There is nobody of that name, or not any more.
    #[error("there is no approver named `{name}`")]
    Nobody {
        /// Who was named.
        name: ApproverName,
    },
    /// There is no vote to withdraw.
    #[error("`{by}` has not approved this request")]
    NotApproved {
        /// Who.
        by: ApproverName,
    },
    /// It is decided.
    #[error("the request is {} and can no longer be decided", state.as_str())]
    NotOpen {
        /// Where it stands.
        state: RequestState,
    },
    /// Nobody approves their own call.
    #[error("`{by}` proposed the call and cannot decide about it")]
    Proposer {
        /// Who.
        by: ApproverName,
    },
    /// There is none.
    #[error("there is no request `{id}`")]
    Request {
        /// What was asked for.
        id: String,
    },
    /// They may only look.
    #[error("`{by}` is a viewer and cannot decide")]
    Role {
        /// Who.
        by: ApproverName,
    },
    /// The store did not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Nobody has the token, or not any more.
    #[error("no approver has this token")]
    Token,
}

impl ApprovalError {
    /// Returns the stable code.
    pub const fn code(&self) -> Code {
        match self {
            Self::Already { .. }
            | Self::Changed
            | Self::Expired
            | Self::NameTaken(_)
            | Self::NotApproved { .. }
            | Self::NotOpen { .. }
            | Self::Request { .. } => Code::InputInvalid,
            Self::Nobody { .. } | Self::Proposer { .. } | Self::Role { .. } | Self::Token => Code::Forbidden,
            Self::Store(_) => Code::NotAvailable,
        }
    }
}

/// Keeps requests for approval and what people say to them. Each method is one transaction.
pub trait ApprovalStore: Send + Sync {
    /// Files a request that expires after `expires`, and returns its name. A request of the same digest that has neither
    /// expired nor been taken is found instead. The caller is from now on the one who waits for it, where the request
    /// tells how the call would go on.
    ///
    /// # Errors
    ///
    /// The store cannot keep it.
    fn file<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        expires: Duration,
    ) -> BoxFuture<'a, Result<String, StoreError>>;

    /// Says where a request stands, and takes it if it is approved. What has expired is marked so.
    ///
    /// When a request that replaced another is taken, so is the other.
    ///
    /// # Errors
    ///
    /// The store cannot say, or there is no such request.
    fn take<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Standing, ApprovalError>>;

    /// The caller no longer waits for a request. It stays open for a call that comes again.
    ///
    /// # Errors
    ///
    /// The store cannot keep it.
    fn leave<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns requests of a personality whose waiting process has died, and which have neither expired nor been taken, oldest
    /// first. The caller is from now on the one who waits for them. Requests that do not tell how their call would go on
    /// are not among them.
    ///
    /// # Errors
    ///
    /// The store cannot say.
    fn adopt<'a>(
        &'a self,
        personality: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<FiledRequest>, StoreError>>;

    /// Lists requests, newest first.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn requests<'a>(
        &'a self,
        filter: &'a RequestFilter,
    ) -> BoxFuture<'a, Result<Vec<FiledRequest>, StoreError>>;

    /// Lists requests as [`ApprovalStore::requests`] does, and names those that cannot be read instead of failing because of them.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn list_requests<'a>(
        &'a self,
        filter: &'a RequestFilter,
    ) -> BoxFuture<'a, Result<ListedRequests, StoreError>> {
        let listed = self.requests(filter);
        Box::pin(async move { Ok(ListedRequests { requests: listed.await?, damaged: Vec::new() }) })
    }

    /// Returns the request of this name, or else the newest whose digest it is. A part of a digest names nothing: somebody could
    /// make a second request that has the same.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn request<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<FiledRequest>, StoreError>>;

    /// Keeps what a person says about an open request, and the entry of the audit that says so, both or neither. With
    /// [`Word::Withdraw`] the request may be approved already; where a call takes it at the same time, one of both wins. Returns
    /// the request as it stands then; with [`Word::Change`], the one that has taken its place, to which the person has
    /// agreed and which expires when the other would have.
    ///
    /// # Errors
    ///
    /// See [`ApprovalError`]; nothing is changed then.
    fn decide<'a>(
        &'a self,
        decision: &'a PersonDecision,
    ) -> BoxFuture<'a, Result<FiledRequest, ApprovalError>>;

    /// Says who somebody is and what they may do; nothing where it proves nobody, or somebody who was revoked.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn principal<'a>(&'a self, proof: &'a Proof) -> BoxFuture<'a, Result<Option<Principal>, StoreError>>;

    /// Adds a person, with an entry of the audit. A revoked name can be added again, with another token or role.
    ///
    /// # Errors
    ///
    /// See [`ApprovalError`].
    fn add_approver<'a>(
        &'a self,
        name: &'a ApproverName,
        token: TokenHash,
        role: Role,
    ) -> BoxFuture<'a, Result<(), ApprovalError>>;

    /// Revokes a person's token, with an entry of the audit; says whether there was one. What they agreed to before and
    /// nobody has taken yet no longer counts: requests that are short of people without them are open again.
    ///
    /// # Errors
    ///
    /// The store cannot keep it.
    fn revoke_approver<'a>(&'a self, name: &'a ApproverName) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Lists people by name, revoked ones too.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn approvers(&self) -> BoxFuture<'_, Result<Vec<ApproverEntry>, StoreError>>;

    /// Returns open requests that a channel was not told of yet, oldest first, and that nobody else is telling it of now.
    /// Each is handed out again after `pause`, doubled with each attempt up to a quarter of an hour, until [`ApprovalStore::told`].
    ///
    /// # Errors
    ///
    /// The store cannot keep it.
    fn notices<'a>(
        &'a self,
        channel: &'a str,
        pause: Duration,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Notice>, StoreError>>;

    /// The channel was told of a request.
    ///
    /// # Errors
    ///
    /// The store cannot keep it.
    fn told<'a>(&'a self, channel: &'a str, id: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// How long to wait before a channel is told again after `attempts` attempts.
pub fn notice_pause(pause: Duration, attempts: u32) -> Duration {
    const LONGEST: Duration = Duration::from_secs(15 * 60);
    pause.saturating_mul(1 << attempts.min(16)).min(LONGEST)
}
