//! The network of a command: what the command line grants, the gate, and what went through it.

use std::io::{BufRead, Write};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use ringfence::egress::{
    Asker, CachedResolver, Dialer, Evidence, Gate, Resolver, Resolving, Scope, Sockets, SystemResolver,
    Tally, Verdict, Via, Witness,
};
use ringfence::policy::{
    Code, HostName, HostPattern, HostSet, Limits, NetworkCeiling, NetworkGrant, OnUnknown, Private, Refusal,
    Target,
};
use ringfence::sandbox;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::error::CommandError;

/// What the command line says about the network.
#[derive(Debug, clap::Args)]
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

fn pinned(text: &str) -> Result<(HostName, IpAddr), String> {
    let (name, address) = text.split_once('=').ok_or("it is not NAME=ADDRESS")?;
    let name = name.parse().map_err(|error| format!("{error}"))?;
    let address = address.parse().map_err(|_| format!("`{address}` is not an address"))?;
    Ok((name, address))
}

impl NetworkArgs {
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

impl Resolver for Pins {
    fn resolve<'a>(&'a self, name: &'a HostName) -> Resolving<'a> {
        let own: Vec<IpAddr> =
            self.pinned.iter().filter(|(pinned, _)| pinned == name).map(|(_, address)| *address).collect();
        if own.is_empty() { self.others.resolve(name) } else { Box::pin(async move { Ok(own) }) }
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
        make_room(limits.connections.unwrap_or_default())?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("ringfence-gate")
            .enable_all()
            .build()?;
        let seen = Arc::new(Seen { told, evidence: Mutex::default() });
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
    pub(crate) fn close(mut self) -> (Vec<Evidence>, Tally) {
        let gate = self.gate.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(gate), Some(runtime)) = (gate, self.runtime.take()) {
            runtime.block_on(gate.close());
            runtime.shutdown_background();
        }
        let evidence =
            std::mem::take(&mut *self.seen.evidence.lock().unwrap_or_else(PoisonError::into_inner));
        (evidence, self.scope.tally())
    }
}

/// Lets this process hold both ends of so many connections, and what it holds anyway.
fn make_room(connections: u32) -> std::io::Result<()> {
    let needed = u64::from(connections) * 2 + 128;
    let mut limit = getrlimit(Resource::Nofile);
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

/// Who is told of refusals while the command runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Told {
    /// Whoever reads the error stream.
    ErrorStream,
    /// Nobody; it is all in the report.
    Nobody,
}

/// The longest list of connections that is kept.
const MOST_KEPT: usize = 10_000;

struct Seen {
    told: Told,
    evidence: Mutex<Vec<Evidence>>,
}

impl Witness for Seen {
    fn saw(&self, evidence: &Evidence) {
        if self.told == Told::ErrorStream
            && let Some(line) = refusal_line(evidence)
        {
            let _told = writeln!(std::io::stderr().lock(), "ringfence: {line}");
        }
        let mut kept = self.evidence.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MOST_KEPT {
            kept.push(evidence.clone());
        }
    }
}

/// One line for whoever runs the command, about what it did not get.
fn refusal_line(evidence: &Evidence) -> Option<String> {
    let why = match &evidence.verdict {
        Verdict::Cut { message } => message.clone(),
        Verdict::Refused { code, message } => format!("{code}: {message}"),
        Verdict::Done | Verdict::Failed { .. } => return None,
    };
    let is_unknown = evidence.via == Via::Dns && why.starts_with(Code::HostNotAllowed.as_str());
    let hint = match evidence.host.parse::<HostName>() {
        Ok(name) if is_unknown => format!(" (`--host {name}` would let it)"),
        Ok(_) | Err(_) => String::new(),
    };
    let what = match (evidence.via, evidence.port) {
        (Via::Dns, _) | (_, None) => format!("the name {}", evidence.host),
        (_, Some(port)) => format!("the connection to {}:{port}", evidence.host),
    };
    // Names come from the command: nothing in them may reach the terminal as more than text.
    let line = format!("{what} was refused: {why}{hint}");
    Some(line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect())
}

/// Asks whoever sits at the terminal, one question at a time.
#[derive(Default)]
struct Terminal(tokio::sync::Mutex<Option<UnboundedReceiver<String>>>);

impl Terminal {
    async fn answer(&self, target: &Target) -> Result<(), Refusal> {
        let refused = |why: &str| Refusal::new(Code::ApprovalDenied, format!("{target}: {why}"));
        let mut lines = self.0.lock().await;
        if lines.is_none() {
            *lines = Some(terminal_lines().map_err(|_| refused("there is no terminal to ask on"))?);
        }
        let Some(lines) = lines.as_mut() else { return Err(refused("there is no terminal to ask on")) };
        // An answer to an earlier question that came too late answers nothing.
        while lines.try_recv().is_ok() {}
        let mut tty = std::fs::File::options()
            .write(true)
            .open("/dev/tty")
            .map_err(|_| refused("there is no terminal to ask on"))?;
        let _asked = write!(
            tty,
            "ringfence: the command wants to connect to {target}, which is not granted. Allow? [y/N] "
        );
        match lines.recv().await.as_deref().map(str::trim) {
            Some("y" | "Y" | "yes") => Ok(()),
            Some(_) => Err(refused("it was refused on the terminal")),
            None => Err(refused("the terminal is gone")),
        }
    }
}

/// Reads lines of the terminal on a thread of its own, as long as somebody takes them.
fn terminal_lines() -> std::io::Result<UnboundedReceiver<String>> {
    let tty = std::io::BufReader::new(std::fs::File::open("/dev/tty")?);
    let (sender, lines) = unbounded_channel();
    std::thread::Builder::new().name("ringfence-terminal".into()).spawn(move || {
        for line in tty.lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    })?;
    Ok(lines)
}

impl Asker for Terminal {
    fn ask<'a>(
        &'a self,
        target: &'a Target,
    ) -> Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send + 'a>> {
        Box::pin(self.answer(target))
    }
}
