//! HTTP to granted hosts, by pinned addresses.

use ringfence_egress::{Client, EgressError, Request, Response, Scope};

use crate::touch::Touches;

/// Sends requests to granted hosts and no others. Every redirect hop is judged again.
#[derive(Clone, Debug)]
pub struct ScopedFetch {
    scope: Scope,
    client: Client,
    touches: Touches,
}

impl ScopedFetch {
    pub(crate) const fn new(scope: Scope, client: Client, touches: Touches) -> Self {
        Self { scope, client, touches }
    }

    /// Sends a request.
    ///
    /// # Errors
    ///
    /// `HOST_NOT_ALLOWED` for a host or address outside the grant; `CALL_ENDED` after the call;
    /// see [`EgressError`] for the rest.
    pub async fn fetch(&self, request: Request) -> Result<Response, EgressError> {
        self.touches.admit("host", request.url().host_str().unwrap_or_default())?;
        self.client.send(&self.scope, request).await
    }

    /// Fetches a URL.
    ///
    /// # Errors
    ///
    /// As [`ScopedFetch::fetch`].
    pub async fn get(&self, url: &str) -> Result<Response, EgressError> {
        self.fetch(Request::get(url)?).await
    }
}
