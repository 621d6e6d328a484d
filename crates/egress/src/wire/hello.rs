//! The first words of a TLS connection: whose name its ClientHello carries.
//!
//! The hello is read by the same code that a TLS server would use; it is only looked at, and the bytes go on
//! untouched. With an encrypted ClientHello the outer name counts, because it is the only one there is to read. A
//! second hello, which a server may ask for, is not read: where it goes has been decided by then.
//!
//! INVARIANT: however the bytes are cut, the verdict is the same, and what follows the hello never changes it.

use ringfence_policy::HostName;
use rustls::server::Acceptor;
use rustls::{Error, InvalidMessage, PeerIncompatible};

/// How many bytes may pass before the hello is complete. The TLS library joins no more than this.
pub const LONGEST_HELLO: usize = 0xFFFF;

/// A fatal alert, `access_denied`, in a record of its own.
const ALERT: &[u8] = &[0x15, 3, 3, 0, 2, 2, 49];

/// How a connection begins that speaks TLS: a handshake record, of any version since SSL 3.
const BEGINNING: [u8; 2] = [0x16, 3];

/// What is known of the hello so far.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Hello {
    /// It is not complete.
    More,
    /// It is for this name.
    Name(HostName),
    /// It carries no name, or an address in place of one.
    Nameless,
}

/// Why what came is no hello that can be judged.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum HelloFault {
    /// It breaks the rules of TLS, or its name is none.
    #[error("the TLS hello is malformed")]
    Malformed,
    /// It is something else.
    #[error("the connection does not begin with a TLS hello")]
    NotTls,
    /// It is from before TLS 1.2.
    #[error("the TLS hello is older than TLS 1.2")]
    Outdated,
    /// It does not end.
    #[error("the TLS hello is longer than {LONGEST_HELLO} bytes")]
    TooLong,
}

/// Reads a hello from bytes as they come.
#[derive(Default)]
pub struct HelloReader(State);

impl HelloReader {
    /// Makes a reader for the start of a connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the bytes that came since the last time. A verdict is final: whatever is taken after it changes nothing.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Hello, HelloFault> {
        if let State::Reading { acceptor, taken } = &mut self.0 {
            match read(acceptor, taken, bytes) {
                Ok(Hello::More) => return Ok(Hello::More),
                // The acceptor and its buffers are dropped here, before the connection goes on.
                verdict => self.0 = State::Decided(verdict),
            }
        }
        match &self.0 {
            State::Decided(verdict) => verdict.clone(),
            State::Reading { .. } => Ok(Hello::More),
        }
    }
}

impl std::fmt::Debug for HelloReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            State::Decided(verdict) => f.debug_tuple("HelloReader").field(verdict).finish(),
            State::Reading { taken, .. } => f.debug_struct("HelloReader").field("taken", taken).finish(),
        }
    }
}

/// Returns the record to send to a client whose hello is refused.
pub const fn alert() -> &'static [u8] {
    ALERT
}

enum State {
    Decided(Result<Hello, HelloFault>),
    Reading { acceptor: Box<Acceptor>, taken: usize },
}

impl Default for State {
    fn default() -> Self {
        Self::Reading { acceptor: Box::default(), taken: 0 }
    }
}

fn read(acceptor: &mut Acceptor, taken: &mut usize, mut bytes: &[u8]) -> Result<Hello, HelloFault> {
    if BEGINNING.iter().skip(*taken).zip(bytes).any(|(expected, byte)| expected != byte) {
        return Err(HelloFault::NotTls);
    }
    while !bytes.is_empty() {
        // The library asks for a few kilobytes at a time, so that it is asked for its verdict before its buffer fills.
        let count = acceptor.read_tls(&mut bytes).map_err(|_| HelloFault::TooLong)?;
        *taken = taken.saturating_add(count);
        match acceptor.accept() {
            Ok(None) if count == 0 || *taken >= LONGEST_HELLO => return Err(HelloFault::TooLong),
            Ok(None) => {}
            Ok(Some(accepted)) => {
                return match accepted.client_hello().server_name() {
                    None => Ok(Hello::Nameless),
                    Some(name) => name.parse().map(Hello::Name).map_err(|_| HelloFault::Malformed),
                };
            }
            Err((error, _alert)) => return Err(fault(&error)),
        }
    }
    Ok(Hello::More)
}

fn fault(error: &Error) -> HelloFault {
    match error {
        Error::InvalidMessage(InvalidMessage::HandshakePayloadTooLarge) => HelloFault::TooLong,
        Error::PeerIncompatible(PeerIncompatible::SignatureAlgorithmsExtensionRequired) => {
            HelloFault::Outdated
        }
        _ => HelloFault::Malformed,
    }
}

#[cfg(test)]
mod tests;
