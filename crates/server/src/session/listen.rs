//! Modern clients that want to hear of changes: one request that stays open for as long as they listen.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Session, lock};
use crate::era::SUBSCRIPTION;
use crate::message::{Answer, Id, Request, error_code, notification_line, rpc_error};
use crate::outlet::Outlet;
use crate::raw::{RawObject, raw};
use crate::tool::Asks;

/// How many requests of one session may listen.
const MOST_LISTENS: usize = 64;

/// Those who listen.
pub(super) type Listens = HashMap<Id, Listen>;

/// One who listens.
pub(super) struct Listen {
    outlet: Outlet,
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: Vec<String>,
}

impl Session {
    /// Lets a client listen until it has heard enough.
    pub(super) async fn listen(self: &Arc<Self>, request: &Request, outlet: &Outlet) -> Option<Answer> {
        let wanted = request.params.object("notifications").unwrap_or_default();
        let is_set = |name: &str| wanted.get(name).is_some_and(|raw| raw.get() == "true");
        let uris: Vec<String> = wanted
            .get("resourceSubscriptions")
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        let hello = self.hello()?;
        let mut honoured = Vec::new();
        for uri in uris {
            let server = self.resource_server(&uri).await;
            let Some(upstream) = server.filter(|own| self.admits_other(own, Asks::Resource)) else {
                continue;
            };
            let mut params = RawObject::default();
            params.set("uri", raw(&uri));
            if self.watch_at(&upstream, &hello, "resources/subscribe", &uri, params).await.is_ok() {
                honoured.push(uri);
            }
        }
        let listen = Listen {
            outlet: outlet.clone(),
            tools: is_set("toolsListChanged"),
            prompts: is_set("promptsListChanged"),
            resources: is_set("resourcesListChanged"),
            uris: honoured,
        };
        let mut told = serde_json::Map::new();
        for (name, set) in [
            ("toolsListChanged", listen.tools),
            ("promptsListChanged", listen.prompts),
            ("resourcesListChanged", listen.resources),
        ] {
            if set {
                told.insert(name.to_owned(), Value::Bool(true));
            }
        }
        if !listen.uris.is_empty() {
            told.insert("resourceSubscriptions".to_owned(), json!(listen.uris));
        }
        let acknowledged = json!({ "_meta": { SUBSCRIPTION: request.id }, "notifications": told });
        let line = notification_line("notifications/subscriptions/acknowledged", Some(&raw(&acknowledged)));
        if lock(&self.listens).len() >= MOST_LISTENS {
            return Some(Err(rpc_error(error_code::INTERNAL, "Subscription limit reached")));
        }
        // The acknowledgement comes before everything that is heard.
        outlet.send(line).await.ok()?;
        lock(&self.listens).insert(request.id.clone(), listen);
        let _listens = Listening { session: self, id: &request.id };
        self.run.cancellation().cancelled().await;
        let ended = json!({ "resultType": "complete", "_meta": { SUBSCRIPTION: request.id } });
        Some(Ok(raw(&ended)))
    }

    /// Tells those who listen.
    pub(super) async fn tell_listeners(&self, method: &str, params: Option<&RawValue>) {
        let params = params.and_then(|params| RawObject::parse(params).ok()).unwrap_or_default();
        let uri = params.text("uri");
        let hears = |listen: &Listen| match method {
            "notifications/tools/list_changed" => listen.tools,
            "notifications/prompts/list_changed" => listen.prompts,
            "notifications/resources/list_changed" => listen.resources,
            "notifications/resources/updated" => uri.as_ref().is_some_and(|uri| listen.uris.contains(uri)),
            _ => false,
        };
        let listeners: Vec<(Id, Outlet)> = lock(&self.listens)
            .iter()
            .filter(|(_, listen)| hears(listen))
            .map(|(id, listen)| (id.clone(), listen.outlet.clone()))
            .collect();
        for (id, outlet) in listeners {
            let mut params = params.clone();
            let mut meta = params.object("_meta").unwrap_or_default();
            meta.set(SUBSCRIPTION, id.to_raw());
            params.set("_meta", meta.to_raw());
            let _sent = outlet.send(notification_line(method, Some(&params.to_raw()))).await;
        }
    }
}

/// Ends listening when the request is given up.
struct Listening<'a> {
    session: &'a Session,
    id: &'a Id,
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        lock(&self.session.listens).remove(self.id);
    }
}
