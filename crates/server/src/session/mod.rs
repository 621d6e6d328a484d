//! One session: what one client says is heard here, decided by the pipeline, and asked of the servers of this session alone.

mod call;
mod greet;
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
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::approver::FrontApprover;
use crate::book::PinBook;
use crate::door::{Agent, Room};
use crate::era::{CAPABILITIES, Era, Hello, VERSION, fit_result, is_cacheable, is_gone};
use crate::house::House;
use crate::message::{
    Answer, Id, Message, Notification, Request, Response, answer_line, error_code, notification_line,
    request_line, rpc_error, rpc_error_with,
};
use crate::outlet::Outlet;
use crate::policy_tool::{NAME, PolicyTool};
use crate::raw::{Raw, RawObject, raw};
use crate::spec::ServerSpec;
use crate::tie::Tie;
use crate::upstream::Upstream;

use self::listen::Listens;
use self::park::Parked;

/// How many requests of one session may be answered at once.
const MOST_REQUESTS: usize = 256;
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
    /// Which server a resource came from; none where several claim it.
    resources: Mutex<HashMap<String, Option<usize>>>,
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

    async fn take(self: Arc<Self>, message: Message, outlet: Outlet, begun: Begun) {
        match message {
            Message::Request(request) => self.request(request, outlet, begun).await,
            Message::Notification(notification) => self.notified(&notification),
            Message::Response(response) => self.answered(response),
        }
    }

    /// Takes note of a request before anything of it is done, so that it can be called off from then on.
    fn begin(&self, message: &Message) -> Begun {
        let Message::Request(request) = message else { return Begun::Nothing };
        let mut requests = lock(&self.requests);
        if requests.len() >= MOST_REQUESTS {
            return Begun::Refused("too many requests at once");
        }
        if requests.contains_key(&request.id) {
            return Begun::Refused("the id is in use");
        }
        let token = CancellationToken::new();
        requests.insert(request.id.clone(), token.clone());
        Begun::Request(token, Done { session: Weak::clone(&self.own), id: request.id.clone() })
    }

    async fn request(self: Arc<Self>, request: Request, outlet: Outlet, begun: Begun) {
        let (token, _done) = match begun {
            Begun::Request(token, done) => (token, done),
            Begun::Nothing => return,
            Begun::Refused(why) => {
                let error = rpc_error(error_code::INVALID_REQUEST, why);
                let _sent = outlet.send(answer_line(Some(&request.id), &Err(error))).await;
                return;
            }
        };
        let era = match self.era_of(&request) {
            Ok(era) => era,
            Err(error) => {
                let _sent = outlet.send(answer_line(Some(&request.id), &Err(error))).await;
                return;
            }
        };
        let id = request.id.clone();
        let method = request.method.clone();
        let answer = tokio::select! {
            biased;
            // Whoever called it off wants no answer.
            () = token.cancelled() => return,
            answer = self.dispatch(request, era, &outlet) => answer,
        };
        let Some(answer) = answer else { return };
        let answer = answer.map(|result| fit_result(&result, era, is_cacheable(&method)).unwrap_or(result));
        // A client that is gone is not answered.
        let _sent = outlet.send(answer_line(Some(&id), &answer)).await;
    }

    /// Finds out how the client speaks, by this request. One that was greeted in the legacy way speaks so to the end: what it
    /// passes on may hold anything.
    fn era_of(&self, request: &Request) -> Result<Era, Raw> {
        let claims = request.params.object("_meta").is_some_and(|meta| meta.get(VERSION).is_some());
        match self.hello().map(|hello| hello.era) {
            _ if request.method == "initialize" => Ok(Era::Legacy),
            Some(Era::Legacy) if claims || request.method == "server/discover" => {
                let message = "this session was initialized in another version of the protocol";
                Err(rpc_error(error_code::INVALID_REQUEST, message))
            }
            Some(era) => Ok(era),
            None if claims || request.method == "server/discover" => Ok(Era::Modern),
            None => Ok(Era::Legacy),
        }
    }

    async fn dispatch(self: &Arc<Self>, request: Request, era: Era, outlet: &Outlet) -> Option<Answer> {
        if era == Era::Modern
            && let Err(error) = self.envelope(&request)
        {
            return Some(Err(error));
        }
        let is_known = lock(&self.hello).is_some();
        match request.method.as_str() {
            "initialize" => return Some(self.initialize(request.params).await),
            "server/discover" => return Some(self.discover().await),
            "subscriptions/listen" if era == Era::Modern => {
                return self.listen(&request, outlet).await;
            }
            "ping" => return Some(Ok(raw(&serde_json::json!({})))),
            _ if !is_known => {
                let why = lock(&self.unmet).clone();
                let message = why.unwrap_or_else(|| "the session was not initialized".to_owned());
                return Some(Err(rpc_error(error_code::INVALID_REQUEST, &message)));
            }
            _ => {}
        }
        let answer = match request.method.as_str() {
            "tools/list" => self.list_tools(&request.params).await,
            "prompts/list" => self.list_prompts(&request.params).await,
            "resources/list" => self.list_resources("resources/list", "resources", request.params).await,
            "resources/templates/list" => {
                self.list_resources("resources/templates/list", "resourceTemplates", request.params).await
            }
            "tools/call" | "prompts/get" | "resources/read" => self.call(request, era, outlet).await,
            _ => self.relay(request, era, outlet).await,
        };
        Some(answer)
    }

    /// Checks what every modern request says of itself, and learns who the client is.
    fn envelope(&self, request: &Request) -> Result<(), Raw> {
        let invalid = |message: &str| Err(rpc_error(error_code::INVALID_PARAMS, message));
        let Some(meta) = request.params.object("_meta") else {
            return invalid("`_meta` is missing");
        };
        let Some(version) = meta.text(VERSION) else {
            return invalid("`_meta` says no protocol version");
        };
        if meta.object(CAPABILITIES).is_none() {
            return invalid("`_meta` does not say what the client can do");
        }
        if version != crate::era::MODERN {
            let data = serde_json::json!({ "supported": [crate::era::MODERN], "requested": version });
            return Err(rpc_error_with(
                error_code::UNSUPPORTED_VERSION,
                "Unsupported protocol version",
                &data,
            ));
        }
        if is_gone(&request.method) {
            return Err(rpc_error(error_code::METHOD_NOT_FOUND, "Method not found"));
        }
        let mut hello = lock(&self.hello);
        if hello.is_none() {
            *hello = Some(Hello::modern(&meta));
        }
        self.ready.store(true, Ordering::Release);
        Ok(())
    }

    fn notified(&self, notification: &Notification) {
        match notification.method.as_str() {
            "notifications/initialized" => {
                if !self.ready.swap(true, Ordering::AcqRel) {
                    self.tell_servers(&notification.method, None);
                }
            }
            "notifications/cancelled" => {
                let id = notification.params.get("requestId").and_then(|raw| Id::parse(raw.get()));
                if let Some(token) = id.and_then(|id| lock(&self.requests).get(&id).cloned()) {
                    token.cancel();
                }
            }
            _ => {
                let params = notification.params.to_raw();
                let params = (!notification.params.is_empty()).then_some(&*params);
                self.tell_servers(&notification.method, params);
            }
        }
    }

    fn tell_servers(&self, method: &str, params: Option<&RawValue>) {
        for upstream in &self.upstreams {
            if let Some(connection) = upstream.running().filter(|own| own.era() == Era::Legacy) {
                // A server that does not read is not waited for.
                connection.mention(method, params);
            }
        }
    }

    fn answered(&self, response: Response) {
        let Some(Id::Number(number)) = response.id else { return };
        if let Some(tell) = lock(&self.asked).remove(&number) {
            // Whoever asked may have given up.
            let _told = tell.send(response.answer);
        }
    }

    /// Asks a legacy client something, and waits for its answer.
    pub(crate) async fn ask(&self, outlet: &Outlet, method: &str, params: &RawValue) -> Answer {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (tell, told) = oneshot::channel();
        lock(&self.asked).insert(number, tell);
        let mut question = Question { session: self, outlet, number: Some(number) };
        let gone = || rpc_error(error_code::INTERNAL, "the client is gone");
        outlet.send(request_line(&Id::Number(number), method, Some(params))).await.map_err(|_| gone())?;
        let answer = tokio::time::timeout(self.house.options.question, told).await;
        let answered = answer.ok().and_then(Result::ok);
        if answered.is_some() {
            question.number = None;
        }
        answered.unwrap_or_else(|| Err(gone()))
    }

    /// Asks a client something that belongs to none of its requests.
    pub(crate) async fn ask_anywhere(&self, method: &str, params: &RawValue) -> Answer {
        let outlet = lock(&self.outlet).clone();
        let legacy = self.hello().is_some_and(|hello| hello.era == Era::Legacy);
        match outlet.filter(|_| legacy) {
            Some(outlet) => self.ask(&outlet, method, params).await,
            None => {
                let message = "the client cannot be asked outside a request";
                Err(rpc_error(error_code::METHOD_NOT_FOUND, message))
            }
        }
    }

    /// Tells the client something that belongs to none of its requests.
    pub(crate) async fn notify(&self, method: &str, params: Option<&RawValue>) {
        let modern = self.hello().is_some_and(|hello| hello.era == Era::Modern);
        if modern {
            self.tell_listeners(method, params).await;
            return;
        }
        let outlet = lock(&self.outlet).clone();
        if let Some(outlet) = outlet.filter(|_| self.is_ready()) {
            let _sent = outlet.send(notification_line(method, params)).await;
        }
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

/// What is known of a message before it is worked on.
enum Begun {
    /// It is no request.
    Nothing,
    /// It is not taken, and why.
    Refused(&'static str),
    /// It is a request that can be called off.
    Request(CancellationToken, Done),
}

/// A request that is being answered.
struct Done {
    session: Weak<Session>,
    id: Id,
}

impl Drop for Done {
    fn drop(&mut self) {
        if let Some(session) = self.session.upgrade() {
            lock(&session.requests).remove(&self.id);
        }
    }
}

/// A question to a legacy client. One that is given up is called off.
struct Question<'a> {
    session: &'a Session,
    outlet: &'a Outlet,
    /// Its number, until it is answered.
    number: Option<i64>,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        lock(&self.session.asked).remove(&number);
        let params =
            raw(&serde_json::json!({ "requestId": number, "reason": "no answer is needed any more" }));
        self.outlet.try_send(notification_line("notifications/cancelled", Some(&params)));
    }
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
