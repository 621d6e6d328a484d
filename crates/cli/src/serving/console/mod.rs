//! The console beside the clients: where people look, who is let in first, and what stays when the policy is changed.

mod browser;
mod demo;
mod library;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use ringfence::audit::{TrustedLog, VerifierKey};
use ringfence::policy::ConsoleEntry;
use ringfence::{ApproverName, ApproverToken, Principal, Proof, Role};
use ringfence_server::console::{Access, Console, ConsoleConfig, ConsoleParts, ConsoleStore, Live};
use ringfence_server::http::{EdgeError, TlsFiles};
use ringfence_store::Database;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) use self::demo::DemoConsole;
use self::library::Library;
use super::log::tell;
use super::open::{Opened, read};
use crate::desk::FileDesk;
use crate::error::CommandError;
use crate::load::Place;

/// Where people look when nothing else is said.
pub(crate) const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7118);
/// Who is let in first where the user has no name that an approver could have.
const SOMEBODY: &str = "operator";

/// What the command line says of the console.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ConsoleArgs {
    /// Where people look at what agents do; `listen` of `[console]`, or 127.0.0.1:7118. It needs a store
    #[arg(long, value_name = "ADDRESS:PORT")]
    console: Option<SocketAddr>,
    /// Have no console
    #[arg(long, conflicts_with_all = ["console", "open"])]
    no_console: bool,
    /// Open the console in a browser
    #[arg(long)]
    open: bool,
}

/// A console that is wanted.
pub(crate) struct Wanted {
    args: ConsoleArgs,
    entry: ConsoleEntry,
    place: Place,
    /// What was there before the policy was changed.
    standing: Option<ConsoleStanding>,
    /// What this process counts, also from before the policy was changed.
    live: Arc<Live>,
    /// Whether it is told where there is none.
    tells: bool,
}

/// What stays of a console when the policy is changed: where it is, and who was let in.
#[derive(Clone, Debug)]
pub(crate) struct ConsoleStanding {
    address: SocketAddr,
    access: Arc<Access>,
    live: Arc<Live>,
}

/// A console that runs.
pub(crate) struct Running {
    pub(crate) standing: ConsoleStanding,
    stop: CancellationToken,
    task: JoinHandle<Result<(), EdgeError>>,
}

impl Wanted {
    pub(crate) fn new(
        args: &ConsoleArgs,
        entry: &ConsoleEntry,
        place: &Place,
        standing: Option<ConsoleStanding>,
        tells: bool,
    ) -> Self {
        let live = standing.as_ref().map(|standing| Arc::clone(&standing.live)).unwrap_or_default();
        Self { args: args.clone(), entry: entry.clone(), place: place.clone(), standing, live, tells }
    }

    /// Returns what this process counts.
    pub(crate) fn live(&self) -> Arc<Live> {
        Arc::clone(&self.live)
    }

    /// Starts it, where there is to be one.
    pub(crate) async fn start(self, opened: &Opened) -> Result<Option<Running>, CommandError> {
        if self.args.no_console || !self.entry.enabled {
            return Ok(None);
        }
        let Some(store) = &opened.store else {
            if self.args.console.is_some() || self.args.open {
                return Err(CommandError::Input {
                    message: "the console needs a store".to_owned(),
                    hint: Some("name one with --store FILE"),
                });
            }
            if self.tells {
                tell("there is no console without a store; `--store FILE` gives it one");
            }
            return Ok(None);
        };
        let live = self.live();
        let access = self.standing.as_ref().map(|standing| Arc::clone(&standing.access)).unwrap_or_default();
        let parts = ConsoleParts {
            store: console_store(store),
            desk: Arc::new(FileDesk::new(self.place.clone())),
            live: Arc::clone(&live),
            access: Arc::clone(&access),
        };
        let console = self.bind(parts).await?;
        let standing = ConsoleStanding { address: console.address(), access, live };
        if self.standing.is_none() {
            self.greet(&console, &**store).await?;
        }
        let stop = CancellationToken::new();
        let task = tokio::spawn(console.run(stop.clone().cancelled_owned()));
        Ok(Some(Running { standing, stop, task }))
    }

    /// Listens. Where nobody has said where, and the usual place is taken, another is found.
    async fn bind(&self, parts: ConsoleParts) -> Result<Console, CommandError> {
        let failed =
            |error: EdgeError| CommandError::Input { message: error.to_string(), hint: error.hint() };
        let said = self.args.console.or(self.entry.listen);
        let address = self.standing.as_ref().map(|standing| standing.address).or(said).unwrap_or(ADDRESS);
        match Console::bind(address, self.config()?, parts.clone()).await {
            Err(EdgeError::Bind { .. }) if said.is_none() && self.standing.is_none() => {
                let elsewhere = SocketAddr::new(address.ip(), 0);
                Console::bind(elsewhere, self.config()?, parts).await.map_err(failed)
            }
            bound => bound.map_err(failed),
        }
    }

    fn config(&self) -> Result<ConsoleConfig, CommandError> {
        let tls = match &self.entry.tls {
            Some(files) => Some(TlsFiles { certificate: read(&files.certificate)?, key: read(&files.key)? }),
            None => None,
        };
        let unusable = |why: String| CommandError::Input {
            message: format!("`trust` of `[console]`: {why}"),
            hint: Some("it is the key that `ringfence audit keygen` printed"),
        };
        let trust = match &self.entry.trust {
            Some(text) => {
                let key: VerifierKey = text.parse().map_err(|error| unusable(format!("{error}")))?;
                let origin = key.name().to_owned();
                Some(TrustedLog::new(&origin, [key]).map_err(|error| unusable(error.to_string()))?)
            }
            None => None,
        };
        let hosts = self.entry.hosts.iter().map(ToString::to_string).collect();
        Ok(ConsoleConfig { hosts, tls, trust })
    }

    /// Tells where the console is, and how whoever has started us gets in.
    async fn greet(&self, console: &Console, store: &dyn Database) -> Result<(), CommandError> {
        let name = own_name();
        let Some(person) = person(store, &name).await? else {
            let url = console.url();
            tell(&format!("console at {url} (`{name}` was revoked: log in with the token of somebody else)"));
            return Ok(());
        };
        let link = console.login_link(person);
        tell(&format!("console: {link} (works once, for 15 minutes)"));
        if self.args.open
            && let Err(why) = browser::open(&link)
        {
            tell(&format!("no browser was opened: {why}"));
        }
        Ok(())
    }
}

impl Running {
    /// Ends it.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        if let Ok(Err(error)) = self.task.await {
            tell(&format!("the console ended: {error}"));
        }
    }
}

fn console_store(store: &Arc<dyn Database>) -> ConsoleStore {
    ConsoleStore {
        approvals: Arc::clone(store) as _,
        keys: Arc::clone(store) as _,
        sink: Arc::clone(store) as _,
        log: Arc::new(Library(Arc::clone(store))),
    }
}

/// Returns the name of whoever has started us.
fn own_name() -> ApproverName {
    let named = ["USER", "LOGNAME"].iter().find_map(|own| {
        let name = std::env::var(own).ok()?.to_ascii_lowercase();
        name.parse::<ApproverName>().ok()
    });
    #[expect(clippy::expect_used, reason = "a name that is written here is one")]
    named.unwrap_or_else(|| SOMEBODY.parse().expect("it is a name"))
}

/// Returns who is let in by name, unless they were revoked; whoever has started us and is not known yet becomes an admin, because
/// they hold the store and the policy anyway. Nobody is told the token, so that only links let them in.
async fn person(store: &dyn Database, name: &ApproverName) -> Result<Option<Principal>, CommandError> {
    let proof = Proof::Named(name.clone());
    if let Some(known) = store.principal(&proof).await? {
        return Ok(Some(known));
    }
    if store.approvers().await?.iter().any(|one| one.name == *name) {
        return Ok(None);
    }
    let token = ApproverToken::generate().map_err(|why| CommandError::Start(std::io::Error::other(why)))?;
    store.add_approver(name, token.hash(), Role::Admin).await?;
    Ok(store.principal(&proof).await?)
}
