//! Judge, resolve once, refuse or pin, dial: the only way out.
//!
//! INVARIANT: a socket is opened only to an address that was judged for this very call, and between judging and
//! dialling nothing is looked up again.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use ringfence_policy::{Code, Host, HostName, NetworkGrant, Refusal, Target};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::{EgressError, LookupPermits, Resolver, SystemResolver, own};

/// How long an address may be silent before the next one is tried beside it.
const STAGGER: Duration = Duration::from_millis(250);

/// A connection and the judged address it goes to.
#[derive(Debug)]
pub struct Pinned {
    /// The connection.
    pub stream: TcpStream,
    /// The address that was judged and dialled.
    pub address: SocketAddr,
}

/// Opens connections that a grant admits.
#[derive(Clone, Debug)]
pub struct Dialer {
    resolver: Arc<dyn Resolver>,
    connect_timeout: Duration,
    resolve_timeout: Duration,
}

impl Default for Dialer {
    fn default() -> Self {
        Self::new(Arc::new(SystemResolver))
    }
}

impl Dialer {
    /// Makes a dialer that waits 5 seconds for a lookup and 10 for each address.
    pub fn new(resolver: Arc<dyn Resolver>) -> Self {
        Self { resolver, connect_timeout: Duration::from_secs(10), resolve_timeout: Duration::from_secs(5) }
    }

    /// Sets how long one address may take to connect.
    #[must_use]
    pub fn connect_timeout(mut self, connect_timeout: Duration) -> Self {
        self.connect_timeout = connect_timeout;
        self
    }

    /// Sets how long a lookup may take.
    #[must_use]
    pub fn resolve_timeout(mut self, resolve_timeout: Duration) -> Self {
        self.resolve_timeout = resolve_timeout;
        self
    }

    /// Connects to a target that the grant admits, at an address that the grant admits.
    pub async fn dial(&self, grant: &NetworkGrant, target: &Target) -> Result<Pinned, EgressError> {
        self.dial_within(&LookupPermits::default(), grant, target).await
    }

    /// The same, as one of the lookups that share these permits.
    pub(crate) async fn dial_within(
        &self,
        permits: &LookupPermits,
        grant: &NetworkGrant,
        target: &Target,
    ) -> Result<Pinned, EgressError> {
        let addresses = self.pin_within(permits, grant, target).await?;
        let connected = self.connect(&addresses).await;
        connected.map_err(|problem| EgressError::Connect { target: target.clone(), problem })
    }

    /// Judges the target, resolves it once and judges every answer; one refused answer refuses all.
    ///
    /// Whoever dials by other means dials these addresses and no others.
    pub async fn pin(&self, grant: &NetworkGrant, target: &Target) -> Result<Vec<SocketAddr>, EgressError> {
        self.pin_within(&LookupPermits::default(), grant, target).await
    }

    async fn pin_within(
        &self,
        permits: &LookupPermits,
        grant: &NetworkGrant,
        target: &Target,
    ) -> Result<Vec<SocketAddr>, EgressError> {
        grant.judge(target)?;
        let name = match &target.host {
            Host::Address(address) => {
                own::judge(grant, target, *address)?;
                return Ok(vec![SocketAddr::new(*address, target.port)]);
            }
            Host::Name(name) => name,
        };
        let mut pinned = Vec::new();
        for address in self.resolve(permits, name).await? {
            grant.judge_address(target, address)?;
            own::judge(grant, target, address)?;
            let address = SocketAddr::new(address, target.port);
            if !pinned.contains(&address) {
                pinned.push(address);
            }
        }
        Ok(pinned)
    }

    async fn resolve(&self, permits: &LookupPermits, name: &HostName) -> Result<Vec<IpAddr>, Refusal> {
        let refusal = |why: &str| Refusal::new(Code::HostNotFound, format!("{name} does not resolve: {why}"));
        match timeout(self.resolve_timeout, self.resolver.resolve_within(name, permits)).await {
            Ok(Ok(addresses)) if addresses.is_empty() => Err(refusal("there is no answer")),
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(error)) => Err(refusal(&error.to_string())),
            Err(_) => Err(refusal("the lookup took too long")),
        }
    }

    /// Tries the addresses in order, each beside a silent one before it; the first to connect wins.
    async fn connect(&self, addresses: &[SocketAddr]) -> io::Result<Pinned> {
        let mut waiting = addresses.iter().copied();
        let mut attempts = FuturesUnordered::new();
        let mut problem = io::Error::from(io::ErrorKind::AddrNotAvailable);
        loop {
            match waiting.next() {
                Some(address) => attempts.push(self.attempt(address)),
                None if attempts.is_empty() => return Err(problem),
                None => {}
            }
            let stagger = async {
                if waiting.len() == 0 { std::future::pending().await } else { sleep(STAGGER).await }
            };
            tokio::select! {
                Some(ended) = attempts.next() => match ended {
                    Ok(pinned) => return Ok(pinned),
                    Err(error) => problem = error,
                },
                () = stagger => {}
            }
        }
    }

    async fn attempt(&self, address: SocketAddr) -> io::Result<Pinned> {
        let connecting = timeout(self.connect_timeout, TcpStream::connect(address));
        let stream = connecting.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        stream.set_nodelay(true)?;
        Ok(Pinned { stream, address })
    }
}
