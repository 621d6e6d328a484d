//! A server as one session sees it: started when it is needed, started again when it has died, ended when it is idle.

pub(crate) mod connection;
mod inbox;
mod listing;
mod record;
mod start;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

pub use self::listing::class_of;

use self::connection::{Connection, Gone};
use crate::era::{Era, Hello};
use crate::ingress::Judged;
use crate::message::{Answer, error_code, rpc_error};
use crate::question::label_question;
use crate::raw::{Raw, RawObject, raw};
use crate::session::Session;
use crate::spec::ServerSpec;
use crate::tie::Tie;

/// How long a server that keeps dying is left alone, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));
/// How long a list that changes is left before it is read, at first and at most.
const LOOK: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(30));
/// After how long without a change a list counts as steady.
const CALM: Duration = Duration::from_secs(10);
/// How long a server must have lived to be trusted with an immediate restart.
const STEADY: Duration = Duration::from_secs(60);

/// A server as one session sees it.
pub(crate) struct Upstream {
    pub(crate) spec: Arc<ServerSpec>,
    pub(crate) session: Weak<Session>,
    slot: tokio::sync::Mutex<Slot>,
    /// The server that runs, for whoever does not want to wait for one that is being started.
    current: Mutex<Option<Arc<Connection>>>,
    /// What it offers, as it was judged last.
    pub(crate) tools: Mutex<Listing>,
    pub(crate) prompts: Mutex<Listing>,
    pub(crate) instructions: Mutex<Listing>,
    /// What has to be told again to a server that was restarted.
    remembered: Mutex<Remembered>,
    /// What the pins were when its definitions were judged.
    judged_by: Mutex<Option<u64>>,
    /// What the audit has of its definitions.
    kept: Mutex<record::Kept>,
    /// Cancelled when nothing is to be started any more.
    closing: CancellationToken,
    /// Whether somebody already looks at a changed list, what has changed since, and how often it did of late.
    looking: AtomicBool,
    news: Mutex<News>,
}

/// What a server has said of its lists.
#[derive(Default)]
struct News {
    methods: Vec<String>,
    changes: u32,
    last: Option<Instant>,
}

/// Definitions of one kind, in the order of the server.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) known: bool,
    pub(crate) judged: Vec<Judged>,
}

#[derive(Default)]
struct Remembered {
    level: Option<String>,
    resources: Vec<String>,
}

#[derive(Default)]
struct Slot {
    /// How it spoke the last time.
    era: Option<Era>,
    began: Option<Instant>,
    failures: u32,
    not_before: Option<Instant>,
}

impl Upstream {
    pub(crate) fn new(spec: Arc<ServerSpec>, session: Weak<Session>) -> Arc<Self> {
        Arc::new(Self {
            spec,
            session,
            slot: tokio::sync::Mutex::default(),
            current: Mutex::default(),
            tools: Mutex::default(),
            prompts: Mutex::default(),
            instructions: Mutex::default(),
            remembered: Mutex::default(),
            judged_by: Mutex::default(),
            kept: Mutex::default(),
            closing: CancellationToken::new(),
            looking: AtomicBool::new(false),
            news: Mutex::default(),
        })
    }

    /// Returns the running server, and starts it where none runs.
    pub(crate) async fn connection(self: &Arc<Self>, hello: &Arc<Hello>) -> Result<Arc<Connection>, Gone> {
        if let Some(connection) = self.running() {
            return Ok(connection);
        }
        // Whoever asks may give up; what was begun is finished all the same, so that nothing is left behind.
        let (upstream, hello) = (Arc::clone(self), hello.clone());
        let begun = tokio::spawn(async move { upstream.connect(&hello).await });
        begun.await.unwrap_or_else(|error| Err(Gone { why: error.to_string(), asked: false }))
    }

    async fn connect(self: &Arc<Self>, hello: &Arc<Hello>) -> Result<Arc<Connection>, Gone> {
        let mut slot = self.slot.lock().await;
        if self.closing.is_cancelled() {
            return Err(over());
        }
        if let Some(connection) = self.running() {
            return Ok(connection);
        }
        if lock(&self.current).take().is_some() {
            let steady = slot.began.is_some_and(|began| began.elapsed() >= STEADY);
            self.failed(&mut slot, steady);
        }
        if let Some(until) = slot.not_before.filter(|until| *until > Instant::now()) {
            let wait = until.saturating_duration_since(Instant::now());
            if wait > Duration::from_secs(2) {
                let seconds = wait.as_secs();
                let name = &self.spec.name;
                let why =
                    format!("server `{name}` keeps ending and is not started for another {seconds} seconds");
                return Err(Gone { why, asked: false });
            }
            tokio::time::sleep(wait).await;
        }
        let started = tokio::select! {
            started = self.start(hello, slot.era) => started,
            () = self.closing.cancelled() => Err(over()),
        };
        match started {
            Ok(connection) if self.closing.is_cancelled() => {
                connection.close().await;
                Err(over())
            }
            Ok(connection) => {
                slot.era = Some(connection.era());
                slot.began = Some(Instant::now());
                *lock(&self.current) = Some(Arc::clone(&connection));
                Ok(connection)
            }
            Err(gone) => {
                self.failed(&mut slot, false);
                Err(Gone { why: format!("server `{}`: {}", self.spec.name, gone.why), asked: false })
            }
        }
    }

    fn failed(&self, slot: &mut Slot, steady: bool) {
        slot.failures = if steady { 1 } else { slot.failures + 1 };
        let pause = PAUSES.0 * 2_u32.saturating_pow(slot.failures.saturating_sub(1).min(16));
        slot.not_before = (slot.failures > 1).then(|| Instant::now() + pause.min(PAUSES.1));
    }

    /// Returns the server if it runs.
    pub(crate) fn running(&self) -> Option<Arc<Connection>> {
        lock(&self.current).clone().filter(|own| !own.gone.is_cancelled())
    }

    /// Asks it something, and what it needs for that from the client.
    pub(crate) async fn request(
        self: &Arc<Self>,
        hello: &Arc<Hello>,
        method: &str,
        mut params: RawObject,
        tie: Option<&Arc<Tie>>,
    ) -> Result<Answer, Gone> {
        let connection = self.connection(hello).await?;
        let level = self.level();
        if connection.era() == Era::Legacy {
            return connection.request(method, params, tie, None).await;
        }
        params.remove("inputResponses");
        params.remove("requestState");
        for _ in 0..MOST_ROUNDS {
            let answer = connection.request(method, params.clone(), tie, level.as_deref()).await?;
            let Some(wanted) = wanted(&answer) else { return Ok(answer) };
            let Some(tie) = tie else { return Ok(answer) };
            let requests = wanted.object("inputRequests").unwrap_or_default();
            let asked = requests.iter().map(|(name, request)| async move {
                let request = RawObject::parse(request).unwrap_or_default();
                let method = request.text("method").unwrap_or_default();
                let asked =
                    request.get("params").map_or_else(|| raw(&serde_json::json!({})), RawValue::to_owned);
                match self.question(&method, asked) {
                    Ok(asked) => (name, tie.ask(Some(name), &method, asked).await),
                    Err(error) => (name, Err(error)),
                }
            });
            let mut responses = RawObject::default();
            for (name, answer) in futures_util::future::join_all(asked).await {
                match answer {
                    Ok(response) => responses.set(name, response),
                    Err(error) => return Ok(Err(error)),
                }
            }
            params.set("inputResponses", responses.to_raw());
            match wanted.get("requestState") {
                Some(state) => params.set("requestState", state.to_owned()),
                None => drop(params.remove("requestState")),
            }
        }
        let why = format!("server `{}` asked for something {MOST_ROUNDS} times", self.spec.name);
        Err(Gone { why, asked: true })
    }

    /// Makes a question of the server fit to be asked, with its name in it. Says why not, where it is not asked at all.
    pub(crate) fn question(&self, method: &str, params: Raw) -> Result<Raw, Raw> {
        let refuse = |code, why: &str| Err(rpc_error(code, why));
        let is_permitted = match method {
            "sampling/createMessage" => self.spec.sampling,
            "elicitation/create" => self.spec.elicitation,
            _ => true,
        };
        if !is_permitted {
            return refuse(error_code::METHOD_NOT_FOUND, "the operator does not let this server ask that");
        }
        match label_question(&self.spec.name, method, params) {
            Ok(labelled) => crate::clean::clean_raw(&labelled).map_or_else(
                || {
                    refuse(
                        error_code::INVALID_PARAMS,
                        "the parameters cannot be read the same way by everybody",
                    )
                },
                Ok,
            ),
            Err(why) => refuse(error_code::INVALID_PARAMS, why),
        }
    }

    /// Sets the least level of log messages.
    pub(crate) fn set_level(&self, level: &str) {
        lock(&self.remembered).level = Some(level.to_owned());
    }

    fn level(&self) -> Option<String> {
        lock(&self.remembered).level.clone()
    }

    /// Remembers that somebody wants to hear of a resource, or no longer does.
    pub(crate) fn watch_resource(&self, uri: &str, watched: bool) {
        let mut remembered = lock(&self.remembered);
        remembered.resources.retain(|known| known != uri);
        if watched && remembered.resources.len() < MOST_WATCHED {
            remembered.resources.push(uri.to_owned());
        }
    }

    fn watched(&self) -> Vec<String> {
        lock(&self.remembered).resources.clone()
    }

    /// Takes the right to look at a list that has changed; one at a time is enough.
    fn begin_looking(&self) -> bool {
        !self.looking.swap(true, Ordering::AcqRel)
    }

    /// Takes note that a list has changed.
    fn note_news(&self, method: &str) {
        let mut news = lock(&self.news);
        if !news.methods.iter().any(|known| known == method) {
            news.methods.push(method.to_owned());
        }
    }

    /// Says whether a list has changed since it was read.
    fn is_news_waiting(&self, method: &str) -> bool {
        lock(&self.news).methods.iter().any(|known| known == method)
    }

    /// Begins a reading: what was noted until now is read. Returns how long to wait first.
    fn next_pause(&self) -> Duration {
        let mut news = lock(&self.news);
        news.methods.clear();
        let calm = news.last.is_none_or(|last| last.elapsed() > CALM);
        news.changes = if calm { 0 } else { news.changes.saturating_add(1) };
        news.last = Some(Instant::now());
        (LOOK.0 * 2_u32.saturating_pow(news.changes.min(16))).min(LOOK.1)
    }

    fn end_looking(&self) {
        self.looking.store(false, Ordering::Release);
    }

    /// Ends it for good.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.stop().await;
    }

    /// Ends it until it is needed again.
    pub(crate) async fn stop(&self) {
        // One that is being started is ended by whoever starts it.
        let connection = lock(&self.current).take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }
}

fn over() -> Gone {
    Gone { why: "the session is over".to_owned(), asked: false }
}

/// How often a server may ask for something in the course of one request.
const MOST_ROUNDS: usize = 10;
/// How many resources of a server one session may watch.
const MOST_WATCHED: usize = 1024;

/// Returns what a modern server needs before it can answer.
fn wanted(answer: &Answer) -> Option<RawObject> {
    let result = answer.as_ref().ok()?;
    // Nearly every answer needs nothing, and need not be read for that.
    if !result.get().contains("input_required") {
        return None;
    }
    let object = RawObject::parse(result).ok()?;
    (object.text("resultType").as_deref() == Some("input_required")).then_some(object)
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
