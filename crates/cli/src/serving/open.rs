//! Opening a house over the policy, and letting clients in.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ringfence::SandboxLauncher;
use ringfence::policy::{AgentEntry, GatewayEntry};
use ringfence_server::console::Live;
use ringfence_server::http::{AgentToken, Edge, EdgeConfig, EdgeLimits, TlsFiles, new_token, token_hash};
use ringfence_server::{Agent, Door, House, HouseOptions, ServerSpec};
use ringfence_store::{Database, KeepRaw};
use tokio_util::sync::CancellationToken;

use super::console::{ConsoleStanding, Wanted};
use super::house::Makings;
use super::log::tell;
use super::watch::Watch;
use crate::book::Book;
use crate::error::CommandError;
use crate::exposed::{is_folder_writable, refuse_exposed, refuse_writable_policy};
use crate::held::Held;
use crate::interrupt::first_signal;
use crate::load::{Loaded, Place};
use crate::notify::notifier;
use crate::store::{Opening, StoreName, named};

/// What a house is opened with.
pub(crate) struct Plan<'a> {
    pub(crate) place: &'a Place,
    pub(crate) servers: Vec<ServerSpec>,
    pub(crate) launcher: Option<Arc<SandboxLauncher>>,
    pub(crate) book: Book,
    pub(crate) policy_tool: bool,
    /// Whether the toolbox's own tools are offered too.
    pub(crate) toolbox: bool,
    /// What people have agreed to.
    pub(crate) held: Held,
}

/// A house that is open, and whom it tells of calls that wait.
pub(crate) struct Opened {
    pub(crate) house: Arc<House>,
    /// Where the audit, approvals and keys are, where they are kept.
    pub(crate) store: Option<Arc<dyn Database>>,
    /// What goes on beside the clients.
    beside: Vec<tokio::task::JoinHandle<()>>,
}

impl Drop for Opened {
    fn drop(&mut self) {
        for task in &self.beside {
            task.abort();
        }
    }
}

/// Opens a house.
pub(crate) async fn open(
    plan: Plan<'_>,
    loaded: Loaded,
    store: Option<&StoreName>,
    live: Arc<Live>,
) -> Result<Opened, CommandError> {
    if plan.toolbox || plan.place.is_named {
        tell(&format!("policy `{}`", plan.place.policy.display()));
    }
    if plan.toolbox {
        refuse_writable_policy(&loaded, &plan.place.policy)?;
    }
    let store: Option<Arc<dyn Database>> = match named(store) {
        Some(name) => {
            refuse_exposed(&loaded, &name)?;
            Some(name.open(Opening::Make(KeepRaw::default())).await?)
        }
        None => None,
    };
    if !plan.servers.is_empty() {
        plan.book.make_and_hide_lock();
        if is_folder_writable(&loaded, plan.book.pins_file()) {
            plan.book.make_files()?;
        }
    }
    let mut beside = Vec::new();
    match &store {
        Some(store) if !loaded.notify.is_empty() => {
            let notifier = notifier(&loaded, Arc::clone(store) as _).await?;
            beside.push(tokio::spawn(async move {
                // It ends with the house.
                let _unheard = notifier.run(&CancellationToken::new()).await;
            }));
        }
        _ => {}
    }
    let options = HouseOptions {
        policy_tool: plan.policy_tool,
        review: if plan.toolbox || plan.place.is_named {
            format!("ringfence --policy {} pins", plan.place.policy.display())
        } else {
            "ringfence pins".to_owned()
        },
        directory: plan.place.working_dir(),
        personality: loaded.personality.id.clone(),
        recorded: store.is_some(),
        live: Arc::clone(&live),
        client_approves: loaded.personality.approvals.client.unwrap_or(true),
        ..HouseOptions::default()
    };
    let (tools, containers) =
        if plan.toolbox { (loaded.tools()?, loaded.containers()?) } else { (Vec::new(), None) };
    let makings = Arc::new(Makings {
        keep_keys: loaded.gateway.keep_keys.duration(),
        pins: if plan.toolbox { plan.held.pins } else { None },
        in_force: plan.held.in_force,
        personality: loaded.personality,
        tools,
        containers,
        launcher: plan.launcher,
        store: store.clone(),
        live,
    });
    let people = makings.people();
    let make = move |approver| makings.registry(approver);
    let house = House::new(plan.servers, Arc::new(plan.book), Arc::new(make), people, options);
    let house = house.map_err(|error| CommandError::Start(std::io::Error::other(error.to_string())))?;
    beside.push(tokio::spawn(async {
        // What was needed to start is needed no more, once the first servers run and again when all has been seen.
        for pause in [5, 60] {
            tokio::time::sleep(Duration::from_secs(pause)).await;
            let _given = ringfence::sandbox::give_back_code();
        }
    }));
    let own = Arc::clone(&house);
    beside.push(tokio::spawn(async move { own.resume().await }));
    Ok(Opened { house, store, beside })
}

/// Where clients connect, and who they are.
pub(crate) struct Listening {
    pub(crate) address: SocketAddr,
    pub(crate) anonymous: bool,
    pub(crate) gateway: GatewayEntry,
    pub(crate) agents: Vec<AgentEntry>,
    /// What was in force before the policy was changed.
    pub(crate) standing: Option<Standing>,
    /// What says that the policy was changed.
    pub(crate) watch: Option<Watch>,
}

/// What stays when the policy is changed: where clients connect, and the token that was made for want of agents.
#[derive(Debug)]
pub(crate) struct Standing {
    address: SocketAddr,
    token: Option<String>,
    pub(crate) console: Option<ConsoleStanding>,
}

impl Listening {
    /// Listens there for as long as the policy stays what it is.
    pub(crate) fn at(address: SocketAddr, anonymous: bool, loaded: &Loaded) -> Self {
        let (gateway, agents) = (loaded.gateway.clone(), loaded.agents.clone());
        Self { address, anonymous, gateway, agents, standing: None, watch: None }
    }

    /// Lets clients in until a signal comes, or until the policy was changed.
    pub(crate) async fn run(
        mut self,
        opened: &Opened,
        console: Option<Wanted>,
    ) -> Result<Option<Standing>, CommandError> {
        let (address, former) = match self.standing.take() {
            Some(standing) => (standing.address, standing.token),
            None => (self.address, None),
        };
        let mut token = None;
        let tls = match &self.gateway.tls {
            Some(files) => Some(TlsFiles { certificate: read(&files.certificate)?, key: read(&files.key)? }),
            None => None,
        };
        let mut agents: Vec<AgentToken> = self.agents.iter().map(agent_token).collect();
        if agents.is_empty() && !self.anonymous {
            let is_new = former.is_none();
            let own = former.unwrap_or_else(new_token);
            let agent = Agent { name: "local".to_owned(), ..Agent::default() };
            agents.push(AgentToken { agent, hash: token_hash(&own) });
            if is_new {
                tell(&format!(
                    "no `[[agent]]` is in the policy; until this ends, connect with `Authorization: Bearer {own}`"
                ));
            }
            token = Some(own);
        }
        let config = EdgeConfig {
            agents,
            anonymous: self.anonymous,
            hosts: self.gateway.hosts.iter().map(ToString::to_string).collect(),
            tls,
            limits: EdgeLimits {
                requests_per_minute: self.gateway.requests_per_minute,
                sessions_per_agent: usize::try_from(self.gateway.sessions_per_agent).unwrap_or(usize::MAX),
                ..EdgeLimits::default()
            },
        };
        let secure = config.tls.is_some();
        let door: Arc<dyn Door> = Arc::new(Arc::clone(&opened.house));
        let failed = |error: ringfence_server::http::EdgeError| CommandError::Input {
            message: error.to_string(),
            hint: error.hint(),
        };
        let edge = Edge::bind(address, config, door).await.map_err(failed)?;
        let scheme = if secure { "https" } else { "http" };
        tell(&format!("listening on {scheme}://{}/mcp", edge.address()));
        let console = match console {
            Some(console) => console.start(opened).await?,
            None => None,
        };
        let standing = Standing {
            address: edge.address(),
            token,
            console: console.as_ref().map(|console| console.standing.clone()),
        };
        let mut watch = self.watch.take();
        let mut is_changed = false;
        let until = async {
            let changed = async {
                match &mut watch {
                    Some(watch) => watch.changed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _signal = first_signal() => {}
                () = changed => is_changed = true,
            }
        };
        let served = edge.run(until).await;
        if let Some(console) = console {
            console.stop().await;
        }
        served.map_err(failed)?;
        Ok(is_changed.then_some(standing))
    }
}

fn agent_token(entry: &AgentEntry) -> AgentToken {
    AgentToken {
        agent: Agent {
            name: entry.name.to_string(),
            servers: entry.servers.clone(),
            tools: entry.tools.clone(),
            approves: entry.approves,
        },
        hash: *entry.token.bytes(),
    }
}

pub(super) fn read(path: &PathBuf) -> Result<Vec<u8>, CommandError> {
    std::fs::read(path).map_err(|error| CommandError::File {
        verb: "read",
        path: path.clone(),
        error,
        hint: Some("`tls` of `[gateway]` or `[console]` names the certificate and its key"),
    })
}

/// How long a server of a gateway stays when nothing is asked of it.
pub(crate) const IDLE: Duration = Duration::from_secs(600);
