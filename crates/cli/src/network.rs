//! The network of a command: what the command line grants, the gate, and what went through it.

mod terminal;
mod told;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use ringfence::egress::{
    CachedResolver, Dialer, Gate, LookupPermits, Resolver, Resolving, Scope, Sockets, SystemResolver, Tally,
    Witness,
};
use ringfence::policy::{
    HostName, HostPattern, HostSet, Limits, NetworkCeiling, NetworkGrant, OnUnknown, Private, UNLIMITED_COUNT,
};
use ringfence::sandbox;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::runtime::{Handle, Runtime};

pub(crate) use told::{Connections, Told};

use self::terminal::Terminal;
use self::told::Seen;
use crate::error::CommandError;

/// What the command line says about the network.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct NetworkArgs {
    /// Let it connect to this host: `api.github.com`, `*.github.com`, `db.acme.io:5432`, an address, or `*`
    ///
    /// Without a port: 80, 443 and the ports that other patterns name. On 443 the name in the TLS handshake must be the
    /// host, on 80 every request must be for it; other ports carry anything.
    #[arg(long, value_name = "PATTERN")]
    host: Vec<HostPattern>,
    /// Let granted hosts lie on this private name, address or range
    #[arg(long, value_name = "NAME|ADDRESS|RANGE")]
    private: Vec<String>,
    /// Take this address for the name instead of looking it up
    #[arg(long, value_name = "NAME=ADDRESS", value_parser = pinned)]
    resolve: Vec<(HostName, IpAddr)>,
    /// Ask on the terminal about names that are not granted, while the connection waits
    #[arg(long, conflicts_with = "tty")]
    ask: bool,
}

/// Reads `NAME=ADDRESS`.
pub(crate) fn pinned(text: &str) -> Result<(HostName, IpAddr), String> {
    let (name, address) = text.split_once('=').ok_or("it is not NAME=ADDRESS")?;
    let name = name.parse().map_err(|error| format!("{error}"))?;
    let address = address.parse().map_err(|_| format!("`{address}` is not an address"))?;
    Ok((name, address))
}

impl NetworkArgs {
    /// Returns what these would say on a command line.
    pub(crate) fn of(host: Vec<HostPattern>, private: Vec<String>, resolve: Vec<(HostName, IpAddr)>) -> Self {
        Self { host, private, resolve, ask: false }
    }

    /// Adds hosts, and where they may lie.
    pub(crate) fn add(&mut self, host: Vec<HostPattern>, private: Vec<String>) {
        self.host.extend(host);
        self.private.extend(private);
    }

    /// Returns everything that may be reached: what the tool is granted and what the command line adds.
    pub(crate) fn grant(&self, tool: Option<&NetworkGrant>) -> Result<NetworkGrant, CommandError> {
        let hosts: HostSet =
            tool.iter().flat_map(|grant| grant.hosts().iter()).chain(&self.host).cloned().collect();
        let known = tool.iter().flat_map(|grant| grant.private().iter()).map(ToString::to_string);
        let private: Vec<String> = known.chain(self.private.iter().cloned()).collect();
        let private = Private::parse(private.iter().map(String::as_str))
            .map_err(|error| CommandError::Input { message: format!("`--private`: {error}"), hint: None })?;
        let asks = self.ask || tool.is_some_and(|grant| grant.on_unknown() == OnUnknown::Ask);
        let on_unknown = if asks { OnUnknown::Ask } else { OnUnknown::Refuse };
        let ceiling = NetworkCeiling::new(hosts.clone(), private).with_on_unknown(on_unknown);
        Ok(NetworkGrant::meet(&hosts, &ceiling))
    }

    fn dialer(&self) -> Dialer {
        Dialer::new(Arc::new(Pins {
            pinned: self.resolve.clone(),
            others: CachedResolver::new(SystemResolver),
        }))
    }
}

/// Names with addresses from the command line, before all others.
#[derive(Debug)]
struct Pins {
    pinned: Vec<(HostName, IpAddr)>,
    others: CachedResolver<SystemResolver>,
}

impl Pins {
    fn own(&self, name: &HostName) -> Vec<IpAddr> {
        self.pinned.iter().filter(|(pinned, _)| pinned == name).map(|(_, address)| *address).collect()
    }
}

impl Resolver for Pins {
    fn resolve<'a>(&'a self, name: &'a HostName) -> Resolving<'a> {
        let own = self.own(name);
        if own.is_empty() { self.others.resolve(name) } else { Box::pin(async move { Ok(own) }) }
    }

    fn resolve_within<'a>(&'a self, name: &'a HostName, permits: &'a LookupPermits) -> Resolving<'a> {
        let own = self.own(name);
        if own.is_empty() {
            self.others.resolve_within(name, permits)
        } else {
            Box::pin(async move { Ok(own) })
        }
    }
}

/// The network of one command. Its gate runs on a thread of its own.
pub(crate) struct CommandNetwork {
    runtime: Option<Runtime>,
    handle: Handle,
    scope: Scope,
    dialer: Dialer,
    gate: Mutex<Option<Gate>>,
    seen: Arc<Seen>,
}

impl CommandNetwork {
    /// Prepares the network of a command; the gate opens when the sandbox has made its sockets.
    pub(crate) fn new(
        args: &NetworkArgs,
        grant: NetworkGrant,
        limits: Limits,
        told: Told,
    ) -> std::io::Result<Self> {
        make_room(limits.over(&Limits::of_network()).connections.unwrap_or(UNLIMITED_COUNT))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("ringfence-gate")
            .enable_all()
            .build()?;
        let seen = Arc::new(Seen::new(told)?);
        let asks = grant.on_unknown() == OnUnknown::Ask;
        let mut scope = Scope::builder(grant).limits(limits).witness(Arc::clone(&seen) as Arc<dyn Witness>);
        if asks {
            scope = scope.asker(Arc::new(Terminal::default()));
        }
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
            scope: scope.build(),
            dialer: args.dialer(),
            gate: Mutex::default(),
            seen,
        })
    }

    /// Opens the gate.
    pub(crate) fn open(&self, made: sandbox::Sockets) -> std::io::Result<()> {
        let sockets = Sockets { listeners: made.listeners, dns: made.dns };
        let gate = Gate::open_on(&self.handle, self.scope.clone(), self.dialer.clone(), sockets)?;
        *self.gate.lock().unwrap_or_else(PoisonError::into_inner) = Some(gate);
        Ok(())
    }

    /// Closes the gate when the command has ended, and returns what went through it.
    pub(crate) fn close(mut self) -> (Connections, Tally) {
        let gate = self.gate.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(gate), Some(runtime)) = (gate, self.runtime.take()) {
            runtime.block_on(gate.close());
            runtime.shutdown_background();
        }
        (self.seen.end(), self.scope.tally())
    }
}

/// Lets this process hold both ends of so many connections, and what it holds anyway.
fn make_room(connections: u32) -> std::io::Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    if connections == UNLIMITED_COUNT {
        limit.current = limit.maximum;
        return Ok(setrlimit(Resource::Nofile, limit)?);
    }
    let needed = u64::from(connections) * 2 + 128;
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if let Some(most) = limit.maximum.filter(|most| *most < needed) {
        let message =
            format!("{connections} connections need {needed} open files, and this process may have {most}");
        return Err(std::io::Error::other(message));
    }
    limit.current = Some(needed);
    Ok(setrlimit(Resource::Nofile, limit)?)
}
