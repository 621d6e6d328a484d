//! Small servers on loopback, and grants and clients that reach them.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use ringfence_egress::{Client, Dialer, Scope, StaticResolver};
use ringfence_policy::{HostSet, NetworkCeiling, NetworkGrant, Private};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::AbortOnDropHandle;

/// A server that answers every request by one function and remembers what it was sent.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
    _task: AbortOnDropHandle<()>,
}

impl Server {
    /// Serves plain HTTP on an address of 127.0.0.0/8.
    pub(crate) async fn start<F>(ip: &str, respond: F) -> Self
    where
        F: Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    {
        Self::start_with(ip, None, respond).await
    }

    /// Serves HTTP, inside TLS where an acceptor is given.
    #[expect(clippy::disallowed_methods, reason = "a test needs someone to talk to")]
    pub(crate) async fn start_with<F>(ip: &str, tls: Option<TlsAcceptor>, respond: F) -> Self
    where
        F: Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    {
        let listener = TcpListener::bind((ip, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (record, respond) = (Arc::clone(&seen), Arc::new(respond));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, record, respond) = (tls.clone(), Arc::clone(&record), Arc::clone(&respond));
                tokio::spawn(async move {
                    match tls {
                        None => answer(stream, &record, &*respond).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(session) => answer(session, &record, &*respond).await,
                            Err(_) => record.lock().unwrap().push("(no handshake)".to_owned()),
                        },
                    }
                });
            }
        });
        Self { address, seen, _task: AbortOnDropHandle::new(task) }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the requests so far, as they came over the wire.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

/// In a response: say no more and do not hang up.
pub(crate) const HOLD: &[u8] = b"x-hold: yes\r\n";

async fn answer<S>(mut stream: S, seen: &Mutex<Vec<String>>, respond: &(dyn Fn(&str) -> Vec<u8> + Sync))
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut request = Vec::new();
    while !complete(&request) {
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let response = respond(&request);
    seen.lock().unwrap().push(request);
    // A client that has had enough closes early.
    let _written = stream.write_all(&response).await;
    if response.windows(HOLD.len()).any(|window| window == HOLD) {
        std::future::pending::<()>().await;
    }
    let _closed = stream.shutdown().await;
}

fn complete(request: &[u8]) -> bool {
    if request.first() == Some(&0x16) {
        return true; // a TLS handshake at a server that speaks none
    }
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

/// A response with a length.
pub(crate) fn response(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes =
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

pub(crate) fn ok(body: &str) -> Vec<u8> {
    response("200 OK", "", body.as_bytes())
}

pub(crate) fn redirect(status: &str, location: &str) -> Vec<u8> {
    response(status, &format!("location: {location}\r\n"), b"")
}

pub(crate) fn set(patterns: &[&str]) -> HostSet {
    patterns.iter().map(|text| text.parse().unwrap()).collect()
}

/// What a tool that declares `*` gets.
pub(crate) fn grant(allow: &[&str], private: &[&str]) -> NetworkGrant {
    let private = Private::parse(private.iter().copied()).unwrap();
    NetworkGrant::meet(&set(&["*"]), &NetworkCeiling::new(set(allow), private))
}

/// The same, as a scope with the default limits.
pub(crate) fn scope(allow: &[&str], private: &[&str]) -> Scope {
    Scope::new(grant(allow, private))
}

pub(crate) fn resolver(table: &[(&str, &[&str])]) -> StaticResolver {
    table.iter().fold(StaticResolver::new(), |resolver, (name, addresses)| {
        resolver.with(name.parse().unwrap(), addresses.iter().map(|text| text.parse::<IpAddr>().unwrap()))
    })
}

/// A client for which every name under `acme.io` that the tests use is on loopback.
pub(crate) fn client() -> Client {
    let table: &[(&str, &[&str])] = &[("one.acme.io", &["127.0.0.1"]), ("two.acme.io", &["127.0.0.2"])];
    Client::builder().dialer(Dialer::new(Arc::new(resolver(table)))).build()
}
