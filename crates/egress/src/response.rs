//! What came back: the head, and a body that is still to be read.

use std::fmt;
use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use crate::EgressError;
use crate::body::Body;

/// A response whose body streams under a size limit and the deadline of its request.
#[must_use = "dropping a Response closes its connection"]
pub struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) url: Url,
    pub(crate) address: SocketAddr,
    pub(crate) body: Body,
    pub(crate) deadline: Instant,
    pub(crate) _connection: AbortOnDropHandle<()>,
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
        timeout_at(self.deadline, self.body.chunk()).await.map_err(|_| EgressError::Deadline)?
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

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
