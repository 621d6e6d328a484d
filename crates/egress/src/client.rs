//! The HTTP client: every hop is judged, dialled and, for https, verified anew.

mod exchange;
mod metered;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::header;
use rustls::pki_types::CertificateDer;
use tokio::time::{Instant, timeout_at};

use crate::tls::{Roots, Tls};
use crate::{Dialer, EgressError, Request, Response, Scope, redirect};

/// No exchange is waited for longer, whatever was asked; it keeps the clock's arithmetic in range.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// An HTTP/1.1 client that goes where a scope lets it; cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    dialer: Dialer,
    tls: Arc<Tls>,
    deadline: Duration,
    limit: u64,
    redirects: usize,
}

impl Client {
    /// Starts from 30 seconds, 10 MiB of decoded body, 10 redirects, the system's resolver, the platform's roots.
    pub fn builder() -> ClientBuilder {
        ClientBuilder {
            dialer: Dialer::default(),
            roots: Roots::Platform,
            extra: Vec::new(),
            deadline: Duration::from_secs(30),
            limit: 10 * 1024 * 1024,
            redirects: 10,
        }
    }

    /// Sends a request and follows its redirects; the response's body is still to be read.
    ///
    /// Each hop is a connection of the scope: judged by its live grant, counted, told of, and cut with it.
    pub async fn send(&self, scope: &Scope, request: Request) -> Result<Response, EgressError> {
        let allowed = request.deadline.unwrap_or(self.deadline).min(LONGEST);
        let deadline = Instant::now() + allowed;
        timeout_at(deadline, self.follow(scope, request, deadline))
            .await
            .map_err(|_| EgressError::Deadline)?
    }

    async fn follow(
        &self,
        scope: &Scope,
        mut request: Request,
        deadline: Instant,
    ) -> Result<Response, EgressError> {
        for _ in 0..=self.redirects {
            let response = self.exchange(scope, &request, deadline).await?;
            if request.keeps_redirects {
                return Ok(response);
            }
            request = match location(&response)? {
                Some(location) => request.redirected(response.status, location)?,
                None => return Ok(response),
            };
        }
        Err(EgressError::Redirects { limit: self.redirects })
    }
}

/// Returns where a redirect leads. Two places are refused: nobody can tell which one was meant.
fn location(response: &Response) -> Result<Option<&str>, EgressError> {
    if !redirect::is_redirect(response.status) {
        return Ok(None);
    }
    let mut locations = response.headers.get_all(header::LOCATION).iter();
    match (locations.next(), locations.next()) {
        (None, _) => Ok(None),
        (Some(only), None) => match std::str::from_utf8(only.as_bytes()) {
            Ok(location) => Ok(Some(location)),
            Err(_) => Err(redirect::refused("its location does not parse")),
        },
        (Some(_), Some(_)) => Err(redirect::refused("it names two locations")),
    }
}

/// Settings of a [`Client`].
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct ClientBuilder {
    dialer: Dialer,
    roots: Roots,
    extra: Vec<CertificateDer<'static>>,
    deadline: Duration,
    limit: u64,
    redirects: usize,
}

impl ClientBuilder {
    /// Sets the dialer.
    pub fn dialer(mut self, dialer: Dialer) -> Self {
        self.dialer = dialer;
        self
    }

    /// Trusts these roots as well (can be repeated).
    pub fn extra_roots(mut self, roots: impl IntoIterator<Item = CertificateDer<'static>>) -> Self {
        self.extra.extend(roots);
        self
    }

    /// Trusts only the extra roots.
    pub fn without_platform_roots(mut self) -> Self {
        self.roots = Roots::Own;
        self
    }

    /// Sets how long an exchange may take from its lookup to the end of its body.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Sets how many decoded bytes a response may have.
    pub fn limit(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    /// Sets how many redirects are followed.
    pub fn redirects(mut self, redirects: usize) -> Self {
        self.redirects = redirects;
        self
    }

    /// Makes the client. The roots are read at the first https request.
    pub fn build(self) -> Client {
        let tls = Arc::new(Tls { roots: self.roots, extra: self.extra, config: OnceLock::new() });
        Client {
            dialer: self.dialer,
            tls,
            deadline: self.deadline,
            limit: self.limit,
            redirects: self.redirects,
        }
    }
}
