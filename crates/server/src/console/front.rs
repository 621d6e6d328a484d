//! What every page and every endpoint of the console is answered from.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ringfence::audit::{ConsoleStep, TrustedLog};
use ringfence::{AuditEntry, Principal, RequestFilter, RequestState, Role};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::access::{Cookies, Links, Sessions};
use super::act::Verifications;
use super::fault::Fault;
use super::live::{Feed, Live};
use super::port::{ConsoleStore, Desk, DeskError};
use super::summary::Summary;
use crate::http::{Guard, Rate};

/// How long it is believed how many requests wait.
const COUNTED: Duration = Duration::from_millis(500);
/// How many waiting requests are counted.
const MOST_WAITING: usize = 1000;

/// Who may come in. It outlives a console whose policy was changed.
#[derive(Default)]
pub struct Access {
    pub(crate) links: Links,
    pub(crate) sessions: Sessions,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").finish_non_exhaustive()
    }
}

/// Everything that requests are answered from.
pub(crate) struct Front {
    pub(crate) store: ConsoleStore,
    pub(crate) desk: Arc<dyn Desk>,
    pub(crate) live: Arc<Live>,
    pub(crate) feed: Feed,
    /// What the log holds, counted.
    pub(crate) summary: Summary,
    pub(crate) access: Arc<Access>,
    pub(crate) cookies: Cookies,
    pub(crate) guard: Guard,
    /// How often somebody may fail to log in.
    pub(crate) logins: Rate<IpAddr>,
    /// Whose checkpoints are believed.
    pub(crate) trust: Option<TrustedLog>,
    /// How many requests waited, and when they were counted.
    pub(crate) counted: Mutex<Option<(Instant, usize)>>,
    /// Places for streams, of all people together.
    pub(crate) streams: Arc<Semaphore>,
    /// The verification of the log that goes on, or the last one.
    pub(crate) verifications: Verifications,
}

/// Somebody who was let in.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) principal: Principal,
    /// What forms must bring along; absent where a token was sent with the request itself.
    pub(crate) form: Option<String>,
    /// Cancelled when their session ends.
    pub(crate) over: CancellationToken,
}

impl Caller {
    /// Refuses whoever may not do this.
    pub(crate) fn at_least(&self, role: Role) -> Result<(), Fault> {
        if self.principal.role >= role {
            return Ok(());
        }
        let (name, own) = (&self.principal.name, self.principal.role.as_str());
        Err(Fault::forbidden(format!("`{name}` is a {own}, and this needs the role {}", role.as_str()))
            .hint("an admin gives roles with `ringfence approver add NAME --role ROLE`"))
    }

    /// Returns the name.
    pub(crate) fn name(&self) -> &str {
        self.principal.name.as_str()
    }
}

impl Front {
    /// Keeps in the audit what somebody did. What cannot be kept is not done: ask before doing it.
    pub(crate) async fn keep(
        &self,
        caller: &Caller,
        action: &'static str,
        about: Value,
    ) -> Result<(), Fault> {
        self.keep_by(caller.name(), action, about).await
    }

    pub(crate) async fn keep_by(&self, name: &str, action: &'static str, about: Value) -> Result<(), Fault> {
        let step = ConsoleStep { at: now(), principal: name.to_owned(), action, about };
        let kept = self.store.sink.append(&[AuditEntry::Console(&step)]).await;
        kept.map_err(|why| {
            Fault::unavailable(format!("the audit does not keep this, so it is not done: {why}"))
        })
    }

    /// Asks the desk on a thread that may block.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Desk) -> Result<T, DeskError> + Send + 'static,
    ) -> Result<T, Fault> {
        let desk = Arc::clone(&self.desk);
        match tokio::task::spawn_blocking(move || ask(&*desk)).await {
            Ok(answer) => Ok(answer?),
            Err(error) => Err(Fault::unavailable(format!("the policy cannot be asked: {error}"))),
        }
    }

    /// Returns how many requests wait for people.
    pub(crate) async fn waiting(&self) -> usize {
        let known = *self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, count)) = known
            && at.elapsed() < COUNTED
        {
            return count;
        }
        let filter =
            RequestFilter { state: Some(RequestState::Open), most: MOST_WAITING, ..RequestFilter::default() };
        let count = self.store.approvals.list_requests(&filter).await.map_or(0, |open| open.requests.len());
        *self.counted.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), count));
        count
    }
}

/// Returns the time since 1970.
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
