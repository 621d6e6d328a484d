//! Requests of HTTP/1 on their way out: which bytes of a connection may pass.
//!
//! [`Requests`] judges what the client sends, request by request; [`Answer`] reads the status of what the server
//! says to a request for an upgrade. Bytes pass unchanged or not at all: nothing is rewritten.
//!
//! INVARIANT: a byte is let through only as part of a request whose Host is the target, or of such a request's body;
//! however the bytes are cut, the same ones pass. Where a request could be read in two ways, it is refused: a server
//! that reads it otherwise would find a request in it that nobody judged.

mod answer;
mod chunk;
mod fault;
mod head;
mod section;

use ringfence_policy::Target;

pub use answer::{Answer, forbidden};
pub use fault::HttpFault;

use head::{Framing, Head};
use section::Section;

/// How many bytes the head of a request or a response may have.
pub const LONGEST_HEAD: usize = 64 * 1024;

/// How many header fields a head or a trailer may have.
const MOST_HEADERS: usize = 100;

/// The requests of one connection.
#[derive(Debug)]
pub struct Requests {
    target: Target,
    state: State,
    begun: bool,
    fault: Option<HttpFault>,
}

/// What may become of the bytes that wait.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Judged {
    /// How many of the first bytes may be sent on now.
    pub forward: usize,
    /// How many requests begin among them.
    pub requests: u32,
    /// Whether nothing more passes until the server has answered a request for an upgrade.
    pub pause: bool,
}

/// Where in the stream the first byte that waits is.
#[derive(Debug)]
enum State {
    /// Inside the data of a chunk of which this much is left.
    Chunk(u64),
    /// Between the data of a chunk and its line end.
    ChunkEnd,
    /// Before the line with the size of a chunk.
    ChunkSize,
    /// Before or inside the head of a request.
    Head(Section),
    /// Inside a body of which this much is left.
    Length(u64),
    /// Behind a request for an upgrade.
    Paused,
    /// Behind the last chunk.
    Trailer(Section),
    /// Behind an upgrade: what is said is no longer HTTP.
    Upgraded,
}

impl Requests {
    /// Starts to judge a connection that goes to the target.
    pub const fn new(target: Target) -> Self {
        Self { target, state: State::Head(Section::head()), begun: false, fault: None }
    }

    /// Judges the bytes from the client that were not sent on yet, from the same place in the stream on.
    ///
    /// The caller sends on and removes what may go, and calls again with what is left and what came since. A fault is
    /// told when nothing before it is left to send on, and from then on always.
    pub fn judge(&mut self, pending: &[u8]) -> Result<Judged, HttpFault> {
        let mut judged = Judged::default();
        while self.fault.is_none() {
            match pending.get(judged.forward..) {
                None | Some([]) => break,
                Some(rest) => match self.step(rest, &mut judged) {
                    Ok(0) => break,
                    Ok(taken) => judged.forward = judged.forward.saturating_add(taken),
                    Err(fault) => self.fault = Some(fault),
                },
            }
        }
        if let (Some(fault), 0) = (&self.fault, judged.forward) {
            return Err(fault.clone());
        }
        judged.pause = matches!(self.state, State::Paused);
        Ok(judged)
    }

    /// Tells whether the client may stop here: no request has begun that is not complete.
    pub const fn ended(&self) -> bool {
        match &self.state {
            State::Head(section) => !section.has_begun() && self.fault.is_none(),
            State::Paused | State::Upgraded => true,
            State::Chunk(_) | State::ChunkEnd | State::ChunkSize | State::Length(_) | State::Trailer(_) => {
                false
            }
        }
    }

    /// Lets everything pass from now on, because the server has agreed to the upgrade that was paused for.
    pub fn upgraded(&mut self) {
        if matches!(self.state, State::Paused) {
            self.state = State::Upgraded;
        }
    }

    /// Goes on with the next request, because the server has not agreed to the upgrade that was paused for.
    pub fn not_upgraded(&mut self) {
        if matches!(self.state, State::Paused) {
            self.state = State::Head(Section::head());
        }
    }

    /// Takes one piece from the front and says how long it is; nothing means that more has to come first.
    fn step(&mut self, rest: &[u8], judged: &mut Judged) -> Result<usize, HttpFault> {
        let (taken, next) = match &mut self.state {
            State::Chunk(left) => match pass(left, rest) {
                (taken, true) => (taken, State::ChunkEnd),
                (taken, false) => return Ok(taken),
            },
            State::ChunkEnd => match rest {
                [b'\r', b'\n', ..] => (2, State::ChunkSize),
                [b'\r'] => return Ok(0),
                _ => return Err(HttpFault::ChunkEnd),
            },
            State::ChunkSize => match chunk::size(rest)? {
                None => return Ok(0),
                Some((taken, 0)) => (taken, State::Trailer(Section::trailer())),
                Some((taken, size)) => (taken, State::Chunk(size)),
            },
            State::Head(section) => {
                let Some(bytes) = section.complete(rest)? else { return Ok(0) };
                let next = self.after(&head::read(bytes, &self.target)?)?;
                self.begun = true;
                judged.requests = judged.requests.saturating_add(1);
                (bytes.len(), next)
            }
            State::Length(left) => match pass(left, rest) {
                (taken, true) => (taken, State::Head(Section::head())),
                (taken, false) => return Ok(taken),
            },
            State::Paused => return Ok(0),
            State::Trailer(section) => {
                let Some(bytes) = section.complete(rest)? else { return Ok(0) };
                head::check_trailer(bytes)?;
                (bytes.len(), State::Head(Section::head()))
            }
            State::Upgraded => return Ok(rest.len()),
        };
        self.state = next;
        Ok(taken)
    }

    /// Says what follows a head.
    const fn after(&self, head: &Head) -> Result<State, HttpFault> {
        match (head.upgrade, &head.framing) {
            (true, _) if self.begun => Err(HttpFault::UpgradeLate),
            (true, Framing::Length(0) | Framing::None) => Ok(State::Paused),
            (true, Framing::Chunked | Framing::Length(_)) => Err(HttpFault::UpgradeBody),
            (false, Framing::Chunked) => Ok(State::ChunkSize),
            (false, Framing::Length(0) | Framing::None) => Ok(State::Head(Section::head())),
            (false, Framing::Length(length)) => Ok(State::Length(*length)),
        }
    }
}

/// Counts down by what is there, and says how much that is and whether nothing is left.
fn pass(left: &mut u64, rest: &[u8]) -> (usize, bool) {
    let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
    *left = left.saturating_sub(taken as u64);
    (taken, *left == 0)
}

#[cfg(test)]
mod tests;
