//! Turning names into addresses. A resolver only answers; the dialer judges every answer.

mod cached;
mod hosts;
mod permit;
mod thread;

use std::collections::HashMap;
use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};

use ringfence_policy::HostName;

pub use cached::CachedResolver;
pub use permit::{LookupPermit, LookupPermits};

/// A lookup under way.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Finds the addresses of a name.
pub trait Resolver: Debug + Send + Sync {
    /// Looks the name up. No addresses and an error mean the same: the name is refused.
    fn resolve<'a>(&'a self, name: &'a HostName) -> Resolving<'a>;

    /// Returns the addresses that are known without asking a name server, such as those of a hosts file; none by default.
    fn known<'a>(&'a self, _name: &'a HostName) -> Resolving<'a> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Looks the name up as one of the lookups of a scope, and waits for a permit first.
    ///
    /// A resolver whose lookup goes on after its future was dropped keeps the permit until the lookup has ended.
    fn resolve_within<'a>(&'a self, name: &'a HostName, permits: &'a LookupPermits) -> Resolving<'a> {
        Box::pin(async move {
            let known = self.known(name).await?;
            if !known.is_empty() {
                return Ok(known);
            }
            let _permit = permits.acquire().await;
            self.resolve(name).await
        })
    }
}

/// The operating system's resolver: its file of hosts, and then its name servers.
///
/// A name is always asked for as it is. The system would also try it below the domains of its `search` list, where somebody else
/// may answer for a name that was never granted.
///
/// The system's lookup cannot be cancelled, so that each runs on a thread of its own: a name server that is silent holds no thread
/// of the runtime. A lookup keeps its permit until its thread ends, and at most 64 run in one process.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a HostName) -> Resolving<'a> {
        Box::pin(async move { self.resolve_within(name, &LookupPermits::default()).await })
    }

    fn known<'a>(&'a self, name: &'a HostName) -> Resolving<'a> {
        Box::pin(async move { Ok(hosts::addresses(name).await) })
    }

    fn resolve_within<'a>(&'a self, name: &'a HostName, permits: &'a LookupPermits) -> Resolving<'a> {
        Box::pin(async move {
            let known = self.known(name).await?;
            if !known.is_empty() {
                return Ok(known);
            }
            // The dot at the end makes it absolute, and with that the file of hosts is no longer looked into.
            let absolute = format!("{name}.");
            let answers =
                thread::look_up(permits.acquire().await, move || (absolute, 0).to_socket_addrs()).await?;
            Ok(answers.map(|answer| answer.ip()).collect())
        })
    }
}

/// A fixed table of names, as a hosts file or a test has it.
#[derive(Debug, Default)]
pub struct StaticResolver {
    table: HashMap<HostName, Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl StaticResolver {
    /// Makes an empty table, in which no name resolves.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a name with its addresses.
    #[must_use]
    pub fn with(mut self, name: HostName, addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        self.table.entry(name).or_default().extend(addresses);
        self
    }

    /// Returns how many lookups were made.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Resolver for StaticResolver {
    fn resolve<'a>(&'a self, name: &'a HostName) -> Resolving<'a> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let answer = self.table.get(name).cloned();
        Box::pin(async move { answer.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound)) })
    }
}
