//! Starting a server and finding out how it speaks.

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::json;
use tokio::sync::mpsc;

use super::connection::{Connection, Gone, Tail};
use super::{Upstream, lock};
use crate::era::{Era, Hello, LEGACY, MODERN};
use crate::message::error_code;
use crate::raw::{Raw, RawObject, raw};

/// How long a server may take to say who it is.
const HANDSHAKE: Duration = Duration::from_secs(60);
/// How long it may take to answer a question that it perhaps does not know.
const PROBE: Duration = Duration::from_secs(10);
/// How many messages of its own accord may wait to be looked at.
const ROOM: usize = 64;

/// A server that is being started. One that is given up on the way is ended at once.
struct Begun(Arc<Connection>);

impl Begun {
    fn keep(self) -> Arc<Connection> {
        let connection = Arc::clone(&self.0);
        connection.settle();
        connection
    }
}

impl std::ops::Deref for Begun {
    type Target = Arc<Connection>;

    fn deref(&self) -> &Arc<Connection> {
        &self.0
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if !self.0.is_settled() {
            self.0.kill();
        }
    }
}

/// What came of asking a server who it is in one way.
enum Tried {
    /// It has answered.
    Known(Era, RawObject),
    /// It does not know the question.
    Unknown(String),
    /// It says nothing at all.
    Silent(String),
}

impl Upstream {
    /// Starts it, in the way the client speaks first: what both understand needs no translation.
    pub(super) async fn start(
        self: &Arc<Self>,
        hello: &Arc<Hello>,
        known: Option<Era>,
    ) -> Result<Arc<Connection>, Gone> {
        let first = known.unwrap_or_else(|| hello.era);
        let second = if first == Era::Legacy { Era::Modern } else { Era::Legacy };
        let mut connection = Begun(self.launch(hello).await?);
        let mut said = String::new();
        let mut eras = VecDeque::from([first, second]);
        let mut is_slow = false;
        while let Some(era) = eras.pop_front() {
            // Some servers end when they are asked something that they do not know.
            if connection.gone.is_cancelled() {
                connection = Begun(self.launch(hello).await?);
            }
            match ask(&connection, hello, era).await {
                Tried::Known(era, info) => {
                    if let Some(session) = self.session.upgrade() {
                        session.house().remember_introduction(&self.spec.name, &info);
                    }
                    let _set = connection.nature.set((era, info));
                    if let Err(gone) = self.keep_started(&connection).await {
                        connection.close().await;
                        return Err(gone);
                    }
                    self.introduce(&connection).await;
                    self.end_when_idle(&connection);
                    return Ok(connection.keep());
                }
                Tried::Silent(why) if era == Era::Legacy => {
                    said = why;
                    break;
                }
                Tried::Silent(why) => {
                    is_slow = true;
                    said = why;
                }
                Tried::Unknown(why) => {
                    let is_gone = connection.gone.is_cancelled();
                    if said.is_empty() || is_gone {
                        said = why;
                    }
                    // It was slow to start, and has heard both questions at once: what it made of the first it did only now.
                    if eras.is_empty() && std::mem::take(&mut is_slow) {
                        eras.push_back(if is_gone { era } else { first });
                    }
                }
            }
        }
        connection.close().await;
        Err(Gone { why: format!("it does not say who it is: {said}"), asked: false })
    }

    async fn launch(self: &Arc<Self>, hello: &Arc<Hello>) -> Result<Arc<Connection>, Gone> {
        let errors = Arc::new(Mutex::new(Tail::default()));
        let sink = Arc::clone(&errors);
        let sink = Box::new(move |bytes: &[u8]| lock(&sink).take(bytes));
        let failed = |why: String| Gone { why, asked: false };
        let running = self
            .spec
            .starter
            .start(sink, self.recorder())
            .await
            .map_err(|error| failed(error.to_string()))?;
        let secrets = spellings(&self.spec.starter.secrets());
        let (inbox, messages) = mpsc::channel(ROOM);
        let memory = Arc::clone(&running.memory);
        let connection = Connection::new(running, hello.clone(), errors, secrets, &self.spec, inbox)
            .map_err(|error| failed(format!("it cannot be spoken to: {error}")))?;
        tokio::spawn(Arc::clone(self).listen(Arc::clone(&connection), messages));
        self.list_child(&connection, memory);
        Ok(connection)
    }

    /// Lists the server among those that run, until it is gone.
    fn list_child(&self, connection: &Connection, memory: Arc<AtomicU64>) {
        let Some(session) = self.session.upgrade() else { return };
        let child = session.house().options.live.child(&self.spec.name, session.run_id(), memory);
        let gone = connection.gone.clone();
        tokio::spawn(async move {
            gone.cancelled().await;
            drop(child);
        });
    }

    /// Tells a server that has just started what it was told before.
    async fn introduce(self: &Arc<Self>, connection: &Arc<Connection>) {
        match connection.era() {
            Era::Legacy => {
                // The client itself says when it is ready, the first time.
                if self.session.upgrade().is_none_or(|session| session.is_ready()) {
                    connection.notify("notifications/initialized", None).await;
                }
                let level = self.level();
                if let Some(level) = level.filter(|_| connection.can("logging")) {
                    let mut params = RawObject::default();
                    params.set("level", raw(&level));
                    let _set = connection.request("logging/setLevel", params, None, None).await;
                }
                for uri in self.watched() {
                    let mut params = RawObject::default();
                    params.set("uri", raw(&uri));
                    let _watched = connection.request("resources/subscribe", params, None, None).await;
                }
            }
            Era::Modern => self.listen_for_changes(connection),
        }
    }

    /// Has a modern server tell when its lists change and when watched resources do, for as long as it runs.
    pub(crate) fn listen_for_changes(self: &Arc<Self>, connection: &Arc<Connection>) {
        let capabilities = connection.said().object("capabilities").unwrap_or_default();
        let tells = |kind: &str| {
            let own = capabilities.object(kind);
            own.is_some_and(|own| own.get("listChanged").is_some_and(|says| says.get() == "true"))
        };
        let uris = self.watched();
        let wanted = json!({
            "toolsListChanged": tells("tools"),
            "promptsListChanged": tells("prompts"),
            "resourcesListChanged": tells("resources"),
            "resourceSubscriptions": uris,
        });
        if !tells("tools") && !tells("prompts") && !tells("resources") && uris.is_empty() {
            return;
        }
        let mut params = RawObject::default();
        params.set("notifications", raw(&wanted));
        let connection = Arc::clone(connection);
        tokio::spawn(async move {
            let _ended = connection.request("subscriptions/listen", params, None, None).await;
        });
    }

    fn end_when_idle(self: &Arc<Self>, connection: &Arc<Connection>) {
        let (idle, connection) = (self.spec.idle, Arc::clone(connection));
        if idle.is_zero() {
            return;
        }
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = connection.gone.cancelled() => return,
                    () = tokio::time::sleep(idle / 2) => {}
                }
                if connection.idle().is_some_and(|unused| unused >= idle) {
                    tracing::info!("a server was ended because nothing was asked of it");
                    connection.close().await;
                    return;
                }
            }
        });
    }
}

/// The shortest value that is looked for: a shorter one stands everywhere by chance.
const SHORTEST: usize = 8;

/// Returns values in the ways that they could be written in a message.
fn spellings(secrets: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    for secret in secrets.iter().filter(|secret| secret.len() >= SHORTEST) {
        let encode = |engine: &base64::engine::GeneralPurpose| engine.encode(secret);
        let percent: String = secret
            .bytes()
            .map(|byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            })
            .collect();
        let quoted = serde_json::to_string(secret).unwrap_or_default();
        let quoted = quoted.trim_matches('"').to_owned();
        all.extend([secret.clone(), quoted, percent, encode(&STANDARD_NO_PAD), encode(&URL_SAFE_NO_PAD)]);
    }
    all.sort_unstable_by_key(|text| std::cmp::Reverse(text.len()));
    all.dedup();
    all
}

async fn ask(connection: &Arc<Connection>, hello: &Arc<Hello>, era: Era) -> Tried {
    let (method, params, patience) = match era {
        Era::Legacy => {
            let mut params = initialize(hello);
            if let Some(mut capabilities) = params.object("capabilities") {
                connection.withhold(&mut capabilities);
                params.set("capabilities", capabilities.to_raw());
            }
            ("initialize", params, HANDSHAKE)
        }
        Era::Modern => {
            let mut meta = RawObject::default();
            for (name, value) in hello.envelope(None) {
                meta.set(name, value);
            }
            let mut params = RawObject::default();
            params.set("_meta", meta.to_raw());
            ("server/discover", params, PROBE)
        }
    };
    match tokio::time::timeout(patience, connection.request(method, params, None, None)).await {
        Err(_) => Tried::Silent(format!("no answer to `{method}` within {} seconds", patience.as_secs())),
        Ok(Err(gone)) => Tried::Unknown(gone.why),
        Ok(Ok(Err(error))) => Tried::Unknown(format!("`{method}` was answered with {}", shortened(&error))),
        Ok(Ok(Ok(result))) => match known(&result, era) {
            Some(info) => Tried::Known(era, info),
            None => Tried::Unknown(format!("the answer to `{method}` is not one")),
        },
    }
}

fn known(result: &Raw, era: Era) -> Option<RawObject> {
    let info = RawObject::parse(result).ok()?;
    match era {
        Era::Legacy => {
            let version = info.text("protocolVersion")?;
            // A server that wants a version that nobody here speaks cannot be understood.
            (LEGACY.contains(&version.as_str()) || version == "2024-10-07").then_some(info)
        }
        Era::Modern => {
            let versions: Vec<String> =
                info.get("supportedVersions").and_then(|raw| serde_json::from_str(raw.get()).ok())?;
            versions.iter().any(|version| version == MODERN).then_some(info)
        }
    }
}

/// Returns what a legacy server is told of the client: what the client said, in a version with a handshake.
fn initialize(hello: &Arc<Hello>) -> RawObject {
    let mut params = hello.initialize.clone();
    let version = params.text("protocolVersion").unwrap_or_default();
    if !LEGACY.contains(&version.as_str()) {
        params.set("protocolVersion", raw(LEGACY.last().unwrap_or(&"")));
    }
    params
}

fn shortened(error: &Raw) -> String {
    let object = RawObject::parse(error).unwrap_or_default();
    let code =
        object.get("code").map_or_else(|| error_code::INTERNAL.to_string(), |code| code.get().to_owned());
    let message: String = object.text("message").unwrap_or_default().chars().take(200).collect();
    format!("error {code}: {}", ringfence::text::clean(&message).text)
}
