//! One running server and everything that is being asked of it.
//!
//! INVARIANT: every request to a server has a number of our own, so that answers cannot be confused whoever asked, and an
//! answer to a number that nobody waits for goes nowhere.

mod read;
mod secret;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use ringfence::{Running, ServiceEnd};
use serde_json::value::RawValue;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::era::{CAPABILITIES, Era, Hello, strip_envelope};
use crate::line::write_lines;
use crate::message::{Answer, Id, Message, answer_line, notification_line, request_line};
use crate::raw::{RawObject, raw};
use crate::spec::ServerSpec;
use crate::tie::Tie;

/// How many messages may wait for a server to read them.
const ROOM: usize = 64;
/// How long it may take to learn how a server ended that has closed its output.
const EXIT_REPORT: Duration = Duration::from_secs(1);
/// How long a server has to end by itself when nothing more will be asked.
const GRACE: Duration = Duration::from_secs(2);

/// A server that cannot answer any more.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{why}")]
pub(crate) struct Gone {
    /// What happened, as one sentence.
    pub(crate) why: String,
    /// Whether the server may have seen what was asked.
    pub(crate) asked: bool,
}

/// One running server.
pub(crate) struct Connection {
    /// How it speaks, and what it said of itself; set when that is known.
    pub(crate) nature: OnceLock<(Era, RawObject)>,
    pub(crate) hello: Arc<Hello>,
    next: AtomicI64,
    pending: Mutex<BTreeMap<i64, Pending>>,
    writer: Mutex<Option<mpsc::Sender<String>>>,
    used: Mutex<Instant>,
    /// Cancelled when it can answer no more.
    pub(crate) gone: CancellationToken,
    /// Cancelled when it is known how it ended.
    exited: CancellationToken,
    why: Mutex<Option<String>>,
    junk: AtomicU64,
    /// How much of what it said was not heard yet.
    unheard: AtomicUsize,
    leash: Mutex<Option<OwnedFd>>,
    /// Whether it has said who it is and is in use.
    settled: AtomicBool,
    /// The values of the secrets it was given, in every spelling that is looked for.
    secrets: Vec<String>,
    /// The largest message that it may send, in bytes.
    max_message: usize,
    /// What of the client's capabilities it is not told of.
    withheld: Vec<&'static str>,
    /// The last of what it wrote to its standard error.
    pub(crate) errors: Arc<Mutex<Tail>>,
}

struct Pending {
    tell: oneshot::Sender<Answer>,
    tie: Option<Arc<Tie>>,
    /// Whether the client wants to hear of progress.
    progress: bool,
}

/// The last of a text.
#[derive(Default)]
pub(crate) struct Tail(Vec<u8>);

impl Tail {
    /// Takes more of the text.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        const MOST: usize = 8 << 10;
        self.0.extend_from_slice(bytes);
        if self.0.len() > 2 * MOST {
            self.0.drain(..self.0.len() - MOST);
        }
    }

    /// Returns the last line that says something.
    pub(crate) fn last_line(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.0);
        let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
        let line: String = line.chars().take(400).collect();
        Some(ringfence::text::clean(&line).text.into_owned())
    }
}

/// For whom a server asks something of its own accord.
pub(crate) enum Asking {
    /// In the course of this request.
    For(Arc<Tie>),
    /// In the course of none.
    Nobody,
    /// In the course of one of several.
    Unclear,
}

/// Takes what a server says that answers nothing.
pub(crate) type Inbox = mpsc::Sender<Message>;

impl Connection {
    /// Takes a server over that was just started. What it says of its own accord goes to `inbox`.
    pub(crate) fn new(
        running: Running,
        hello: Arc<Hello>,
        errors: Arc<Mutex<Tail>>,
        secrets: Vec<String>,
        spec: &ServerSpec,
        inbox: Inbox,
    ) -> std::io::Result<Arc<Self>> {
        let Running { input, output, ended, leash, memory: _ } = running;
        let to = pipe::Sender::from_owned_fd(input)?;
        let from = pipe::Receiver::from_owned_fd(output)?;
        let (writer, lines) = mpsc::channel(ROOM);
        let connection = Arc::new(Self {
            nature: OnceLock::new(),
            hello,
            next: AtomicI64::new(1),
            pending: Mutex::default(),
            writer: Mutex::new(Some(writer)),
            used: Mutex::new(Instant::now()),
            gone: CancellationToken::new(),
            exited: CancellationToken::new(),
            why: Mutex::default(),
            junk: AtomicU64::new(0),
            unheard: AtomicUsize::new(0),
            leash: Mutex::new(Some(leash)),
            settled: AtomicBool::new(false),
            secrets,
            max_message: spec.max_message,
            withheld: spec.withheld(),
            errors,
        });
        tokio::spawn(write(to, lines, connection.gone.clone()));
        tokio::spawn(Arc::clone(&connection).read(from, inbox));
        tokio::spawn(Arc::clone(&connection).watch(ended));
        Ok(connection)
    }

    /// Returns how it speaks.
    pub(crate) fn era(&self) -> Era {
        self.nature.get().map_or(Era::Legacy, |(era, _)| *era)
    }

    /// Returns what it said of itself: the result of `initialize` or of `server/discover`.
    pub(crate) fn said(&self) -> RawObject {
        self.nature.get().map(|(_, said)| said.clone()).unwrap_or_default()
    }

    /// Says whether it has a capability.
    pub(crate) fn can(&self, capability: &str) -> bool {
        self.said().object("capabilities").is_some_and(|own| own.get(capability).is_some())
    }

    /// Returns how long nothing was asked of it; nothing while something is.
    pub(crate) fn idle(&self) -> Option<Duration> {
        lock(&self.pending).is_empty().then(|| lock(&self.used).elapsed())
    }

    /// Asks something and waits for the answer. Whoever drops the future gives it up, and the server is told.
    pub(crate) async fn request(
        &self,
        method: &str,
        mut params: RawObject,
        tie: Option<&Arc<Tie>>,
        level: Option<&str>,
    ) -> Result<Answer, Gone> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let progress = self.prepare(id, &mut params, tie, level);
        let writer = lock(&self.writer).clone().ok_or_else(|| self.why(false))?;
        let (tell, told) = oneshot::channel();
        let pending = Pending { tell, tie: tie.map(Arc::clone), progress };
        lock(&self.pending).insert(id, pending);
        let mut asked = Asked { connection: self, id: Some(id), sent: false };
        let params = (!params.is_empty()).then(|| params.to_raw());
        let line = request_line(&Id::Number(id), method, params.as_deref());
        writer.send(line).await.map_err(|_| self.why(false))?;
        asked.sent = true;
        drop(writer);
        let answer = tokio::select! {
            biased;
            answer = told => answer.ok(),
            () = self.gone.cancelled() => None,
        };
        *lock(&self.used) = Instant::now();
        if answer.is_some() {
            asked.id = None;
        }
        answer.ok_or_else(|| self.why(true))
    }

    /// Makes parameters fit for how the server speaks. Returns whether the client wants to hear of progress.
    fn prepare(&self, id: i64, params: &mut RawObject, tie: Option<&Arc<Tie>>, level: Option<&str>) -> bool {
        let modern = self.era() == Era::Modern;
        if !modern && tie.is_some_and(|tie| tie.era == Era::Modern) {
            strip_envelope(params);
        }
        if !modern && params.get("_meta").is_none() {
            return false;
        }
        let mut meta = params.object("_meta").unwrap_or_default();
        if modern {
            for (name, value) in self.hello.envelope(level) {
                // A modern client says for each request what it can do.
                if meta.get(name).is_none() {
                    meta.set(name, value);
                }
            }
            if let Some(mut own) = meta.object(CAPABILITIES).filter(|_| !self.withheld.is_empty()) {
                self.withhold(&mut own);
                meta.set(CAPABILITIES, own.to_raw());
            }
        }
        let progress = meta.get("progressToken").is_some();
        if progress {
            meta.set("progressToken", raw(&id));
        }
        params.set("_meta", meta.to_raw());
        progress
    }

    /// Takes out of a client's capabilities what the server is not to use.
    pub(crate) fn withhold(&self, capabilities: &mut RawObject) {
        for name in &self.withheld {
            capabilities.remove(name);
        }
    }

    /// Tells it something. What cannot be told to a server that is gone is not told.
    pub(crate) async fn notify(&self, method: &str, params: Option<&RawValue>) {
        self.send(notification_line(method, params)).await;
    }

    /// Tells it something if it reads; what it has no room for is lost.
    pub(crate) fn mention(&self, method: &str, params: Option<&RawValue>) {
        let line = notification_line(method, params);
        if let Some(writer) = lock(&self.writer).as_ref()
            && writer.try_send(line).is_err()
        {
            tracing::warn!("a server does not read, and was not told `{}`", method.escape_debug());
        }
    }

    /// Answers something that it asked.
    pub(crate) async fn answer(&self, id: &Id, answer: &Answer) {
        self.send(answer_line(Some(id), answer)).await;
    }

    async fn send(&self, line: String) {
        let writer = lock(&self.writer).clone();
        if let Some(writer) = writer {
            let _sent = writer.send(line).await;
        }
    }

    /// Returns the request whose progress is told under this number, if its client wants to hear of it.
    pub(crate) fn progressing(&self, id: i64) -> Option<Arc<Tie>> {
        lock(&self.pending).get(&id).filter(|own| own.progress).and_then(|own| own.tie.clone())
    }

    /// Returns the request in whose course a server asks something of its own accord. It does not say which: of one client it is
    /// the oldest; where several clients may have asked, it is only known when there is one.
    pub(crate) fn asking(&self, shared: bool) -> Asking {
        let pending = lock(&self.pending);
        let mut ties = pending.values().filter_map(|own| own.tie.clone());
        match (ties.next(), ties.next()) {
            (Some(_), Some(_)) if shared => Asking::Unclear,
            (Some(oldest), _) => Asking::For(oldest),
            (None, _) => Asking::Nobody,
        }
    }

    /// Takes it into use.
    pub(crate) fn settle(&self) {
        self.settled.store(true, Ordering::Release);
    }

    /// Says whether it is in use.
    pub(crate) fn is_settled(&self) -> bool {
        self.settled.load(Ordering::Acquire)
    }

    /// Ends it at once.
    pub(crate) fn kill(&self) {
        drop(lock(&self.writer).take());
        drop(lock(&self.leash).take());
    }

    /// Ends it: nothing more is asked, and when it does not end by itself it is ended.
    pub(crate) async fn close(&self) {
        drop(lock(&self.writer).take());
        let _ended = tokio::time::timeout(GRACE, self.gone.cancelled()).await;
        drop(lock(&self.leash).take());
    }

    async fn watch(self: Arc<Self>, ended: oneshot::Receiver<ServiceEnd>) {
        let why = match ended.await {
            Ok(ServiceEnd::Ended(how)) => format!("it {how}"),
            Ok(ServiceEnd::Refused(error)) => format!("it was not started: {error}"),
            Err(_) => "it is gone".to_owned(),
        };
        lock(&self.why).replace(why.clone());
        self.exited.cancel();
        // What it wrote last is read before it counts as gone.
        let _read = tokio::time::timeout(Duration::from_millis(200), self.gone.cancelled()).await;
        self.end(&why);
    }

    fn end(&self, why: &str) {
        lock(&self.why).get_or_insert_with(|| why.to_owned());
        if self.gone.is_cancelled() {
            return;
        }
        self.gone.cancel();
        drop(lock(&self.writer).take());
        lock(&self.pending).clear();
        let junk = self.junk();
        if junk > 0 {
            tracing::warn!("a server wrote {junk} lines to its output that are no message or answer nothing");
        }
    }

    pub(crate) fn why(&self, asked: bool) -> Gone {
        let why = lock(&self.why).clone().unwrap_or_else(|| "it is gone".to_owned());
        let said = lock(&self.errors).last_line().map(|line| self.without_secrets(line));
        let said = said.map(|line| format!("; it said last: {line}"));
        Gone { why: format!("{why}{}", said.unwrap_or_default()), asked }
    }
}

/// A request that is being answered. One that is given up is called off.
struct Asked<'a> {
    connection: &'a Connection,
    id: Option<i64>,
    sent: bool,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        lock(&self.connection.pending).remove(&id);
        if !self.sent {
            return;
        }
        let params = raw(&serde_json::json!({ "requestId": id, "reason": "the request was given up" }));
        let line = notification_line("notifications/cancelled", Some(&params));
        if let Some(writer) = lock(&self.connection.writer).as_ref() {
            // A server that reads nothing is not told.
            let _sent = writer.try_send(line);
        }
    }
}

async fn write(to: pipe::Sender, lines: mpsc::Receiver<String>, gone: CancellationToken) {
    tokio::select! {
        () = write_lines(to, lines) => {}
        // What a server that is gone was to be told is told nobody.
        () = gone.cancelled() => {}
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
