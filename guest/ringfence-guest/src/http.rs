//! A small blocking HTTP client. Every request is judged by the host against the hosts that were granted.
//!
//! Redirects are answers like others: whoever follows one makes a new request, which is judged anew.
//!
//! INVARIANT: a body longer than the request's limit is an error, never cut off in silence.

mod address;
mod error;
mod response;
#[cfg(target_family = "wasm")]
mod send;

pub(crate) use address::Address;
pub use error::HttpError;
pub use response::Response;

#[cfg(not(target_family = "wasm"))]
use crate::outside::http as send;

/// How long a response's body may be where a request does not say.
pub const DEFAULT_MOST: usize = 1024 * 1024;

/// Fetches a URL.
///
/// # Errors
///
/// A URL that cannot be read, a host that was not granted, and whatever goes wrong on the way. A status such as 404 is
/// no error.
pub fn get(url: &str) -> Result<Response, HttpError> {
    request("GET", url).send()
}

/// Starts a request, which [`Request::send`] makes.
pub fn request(method: &str, url: &str) -> Request {
    Request {
        method: method.to_owned(),
        url: url.to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
        most: DEFAULT_MOST,
    }
}

/// A request that has not been made yet. It starts without headers and body.
#[must_use = "a request does nothing until `send` is called"]
#[derive(Clone, Debug)]
pub struct Request {
    pub(crate) method: String,
    url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) most: usize,
}

impl Request {
    /// Adds a header (can be repeated).
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets how many bytes the response's body may have; [`DEFAULT_MOST`] where this is not called.
    pub fn most(mut self, bytes: usize) -> Self {
        self.most = bytes;
        self
    }

    /// Makes the request and waits for the whole response.
    ///
    /// # Errors
    ///
    /// As for [`get`].
    pub fn send(self) -> Result<Response, HttpError> {
        let address = Address::parse(&self.url)?;
        if self.method.is_empty() || !self.method.bytes().all(|letter| letter.is_ascii_alphabetic()) {
            return Err(HttpError::Header { name: self.method });
        }
        send::send(&self, &address)
    }
}
