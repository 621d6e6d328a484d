//! What a server says to a request for an upgrade, and what is said in place of a server.

use httparse::{EMPTY_HEADER, Status};

use super::{HttpFault, LONGEST_HEAD, MOST_HEADERS};

/// How every response begins.
const BEGINNING: &[u8] = b"HTTP/1.";

/// The status of a server's agreement to an upgrade.
const SWITCHING_PROTOCOLS: u16 = 101;

/// Reads the status of the first final response; what the server says before it is skipped.
#[derive(Debug, Default)]
pub struct Answer {
    head: Vec<u8>,
    verdict: Option<Result<u16, HttpFault>>,
}

impl Answer {
    /// Makes a reader for the start of what the server says.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the bytes that came since the last time, and returns the status once it is known. It stays what it is.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Option<u16>, HttpFault> {
        for &byte in bytes {
            if self.verdict.is_some() {
                break;
            }
            self.verdict = self.next(byte);
            if self.verdict.is_some() {
                self.head = Vec::new();
            }
        }
        self.verdict.clone().transpose()
    }

    fn next(&mut self, byte: u8) -> Option<Result<u16, HttpFault>> {
        if BEGINNING.get(self.head.len()).is_some_and(|&expected| expected != byte) {
            return Some(Err(HttpFault::Answer));
        }
        self.head.push(byte);
        if self.head.ends_with(b"\n\r\n") || self.head.ends_with(b"\n\n") {
            return match status(&self.head) {
                Some(status) if is_interim(status) => {
                    self.head.clear();
                    None
                }
                Some(status) => Some(Ok(status)),
                None => Some(Err(HttpFault::Answer)),
            };
        }
        (self.head.len() >= LONGEST_HEAD).then_some(Err(HttpFault::AnswerLong))
    }
}

/// Writes a complete response that refuses a request, with the reason as its text.
pub fn forbidden(message: &str) -> Vec<u8> {
    let length = message.len().saturating_add(1);
    format!(
        "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{message}\n"
    )
    .into_bytes()
}

fn status(head: &[u8]) -> Option<u16> {
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(head) {
        Ok(Status::Complete(_)) => response.code,
        Ok(Status::Partial) | Err(_) => None,
    }
}

const fn is_interim(status: u16) -> bool {
    matches!(status, 100..=199) && status != SWITCHING_PROTOCOLS
}
