//! What was sent on the streams of one session, so that a client that lost a connection gets the rest.
//!
//! INVARIANT: no more than [`MOST_EVENTS`] events and [`MOST_BYTES`] bytes are kept, whatever happens.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::time::Instant;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::feed::{Answered, Event};

/// How many events of one session are kept.
pub(super) const MOST_EVENTS: usize = 256;

/// How much of one session is kept.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// How many events wait for one connection.
const ROOM: usize = 4;

/// The stream that belongs to no request.
pub(super) const STANDALONE: u64 = 0;

/// Which event of which stream. Before the first comes number nought.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct EventId {
    pub(super) stream: u64,
    pub(super) number: u64,
}

/// The streams of one session.
#[derive(Default)]
pub(super) struct Log {
    events: VecDeque<(EventId, Event)>,
    bytes: usize,
    streams: HashMap<u64, Stream>,
    opened: u64,
}

#[derive(Default)]
struct Stream {
    sent: u64,
    sink: Option<Sink>,
    ended: Option<Instant>,
}

/// The connection that a stream goes to.
#[derive(Clone)]
pub(super) struct Sink {
    to: mpsc::Sender<Event>,
    replaced: CancellationToken,
}

impl Sink {
    fn new() -> (Self, mpsc::Receiver<Event>) {
        let (to, coming) = mpsc::channel(ROOM);
        (Self { to, replaced: CancellationToken::new() }, coming)
    }

    /// Sends an event when there is room for it, unless another connection has taken the place of this one: that one found the
    /// event in the log.
    pub(super) async fn send(&self, event: Event) {
        let _sent = self.replaced.run_until_cancelled(self.to.send(event)).await;
    }
}

/// What is left of a stream: what was missed, and what is still to come.
pub(super) struct Rest {
    pub(super) missed: Vec<Event>,
    pub(super) coming: Option<mpsc::Receiver<Event>>,
}

impl Log {
    /// Begins a stream, and returns its number and what comes on it.
    pub(super) fn open(&mut self) -> (u64, mpsc::Receiver<Event>) {
        self.opened += 1;
        let (sink, coming) = Sink::new();
        self.streams.insert(self.opened, Stream { sink: Some(sink), ..Stream::default() });
        (self.opened, coming)
    }

    /// Numbers and keeps an event, and returns it with the connection it is to go to.
    pub(super) fn push(
        &mut self,
        stream: u64,
        line: Bytes,
        answer: Option<Answered>,
    ) -> (Event, Option<Sink>) {
        let entry = self.streams.entry(stream).or_default();
        entry.sent += 1;
        let sink = entry.sink.clone();
        let id = EventId { stream, number: entry.sent };
        let event = Event { id: Some(id), line, answer };
        self.bytes += event.line.len();
        self.events.push_back((id, event.clone()));
        while self.events.len() > MOST_EVENTS || self.bytes > MOST_BYTES {
            let Some((_, gone)) = self.events.pop_front() else { break };
            self.bytes -= gone.line.len();
        }
        (event, sink)
    }

    /// Ends a stream: whoever reads it gets what is kept, and then its end.
    pub(super) fn end(&mut self, stream: u64) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.sink = None;
            stream.ended = Some(Instant::now());
        }
    }

    /// Forgets a stream.
    pub(super) fn forget(&mut self, stream: u64) {
        self.streams.remove(&stream);
        self.drop_events(|id| id.stream == stream);
    }

    /// Forgets the streams that ended before.
    pub(super) fn prune(&mut self, before: Instant) {
        self.streams.retain(|_, stream| stream.ended.is_none_or(|ended| ended >= before));
        let streams = std::mem::take(&mut self.streams);
        self.drop_events(|id| id.stream != STANDALONE && !streams.contains_key(&id.stream));
        self.streams = streams;
    }

    /// Returns what came after an event on its stream, and connects whoever asks with what is still to come. An older
    /// connection of the stream ends.
    pub(super) fn resume(&mut self, after: EventId) -> Rest {
        let missed = self.missed(after);
        let coming = match self.streams.get_mut(&after.stream) {
            Some(stream) if stream.ended.is_none() => {
                let (sink, coming) = Sink::new();
                if let Some(old) = stream.sink.replace(sink) {
                    old.replaced.cancel();
                }
                Some(coming)
            }
            _ => None,
        };
        Rest { missed, coming }
    }

    /// Returns what is kept of what came after an event on its stream.
    pub(super) fn missed(&self, after: EventId) -> Vec<Event> {
        let later = |id: &EventId| id.stream == after.stream && id.number > after.number;
        self.events.iter().filter(|(id, _)| later(id)).map(|(_, event)| event.clone()).collect()
    }

    fn drop_events(&mut self, is_gone: impl Fn(&EventId) -> bool) {
        self.events.retain(|(id, _)| !is_gone(id));
        self.bytes = self.events.iter().map(|(_, event)| event.line.len()).sum();
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream, self.number)
    }
}

/// What was given is no id of an event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct NoEventId;

impl FromStr for EventId {
    type Err = NoEventId;

    fn from_str(text: &str) -> Result<Self, NoEventId> {
        let (stream, number) = text.split_once('-').ok_or(NoEventId)?;
        let whole = |digits: &str| {
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| digits.parse().ok()).flatten().ok_or(NoEventId)
        };
        Ok(Self { stream: whole(stream)?, number: whole(number)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(events: &[Event]) -> Vec<String> {
        events.iter().map(|event| String::from_utf8(event.line.to_vec()).unwrap()).collect()
    }

    #[test]
    fn what_was_missed_comes_from_its_own_stream_only() {
        let mut log = Log::default();
        let ((one, _first), (two, _second)) = (log.open(), log.open());
        for (stream, text) in [(one, "a"), (two, "x"), (one, "b"), (two, "y"), (one, "c")] {
            drop(log.push(stream, text.into(), None));
        }
        assert_eq!(texts(&log.missed(EventId { stream: one, number: 0 })), ["a", "b", "c"]);
        assert_eq!(texts(&log.missed(EventId { stream: one, number: 2 })), ["c"]);
        assert_eq!(texts(&log.missed(EventId { stream: two, number: 1 })), ["y"]);
        assert!(log.missed(EventId { stream: 9, number: 0 }).is_empty());
        log.end(one);
        let rest = log.resume(EventId { stream: one, number: 1 });
        assert_eq!(texts(&rest.missed), ["b", "c"]);
        assert!(rest.coming.is_none(), "nothing comes after the end");
        assert!(log.resume(EventId { stream: two, number: 0 }).coming.is_some());
        log.forget(two);
        assert!(log.resume(EventId { stream: two, number: 0 }).coming.is_none());
        log.prune(Instant::now());
        assert!(log.events.is_empty() && log.streams.is_empty() && log.bytes == 0);
    }

    #[test]
    fn no_more_than_so_much_is_kept() {
        let mut log = Log::default();
        let (stream, _coming) = log.open();
        for _ in 0..MOST_EVENTS + 10 {
            drop(log.push(stream, "a".into(), None));
        }
        assert_eq!(log.events.len(), MOST_EVENTS);
        assert_eq!(log.missed(EventId { stream, number: 0 })[0].id.unwrap().number, 11);
        drop(log.push(stream, vec![b'a'; MOST_BYTES - 2].into(), None));
        assert_eq!((log.events.len(), log.bytes), (3, MOST_BYTES));
        drop(log.push(stream, vec![b'a'; MOST_BYTES + 1].into(), None));
        assert_eq!((log.events.len(), log.bytes), (0, 0));
    }

    #[test]
    fn ids_are_read_as_they_are_written() {
        assert_eq!("3-17".parse(), Ok(EventId { stream: 3, number: 17 }));
        assert_eq!(EventId { stream: 3, number: 17 }.to_string(), "3-17");
        for text in ["", "3", "-1", "3-", "a-1", "1-+1", "1-2-3", "1-99999999999999999999"] {
            assert_eq!(text.parse::<EventId>(), Err(NoEventId), "{text}");
        }
    }
}
