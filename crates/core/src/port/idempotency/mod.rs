//! The port behind which a call is recognised when it comes again.
//!
//! A key goes `absent → executing → committed | failed | unknown`. The claim that finds it free *is* the start: when it
//! is answered, the store has durably kept that the call is about to take effect. Nothing runs before that, so that
//! after a crash a key that was started and not settled is in doubt, and a key that was not started is free.
//!
//! INVARIANT: between two answers of [`Claim::Granted`] for one key there is a settlement that says the first call
//! had no effect. A lease that ran out, a clock that jumped or an owner that died never grants a key; they only turn
//! "in use" into "nobody knows".

mod memory;

use std::fmt;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, pending};
use serde::{Deserialize, Serialize};

use super::store::StoreError;

pub use memory::MemoryIdempotency;

/// The longest idempotency key in characters.
pub const MAX_IDEMPOTENCY_KEY: usize = 255;

/// The name of a key: the key itself, within the personality and the tool that it is for.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct KeyName {
    /// The personality and the tool. One role's key never replays what a tool told another role.
    pub scope: String,
    /// The key.
    pub key: String,
}

/// A call that claims a key.
#[derive(Clone, Debug)]
pub struct KeyClaim {
    /// The key.
    pub name: KeyName,
    /// SHA-256 over the arguments.
    pub digest: String,
    /// The arguments as JSON, for the person who has to find out what became of the call.
    pub arguments: String,
    /// The run.
    pub run: String,
    /// A random name of this call. A claim that comes again under the same name, because its answer was lost, gets
    /// the same answer.
    pub owner: String,
}

/// A number that grows with every claim a store grants, over all its keys.
///
/// Whoever settles a key names the fence it was granted with, so that a call that was given up for dead changes
/// nothing any more once another has the key. A tool may pass it on to whatever it changes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Fence(pub u64);

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a claim on a key found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Claim {
    /// The key was used with other arguments, by a call that is running, was done or is in doubt.
    Conflict,
    /// The key was free, or its last call had no effect. It now belongs to this call, durably.
    Granted(Fence),
    /// A call with the same arguments has the key and is alive.
    InFlight,
    /// The call was done before; this is what it returned, as JSON.
    Replay(String),
    /// A call with the same arguments may or may not have taken effect. The fence is that call's.
    Unknown(Fence),
}

/// What became of a call that had a key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Settlement {
    /// It was done.
    Committed {
        /// What it returned, as JSON.
        output: String,
        /// How long a retry is answered with that.
        keep: Duration,
    },
    /// It had no effect, so that the key is free again, for any arguments.
    Failed,
    /// Nobody knows.
    Unknown,
}

/// Whether a settlement was kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Settled {
    /// It was.
    Kept,
    /// It came too late: the key was committed, is gone, or belongs to a later fence. Nothing was changed.
    Stale,
}

/// Where a key stands.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyState {
    /// Done, and replayed.
    Committed,
    /// Started, by a process that is alive.
    Executing,
    /// Had no effect; free.
    Failed,
    /// Started, and nobody knows what became of it. Never swept.
    Unknown,
}

impl KeyState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Committed, Self::Executing, Self::Failed, Self::Unknown];

    /// Returns the state as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::Executing => "executing",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// A key as it is listed.
#[derive(Clone, Debug)]
pub struct KeyEntry {
    /// The key.
    pub name: KeyName,
    /// Where it stands. A key that was started by a process that has died is listed as unknown.
    pub state: KeyState,
    /// The fence of its last claim.
    pub fence: Fence,
    /// SHA-256 over the arguments.
    pub digest: String,
    /// The arguments as JSON.
    pub arguments: String,
    /// The run of its last claim.
    pub run: String,
    /// When it was last claimed, since 1970.
    pub claimed: Duration,
}

/// Which keys to list.
#[derive(Clone, Debug, Default)]
pub struct KeyFilter {
    /// Only those that stand here.
    pub state: Option<KeyState>,
    /// Only this key, in whichever scopes it is.
    pub key: Option<String>,
    /// How many at most, newest first; 0 is no limit.
    pub most: usize,
}

/// What a person found out about a call in doubt.
#[derive(Clone, Debug)]
pub struct KeyFinding {
    /// The key.
    pub name: KeyName,
    /// The fence that was listed, so that what was looked at is what is settled.
    pub fence: Fence,
    /// [`Settlement::Committed`] or [`Settlement::Failed`].
    pub settlement: Settlement,
    /// Who says so.
    pub by: String,
    /// How they know.
    pub reason: String,
}

/// Remembers calls by key.
pub trait IdempotencyStore: Send + Sync {
    /// Claims a key for one call. An answer of [`Claim::Granted`] is durable before it is given.
    ///
    /// # Errors
    ///
    /// The store cannot say. The call does not run; claiming again under the same owner is safe.
    fn claim<'a>(&'a self, claim: &'a KeyClaim) -> BoxFuture<'a, Result<Claim, StoreError>>;

    /// Says what a claim would find, without claiming; `None` for a key that is free.
    ///
    /// # Errors
    ///
    /// The store cannot say.
    fn find<'a>(
        &'a self,
        name: &'a KeyName,
        digest: &'a str,
    ) -> BoxFuture<'a, Result<Option<Claim>, StoreError>>;

    /// Keeps what became of a call. It is kept while the key has this fence and is not committed, also when the key was
    /// in doubt meanwhile: the one who ran the call knows better.
    ///
    /// # Errors
    ///
    /// The store cannot keep it. The key is then in doubt as soon as its owner is no longer alive.
    fn settle<'a>(
        &'a self,
        name: &'a KeyName,
        fence: Fence,
        settlement: Settlement,
    ) -> BoxFuture<'a, Result<Settled, StoreError>>;

    /// Keeps what a person found out about a key in doubt, and the entry of the audit that says so, both or neither. Only
    /// keys in doubt are settled this way.
    ///
    /// # Errors
    ///
    /// The store cannot keep it.
    fn find_out<'a>(&'a self, finding: &'a KeyFinding) -> BoxFuture<'a, Result<Settled, StoreError>>;

    /// Lists keys, newest first.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn keys<'a>(&'a self, filter: &'a KeyFilter) -> BoxFuture<'a, Result<Vec<KeyEntry>, StoreError>>;

    /// Resolves when others may take this process for dead, because it could not renew its lease. A call that has a key is
    /// given up then: it is in doubt. Stores whose owners cannot be mistaken never resolve it.
    fn lost(&self) -> BoxFuture<'_, ()> {
        pending().boxed()
    }
}
