//! Output on its way to an observer, which may block for as long as it likes: it runs on a thread of its own.
//!
//! INVARIANT: no more than [`CAPACITY`] bytes and one read wait here. Where there is no room, the supervisor does not read, the pipe
//! fills, and the command waits; the supervisor never does.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

use crate::stream::{Observer, Stream};

/// How many bytes may wait before the command has to.
pub(super) const CAPACITY: usize = 256 << 10;
/// How many bytes are handed over at once. A reader that takes this much makes progress.
const SLICE: usize = 16 << 10;

/// A bounded queue between the supervisor and an observer.
pub(super) struct OutputQueue {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    added: Condvar,
    /// Becomes readable when there is room again, when nothing waits any more, and when a stream is refused.
    changed: OwnedFd,
}

#[derive(Default)]
struct State {
    pieces: VecDeque<(Stream, Vec<u8>)>,
    /// Bytes that wait, and those that the observer has just now.
    waiting: usize,
    /// How often the observer has taken something.
    taken: u64,
    /// Which streams the observer has had enough of.
    refused: Refused,
    /// Nothing more is handed over.
    is_closed: bool,
}

#[derive(Clone, Copy, Default)]
struct Refused {
    error: bool,
    output: bool,
}

impl Refused {
    const fn has(self, stream: Stream) -> bool {
        match stream {
            Stream::Error => self.error,
            Stream::Output => self.output,
        }
    }

    const fn add(&mut self, stream: Stream) {
        match stream {
            Stream::Error => self.error = true,
            Stream::Output => self.output = true,
        }
    }
}

impl OutputQueue {
    /// Starts the thread of the observer.
    pub(super) fn new(observer: Observer) -> Result<Self, Errno> {
        let changed = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared = Arc::new(Shared { state: Mutex::default(), added: Condvar::new(), changed });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("ringfence-output".into());
        // It is not joined: an observer that never returns keeps nobody.
        thread.spawn(move || hand_over(&theirs, observer)).map_err(|_| Errno::AGAIN)?;
        Ok(Self { shared })
    }

    /// Returns the descriptor that becomes readable when something has changed.
    pub(super) fn changed(&self) -> BorrowedFd<'_> {
        self.shared.changed.as_fd()
    }

    /// Takes note of what has changed.
    pub(super) fn acknowledge(&self) {
        // Nothing to read is nothing new.
        let _count = rustix::io::read(&self.shared.changed, &mut [0; 8]);
    }

    pub(super) fn has_room(&self) -> bool {
        self.shared.lock().waiting < CAPACITY
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shared.lock().waiting == 0
    }

    /// Returns how often the observer has taken something.
    pub(super) fn taken(&self) -> u64 {
        self.shared.lock().taken
    }

    pub(super) fn is_refused(&self, stream: Stream) -> bool {
        self.shared.lock().refused.has(stream)
    }

    pub(super) fn push(&self, stream: Stream, bytes: &[u8]) {
        let mut state = self.shared.lock();
        if bytes.is_empty() || state.refused.has(stream) {
            return;
        }
        state.waiting += bytes.len();
        state.pieces.push_back((stream, bytes.to_vec()));
        drop(state);
        self.shared.added.notify_one();
    }
}

impl Drop for OutputQueue {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_closed = true;
        state.pieces.clear();
        drop(state);
        self.shared.added.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self) {
        // Fails only where it would tell what is told already.
        let _told = rustix::io::write(&self.changed, &1_u64.to_ne_bytes());
    }

    /// Waits for the next piece; nothing when no more comes.
    fn next(&self) -> Option<(Stream, Vec<u8>)> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(piece) = state.pieces.pop_front() {
                return Some(piece);
            }
            state = self.added.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Notes that so many bytes wait no more.
    fn settle(&self, bytes: usize) {
        let mut state = self.lock();
        let was_full = state.waiting >= CAPACITY;
        state.waiting -= bytes.min(state.waiting);
        state.taken += 1;
        let is_news = (was_full && state.waiting < CAPACITY) || state.waiting == 0;
        drop(state);
        if is_news {
            self.tell();
        }
    }

    /// Drops what waits of a stream.
    fn refuse(&self, stream: Stream) {
        let mut state = self.lock();
        state.refused.add(stream);
        let before: usize = state.pieces.iter().map(|(_, piece)| piece.len()).sum();
        state.pieces.retain(|(of, _)| *of != stream);
        let after: usize = state.pieces.iter().map(|(_, piece)| piece.len()).sum();
        state.waiting -= before - after;
        drop(state);
        self.tell();
    }
}

fn hand_over(shared: &Shared, mut observer: Observer) {
    while let Some((stream, piece)) = shared.next() {
        let mut rest = piece.len();
        for slice in piece.chunks(SLICE) {
            let wanted = observer(stream, slice);
            rest -= slice.len();
            if wanted.is_break() {
                shared.refuse(stream);
                shared.settle(slice.len() + rest);
                break;
            }
            shared.settle(slice.len());
            if shared.lock().is_closed {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use super::*;

    fn wait_until(what: impl Fn() -> bool) {
        let begun = Instant::now();
        while !what() {
            assert!(begun.elapsed() < Duration::from_secs(30), "nothing happens");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn an_observer_that_blocks_fills_the_queue_and_loses_nothing() {
        let (release, released) = channel::<()>();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (theirs, mut is_first) = (Arc::clone(&seen), true);
        let queue = OutputQueue::new(Box::new(move |stream, bytes| {
            if std::mem::take(&mut is_first) {
                released.recv().unwrap();
            }
            theirs.lock().unwrap().push((stream, bytes.to_vec()));
            ControlFlow::Continue(())
        }))
        .unwrap();
        let piece = vec![7; 40 << 10];
        let mut pushed = 0;
        while queue.has_room() {
            queue.push(if pushed % 2 == 0 { Stream::Output } else { Stream::Error }, &piece);
            pushed += 1;
        }
        assert_eq!(pushed, CAPACITY.div_ceil(piece.len()));
        std::thread::sleep(Duration::from_millis(20));
        assert!(!queue.has_room() && queue.taken() == 0);
        release.send(()).unwrap();
        wait_until(|| queue.is_empty());
        let mut poll =
            [rustix::event::PollFd::from_borrowed_fd(queue.changed(), rustix::event::PollFlags::IN)];
        assert_eq!(rustix::event::poll(&mut poll, Some(&rustix::event::Timespec::default())), Ok(1));
        let seen = seen.lock().unwrap();
        assert_eq!(seen.iter().map(|(_, bytes)| bytes.len()).sum::<usize>(), pushed * piece.len());
        // In the order in which it came.
        let order: Vec<Stream> = seen.iter().map(|(stream, _)| *stream).collect();
        let expected = (0..pushed).flat_map(|number| {
            std::iter::repeat_n(if number % 2 == 0 { Stream::Output } else { Stream::Error }, 3)
        });
        assert_eq!(order, expected.collect::<Vec<_>>());
    }

    #[test]
    fn a_refused_stream_is_dropped_and_the_other_goes_on() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let theirs = Arc::clone(&seen);
        let queue = OutputQueue::new(Box::new(move |stream, bytes| {
            if stream == Stream::Output {
                return ControlFlow::Break(());
            }
            theirs.lock().unwrap().extend_from_slice(bytes);
            ControlFlow::Continue(())
        }))
        .unwrap();
        queue.push(Stream::Output, &vec![1; 100 << 10]);
        wait_until(|| queue.is_refused(Stream::Output) && queue.is_empty());
        queue.push(Stream::Output, b"more");
        queue.push(Stream::Error, b"still here");
        wait_until(|| queue.is_empty());
        assert!(!queue.is_refused(Stream::Error));
        assert_eq!(*seen.lock().unwrap(), b"still here");
    }
}
