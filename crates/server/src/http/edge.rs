//! The listening socket and its connections.
//!
//! INVARIANT: an address that others can reach is never listened on in plain text, and never without tokens.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::config::{AgentToken, EdgeConfig, EdgeLimits};
use super::error::EdgeError;
use super::guard::Guard;
use super::route::{Front, House, Peer, router};
use super::table::{CLOSING, Table};
use super::tls;
use super::token::{random, token_hash};
use crate::door::{Agent, Door};
use crate::message::MAX_MESSAGE;

/// The largest head of a request, and what is kept for one connection.
const HEAD: usize = 64 << 10;

/// How long to wait after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// How often in a row that may happen: a minute long.
const MOST_FAILURES: u32 = 600;

/// An HTTP endpoint that is listening.
pub struct Edge {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    front: Front,
}

impl std::fmt::Debug for Edge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Edge").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Edge {
    /// Listens on an address. Nothing is accepted until [`Edge::run`].
    ///
    /// # Errors
    ///
    /// The address cannot be taken, or must not be with this configuration.
    pub async fn bind(
        address: SocketAddr,
        config: EdgeConfig,
        door: Arc<dyn Door>,
    ) -> Result<Self, EdgeError> {
        let tls = permit(address, &config)?;
        let EdgeConfig { agents, anonymous, hosts, limits, .. } = config;
        let listener =
            TcpListener::bind(address).await.map_err(|source| EdgeError::Bind { address, source })?;
        let address = listener.local_addr().map_err(|source| EdgeError::Bind { address, source })?;
        let guard = Guard::new(address, &hosts)?;
        let agents = if anonymous { vec![anybody()] } else { agents };
        let table = Table::new(door, agents.iter().map(|one| one.agent.clone()).collect(), limits);
        let front = House::new(agents, anonymous, guard, limits, table);
        Ok(Self { listener, address, tls, front })
    }

    /// Returns the address that is listened on.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes connections until told to stop; then takes none any more, closes the rooms, and ends what is left after five
    /// seconds.
    ///
    /// # Errors
    ///
    /// No connection can be accepted any more.
    pub async fn run(self, until: impl Future<Output = ()>) -> Result<(), EdgeError> {
        let Self { listener, tls, front, .. } = self;
        let stop = CancellationToken::new();
        let kill = CancellationToken::new();
        // Whoever drops this instead of stopping it leaves no connection behind.
        let _ended = kill.clone().drop_guard();
        let connections = TaskTracker::new();
        let places = Arc::new(Semaphore::new(front.limits.connections));
        let router = router(&front);
        let sweeper = tokio::spawn(kill.clone().run_until_cancelled_owned(sweep(Arc::clone(&front))));
        let accepting = async {
            let mut failures = 0;
            loop {
                // Further connections wait in the queue of the system.
                let Ok(place) = Arc::clone(&places).acquire_owned().await else { return Ok(()) };
                match listener.accept().await {
                    Ok((stream, peer)) => {
                        failures = 0;
                        let connection = Connection {
                            router: router.clone(),
                            peer,
                            limits: front.limits,
                            stop: stop.clone(),
                            place,
                        };
                        connections.spawn(
                            kill.clone().run_until_cancelled_owned(connection.serve(stream, tls.clone())),
                        );
                    }
                    Err(source) if failures >= MOST_FAILURES => return Err(EdgeError::Accept { source }),
                    Err(error) => {
                        failures += 1;
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
        };
        let result = tokio::select! {
            result = accepting => result,
            () = until => Ok(()),
        };
        drop(listener);
        stop.cancel();
        connections.close();
        let closing = async { tokio::join!(front.table.stop(), connections.wait()) };
        let _in_time = tokio::time::timeout(CLOSING, closing).await;
        kill.cancel();
        let _ended = tokio::time::timeout(PAUSE, connections.wait()).await;
        let _ended = sweeper.await;
        result
    }
}

/// Checks that the address may be listened on with this configuration.
fn permit(address: SocketAddr, config: &EdgeConfig) -> Result<Option<TlsAcceptor>, EdgeError> {
    let is_loopback = address.ip().to_canonical().is_loopback();
    let agents = &config.agents;
    if config.anonymous && !is_loopback {
        return Err(EdgeError::AnonymousAbroad { address });
    }
    if config.anonymous && !agents.is_empty() {
        return Err(EdgeError::AnonymousBesideAgents);
    }
    if !config.anonymous && agents.is_empty() {
        return Err(EdgeError::NoAgents);
    }
    if config.tls.is_none() && !is_loopback {
        return Err(EdgeError::PlainText { address });
    }
    for (place, first) in agents.iter().enumerate() {
        let same = |other: &&AgentToken| other.hash == first.hash || other.agent.name == first.agent.name;
        if let Some(second) = agents.iter().skip(place + 1).find(same) {
            let (first, second) = (first.agent.name.clone(), second.agent.name.clone());
            return Err(EdgeError::SameAgent { first, second });
        }
    }
    check(&config.limits)?;
    config.tls.as_ref().map(tls::acceptor).transpose()
}

fn check(limits: &EdgeLimits) -> Result<(), EdgeError> {
    #[rustfmt::skip]
    let all = [
        ("body",                (1..=MAX_MESSAGE).contains(&limits.body)),
        ("sessions",            limits.sessions > 0),
        ("sessions_per_agent",  limits.sessions_per_agent > 0),
        ("requests_per_minute", limits.requests_per_minute > 0),
        ("connections",         (1..=Semaphore::MAX_PERMITS).contains(&limits.connections)),
        ("in_flight",           (1..=Semaphore::MAX_PERMITS).contains(&limits.in_flight)),
        ("idle",                !limits.idle.is_zero()),
        ("header_timeout",      !limits.header_timeout.is_zero()),
        ("body_timeout",        !limits.body_timeout.is_zero()),
        ("keep_alive",          !limits.keep_alive.is_zero()),
    ];
    match all.into_iter().find(|(_, fits)| !fits) {
        Some((limit, _)) => Err(EdgeError::Limit { limit }),
        None => Ok(()),
    }
}

/// Who everybody is where nobody shows a token. Its own token is known to nobody.
fn anybody() -> AgentToken {
    let agent = Agent { name: "anonymous".to_owned(), ..Agent::default() };
    AgentToken { agent, hash: token_hash(&format!("{:?}", random::<32>())) }
}

async fn sweep(front: Front) {
    let pause = (front.limits.idle / 4).clamp(Duration::from_millis(10), Duration::from_secs(30));
    loop {
        tokio::time::sleep(pause).await;
        front.table.sweep();
    }
}

/// One connection.
struct Connection {
    router: Router,
    peer: SocketAddr,
    limits: EdgeLimits,
    stop: CancellationToken,
    place: OwnedSemaphorePermit,
}

impl Connection {
    async fn serve(self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        let _fast = stream.set_nodelay(true);
        match tls {
            None => self.speak(stream).await,
            Some(tls) => match tokio::time::timeout(self.limits.header_timeout, tls.accept(stream)).await {
                Ok(Ok(stream)) => self.speak(stream).await,
                Ok(Err(error)) => tracing::debug!(peer = %self.peer, %error, "a handshake failed"),
                Err(_) => tracing::debug!(peer = %self.peer, "a handshake took too long"),
            },
        }
    }

    async fn speak(self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        let Self { router, peer, limits, stop, place } = self;
        let router = TowerToHyperService::new(router.into_service::<Incoming>());
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer.ip()));
            router.call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header_timeout)
            .max_buf_size(HEAD)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%peer, %error, "a connection broke");
        }
        drop(place);
    }
}
