//! The listening console.
//!
//! INVARIANT: an address that others can reach is never listened on in plain text.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use ringfence::Principal;

use super::access::Cookies;
use super::act::Verifications;
use super::config::{ConsoleConfig, ConsoleParts};
use super::enter::enter;
use super::front::Front;
use super::live::Feed;
use super::summary::Summary;
use super::{api, page};
use crate::http::{Bounds, EdgeError, Guard, Listener, Rate, acceptor};

/// How many connections there may be. Beyond that a new one takes the place of one of nobody who is logged in.
const CONNECTIONS: usize = 512;
/// How many of them may be streams, so that there are always places to decide.
const STREAMS: usize = 128;
/// How long a handshake, the head of a request and the time between two requests of a connection may take.
const HEADER: Duration = Duration::from_secs(20);
/// How long a browser may take nothing of what is sent to it.
const WRITE: Duration = Duration::from_secs(30);
/// How often a peer may try to log in, in a minute.
const LOGINS: u32 = 20;

/// A console that is listening.
pub struct Console {
    listener: Listener,
    front: Arc<Front>,
    /// The name under which others know it.
    host: Option<String>,
}

impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").field("address", &self.address()).finish_non_exhaustive()
    }
}

impl Console {
    /// Listens on an address. Nothing is accepted until [`Console::run`].
    ///
    /// # Errors
    ///
    /// The address cannot be taken, or must not be with this configuration.
    pub async fn bind(
        address: SocketAddr,
        config: ConsoleConfig,
        parts: ConsoleParts,
    ) -> Result<Self, EdgeError> {
        let ConsoleConfig { hosts, tls, trust } = config;
        if tls.is_none() && !address.ip().to_canonical().is_loopback() {
            return Err(EdgeError::PlainText { address });
        }
        let tls = tls.as_ref().map(acceptor).transpose()?;
        let secure = tls.is_some();
        let listener = {
            let bounds = Bounds { connections: CONNECTIONS, header_timeout: HEADER, write_timeout: WRITE };
            Listener::bind(address, tls, bounds).await?
        };
        let guard = Guard::new(listener.address(), &hosts)?;
        let host = hosts.into_iter().next();
        let ConsoleParts { store, desk, live, access } = parts;
        let front = Front {
            feed: Feed::new(Arc::clone(&store.log), Arc::clone(&store.approvals)),
            summary: Summary::new(Arc::clone(&store.log)),
            store,
            desk,
            live,
            access,
            cookies: Cookies { secure },
            guard,
            logins: Rate::new(LOGINS),
            trust,
            counted: std::sync::Mutex::new(None),
            streams: Arc::new(tokio::sync::Semaphore::new(STREAMS)),
            verifications: Verifications::default(),
        };
        Ok(Self { listener, front: Arc::new(front), host })
    }

    /// Returns the address that is listened on.
    pub const fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Returns where the console is.
    pub fn url(&self) -> String {
        let scheme = if self.front.cookies.secure { "https" } else { "http" };
        format!("{scheme}://{}/", authority(self.host.as_deref(), self.address()))
    }

    /// Makes a link that lets somebody in once, within a quarter of an hour, unless they are revoked meanwhile.
    pub fn login_link(&self, person: Principal) -> String {
        format!("{}login?code={}", self.url(), self.front.access.links.add(person))
    }

    /// Takes connections until told to stop.
    ///
    /// # Errors
    ///
    /// No connection can be accepted any more.
    pub async fn run(self, until: impl Future<Output = ()>) -> Result<(), EdgeError> {
        let Self { listener, front, .. } = self;
        let feeding = tokio_util::task::AbortOnDropHandle::new(tokio::spawn({
            let front = Arc::clone(&front);
            async move { tokio::join!(front.feed.run(), front.summary.run()) }
        }));
        let router = router(&front);
        let stopped = async {
            until.await;
            // Streams end, so that nobody waits for them.
            front.feed.close();
        };
        let result = listener.run(router, stopped, std::future::ready(())).await;
        drop(feeding);
        result
    }
}

/// Returns what a browser is told to connect to: the first name that was given, and never an address of nobody.
fn authority(host: Option<&str>, address: SocketAddr) -> String {
    let port = address.port();
    let has_port = |host: &str| !host.ends_with(']') && host.contains(':');
    match host {
        Some(host) if has_port(host) => host.to_owned(),
        Some(host) => format!("{host}:{port}"),
        None if address.ip().is_unspecified() => format!("localhost:{port}"),
        None => address.to_string(),
    }
}

fn router(front: &Arc<Front>) -> Router {
    Router::new()
        .merge(page::routes())
        .merge(api::routes())
        .fallback(page::nothing_here)
        .layer(from_fn_with_state(Arc::clone(front), enter))
        .with_state(Arc::clone(front))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_where_the_guard_lets_in() {
        #[rustfmt::skip]
        let cases = [
            (None,                        "127.0.0.1:7118", "127.0.0.1:7118"),
            (None,                        "0.0.0.0:7118",   "localhost:7118"),
            (None,                        "[::]:7118",      "localhost:7118"),
            (Some("fence.example"),       "0.0.0.0:7118",   "fence.example:7118"),
            (Some("fence.example:443"),   "10.0.0.5:7118",  "fence.example:443"),
            (Some("[2001:db8::1]"),       "[::]:7118",      "[2001:db8::1]:7118"),
        ];
        for (host, address, expected) in cases {
            let (address, hosts) = (address.parse().unwrap(), host.map(str::to_owned));
            assert_eq!(authority(host, address), expected);
            let guard = Guard::new(address, hosts.as_slice()).unwrap();
            let request = axum::http::Request::builder().header("host", expected).body(()).unwrap();
            assert!(guard.admits(&request.into_parts().0), "{expected}");
        }
    }
}
