//! What a client is told first: who answers, in which version, and what can be asked.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Session, lock};
use crate::clean::clean_raw;
use crate::era::{Era, Hello, LEGACY, MODERN, SERVER};
use crate::ingress::looks_hostile;
use crate::message::{Answer, error_code, rpc_error};
use crate::raw::{Raw, RawObject, raw};
use crate::upstream::connection::Connection;

/// How long all servers together are waited for when a client is greeted.
const INTRODUCTION: Duration = Duration::from_secs(5);

impl Session {
    /// Answers a legacy client that comes.
    pub(super) async fn initialize(self: &Arc<Self>, params: RawObject) -> Answer {
        if let Some(why) = &self.broken {
            return Err(rpc_error(error_code::INTERNAL, why));
        }
        match self.hello() {
            Some(hello) if hello.era == Era::Legacy => {
                return Err(rpc_error(error_code::INVALID_REQUEST, "the session is initialized already"));
            }
            // The client has asked in the modern way first and does not want to go on so.
            Some(_) => {
                futures_util::future::join_all(self.upstreams.iter().map(|upstream| upstream.stop())).await;
                self.ready.store(false, std::sync::atomic::Ordering::Release);
            }
            None => {}
        }
        let asked = params.text("protocolVersion").unwrap_or_default();
        let hello = Hello::legacy(params);
        let said = self.transparent(&hello).await?;
        *lock(&self.hello) = Some(hello);
        let spoken = |version: &str| LEGACY.contains(&version);
        let newest = LEGACY.last().copied().unwrap_or_default();
        let Some((connection, instructions)) = said else {
            self.ready_at_once();
            let version = if spoken(&asked) { asked.as_str() } else { newest };
            let mut result = RawObject::default();
            result.set("protocolVersion", raw(version));
            result.set("capabilities", raw(&self.own_capabilities()));
            result.set("serverInfo", raw(&own_info()));
            if let Some(instructions) = self.all_instructions().await {
                result.set("instructions", instructions);
            }
            return Ok(result.to_raw());
        };
        let mut result = match connection.era() {
            Era::Legacy => connection.said(),
            Era::Modern => translated(&connection.said(), if spoken(&asked) { &asked } else { newest }),
        };
        tame(&mut result, "serverInfo", self.server_name());
        self.adapt(&mut result, instructions);
        Ok(result.to_raw())
    }

    /// Returns what the operator calls the server whose words are passed on.
    fn server_name(&self) -> &str {
        self.upstreams.first().map_or("ringfence", |upstream| upstream.spec.name.as_str())
    }

    /// Answers a modern client that wants to know who is here.
    pub(super) async fn discover(self: &Arc<Self>) -> Answer {
        if let Some(why) = &self.broken {
            return Err(rpc_error(error_code::INTERNAL, why));
        }
        let hello = self.hello().unwrap_or_else(|| Hello::modern(&RawObject::default()));
        let said = self.transparent(&hello).await?;
        let mut result = RawObject::default();
        result.set("resultType", raw("complete"));
        result.set("supportedVersions", raw(&[MODERN]));
        let (capabilities, info, instructions) = match said {
            None => {
                lock(&self.hello).get_or_insert(hello);
                let instructions = self.all_instructions().await;
                (raw(&self.own_capabilities()), raw(&own_info()), instructions)
            }
            Some((connection, instructions)) => {
                let said = connection.said();
                let info = match connection.era() {
                    Era::Legacy => said.get("serverInfo").map(ToOwned::to_owned),
                    Era::Modern => {
                        said.object("_meta").and_then(|meta| meta.get(SERVER).map(ToOwned::to_owned))
                    }
                };
                let capabilities = said.get("capabilities").map(ToOwned::to_owned).unwrap_or_default();
                let info = info.unwrap_or_else(|| raw(&own_info()));
                let mut both = RawObject::default();
                both.set("capabilities", capabilities);
                both.set("serverInfo", info);
                tame(&mut both, "serverInfo", self.server_name());
                let (capabilities, info) = (both.remove("capabilities"), both.remove("serverInfo"));
                (capabilities.unwrap_or_default(), info.unwrap_or_default(), instructions)
            }
        };
        result.set("capabilities", capabilities);
        self.adapt(&mut result, instructions);
        result.set("ttlMs", raw(&0));
        result.set("cacheScope", raw("private"));
        result.set("_meta", raw(&json!({ SERVER: info })));
        Ok(result.to_raw())
    }

    /// Starts the server whose words are passed on, where there is only one.
    async fn transparent(
        self: &Arc<Self>,
        hello: &Arc<Hello>,
    ) -> Result<Option<(Arc<Connection>, Option<Raw>)>, Raw> {
        let Some(_) = self.house.transparent() else { return Ok(None) };
        let Some(upstream) = self.upstreams.first() else { return Ok(None) };
        let failed = |why: String| rpc_error(error_code::INTERNAL, &ringfence::text::clean(&why).text);
        let connection = upstream.connection(hello).await.map_err(|gone| {
            let why = ringfence::text::clean(&gone.why).text.into_owned();
            *lock(&self.unmet) = Some(format!("the session was not initialized: {why}"));
            failed(why)
        })?;
        let instructions = upstream.accepted_instructions(self, &connection.said()).await;
        Ok(Some((connection, instructions)))
    }

    /// Returns what several servers say to models, each under its name, as far as somebody has accepted it.
    ///
    /// Servers that were never started are started for that, side by side; those that take long are not waited for, and the next
    /// session has what they say.
    async fn all_instructions(self: &Arc<Self>) -> Option<Raw> {
        let hello = self.hello()?;
        let until = tokio::time::Instant::now() + INTRODUCTION;
        let said = self.upstreams.iter().map(|upstream| {
            let (upstream, hello) = (Arc::clone(upstream), hello.clone());
            async move {
                let said = match self.house.introduction(&upstream.spec.name) {
                    Some(said) => said,
                    None => {
                        let begun = tokio::time::timeout_at(until, upstream.connection(&hello)).await;
                        begun.ok()?.ok()?.said()
                    }
                };
                let accepted = upstream.accepted_instructions(self, &said).await?;
                let text: String = serde_json::from_str(accepted.get()).ok()?;
                let text = ringfence::text::clean(&text).text.into_owned();
                Some(format!("Server `{}`:\n{text}", upstream.spec.name))
            }
        });
        let said: Vec<String> = futures_util::future::join_all(said).await.into_iter().flatten().collect();
        (!said.is_empty()).then(|| raw(&said.join("\n\n")))
    }

    /// Changes what a server says of itself to what is offered here.
    fn adapt(&self, result: &mut RawObject, instructions: Option<Raw>) {
        match instructions {
            Some(text) => result.set("instructions", text),
            None => drop(result.remove("instructions")),
        }
        let mut capabilities = result.object("capabilities").unwrap_or_default();
        if capabilities.get("tools").is_some() || self.house.options.policy_tool {
            // A definition that changes is withheld, and the client has to hear of it.
            let mut tools = capabilities.object("tools").unwrap_or_default();
            tools.set("listChanged", raw(&true));
            capabilities.set("tools", tools.to_raw());
        }
        result.set("capabilities", capabilities.to_raw());
    }

    fn own_capabilities(&self) -> Value {
        if self.upstreams.is_empty() {
            return json!({ "tools": { "listChanged": true } });
        }
        json!({
            "tools": { "listChanged": true },
            "prompts": { "listChanged": true },
            "resources": { "listChanged": true, "subscribe": true },
            "completions": {},
            "logging": {},
        })
    }

    fn ready_at_once(&self) {
        self.ready.store(true, std::sync::atomic::Ordering::Release);
    }
}

/// Cleans what a server says of itself, and takes away what looks hostile: it comes before anybody could accept anything.
fn tame(result: &mut RawObject, info: &str, name: &str) {
    let instructions = result.remove("instructions");
    let members: Vec<(String, Raw)> = result
        .iter()
        .filter_map(|(member, value)| {
            let clean = clean_raw(value)?;
            let parsed: Value = serde_json::from_str(clean.get()).ok()?;
            let is_hostile = looks_hostile(&json!({ "name": "server", member: parsed }));
            match member {
                _ if !is_hostile => Some((member.to_owned(), clean)),
                _ if member == info => {
                    Some((member.to_owned(), raw(&json!({ "name": name, "version": "0" }))))
                }
                "protocolVersion" => Some((member.to_owned(), clean)),
                "capabilities" => {
                    let known = ["tools", "prompts", "resources", "logging", "completions", "tasks"];
                    let members = parsed.as_object().into_iter().flatten();
                    let kept: serde_json::Map<String, Value> = members
                        .filter(|(name, _)| known.contains(&name.as_str()))
                        .map(|(name, value)| (name.clone(), flags(value)))
                        .collect();
                    Some((member.to_owned(), raw(&kept)))
                }
                _ => None,
            }
        })
        .collect();
    *result = members.into_iter().collect();
    if let Some(instructions) = instructions {
        result.set("instructions", instructions);
    }
}

/// Keeps only the switches of a capability.
fn flags(value: &Value) -> Value {
    let members = value.as_object().into_iter().flatten();
    let known = ["listChanged", "subscribe"];
    let kept = members.filter(|(name, value)| known.contains(&name.as_str()) && value.is_boolean());
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Makes the answer to `initialize` from what a modern server says.
fn translated(said: &RawObject, version: &str) -> RawObject {
    let mut result = RawObject::default();
    result.set("protocolVersion", raw(version));
    let empty = || raw(&json!({}));
    let mut capabilities = said.object("capabilities").unwrap_or_default();
    // A legacy client sets a level, and it is passed on with each request.
    if capabilities.get("logging").is_none() {
        capabilities.set("logging", empty());
    }
    result.set("capabilities", capabilities.to_raw());
    let info = said.object("_meta").and_then(|meta| meta.get(SERVER).map(ToOwned::to_owned));
    result.set("serverInfo", info.unwrap_or_else(|| raw(&own_info())));
    result
}

fn own_info() -> Value {
    json!({ "name": "ringfence", "version": env!("CARGO_PKG_VERSION") })
}
