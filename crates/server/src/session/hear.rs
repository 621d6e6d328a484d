//! What a client says: each message is taken, and each request is answered by whoever its method names.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::{Session, lock};
use crate::era::{CAPABILITIES, Era, Hello, VERSION, fit_result, is_cacheable, is_gone};
use crate::message::{
    Answer, Id, Message, Notification, Request, answer_line, error_code, rpc_error, rpc_error_with,
};
use crate::outlet::Outlet;
use crate::raw::{Raw, raw};

/// How many requests of one session may be answered at once.
const MOST_REQUESTS: usize = 256;

impl Session {
    pub(super) async fn take(self: Arc<Self>, message: Message, outlet: Outlet, begun: Begun) {
        match message {
            Message::Request(request) => self.request(request, outlet, begun).await,
            Message::Notification(notification) => self.notified(&notification),
            Message::Response(response) => self.answered(response),
        }
    }

    /// Takes note of a request before anything of it is done, so that it can be called off from then on.
    pub(super) fn begin(&self, message: &Message) -> Begun {
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
}

/// What is known of a message before it is worked on.
pub(super) enum Begun {
    /// It is no request.
    Nothing,
    /// It is not taken, and why.
    Refused(&'static str),
    /// It is a request that can be called off.
    Request(CancellationToken, Done),
}

/// A request that is being answered.
pub(super) struct Done {
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
