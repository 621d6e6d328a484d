//! HTTP to granted hosts, by pinned addresses.

use std::sync::Arc;

use ringfence_egress::{Client, EgressError, Request, Response};
use ringfence_policy::{Code, Grant, NetworkGrant, Refusal};

/// Sends requests to granted hosts and no others. Every redirect hop is judged again.
#[derive(Clone, Debug)]
pub struct ScopedFetch {
    grant: Arc<Grant>,
    client: Client,
}

impl ScopedFetch {
    pub(crate) const fn new(grant: Arc<Grant>, client: Client) -> Self {
        Self { grant, client }
    }

    /// Sends a request.
    ///
    /// # Errors
    ///
    /// `HOST_NOT_ALLOWED` for a host or address outside the grant; see [`EgressError`] for the rest.
    pub async fn fetch(&self, request: Request) -> Result<Response, EgressError> {
        self.client.send(self.network()?, request).await
    }

    /// Fetches a URL.
    ///
    /// # Errors
    ///
    /// As [`ScopedFetch::fetch`].
    pub async fn get(&self, url: &str) -> Result<Response, EgressError> {
        self.fetch(Request::get(url)?).await
    }

    fn network(&self) -> Result<&NetworkGrant, Refusal> {
        self.grant.network.as_ref().ok_or_else(|| Refusal::new(Code::HostNotAllowed, "no host was declared"))
    }
}
