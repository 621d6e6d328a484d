//! The feed as a stream of events that a browser reads, and goes on with where it was.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream;
use ringfence::audit::{Filter, Stored};
use ringfence::{Proof, StoreError};
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;

use super::super::api::Wanted;
use super::super::enter::Reply;
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::view::{Plan, Row, RowQuery};
use super::guest::Guest;

/// How long nothing is sent before a comment shows that the stream is alive, and it is looked whether its person still is.
const ALIVE: Duration = Duration::from_secs(15);

/// How often it is looked whether the person of a stream is still known.
const LOOKS: Duration = Duration::from_secs(2);

/// Says that there is another request to decide, which the page fetches by itself.
const FILED: &[u8] = b"event: filed\ndata: {}\n\n";

/// One browser that follows.
struct Follower {
    front: Arc<Front>,
    caller: Caller,
    filter: Filter,
    plan: Plan,
    next: u64,
    size: tokio::sync::watch::Receiver<u64>,
    newest_request: tokio::sync::watch::Receiver<Option<String>>,
    /// When it was last looked whether its person is still known.
    looked: Instant,
    _place: (OwnedSemaphorePermit, Guest),
}

/// Sends entries as they come, from `from` on, or from behind the last one that the browser has seen.
pub(crate) async fn subscribe(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Wanted(query): Wanted<RowQuery>,
    headers: HeaderMap,
) -> Result<Reply, Fault> {
    let full = || Fault::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_REQUESTS", "too many streams are open");
    let place = Arc::clone(&front.streams).try_acquire_owned().map_err(|_| full())?;
    let guest = front.feed.guests().enter(caller.name()).ok_or_else(full)?;
    let seen = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let next = match (seen.map(|seen| seen.saturating_add(1)), query.from) {
        (Some(next), _) | (None, Some(next)) => next,
        (None, None) => front.store.log.size().await?,
    };
    let plan = Plan::new(&front, &query).await?;
    let filter = Filter { from: None, below: None, ..plan.filter().clone() };
    let (size, newest_request) = (front.feed.follow(), front.feed.follow_requests());
    let (looked, place) = (Instant::now(), (place, guest));
    let follower =
        Follower { front, caller, filter, plan, next, size, newest_request, looked, _place: place };
    let mut reply = Reply::new(Body::from_stream(stream::unfold(Some(follower), |follower| async {
        let mut follower = follower?;
        let bytes = follower.next().await?;
        Some((Ok::<_, std::convert::Infallible>(bytes), Some(follower)))
    })));
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(reply)
}

impl Follower {
    /// Waits for what comes next; nothing when the stream is over.
    async fn next(&mut self) -> Option<Bytes> {
        let closed = self.front.feed.closed().clone();
        let over = self.caller.over.clone();
        let mut alive = std::pin::pin!(tokio::time::sleep(ALIVE));
        loop {
            if self.looked.elapsed() > LOOKS && !self.is_known().await {
                return None;
            }
            match self.read().await {
                Ok(Some(bytes)) => return Some(bytes),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!("a stream of the console ends: {error}");
                    return None;
                }
            }
            tokio::select! {
                () = closed.cancelled() => return None,
                () = over.cancelled() => return None,
                changed = self.size.changed() => changed.ok()?,
                changed = self.newest_request.changed() => {
                    changed.ok()?;
                    return Some(Bytes::from_static(FILED));
                }
                () = &mut alive => {
                    if !self.is_known().await {
                        return None;
                    }
                    return Some(Bytes::from_static(b": alive

"));
                }
            }
        }
    }

    /// Looks whether the person is still the one who began, and may still look.
    async fn is_known(&mut self) -> bool {
        self.looked = Instant::now();
        let own = &self.caller.principal;
        let proof = Proof::Named(own.name.clone());
        let found = self.front.store.approvals.principal(&proof).await;
        found.is_ok_and(|found| found.is_some_and(|found| found.since == own.since))
    }

    async fn read(&mut self) -> Result<Option<Bytes>, StoreError> {
        loop {
            let (events, next) = self.front.feed.from(self.next, &self.filter).await?;
            let moved = next > self.next;
            self.next = next;
            let mut all = BytesMut::new();
            let fitting = events.iter().filter(|event| self.plan.fits(&event.stored));
            fitting.for_each(|event| all.put(event.line(line)));
            if !all.is_empty() {
                return Ok(Some(all.freeze()));
            }
            if !moved {
                return Ok(None);
            }
        }
    }
}

/// Writes an entry as an event, which has the row of the activity page in it.
fn line(stored: &Stored) -> Bytes {
    let row = Row::of(stored);
    let data = json!({ "row": row, "html": row.html() });
    format!("id: {}\nevent: record\ndata: {data}\n\n", stored.index).into()
}
