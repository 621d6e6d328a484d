//! A listening socket and its connections, for whichever router stands behind it.

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
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection_slots::{ConnectionSlot, ConnectionSlots};
use super::error::EdgeError;
use super::route::Peer;
use super::table::CLOSING;
use super::write_timeout::WriteTimeout;

/// The largest head of a request, and what is kept for one connection.
const HEAD: usize = 64 << 10;

/// How long to wait after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// How often in a row that may happen: a minute long.
const MOST_FAILURES: u32 = 600;

/// A socket that is listening. Nothing is accepted until [`Listener::run`].
pub(crate) struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    bounds: Bounds,
}

/// How many connections there may be, and how long they may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// How many there may be. Beyond that a new one takes the place of an old one that has not shown who it is, or waits.
    pub(crate) connections: usize,
    /// How long a handshake, the head of a request and the time between two requests may take.
    pub(crate) header_timeout: Duration,
    /// How long the other end may take nothing of what is sent.
    pub(crate) write_timeout: Duration,
}

impl Listener {
    /// Listens on an address.
    pub(crate) async fn bind(
        address: SocketAddr,
        tls: Option<TlsAcceptor>,
        bounds: Bounds,
    ) -> Result<Self, EdgeError> {
        let taken = |source| EdgeError::Bind { address, source };
        let socket = TcpListener::bind(address).await.map_err(taken)?;
        let address = socket.local_addr().map_err(taken)?;
        Ok(Self { socket, address, tls, bounds })
    }

    /// Returns the address that is listened on.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes connections until told to stop; then takes none any more, waits for `closing` and for what is under way, and ends
    /// what is left after five seconds.
    pub(crate) async fn run(
        self,
        router: Router,
        until: impl Future<Output = ()>,
        closing: impl Future<Output = ()>,
    ) -> Result<(), EdgeError> {
        let Self { socket, tls, bounds, .. } = self;
        let stop = CancellationToken::new();
        let kill = CancellationToken::new();
        // Whoever drops this instead of stopping it leaves no connection behind.
        let _ended = kill.clone().drop_guard();
        let connections = TaskTracker::new();
        let connection_slots = ConnectionSlots::new(bounds.connections);
        let accepting = async {
            let mut failures = 0;
            loop {
                match socket.accept().await {
                    Ok((stream, peer)) => {
                        failures = 0;
                        let router = router.clone();
                        // Further connections wait in the queue of the system.
                        let place = connection_slots.enter(peer).await;
                        let connection = Connection { router, peer, bounds, stop: stop.clone(), place };
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
        drop(socket);
        stop.cancel();
        connections.close();
        let closing = async { tokio::join!(closing, connections.wait()) };
        let _in_time = tokio::time::timeout(CLOSING, closing).await;
        kill.cancel();
        let _ended = tokio::time::timeout(PAUSE, connections.wait()).await;
        result
    }
}

/// One connection.
struct Connection {
    router: Router,
    peer: SocketAddr,
    bounds: Bounds,
    stop: CancellationToken,
    place: Arc<ConnectionSlot>,
}

impl Connection {
    /// Serves a connection until it ends or its place is given to another.
    async fn serve(self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        let (place, peer) = (Arc::clone(&self.place), self.peer);
        tokio::select! {
            () = self.served(stream, tls) => {}
            () = place.evicted() => tracing::debug!(%peer, "a connection made room for another"),
        }
    }

    async fn served(self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        let _fast = stream.set_nodelay(true);
        let stream = WriteTimeout::new(stream, self.bounds.write_timeout);
        match tls {
            None => self.speak(stream).await,
            Some(tls) => match tokio::time::timeout(self.bounds.header_timeout, tls.accept(stream)).await {
                Ok(Ok(stream)) => self.speak(stream).await,
                Ok(Err(error)) => tracing::debug!(peer = %self.peer, %error, "a handshake failed"),
                Err(_) => tracing::debug!(peer = %self.peer, "a handshake took too long"),
            },
        }
    }

    async fn speak(self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        let Self { router, peer, bounds, stop, place } = self;
        let router = TowerToHyperService::new(router.into_service::<Incoming>());
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer.ip()));
            request.extensions_mut().insert(Arc::clone(&place));
            router.call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(bounds.header_timeout)
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
    }
}
