//! The newest entries of the log, read once for everybody who looks.
//!
//! The log itself is followed, not what happens in this process: so everybody sees what any machine wrote into the database, and
//! whoever falls behind or comes back reads on where they were.
//!
//! INVARIANT: a follower is given every entry that fits, once and in order, whatever is forgotten here.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use ringfence::audit::{Filter, Stored};
use ringfence::{ApprovalStore, RequestFilter, RequestState};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::port::AuditLog;
use super::fit::fits;
use super::guest::Guests;

/// How often it is looked for new entries while somebody follows, and while the database cannot be read.
const PAUSE: Duration = Duration::from_millis(200);
const TROUBLE: Duration = Duration::from_secs(2);
/// How many entries are read at once.
const BATCH: usize = 500;
/// How many entries are remembered, and how large they may be together.
const MOST: usize = 4096;
const MOST_BYTES: usize = 8 << 20;
/// How long after an approval was asked for it is looked whether its request is filed: longer than a store tries to file one.
const FILING: Duration = Duration::from_secs(120);

/// An entry of the log, with what is sent of it.
pub(crate) struct Event {
    pub(crate) stored: Stored,
    line: OnceLock<Bytes>,
}

impl Event {
    pub(crate) const fn new(stored: Stored) -> Self {
        Self { stored, line: OnceLock::new() }
    }

    /// Returns what is sent of it, made once for everybody.
    pub(crate) fn line(&self, make: impl FnOnce(&Stored) -> Bytes) -> Bytes {
        self.line.get_or_init(|| make(&self.stored)).clone()
    }

    fn bytes(&self) -> usize {
        let outputs = [&self.stored.raw, &self.stored.clean].into_iter().flatten().map(String::len);
        self.stored.record.len() + outputs.sum::<usize>() + 512
    }
}

/// The newest entries.
pub(crate) struct Feed {
    log: Arc<dyn AuditLog>,
    approvals: Arc<dyn ApprovalStore>,
    recent: Mutex<Recent>,
    /// How many entries are known.
    size: watch::Sender<u64>,
    /// The newest open request. The log says that somebody is asked before there is a request to decide.
    newest_request: watch::Sender<Option<String>>,
    closed: CancellationToken,
    guests: Guests,
}

#[derive(Default)]
struct Recent {
    events: VecDeque<Arc<Event>>,
    bytes: usize,
    /// The first entry that was not read yet.
    next: Option<u64>,
    /// Until when a request may still be filed.
    filing: Option<Instant>,
}

impl Recent {
    /// Returns where to read on. What was asked just before somebody looks may not be filed yet.
    fn begin(&mut self, size: u64) -> u64 {
        *self.next.get_or_insert_with(|| {
            self.filing = Some(Instant::now() + FILING);
            size
        })
    }

    fn add(&mut self, stored: Vec<Stored>, next: u64) {
        if stored.iter().any(|stored| stored.kind == "approval") {
            self.filing = Some(Instant::now() + FILING);
        }
        for stored in stored {
            let event = Event::new(stored);
            self.bytes += event.bytes();
            self.events.push_back(Arc::new(event));
        }
        while self.events.len() > MOST || self.bytes > MOST_BYTES {
            let Some(gone) = self.events.pop_front() else { break };
            self.bytes -= gone.bytes();
        }
        self.next = Some(next);
    }
}

impl Feed {
    pub(crate) fn new(log: Arc<dyn AuditLog>, approvals: Arc<dyn ApprovalStore>) -> Self {
        Self {
            log,
            approvals,
            recent: Mutex::default(),
            size: watch::Sender::new(0),
            newest_request: watch::Sender::new(None),
            closed: CancellationToken::new(),
            guests: Guests::default(),
        }
    }

    /// Follows the log while somebody follows the feed.
    pub(crate) async fn run(&self) {
        loop {
            let pause = if self.size.receiver_count() == 0 {
                self.forget();
                PAUSE
            } else {
                match self.advance().await {
                    Ok(true) => Duration::ZERO,
                    Ok(false) => PAUSE,
                    Err(error) => {
                        tracing::warn!("the console cannot read the log: {error}");
                        TROUBLE
                    }
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Ends every stream.
    pub(crate) fn close(&self) {
        self.closed.cancel();
    }

    pub(crate) const fn guests(&self) -> &Guests {
        &self.guests
    }

    pub(crate) fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// Begins to follow; the value is how many entries there are.
    pub(crate) fn follow(&self) -> watch::Receiver<u64> {
        self.size.subscribe()
    }

    /// Begins to follow which request was filed last.
    pub(crate) fn follow_requests(&self) -> watch::Receiver<Option<String>> {
        self.newest_request.subscribe()
    }

    /// Returns how many follow.
    pub(crate) fn followers(&self) -> usize {
        self.size.receiver_count()
    }

    /// Returns the events from an index on, and the index to go on from; from the log where they are remembered no more.
    pub(crate) async fn from(
        &self,
        index: u64,
        filter: &Filter,
    ) -> Result<(Vec<Arc<Event>>, u64), ringfence::StoreError> {
        let known = *self.size.borrow();
        if index >= known {
            return Ok((Vec::new(), index));
        }
        if let Some(events) = self.remembered(index, known) {
            let fitting = events.into_iter().filter(|event| fits(filter, &event.stored)).collect();
            return Ok((fitting, known));
        }
        let bounded = Filter { below: Some(known), light: true, ..filter.clone() };
        let stored = self.log.entries(&bounded, index, BATCH).await?;
        let next = match stored.last() {
            Some(last) if stored.len() == BATCH => last.index + 1,
            _ => known,
        };
        Ok((stored.into_iter().map(|stored| Arc::new(Event::new(stored))).collect(), next))
    }

    /// Returns the events in a range, where all of them are remembered.
    fn remembered(&self, from: u64, to: u64) -> Option<Vec<Arc<Event>>> {
        let recent = self.recent();
        let first = recent.events.front()?.stored.index;
        if first > from {
            return None;
        }
        let skipped = usize::try_from(from - first).ok()?;
        let wanted = recent.events.iter().skip(skipped);
        Some(wanted.take_while(|event| event.stored.index < to).cloned().collect())
    }

    /// Reads what is new; says whether there is more.
    async fn advance(&self) -> Result<bool, ringfence::StoreError> {
        let size = self.log.size().await?;
        // What was there before somebody looked is read by whoever wants it.
        let next = self.recent().begin(size);
        self.look_for_requests().await?;
        if size <= next {
            self.size.send_if_modified(|known| std::mem::replace(known, next) != next);
            return Ok(false);
        }
        let stored = self.log.entries(&Filter { light: true, ..Filter::default() }, next, BATCH).await?;
        let Some(next) = stored.last().map(|stored| stored.index + 1) else { return Ok(false) };
        self.recent().add(stored, next);
        self.size.send_replace(next);
        Ok(next < size)
    }

    /// Looks which open request is the newest, while one may still be filed.
    async fn look_for_requests(&self) -> Result<(), ringfence::StoreError> {
        if self.recent().filing.is_none_or(|until| Instant::now() > until) {
            return Ok(());
        }
        let filter = RequestFilter { state: Some(RequestState::Open), most: 1, ..RequestFilter::default() };
        let listed = self.approvals.list_requests(&filter).await?;
        let damaged = listed.damaged.into_iter().map(|damaged| damaged.id);
        let newest = listed.requests.into_iter().map(|filed| filed.id).chain(damaged).next();
        self.newest_request.send_if_modified(|known| {
            let is_other = *known != newest;
            *known = newest;
            is_other
        });
        Ok(())
    }

    /// Forgets everything while nobody follows.
    fn forget(&self) {
        *self.recent() = Recent::default();
        self.newest_request.send_replace(None);
        self.size.send_replace(0);
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
