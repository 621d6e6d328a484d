//! Telling people that a call waits for them.
//!
//! INVARIANT: a request that is open and was not told is told again, also after a restart and by another process: at least
//! once, and rarely twice. What a channel does to be heard is fenced like everything else.

mod command;
mod webhook;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::port::{ApprovalStore, FiledRequest, StoreError};

pub use command::CommandChannel;
pub use webhook::{SIGNATURE_HEADER, WebhookChannel, sign_webhook};

/// How many requests are told in one round.
const ROUND: usize = 32;

/// A way to tell people.
pub trait Channel: Send + Sync {
    /// Returns its name, under which the store keeps what it was told.
    fn name(&self) -> &str;

    /// Tells of one request, whose JSON is `body`.
    ///
    /// # Errors
    ///
    /// Why it may not have been heard, in a sentence.
    fn tell<'a>(&'a self, filed: &'a FiledRequest, body: &'a str) -> BoxFuture<'a, Result<(), String>>;
}

/// Tells every channel of every new request.
pub struct Notifier {
    store: Arc<dyn ApprovalStore>,
    channels: Vec<Arc<dyn Channel>>,
    pause: Duration,
}

/// How one round went.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Told {
    /// The channel and the request.
    pub told: Vec<(String, String)>,
    /// The channel, the request and why it may not have been heard. It is tried again.
    pub failed: Vec<(String, String, String)>,
}

impl Notifier {
    /// Tells of requests in this store; what failed is tried again after 5 seconds, then after ever longer ones.
    pub fn new(store: Arc<dyn ApprovalStore>) -> Self {
        Self { store, channels: Vec::new(), pause: Duration::from_secs(5) }
    }

    /// Adds a channel.
    #[must_use]
    pub fn channel(mut self, channel: Arc<dyn Channel>) -> Self {
        self.channels.push(channel);
        self
    }

    /// Sets the first pause before what failed is tried again.
    #[must_use]
    pub const fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Says whether there is nobody to tell.
    pub fn is_empty(&self) -> bool {
        self.channels.is_empty()
    }

    /// Tells what is to be told now.
    ///
    /// # Errors
    ///
    /// The store cannot be asked, or cannot keep that somebody was told.
    pub async fn round(&self) -> Result<Told, StoreError> {
        let rounds = join_all(self.channels.iter().map(|channel| self.round_of(&**channel))).await;
        let mut all = Told::default();
        for round in rounds {
            let round = round?;
            all.told.extend(round.told);
            all.failed.extend(round.failed);
        }
        Ok(all)
    }

    /// Tells one channel, of several requests at once: one that does not answer keeps nobody else waiting.
    async fn round_of(&self, channel: &dyn Channel) -> Result<Told, StoreError> {
        let notices = self.store.notices(channel.name(), self.pause, ROUND).await?;
        let telling = notices.iter().map(|notice| async {
            let filed = &notice.filed;
            let heard = channel.tell(filed, &body(filed).to_string()).await;
            if heard.is_ok() {
                self.store.told(channel.name(), &filed.id).await?;
            }
            Ok::<_, StoreError>((filed.id.clone(), heard))
        });
        let mut told = Told::default();
        for told_one in join_all(telling).await {
            let (id, heard) = told_one?;
            match heard {
                Ok(()) => told.told.push((channel.name().to_owned(), id)),
                Err(why) => told.failed.push((channel.name().to_owned(), id, why)),
            }
        }
        Ok(told)
    }

    /// Tells what is to be told, until it is cancelled. Returns what was not heard up to then.
    pub async fn run(&self, cancellation: &CancellationToken) -> Unheard {
        let every = self.pause.min(Duration::from_millis(500));
        let mut unheard = Unheard::new();
        while !cancellation.is_cancelled() {
            let round = tokio::select! {
                round = self.round() => round,
                // Who was not told by then is told later, by whoever asks for notices next.
                () = cancellation.cancelled() => break,
            };
            match round {
                Ok(round) => {
                    for told in round.told {
                        unheard.remove(&told);
                    }
                    for (channel, id, why) in round.failed {
                        tracing::warn!(channel, id, why, "a request for approval could not be told of");
                        unheard.insert((channel, id), why);
                    }
                }
                Err(error) => tracing::warn!(%error, "requests for approval cannot be read"),
            }
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = cancellation.cancelled() => {}
            }
        }
        unheard
    }
}

/// What was not heard: the channel and the request, and why.
pub type Unheard = BTreeMap<(String, String), String>;

impl std::fmt::Debug for Notifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.channels.iter().map(|channel| channel.name())).finish()
    }
}

/// What a channel is told. The arguments are there, because nobody can agree to what they do not see.
fn body(filed: &FiledRequest) -> Value {
    let request = &filed.request;
    let millis = |at: Duration| u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
    json!({
        "id": filed.id,
        "digest": request.digest,
        "tool": request.tool,
        "class": request.class,
        "arguments": &*request.arguments,
        "run": &*request.run,
        "session": &*request.session,
        "proposer": &*request.proposer,
        "approvals_needed": request.needed.approvals(),
        "asked_ms": millis(filed.asked),
        "expires_ms": millis(filed.expires),
    })
}
