//! The far end of a connection: servers on an address of their own, which remember everything that reached them.
//!
//! INVARIANT: what is accepted is remembered before anything is read, so that an empty log means that no connection
//! arrived at all.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UdpSocket};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::http::{self, Pages};
use super::speech::{self, Speech};

/// What reached a far end.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Who connected to which port, as soon as that was accepted.
    connections: Vec<(SocketAddr, u16)>,
    /// Whom the clients asked for that finished a TLS handshake.
    pub(crate) handshakes: Vec<Option<String>>,
    /// The heads of the requests.
    pub(crate) requests: Vec<String>,
    /// How many bytes the protocols below HTTP were sent.
    pub(crate) bytes: u64,
    /// How many datagrams came.
    pub(crate) datagrams: usize,
}

/// A log that the servers of one far end share.
pub(crate) type Shared = Arc<Mutex<Log>>;

/// What answers on a port.
pub(crate) enum Service {
    /// HTTP in the clear.
    Http,
    /// HTTP inside TLS.
    Https(TlsAcceptor),
    /// Another protocol.
    Speech(Speech),
    /// One datagram for each that comes.
    Udp,
}

/// One far end.
pub(crate) struct Far {
    pub(crate) address: IpAddr,
    pub(crate) log: Shared,
    pub(crate) pages: Arc<Pages>,
    ports: Vec<u16>,
    tasks: Vec<JoinHandle<()>>,
    probes: Mutex<Vec<SocketAddr>>,
}

impl Far {
    /// A far end with these pages on an address, on which nothing listens yet.
    pub(crate) fn new(address: IpAddr, pages: Pages) -> Self {
        Self {
            address,
            log: Shared::default(),
            pages: Arc::new(pages),
            ports: Vec::new(),
            tasks: Vec::new(),
            probes: Mutex::default(),
        }
    }

    /// Serves on a port, or on a free one when that is 0; returns which.
    pub(crate) fn serve(&mut self, port: u16, service: Service) -> u16 {
        let (log, pages) = (Arc::clone(&self.log), Arc::clone(&self.pages));
        if let Service::Udp = service {
            let socket = bound(runtime().block_on(UdpSocket::bind((self.address, port))), self.address, port);
            let port = socket.local_addr().unwrap().port();
            self.tasks.push(runtime().spawn(speech::datagrams(socket, log, pages)));
            return port;
        }
        let listener = bound(runtime().block_on(TcpListener::bind((self.address, port))), self.address, port);
        let port = listener.local_addr().unwrap().port();
        let service = Arc::new(service);
        self.ports.push(port);
        self.tasks.push(runtime().spawn(async move {
            loop {
                // Too many open files at once pass by.
                let Ok((stream, from)) = listener.accept().await else {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    continue;
                };
                log.lock().unwrap().connections.push((from, port));
                let (service, log, pages) = (Arc::clone(&service), Arc::clone(&log), Arc::clone(&pages));
                tokio::spawn(async move {
                    match &*service {
                        Service::Http => http::serve(stream, &log, &pages).await,
                        Service::Https(acceptor) => sealed(stream, acceptor, &log, &pages).await,
                        Service::Speech(speech) => speech.speak(stream, &log, &pages).await,
                        Service::Udp => {}
                    }
                });
            }
        }));
        port
    }

    /// Returns how many connections arrived, once all that were made have been accepted.
    pub(crate) fn connections(&self) -> usize {
        for port in &self.ports {
            self.settle(*port);
        }
        let probes = self.probes.lock().unwrap();
        self.log.lock().unwrap().connections.iter().filter(|(from, _)| !probes.contains(from)).count()
    }

    /// Whether nothing at all arrived.
    pub(crate) fn untouched(&self) -> Result<(), String> {
        match (self.connections(), &*self.log.lock().unwrap()) {
            (0, Log { datagrams: 0, .. }) => Ok(()),
            (count, log) => Err(format!("{count} connections reached {}: {log:?}", self.address)),
        }
    }

    /// Connects after everyone else: connections are accepted in the order in which they were made.
    fn settle(&self, port: u16) {
        let probe = TcpStream::connect((self.address, port)).unwrap();
        let own = probe.local_addr().unwrap();
        self.probes.lock().unwrap().push(own);
        let begun = Instant::now();
        while !self.log.lock().unwrap().connections.contains(&(own, port)) {
            assert!(begun.elapsed() < Duration::from_secs(120), "the far end does not accept");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

async fn sealed<S>(stream: S, acceptor: &TlsAcceptor, log: &Shared, pages: &Pages)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if let Ok(stream) = acceptor.accept(stream).await {
        let asked = stream.get_ref().1.server_name().map(str::to_owned);
        log.lock().unwrap().handshakes.push(asked);
        http::serve(stream, log, pages).await;
    }
}

fn bound<S>(socket: io::Result<S>, address: IpAddr, port: u16) -> S {
    socket.unwrap_or_else(|error| {
        panic!(
            "the tests need {address}:{port} and cannot have it: {error} (run them as root, or lower \
             net.ipv4.ip_unprivileged_port_start, and see with `ss -ltnp` who listens there)"
        )
    })
}

/// An address of loopback that nobody else uses: those of one process differ from those of the others.
pub(crate) fn address() -> IpAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let octet = |number: u32| u8::try_from(number).unwrap();
    let (own, next) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    Ipv4Addr::new(127, octet(64 + own % 60), octet(own / 60 % 250), octet(2 + next % 250)).into()
}

/// What the servers run on.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
    })
}
