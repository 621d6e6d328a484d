//! What came back: the head, and a body that is still to be read.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use crate::EgressError;
use crate::body::Body;
use crate::scope::{Ticket, Verdict};

/// A response whose body streams under a size limit and the deadline of its request.
#[must_use = "dropping a Response closes its connection"]
pub struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) url: Url,
    pub(crate) address: SocketAddr,
    pub(crate) body: Body,
    pub(crate) deadline: Instant,
    pub(crate) connection: AbortOnDropHandle<()>,
    pub(crate) receipt: Receipt,
}

impl Response {
    /// Returns the status.
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the headers, without those that decoding the body has made untrue.
    pub const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns the URL that answered, after redirects.
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the judged address that answered.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the next piece of the decoded body, or none at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, EgressError> {
        let chunk = timeout_at(self.deadline, self.body.chunk()).await;
        match chunk.unwrap_or(Err(EgressError::Deadline)) {
            Ok(Some(chunk)) => Ok(Some(chunk)),
            Ok(None) => {
                self.connection.abort();
                self.receipt.done();
                Ok(None)
            }
            Err(error) => Err(self.receipt.explain(error)),
        }
    }

    /// Reads the whole body.
    pub async fn bytes(mut self) -> Result<Bytes, EgressError> {
        let Some(first) = self.chunk().await? else { return Ok(Bytes::new()) };
        let Some(second) = self.chunk().await? else { return Ok(first) };
        let mut whole = BytesMut::from(first);
        whole.extend_from_slice(&second);
        while let Some(chunk) = self.chunk().await? {
            whole.extend_from_slice(&chunk);
        }
        Ok(whole.freeze())
    }

    /// Reads the whole body as UTF-8; what is not is replaced.
    pub async fn text(self) -> Result<String, EgressError> {
        let bytes = self.bytes().await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Reads the whole body as JSON.
    pub async fn json<T: DeserializeOwned>(self) -> Result<T, EgressError> {
        let bytes = self.bytes().await?;
        serde_json::from_slice(&bytes).map_err(EgressError::Json)
    }
}

/// Holds the ticket of an exchange and tells of it when the exchange is over.
#[derive(Debug)]
pub(crate) struct Receipt {
    ticket: Arc<Ticket>,
    answered: bool,
}

impl Receipt {
    pub(crate) fn new(ticket: Ticket) -> Self {
        Self { ticket: Arc::new(ticket), answered: false }
    }

    /// Takes down that an answer came. How much of it is read is up to the caller.
    pub(crate) fn answered(mut self) -> Self {
        self.answered = true;
        self
    }

    fn done(&self) {
        self.ticket.settle(Verdict::Done);
        self.ticket.tell();
    }

    pub(crate) fn ticket(&self) -> Arc<Ticket> {
        Arc::clone(&self.ticket)
    }

    /// Takes down how the exchange ended, and says of one that its scope ended why it did.
    pub(crate) fn explain(&self, error: EgressError) -> EgressError {
        if let Some(refusal) = self.ticket.why_cut() {
            return refusal.into();
        }
        self.ticket.settle(match &error {
            EgressError::Deadline => Verdict::Cut { message: error.to_string() },
            EgressError::Refused(refusal) => refusal.into(),
            _ => Verdict::Failed { message: error.to_string() },
        });
        error
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if self.answered {
            self.done();
        } else {
            self.ticket.tell();
        }
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
