//! What is offered: the definitions that somebody has accepted, as their servers wrote them, and the toolbox's own tools.

use std::collections::HashSet;
use std::sync::Arc;

use ringfence::policy::{Declaration, Runtime};
use ringfence::{Code, Refusal, Registered};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Session, lock};
use crate::ingress::{Judged, looks_hostile};
use crate::message::{Answer, error_code, rpc_error};
use crate::question::take_off_addresses;
use crate::raw::{Raw, RawObject, raw};
use crate::tool::Asks;
use crate::upstream::Upstream;

/// How long one of several servers is waited for when all are listed.
const LIST_PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
/// How many resources a session remembers the servers of.
const MOST_RESOURCES: usize = 10_000;

impl Session {
    /// Lists the tools that can be called.
    pub(super) async fn list_tools(self: &Arc<Self>, params: &RawObject) -> Answer {
        if params.get("cursor").is_some() {
            return Err(rpc_error(error_code::INVALID_PARAMS, "there is only one page"));
        }
        let failures = self.know_all_tools(true).await;
        // A tool that no model may call is not shown to one.
        let callable: Vec<Arc<Registered>> = self.registry.list();
        let callable = || callable.iter().filter(|tool| !tool.declaration().constraints.forbidden);
        let listed: HashSet<&str> = callable().map(|tool| tool.declaration().name.as_str()).collect();
        let has_tasks = self.house.transparent().is_some();
        let mut tools: Vec<Value> = Vec::new();
        for upstream in &self.upstreams {
            let listing = lock(&upstream.tools);
            for one in listing.judged.iter().filter(|one| one.quarantine.is_none()) {
                let Some(own) = one.definition.get("name").and_then(Value::as_str) else { continue };
                let name = upstream.spec.offered(own);
                if self.admits(&upstream.spec.name, &name) && listed.contains(name.as_str()) {
                    let mut definition = one.definition.clone();
                    if !has_tasks && !take_off_tasks(&mut definition) {
                        continue;
                    }
                    take_off_addresses(&mut definition);
                    if upstream.spec.prefixed
                        && let Some(definition) = definition.as_object_mut()
                    {
                        definition.insert("name".into(), json!(name));
                    }
                    tools.push(definition);
                }
            }
        }
        let own = callable().filter(|tool| !matches!(tool.declaration().runtime, Runtime::Server { .. }));
        tools.extend(
            own.filter(|tool| self.admits(TOOLBOX, tool.declaration().name.as_str()))
                .map(|tool| defined(tool)),
        );
        if tools.is_empty()
            && let Some(why) = failures.first()
        {
            return Err(rpc_error(error_code::INTERNAL, &ringfence::text::clean(why).text));
        }
        Ok(raw(&json!({ "tools": tools })))
    }

    /// Makes sure that the tools of the server are known that something is named after.
    pub(super) async fn know_tools_of(self: &Arc<Self>, name: &str) {
        let Some(hello) = self.hello() else { return };
        let Some(upstream) = self.upstreams.iter().find(|own| own.spec.own(name).is_some()) else { return };
        if let Err(why) = upstream.know_tools(self, &hello).await {
            tracing::warn!("{why}");
        }
    }

    /// Makes sure that the tools of all servers are known. Returns what went wrong with those whose are not. Where there are
    /// several, one that takes long is not waited for: the client hears of its tools when they are there.
    pub(super) async fn know_all_tools(self: &Arc<Self>, anew: bool) -> Vec<String> {
        let Some(hello) = self.hello() else { return Vec::new() };
        let patience = if self.upstreams.len() > 1 { LIST_PATIENCE } else { std::time::Duration::MAX };
        let known = self.upstreams.iter().map(|upstream| {
            let (upstream, session, hello) = (Arc::clone(upstream), Arc::clone(self), hello.clone());
            async move {
                let name = upstream.spec.name.clone();
                let (tell, told) = tokio::sync::oneshot::channel();
                tokio::spawn(async move {
                    let known = if anew {
                        upstream.refresh_tools(&session, &hello).await
                    } else {
                        upstream.know_tools(&session, &hello).await
                    };
                    // Nobody waits any more: it came late.
                    if tell.send(known).is_err() {
                        session.notify("notifications/tools/list_changed", None).await;
                    }
                });
                let late = || Err(format!("server `{name}` has not said yet what it offers"));
                match tokio::time::timeout(patience, told).await {
                    Ok(Ok(known)) => known,
                    Ok(Err(_)) | Err(_) => late(),
                }
            }
        });
        let known = futures_util::future::join_all(known).await;
        let failures: Vec<String> = known.into_iter().filter_map(Result::err).collect();
        for why in &failures {
            tracing::warn!("{why}");
        }
        failures
    }

    /// Lists the prompts that somebody has accepted.
    pub(super) async fn list_prompts(self: &Arc<Self>, params: &RawObject) -> Answer {
        if params.get("cursor").is_some() {
            return Err(rpc_error(error_code::INVALID_PARAMS, "there is only one page"));
        }
        let Some(hello) = self.hello() else { return Ok(raw(&json!({ "prompts": [] }))) };
        let mut prompts = Vec::new();
        let admitted: Vec<&Arc<Upstream>> =
            self.upstreams.iter().filter(|own| self.admits_other(own, Asks::Prompt)).collect();
        let refreshed = admitted.iter().map(|own| self.in_time(own, own.refresh_prompts(self, &hello), Err));
        let refreshed = futures_util::future::join_all(refreshed).await;
        for (upstream, refreshed) in admitted.into_iter().zip(refreshed) {
            if let Err(why) = refreshed {
                tracing::warn!("{why}");
                if self.upstreams.len() == 1 {
                    return Err(rpc_error(error_code::INTERNAL, &ringfence::text::clean(&why).text));
                }
            }
            let listing = lock(&upstream.prompts);
            for one in listing.judged.iter().filter(|one| one.quarantine.is_none()) {
                let mut definition = one.definition.clone();
                take_off_addresses(&mut definition);
                let own = definition.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
                if upstream.spec.prefixed
                    && let Some(definition) = definition.as_object_mut()
                {
                    definition.insert("name".into(), json!(upstream.spec.offered(&own)));
                }
                prompts.push(definition);
            }
        }
        Ok(raw(&json!({ "prompts": prompts })))
    }

    /// Says why a prompt may not be used, if so. One that is not listed is not known to anybody who could have accepted it.
    pub(super) async fn withheld_prompt(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        own: &str,
    ) -> Result<(), Refusal> {
        let unknown = || Refusal::new(Code::ToolUnknown, "no prompt of this name is offered");
        let is_known = lock(&upstream.prompts).known;
        if let Some(hello) = self.hello().filter(|_| !is_known) {
            upstream.refresh_prompts(self, &hello).await.map_err(|why| {
                Refusal::new(Code::NotAvailable, ringfence::text::clean(&why).text.into_owned())
            })?;
        }
        let listing = lock(&upstream.prompts);
        let key = format!("prompt:{own}");
        let found: &Judged = listing.judged.iter().find(|one| one.key == key).ok_or_else(unknown)?;
        found.quarantine.as_ref().map_or(Ok(()), |why| Err(why.refusal.clone()))
    }

    /// Lists the resources of all servers, or their templates. One server's pages are passed on as they are.
    pub(super) async fn list_resources(
        self: &Arc<Self>,
        method: &str,
        member: &str,
        params: RawObject,
    ) -> Answer {
        let Some(hello) = self.hello() else { return Ok(raw(&json!({ member: [] }))) };
        let only = self.upstreams.len() == 1;
        let mut all: Vec<Raw> = Vec::new();
        let admitted = |own: &Arc<Upstream>| self.admits_other(own, Asks::Resource);
        let failed = |why: String| rpc_error(error_code::INTERNAL, &ringfence::text::clean(&why).text);
        let admitted = self.upstreams.iter().enumerate().filter(|(_, own)| admitted(own));
        let asked = admitted.map(|(place, upstream)| {
            let mut params = params.clone();
            if !only {
                params.remove("cursor");
            }
            let hello = &hello;
            let asked = async move {
                let answer = match upstream.connection(hello).await {
                    Ok(own) if !own.can("resources") => return None,
                    Ok(_) => upstream.request(hello, method, params, None).await,
                    Err(gone) => Err(gone),
                };
                Some(match answer {
                    Ok(answer) => crate::clean::clean_answer(&answer),
                    Err(gone) => Err(failed(gone.why)),
                })
            };
            async move { (place, upstream, self.in_time(upstream, asked, |why| Some(Err(failed(why)))).await) }
        });
        for (place, upstream, answer) in futures_util::future::join_all(asked).await {
            let Some(answer) = answer else { continue };
            match answer {
                Ok(result) => {
                    let mut object = RawObject::parse(&result).unwrap_or_default();
                    let page: Vec<Raw> = object
                        .get(member)
                        .and_then(|raw| serde_json::from_str(raw.get()).ok())
                        .unwrap_or_default();
                    let shown: Vec<Raw> = page.iter().filter_map(|one| harmless(one)).collect();
                    if only {
                        let same = page.len() == shown.len()
                            && page.iter().zip(&shown).all(|(was, is)| was.get() == is.get());
                        if !same {
                            object.set(member, raw(&shown));
                        }
                        return Ok(if same { result } else { object.to_raw() });
                    }
                    all.extend(shown.into_iter().filter(|one| self.belongs(place, one)));
                }
                Err(error) if only => return Err(error),
                Err(error) => tracing::warn!(server = %upstream.spec.name, "{}", error.get()),
            }
        }
        Ok(raw(&json!({ member: all })))
    }

    /// Does something with one server. Where there are several, one that takes long is not waited for, and it is said why.
    async fn in_time<T>(
        &self,
        upstream: &Upstream,
        work: impl Future<Output = T>,
        late: impl FnOnce(String) -> T,
    ) -> T {
        if self.upstreams.len() < 2 {
            return work.await;
        }
        let why = || format!("server `{}` has not said yet what it offers", upstream.spec.name);
        tokio::time::timeout(LIST_PATIENCE, work).await.unwrap_or_else(|_| late(why()))
    }

    /// Remembers whose resource something is. What several servers claim is of the first of them: another cannot take it away.
    fn belongs(&self, place: usize, one: &RawValue) -> bool {
        let Some(uri) = RawObject::parse(one).ok().and_then(|one| one.text("uri")) else { return true };
        let mut known = lock(&self.resources);
        let is_full = known.len() >= MOST_RESOURCES;
        match known.get_mut(&uri) {
            Some(owner) if *owner < place => {
                let (first, other) = (self.server_at(*owner), self.server_at(place));
                tracing::warn!(
                    "server `{other}` claims a resource of server `{first}`; it stays with `{first}`"
                );
                false
            }
            Some(owner) => {
                *owner = place;
                true
            }
            None if is_full => false,
            None => {
                known.insert(uri, place);
                true
            }
        }
    }

    fn server_at(&self, place: usize) -> &str {
        self.upstreams.get(place).map_or("", |upstream| upstream.spec.name.as_str())
    }

    /// Says whether the client's token goes as far as a tool.
    pub(crate) fn admits(&self, server: &str, name: &str) -> bool {
        let agent = &self.agent;
        name == crate::policy_tool::NAME
            || (agent.servers.as_ref().is_none_or(|own| own.iter().any(|one| one == server))
                && agent.tools.as_ref().is_none_or(|own| own.iter().any(|one| one == name)))
    }
}

impl Session {
    /// Says whether the client's token goes as far as a registered tool.
    pub(crate) fn admits_tool(&self, tool: &Registered) -> bool {
        let server = match &tool.declaration().runtime {
            Runtime::Server { server, .. } => server.as_str(),
            _ => TOOLBOX,
        };
        self.admits(server, tool.declaration().name.as_str())
    }

    /// Says whether the client's token goes as far as the prompts or the resources of a server.
    pub(super) fn admits_other(&self, upstream: &Upstream, asks: Asks) -> bool {
        self.admits(&upstream.spec.name, &upstream.spec.offered(asks.name()))
    }
}

/// Takes out of a definition that its tool runs as a task, where tasks are not offered. Returns whether it runs otherwise too.
fn take_off_tasks(definition: &mut Value) -> bool {
    let Some(execution) = definition.get_mut("execution").and_then(Value::as_object_mut) else { return true };
    let support = execution.remove("taskSupport");
    if execution.is_empty()
        && let Some(members) = definition.as_object_mut()
    {
        members.remove("execution");
    }
    support != Some(json!("required"))
}

/// Returns what may be shown of a resource or a template: without what its server says of it, where that looks hostile, and
/// nothing where even its name does.
fn harmless(one: &RawValue) -> Option<Raw> {
    let definition: Value = serde_json::from_str(one.get()).ok()?;
    if !looks_hostile(&definition) {
        return Some(one.to_owned());
    }
    let bare: serde_json::Map<String, Value> = definition
        .as_object()?
        .iter()
        .filter(|(name, _)| matches!(name.as_str(), "uri" | "uriTemplate" | "name" | "mimeType" | "size"))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let bare = Value::Object(bare);
    (!looks_hostile(&bare)).then(|| raw(&bare))
}

/// What the toolbox's own tools are known by where servers are named.
pub(super) const TOOLBOX: &str = "toolbox";

/// Writes the definition of a tool of the toolbox.
fn defined(tool: &Registered) -> Value {
    let declaration: &Declaration = tool.declaration();
    let mut definition = json!({
        "name": declaration.name,
        "description": tool.visible_description(),
        "inputSchema": object_schema(&declaration.input),
    });
    if let Some(members) = definition.as_object_mut() {
        if let Some(title) = &declaration.title {
            let title = ringfence::text::clean(title).text.into_owned();
            members.insert("title".into(), json!(title));
        }
        if declaration.output.get("type") == Some(&json!("object")) {
            members.insert("outputSchema".into(), declaration.output.clone());
        }
    }
    definition
}

/// Arguments are an object for every client, whatever the schema of a toolbox says.
fn object_schema(schema: &Value) -> Value {
    match schema {
        Value::Object(members) if members.get("type") == Some(&json!("object")) => schema.clone(),
        Value::Object(members) if !members.contains_key("type") => {
            let mut members = members.clone();
            members.insert("type".into(), json!("object"));
            Value::Object(members)
        }
        _ => json!({ "type": "object" }),
    }
}
