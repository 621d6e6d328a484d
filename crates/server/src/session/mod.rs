//! One session: what one client says is heard here, decided by the pipeline, and asked of the servers of this session alone.

mod ask;
mod call;
mod greet;
mod hear;
mod list;
mod listen;
mod park;
mod relay;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::future::{BoxFuture, FutureExt};
use ringfence::{Code, Registry, Run};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::approver::FrontApprover;
use crate::book::PinBook;
use crate::door::{Agent, Room};
use crate::era::{CAPABILITIES, Era, Hello};
use crate::house::House;
use crate::message::{Answer, Id, Message, Request};
use crate::outlet::Outlet;
use crate::policy_tool::{NAME, PolicyTool};
use crate::raw::RawObject;
use crate::spec::ServerSpec;
use crate::tie::Tie;
use crate::upstream::Upstream;

use self::listen::Listens;
use self::park::Parked;

/// How many refusals a session remembers for whoever asks.
const MOST_REFUSALS: usize = 20;

/// One session of one client.
pub struct Session {
    own: Weak<Self>,
    house: Arc<House>,
    agent: Agent,
    run: Run,
    registry: Registry,
    /// Why nothing can be called, where the registry could not be made.
    broken: Option<String>,
    pub(crate) upstreams: Vec<Arc<Upstream>>,
    hello: Mutex<Option<Arc<Hello>>>,
    /// Why the client was not greeted, if so.
    unmet: Mutex<Option<String>>,
    ready: AtomicBool,
    /// Where messages go that belong to no request.
    outlet: Mutex<Option<Outlet>>,
    asked: Mutex<HashMap<i64, oneshot::Sender<Answer>>>,
    next: AtomicI64,
    requests: Mutex<HashMap<Id, CancellationToken>>,
    parked: Mutex<Parked>,
    listens: Mutex<Listens>,
    refusals: Mutex<VecDeque<(String, Code, String)>>,
    /// Which server a resource is of: the first of the policy that lists it.
    resources: Mutex<HashMap<String, usize>>,
}

impl Session {
    pub(crate) fn new(house: &Arc<House>, agent: &Agent, id: &str) -> Arc<Self> {
        Arc::new_cyclic(|own: &Weak<Self>| {
            let approver = FrontApprover { house: Arc::clone(house), session: Weak::clone(own) };
            let made = (house.make_registry)(Arc::new(approver));
            let (registry, broken) = match made {
                Ok(registry) => (registry, None),
                Err(why) => (Registry::builder().build(), Some(why)),
            };
            let mut run = Run::builder(id, id);
            if !agent.name.is_empty() {
                run = run.proposed_by(agent.name.as_str());
            }
            if let Some(directory) = &house.options.directory {
                run = run.in_directory(directory);
            }
            let upstreams = house.servers.iter().filter(|spec| is_within(agent, spec));
            let upstreams = upstreams.map(|spec| Upstream::new(Arc::clone(spec), Weak::clone(own))).collect();
            if let Some(name) = NAME.parse().ok().filter(|_| house.options.policy_tool) {
                let added = registry.register(PolicyTool::new(name, Weak::clone(own)));
                if let Err(error) = added {
                    tracing::warn!("`{NAME}` is not offered: {error}");
                }
            }
            Self {
                own: Weak::clone(own),
                house: Arc::clone(house),
                agent: agent.clone(),
                run: run.start(),
                registry,
                broken,
                upstreams,
                hello: Mutex::default(),
                unmet: Mutex::default(),
                ready: AtomicBool::new(false),
                outlet: Mutex::default(),
                asked: Mutex::default(),
                next: AtomicI64::new(1),
                requests: Mutex::default(),
                parked: Mutex::default(),
                listens: Mutex::default(),
                refusals: Mutex::default(),
                resources: Mutex::default(),
            }
        })
    }

    pub(crate) const fn agent(&self) -> &Agent {
        &self.agent
    }

    pub(crate) const fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(crate) fn house(&self) -> &House {
        &self.house
    }

    /// Returns the name of its run.
    pub(crate) fn run_id(&self) -> &str {
        self.run.id()
    }

    pub(crate) fn book(&self) -> &Arc<dyn PinBook> {
        &self.house.book
    }

    /// Keeps in the audit what happened to a server of this session.
    pub(crate) async fn keep_server(
        &self,
        server: &str,
        step: &'static str,
        about: Value,
    ) -> Result<(), String> {
        self.registry.keep_server(&self.run, server, step, about).await
    }

    /// Returns who the client is, once it has said so.
    pub(crate) fn hello(&self) -> Option<Arc<Hello>> {
        lock(&self.hello).clone()
    }

    /// Says whether the client hears what servers ask.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Goes on with calls whose process has ended.
    pub(crate) async fn resume_calls(self: &Arc<Self>) -> Result<(), String> {
        lock(&self.hello).get_or_insert_with(|| Hello::modern(&RawObject::default()));
        self.ready.store(true, Ordering::Release);
        self.know_all_tools(false).await;
        self.registry.resume().await.map(drop).map_err(|error| error.to_string())
    }

    /// Returns the last refusals, newest last.
    pub(crate) fn refusals(&self) -> Vec<(String, Code, String)> {
        lock(&self.refusals).iter().cloned().collect()
    }

    fn remember_refusal(&self, tool: &str, code: Code, why: &str) {
        let mut refusals = lock(&self.refusals);
        if refusals.len() == MOST_REFUSALS {
            refusals.pop_front();
        }
        refusals.push_back((tool.to_owned(), code, why.to_owned()));
    }

    fn tie(
        &self,
        request: &Request,
        era: Era,
        outlet: &Outlet,
    ) -> (Arc<Tie>, Option<tokio::sync::mpsc::UnboundedReceiver<crate::tie::Question>>) {
        let capabilities = match era {
            Era::Modern => {
                let meta = request.params.object("_meta");
                Arc::new(meta.and_then(|meta| meta.object(CAPABILITIES)).unwrap_or_default())
            }
            Era::Legacy => self.hello().map(|hello| hello.capabilities()).unwrap_or_default(),
        };
        Tie::new(Weak::clone(&self.own), era, request.params.clone(), capabilities, outlet.clone())
    }
}

/// Says whether an agent may use anything of a server; of one it may not, nothing is started.
fn is_within(agent: &Agent, spec: &ServerSpec) -> bool {
    agent.servers.as_ref().is_none_or(|own| own.contains(&spec.name))
        && agent.tools.as_ref().is_none_or(|own| own.iter().any(|tool| spec.own(tool).is_some()))
}

impl Room for Session {
    fn handle(self: Arc<Self>, message: Message, outlet: Outlet) -> BoxFuture<'static, ()> {
        let begun = self.begin(&message);
        self.take(message, outlet, begun).boxed()
    }

    fn attach(&self, outlet: Outlet) {
        *lock(&self.outlet) = Some(outlet);
    }

    fn input_schema(&self, tool: &str) -> Option<Value> {
        self.registry.find(tool).map(|registered| registered.declaration().input.clone())
    }

    fn close(self: Arc<Self>) -> BoxFuture<'static, ()> {
        async move {
            self.run.cancel();
            lock(&self.parked).clear();
            let requests: Vec<CancellationToken> = lock(&self.requests).values().cloned().collect();
            for token in requests {
                token.cancel();
            }
            futures_util::future::join_all(self.upstreams.iter().map(|upstream| upstream.close())).await;
            if let Err(error) = self.registry.end_session(self.run.session()).await {
                tracing::warn!("what tools kept for a session could not be removed: {error}");
            }
            if let Err(error) = self.registry.end_run(&self.run).await {
                tracing::warn!("what was counted of a run could not be removed: {error}");
            }
        }
        .boxed()
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("agent", &self.agent.name).finish_non_exhaustive()
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
