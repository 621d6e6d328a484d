//! Everything that is neither listed nor called: passed on to the server it is meant for, and cleaned on the way back.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::{Session, lock};
use crate::clean::clean_answer;
use crate::era::{Era, Hello};
use crate::message::{Answer, Request, error_code, rpc_error};
use crate::outlet::Outlet;
use crate::raw::{RawObject, raw};
use crate::tool::Asks;
use crate::upstream::Upstream;

/// How long a server may take to answer something that is no call.
const PATIENCE: Duration = Duration::from_secs(60);

impl Session {
    /// Passes a request on.
    pub(super) async fn relay(self: &Arc<Self>, request: Request, era: Era, outlet: &Outlet) -> Answer {
        let Some(hello) = self.hello() else {
            return Err(rpc_error(error_code::INVALID_REQUEST, "the session was not initialized"));
        };
        let Request { method, mut params, .. } = request.clone();
        match method.as_str() {
            "logging/setLevel" => return self.set_level(&hello, &params).await,
            "resources/subscribe" | "resources/unsubscribe" => {
                return self.watch(&hello, &method, params).await;
            }
            _ => {}
        }
        let place = match method.as_str() {
            "completion/complete" => self.completed_by(&mut params).await,
            _ if self.upstreams.len() == 1 => Some(0),
            _ => None,
        };
        let Some(upstream) = place.and_then(|place| self.upstreams.get(place)) else {
            return Err(rpc_error(error_code::METHOD_NOT_FOUND, "Method not found"));
        };
        let (tie, _questions) = self.tie(&request, era, outlet);
        let asked = upstream.request(&hello, &method, params, Some(&tie));
        // The result of a task is there when the task is done, and that takes as long as it takes.
        let patience = if method == "tasks/result" { crate::house::NO_DEADLINE } else { PATIENCE };
        match tokio::time::timeout(patience, asked).await {
            Ok(Ok(answer)) => clean_answer(&answer),
            Ok(Err(gone)) => Err(rpc_error(error_code::INTERNAL, &ringfence::text::clean(&gone.why).text)),
            Err(_) => Err(rpc_error(error_code::INTERNAL, "the server did not answer in time")),
        }
    }

    async fn set_level(self: &Arc<Self>, hello: &Arc<Hello>, params: &RawObject) -> Answer {
        let Some(level) = params.text("level") else {
            return Err(rpc_error(error_code::INVALID_PARAMS, "the level is missing"));
        };
        let only = self.upstreams.len() == 1;
        for upstream in &self.upstreams {
            upstream.set_level(&level);
            // Those that do not run are told when they are started.
            let Some(connection) = upstream.running() else { continue };
            if connection.era() == Era::Legacy && (only || connection.can("logging")) {
                let asked = upstream.request(hello, "logging/setLevel", params.clone(), None).await;
                if let (true, Ok(answer)) = (only, asked) {
                    return clean_answer(&answer);
                }
            }
        }
        Ok(raw(&json!({})))
    }

    /// Has a server tell when a resource changes, or tells it that nobody wants to know any more.
    async fn watch(self: &Arc<Self>, hello: &Arc<Hello>, method: &str, params: RawObject) -> Answer {
        let Some(uri) = params.text("uri") else {
            return Err(rpc_error(error_code::INVALID_PARAMS, "the resource's URI is missing"));
        };
        let server = self.resource_server(&uri).await;
        let Some(upstream) = server.filter(|own| self.admits_other(own, Asks::Resource)) else {
            return Err(rpc_error(error_code::INVALID_PARAMS, "Unknown resource"));
        };
        self.watch_at(&upstream, hello, method, &uri, params).await
    }

    pub(super) async fn watch_at(
        &self,
        upstream: &Arc<Upstream>,
        hello: &Arc<Hello>,
        method: &str,
        uri: &str,
        params: RawObject,
    ) -> Answer {
        let failed = |why: String| rpc_error(error_code::INTERNAL, &ringfence::text::clean(&why).text);
        let connection = upstream.connection(hello).await.map_err(|gone| failed(gone.why))?;
        upstream.watch_resource(uri, method == "resources/subscribe");
        if connection.era() == Era::Modern {
            if method == "resources/subscribe" {
                upstream.listen_for_changes(&connection);
            }
            return Ok(raw(&json!({})));
        }
        let answer = upstream.request(hello, method, params, None).await.map_err(|gone| failed(gone.why))?;
        clean_answer(&answer)
    }

    /// Returns the place of the server that a prompt is of.
    pub(super) fn prompt_place(&self, name: &str) -> Option<usize> {
        self.upstreams.iter().position(|upstream| upstream.spec.own(name).is_some())
    }

    /// Returns the server that a resource is of: the only one, the first that listed it, or the one whose template says most of it;
    /// of several, the first of the policy.
    pub(super) async fn resource_server(self: &Arc<Self>, uri: &str) -> Option<Arc<Upstream>> {
        if let [only] = &self.upstreams[..] {
            return Some(Arc::clone(only));
        }
        let known = |session: &Self| lock(&session.resources).get(uri).copied();
        if known(self).is_none() {
            let _listed = self.list_resources("resources/list", "resources", RawObject::default()).await;
        }
        if let Some(owner) = known(self) {
            return self.upstreams.get(owner).cloned();
        }
        let hello = self.hello()?;
        let mut fitting: Option<(usize, Arc<Upstream>)> = None;
        for upstream in &self.upstreams {
            let Ok(connection) = upstream.connection(&hello).await else { continue };
            if !connection.can("resources") {
                continue;
            }
            let asked =
                upstream.request(&hello, "resources/templates/list", RawObject::default(), None).await;
            let Ok(Ok(result)) = asked else { continue };
            let templates = RawObject::parse(&result).ok().and_then(|result| {
                let written = result.get("resourceTemplates")?;
                serde_json::from_str::<Vec<RawObject>>(written.get()).ok()
            });
            let fits = |template: &RawObject| could_be(&template.text("uriTemplate")?, uri);
            let most = templates.iter().flatten().filter_map(fits).max();
            if let Some(most) = most.filter(|most| fitting.as_ref().is_none_or(|(other, _)| most > other)) {
                fitting = Some((most, Arc::clone(upstream)));
            }
        }
        fitting.map(|(_, upstream)| upstream)
    }

    /// Finds the server that completes something, and gives it its own name for it.
    async fn completed_by(self: &Arc<Self>, params: &mut RawObject) -> Option<usize> {
        let mut reference = params.object("ref")?;
        if let Some(name) = reference.text("name") {
            let place = self.prompt_place(&name)?;
            let upstream = self.upstreams.get(place).filter(|own| self.admits_other(own, Asks::Prompt))?;
            let own = upstream.spec.own(&name)?;
            reference.set("name", raw(own));
            params.set("ref", reference.to_raw());
            return Some(place);
        }
        let uri = reference.text("uri")?;
        let server = self.resource_server(&uri).await;
        let server = server.filter(|own| self.admits_other(own, Asks::Resource))?;
        self.upstreams.iter().position(|own| Arc::ptr_eq(own, &server))
    }
}

/// Returns how much of a URI a template says, where the URI could come of it: what stands before the first variable is the same.
fn could_be(template: &str, uri: &str) -> Option<usize> {
    let fixed = template.split('{').next().unwrap_or_default();
    (template == uri || (!fixed.is_empty() && uri.starts_with(fixed))).then_some(fixed.len())
}
