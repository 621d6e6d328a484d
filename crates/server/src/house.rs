//! What all sessions share: the servers, the policy, the pins, and whoever is asked for approval.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ringfence::{Approver, Registry, RequestFilter, RequestState};

use crate::book::PinBook;
use crate::console::Live;
use crate::door::{Agent, Door, Room};
use crate::raw::RawObject;
use crate::session::Session;
use crate::spec::ServerSpec;

/// How often it is looked for calls whose process has ended.
const RESUME: Duration = Duration::from_secs(60);

/// The deadline of a registry whose calls have none but their own `wall`: longer than anything runs.
pub const NO_DEADLINE: Duration = Duration::from_hours(365 * 24);

/// Makes the registry of one session: the toolbox's own tools are in it, and whoever is given is asked for approval.
pub type MakeRegistry = dyn Fn(Arc<dyn Approver>) -> Result<Registry, String> + Send + Sync;

/// Everything that stands behind the door.
pub struct House {
    pub(crate) servers: Vec<Arc<ServerSpec>>,
    pub(crate) book: Arc<dyn PinBook>,
    pub(crate) make_registry: Arc<MakeRegistry>,
    /// Whoever is asked for approval beside the client.
    pub(crate) people: Option<Arc<dyn Approver>>,
    pub(crate) options: HouseOptions,
    /// Authenticates what clients are given to bring back.
    pub(crate) key: [u8; 32],
    sessions: AtomicU64,
    instance: String,
    /// What each server that was started says to models (`instructions`), by its name.
    introductions: Mutex<HashMap<String, RawObject>>,
}

/// How a house is run.
#[derive(Clone, Debug)]
pub struct HouseOptions {
    /// Whether agents are offered `ringfence_policy`.
    pub policy_tool: bool,
    /// Whether the person at the client may agree to a call that needs one person.
    pub client_approves: bool,
    /// How long a client has to answer a question that a call waits for.
    pub question: Duration,
    /// The folder that relative paths start from.
    pub directory: Option<PathBuf>,
    /// The command by which a person looks at what is withheld.
    pub review: String,
    /// The name of the personality, for whoever asks.
    pub personality: Option<String>,
    /// Whether a person can look calls up in a store: a refusal then names the call, else its code.
    pub recorded: bool,
    /// Where it is told what goes on: calls that are under way, and servers that run.
    pub live: Arc<Live>,
}

impl Default for HouseOptions {
    fn default() -> Self {
        Self {
            policy_tool: true,
            client_approves: true,
            question: Duration::from_secs(600),
            directory: None,
            review: "ringfence pins".to_owned(),
            personality: None,
            recorded: false,
            live: Arc::default(),
        }
    }
}

/// Why a house cannot be opened.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum HouseError {
    /// No random bytes.
    #[error("there are no random bytes: {0}")]
    Random(String),
}

impl House {
    /// Puts a house together.
    ///
    /// # Errors
    ///
    /// The machine has no random bytes.
    pub fn new(
        servers: Vec<ServerSpec>,
        book: Arc<dyn PinBook>,
        make_registry: Arc<MakeRegistry>,
        people: Option<Arc<dyn Approver>>,
        options: HouseOptions,
    ) -> Result<Arc<Self>, HouseError> {
        let mut bytes = [0; 40];
        getrandom::fill(&mut bytes).map_err(|error| HouseError::Random(error.to_string()))?;
        let mut key = [0; 32];
        let (first, rest) = bytes.split_at(32);
        key.copy_from_slice(first);
        let instance = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        let servers = servers.into_iter().map(Arc::new).collect();
        Ok(Arc::new(Self {
            servers,
            book,
            make_registry,
            people,
            options,
            key,
            sessions: AtomicU64::new(0),
            instance,
            introductions: Mutex::default(),
        }))
    }

    /// Remembers what a server that was just started says to models.
    pub(crate) fn remember_introduction(&self, server: &str, said: &RawObject) {
        let mut introduction = RawObject::default();
        if let Some(instructions) = said.get("instructions") {
            introduction.set("instructions", instructions.to_owned());
        }
        let mut known = self.introductions.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(server.to_owned(), introduction);
    }

    /// Returns what a server said to models when it was started last; nothing where it never was.
    pub(crate) fn introduction(&self, server: &str) -> Option<RawObject> {
        let known = self.introductions.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(server).cloned()
    }

    /// Opens a session.
    pub fn session(self: &Arc<Self>, agent: &Agent) -> Arc<Session> {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed) + 1;
        Session::new(self, agent, &format!("mcp-{}-{number}", self.instance))
    }

    /// Goes on with calls that waited for people when their process ended, now and from time to time, until it is dropped.
    ///
    /// Nobody is there any more to be told their outcome: it is in the audit, and under their idempotency key.
    pub async fn resume(self: &Arc<Self>) {
        let Some(store) = self.people.as_ref().and_then(|people| people.store()) else { return };
        let mut session = None;
        loop {
            let waits = |filed: &ringfence::FiledRequest| {
                matches!(filed.state, RequestState::Open | RequestState::Approved)
                    && filed.request.call.is_some()
            };
            match store.list_requests(&RequestFilter::default()).await {
                Ok(listed) if listed.requests.iter().any(waits) => {
                    let session = session.get_or_insert_with(|| self.session(&Agent::default()));
                    if let Err(error) = session.resume_calls().await {
                        tracing::warn!("calls that waited for people cannot be gone on with: {error}");
                    }
                }
                Ok(_) => {}
                Err(error) => tracing::warn!("the requests for approval cannot be read: {error}"),
            }
            tokio::time::sleep(RESUME).await;
        }
    }

    /// Returns the server whose words are passed on as if nobody stood between: the only one, without a prefix.
    pub(crate) fn transparent(&self) -> Option<&Arc<ServerSpec>> {
        match &self.servers[..] {
            [only] if !only.prefixed => Some(only),
            _ => None,
        }
    }
}

impl Door for Arc<House> {
    fn open(&self, agent: &Agent) -> Arc<dyn Room> {
        self.session(agent)
    }
}

impl std::fmt::Debug for House {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("House").field("servers", &self.servers).finish_non_exhaustive()
    }
}
