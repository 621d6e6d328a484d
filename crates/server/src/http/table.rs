//! The sessions there are.
//!
//! INVARIANT: a session is found only by the agent that opened it.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use super::config::EdgeLimits;
use super::session::{Held, Kind, Session, locked};
use super::token::random;
use crate::door::{Agent, Door};

/// How long a room may take to close.
pub(super) const CLOSING: Duration = Duration::from_secs(5);

/// How long nothing has happened in a session that gives way to another of its agent.
const GIVES_WAY: Duration = Duration::from_millis(200);

/// How long what was sent on a stream is kept after its end.
const KEPT: Duration = Duration::from_secs(60);

/// The sessions there are.
pub(super) struct Table {
    door: Arc<dyn Door>,
    agents: Vec<Agent>,
    limits: EdgeLimits,
    sessions: Mutex<Sessions>,
    /// What is under way in the sessions.
    pub(super) tasks: TaskTracker,
}

#[derive(Default)]
struct Sessions {
    named: HashMap<String, Arc<Session>>,
    modern: HashMap<usize, Arc<Session>>,
    stopped: bool,
}

/// Why no session can be opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Full {
    /// The agent has as many as it may.
    Agent,
    /// There are as many as there may be.
    Edge,
    /// The edge is being closed.
    Stopped,
}

impl Table {
    pub(super) fn new(door: Arc<dyn Door>, agents: Vec<Agent>, limits: EdgeLimits) -> Self {
        Self { door, agents, limits, sessions: Mutex::default(), tasks: TaskTracker::new() }
    }

    /// Opens a session that has an id.
    pub(super) fn open(&self, agent: usize, kind: Kind) -> Result<Held, Full> {
        let mut sessions = locked(&self.sessions);
        let own = sessions.named.values().filter(|session| session.agent == agent).count();
        let who = match self.agents.get(agent) {
            Some(who) if !sessions.stopped => who,
            _ => return Err(Full::Stopped),
        };
        if own >= self.limits.sessions_per_agent {
            // Many clients leave without a word. Of the sessions in which nothing happens the one that was left first gives way.
            let left = sessions.named.values().filter(|session| session.agent == agent);
            let left =
                left.filter(|session| session.is_idle(GIVES_WAY)).max_by_key(|session| session.unused());
            let Some(left) = left.cloned() else { return Err(Full::Agent) };
            sessions.named.retain(|_, other| !Arc::ptr_eq(other, &left));
            self.tasks.spawn(close(left));
        }
        if sessions.named.len() >= self.limits.sessions {
            return Err(Full::Edge);
        }
        let id = new_id();
        let room = self.door.open(who);
        let session = Arc::new(Session::new(id.clone(), agent, kind, room, self.limits.in_flight));
        sessions.named.insert(id, Arc::clone(&session));
        Ok(Held::new(session))
    }

    /// Finds a session of an agent.
    pub(super) fn find(&self, agent: usize, kind: Kind, id: &str) -> Option<Held> {
        let sessions = locked(&self.sessions);
        let session =
            sessions.named.get(id).filter(|session| session.agent == agent && session.kind == kind)?;
        Some(Held::new(Arc::clone(session)))
    }

    /// Returns a number that no other open session has, for a session of an agent.
    pub(super) fn number_of(&self, agent: usize, id: &str) -> Option<usize> {
        let sessions = locked(&self.sessions);
        let session = sessions.named.get(id).filter(|session| session.agent == agent)?;
        Some(Arc::as_ptr(session).addr())
    }

    /// Returns the session for all requests of an agent that speak for themselves.
    pub(super) fn modern(&self, agent: usize) -> Result<Held, Full> {
        let mut sessions = locked(&self.sessions);
        let who = match self.agents.get(agent) {
            Some(who) if !sessions.stopped => who,
            _ => return Err(Full::Stopped),
        };
        let session = sessions.modern.entry(agent).or_insert_with(|| {
            let room = self.door.open(who);
            Arc::new(Session::new(String::new(), agent, Kind::Modern, room, self.limits.in_flight))
        });
        Ok(Held::new(Arc::clone(session)))
    }

    /// Ends a session: from now on it is not found, and its room closes.
    pub(super) fn end(&self, session: &Arc<Session>) -> JoinHandle<()> {
        let is_other = |other: &Arc<Session>| !Arc::ptr_eq(other, session);
        let mut sessions = locked(&self.sessions);
        match session.kind {
            Kind::Modern => sessions.modern.retain(|_, other| is_other(other)),
            Kind::Old | Kind::Streamable => sessions.named.retain(|_, other| is_other(other)),
        }
        self.tasks.spawn(close(Arc::clone(session)))
    }

    /// Ends the sessions in which nothing happens, and forgets what nobody will ask for.
    pub(super) fn sweep(&self) {
        let mut idle = Vec::new();
        {
            let mut sessions = locked(&self.sessions);
            let Sessions { named, modern, .. } = &mut *sessions;
            idle.extend(
                named.extract_if(|_, session| session.is_idle(self.limits.idle)).map(|(_, session)| session),
            );
            idle.extend(
                modern.extract_if(|_, session| session.is_idle(self.limits.idle)).map(|(_, session)| session),
            );
            if let Some(before) = Instant::now().checked_sub(KEPT) {
                named.values().for_each(|session| session.log().prune(before));
            }
        }
        for session in idle {
            self.tasks.spawn(close(session));
        }
    }

    /// Ends every session, and opens none any more.
    pub(super) async fn stop(&self) {
        let all: Vec<_> = {
            let mut sessions = locked(&self.sessions);
            sessions.stopped = true;
            let Sessions { named, modern, .. } = &mut *sessions;
            named
                .drain()
                .map(|(_, session)| session)
                .chain(modern.drain().map(|(_, session)| session))
                .collect()
        };
        join_all(all.into_iter().map(close)).await;
        self.tasks.close();
        let _all_done = tokio::time::timeout(CLOSING, self.tasks.wait()).await;
    }
}

/// Closes a room, which gives up what is under way in it; what does not end in time is ended.
async fn close(session: Arc<Session>) {
    if tokio::time::timeout(CLOSING, Arc::clone(&session.room).close()).await.is_err() {
        tracing::warn!(agent = session.agent, "a session took too long to close");
    }
    session.over.cancel();
}

/// Makes an id of 128 random bits.
fn new_id() -> String {
    random::<16>().iter().fold(String::with_capacity(32), |mut text, byte| {
        let _written = write!(text, "{byte:02x}");
        text
    })
}
