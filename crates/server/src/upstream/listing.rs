//! Reading what a server offers, judging it, and putting it in force.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ringfence::policy::{Capabilities, Declaration, JsonLimits, Runtime, SafetyClass, ToolName, parse_json};
use ringfence::{Code, Incoming, Quarantine, Refusal, Tool};
use serde_json::{Value, json};

use super::{Listing, Upstream, lock};
use crate::era::Hello;
use crate::ingress::{Judge, Judged};
use crate::message::MAX_MESSAGE;
use crate::raw::{Raw, RawObject};
use crate::session::Session;
use crate::tool::{Asks, ServerTool};

/// How long a server may take to list what it offers.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many pages one list may have, and how many definitions.
const MOST_PAGES: usize = 64;
const MOST_DEFINITIONS: usize = 2048;

impl Upstream {
    /// Makes sure that its tools are known.
    pub(crate) async fn know_tools(
        self: &Arc<Self>,
        session: &Session,
        hello: &Arc<Hello>,
    ) -> Result<(), String> {
        if lock(&self.tools).known && self.running().is_some() {
            return Ok(());
        }
        self.refresh_tools(session, hello).await
    }

    /// Reads its tools anew, judges them, and replaces those in force.
    pub(crate) async fn refresh_tools(
        self: &Arc<Self>,
        session: &Session,
        hello: &Arc<Hello>,
    ) -> Result<(), String> {
        let definitions = self.all(hello, "tools/list", "tools").await?;
        if self.is_judged(session, &definitions) {
            return Ok(());
        }
        let judged = self.judged(session, "tool", definitions).await?;
        self.put_in_force(session, judged);
        Ok(())
    }

    /// Says whether these very definitions were judged last, by the pins as they are now.
    fn is_judged(&self, session: &Session, definitions: &[Value]) -> bool {
        let listing = lock(&self.tools);
        listing.known
            && *lock(&self.judged_by) == Some(session.book().stamp())
            && listing.judged.len() == definitions.len()
            && listing.judged.iter().zip(definitions).all(|(judged, now)| judged.definition == *now)
    }

    /// Reads its prompts anew and judges them.
    pub(crate) async fn refresh_prompts(
        self: &Arc<Self>,
        session: &Session,
        hello: &Arc<Hello>,
    ) -> Result<(), String> {
        let definitions = self.all(hello, "prompts/list", "prompts").await?;
        let judged = self.judged(session, "prompt", definitions).await?;
        *lock(&self.prompts) = Listing { known: true, judged };
        Ok(())
    }

    /// Judges what is known already anew, where the pins are others than when it was judged.
    pub(crate) async fn judge_if_pins_changed(self: &Arc<Self>, session: &Session) -> Result<(), String> {
        let judged_by = *lock(&self.judged_by);
        if judged_by.is_some_and(|stamp| stamp != session.book().stamp()) {
            self.judge_again(session).await?;
        }
        Ok(())
    }

    /// Judges what is known already by what has been accepted in the meantime.
    pub(crate) async fn judge_again(self: &Arc<Self>, session: &Session) -> Result<(), String> {
        let definitions: Vec<Value> =
            lock(&self.tools).judged.iter().map(|one| one.definition.clone()).collect();
        let judged = self.judged(session, "tool", definitions).await?;
        self.put_in_force(session, judged);
        Ok(())
    }

    /// Judges what the server tells the model about itself; returns it where somebody has accepted it.
    pub(crate) async fn accepted_instructions(
        self: &Arc<Self>,
        session: &Session,
        said: &RawObject,
    ) -> Option<Raw> {
        let written = said.get("instructions")?;
        let text: String = serde_json::from_str(written.get()).ok()?;
        let definition = Value::String(text);
        let judged = self.judged(session, "instructions", vec![definition]).await.ok()?;
        let free = judged.iter().all(|one| one.quarantine.is_none());
        *lock(&self.instructions) = Listing { known: true, judged };
        free.then(|| written.to_owned())
    }

    /// Reads all pages of a list. A server without the capability has none.
    async fn all(
        self: &Arc<Self>,
        hello: &Arc<Hello>,
        method: &str,
        member: &str,
    ) -> Result<Vec<Value>, String> {
        let connection = self.connection(hello).await.map_err(|gone| gone.why)?;
        if !connection.can(member) {
            return Ok(Vec::new());
        }
        let mut definitions: Vec<Value> = Vec::new();
        let mut cursor: Option<Raw> = None;
        let end = tokio::time::Instant::now() + PATIENCE;
        let mut bytes = 0;
        for _ in 0..MOST_PAGES {
            let mut params = RawObject::default();
            if let Some(cursor) = cursor.take() {
                params.set("cursor", cursor);
            }
            let asked = connection.request(method, params, None, None);
            let answer = tokio::time::timeout_at(end, asked).await;
            let answer =
                answer.map_err(|_| format!("server `{}` does not answer `{method}`", self.spec.name))?;
            let result = answer.map_err(|gone| gone.why)?;
            let result = result.map_err(|error| {
                format!(
                    "server `{}` answered `{method}` with an error: {}",
                    self.spec.name,
                    clean(error.get())
                )
            })?;
            bytes += result.get().len();
            if bytes > MAX_MESSAGE.max(self.spec.max_message) {
                return Err(format!("the list of {member} of server `{}` is too large", self.spec.name));
            }
            let object = RawObject::parse(&result).map_err(|error| error.to_string())?;
            let page: Vec<Raw> =
                object.get(member).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
            for one in page {
                // A definition in which a member appears twice would be seen differently by whoever reads it next.
                match parse_json(one.get(), JsonLimits::ARGUMENTS) {
                    Ok(definition) if has_usable_name(&definition) => definitions.push(definition),
                    Ok(_) => {
                        let server = &self.spec.name;
                        tracing::warn!(%server, "a definition without a usable name was left out");
                    }
                    Err(error) => {
                        let name = RawObject::parse(&one).ok().and_then(|one| one.text("name"));
                        let name = name.map_or_else(
                            || "without a name".to_owned(),
                            |name| format!("`{}`", clean(&name)),
                        );
                        tracing::warn!(server = %self.spec.name, "the definition {name} was left out: {error}");
                    }
                }
            }
            if definitions.len() > MOST_DEFINITIONS {
                return Err(format!(
                    "server `{}` offers more than {MOST_DEFINITIONS} {member}",
                    self.spec.name
                ));
            }
            cursor = object.get("nextCursor").filter(|raw| raw.get() != "null").map(|raw| raw.to_owned());
            if cursor.is_none() {
                return Ok(definitions);
            }
        }
        Err(format!("server `{}` has more than {MOST_PAGES} pages of {member}", self.spec.name))
    }

    /// Judges definitions by the pins as they are now, and writes down what is new.
    async fn judged(
        self: &Arc<Self>,
        session: &Session,
        kind: &'static str,
        definitions: Vec<Value>,
    ) -> Result<Vec<Judged>, String> {
        let (book, spec) = (Arc::clone(session.book()), Arc::clone(&self.spec));
        let stamp = book.stamp();
        let review = session.house().options.review.clone();
        let work = move || {
            let pins = book.pins()?;
            let judge = Judge { server: &spec.name, pins: &pins, accept: spec.accept, review: &review };
            let judgement = judge.judge(kind, definitions);
            book.keep(&spec.name, kind, &judgement.accepted, &judgement.seen)?;
            Ok::<_, String>(judgement)
        };
        let judgement = tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string());
        let judgement = match judgement.and_then(|judgement| judgement) {
            Ok(judgement) => judgement,
            Err(why) => {
                // What cannot be judged is not in force.
                self.put_in_force(session, Vec::new());
                lock(&self.prompts).known = false;
                lock(&self.tools).known = false;
                return Err(why);
            }
        };
        if kind == "tool" {
            *lock(&self.judged_by) = Some(stamp);
        }
        self.keep_judgement(session, &judgement).await?;
        Ok(judgement.all)
    }

    fn put_in_force(self: &Arc<Self>, session: &Session, judged: Vec<Judged>) {
        let mut incoming: Vec<Incoming> = Asks::OTHERS
            .iter()
            .filter_map(|asks| self.tool(asks.name(), asks.definition(), *asks))
            .map(|tool| Incoming { tool, quarantine: None })
            .collect();
        let mut listed = Vec::new();
        for mut one in judged {
            let name = one.definition.get("name").and_then(Value::as_str).unwrap_or_default();
            let is_enabled = self.spec.tools.get(name).is_none_or(|rule| rule.enabled);
            match self.tool(name, one.definition.clone(), Asks::Tool).filter(|_| is_enabled) {
                Some(tool) => incoming.push(Incoming { tool, quarantine: one.quarantine.clone() }),
                None => {
                    let why = if is_enabled {
                        "its name is not 1 to 128 letters, digits, `_`, `.` and `-`"
                    } else {
                        "the policy switches it off"
                    };
                    let refusal = Refusal::new(Code::ToolNotPermitted, why);
                    one.quarantine = Some(Quarantine { refusal, changes: Vec::new() });
                }
            }
            listed.push(one);
        }
        let server = &self.spec.name;
        let owned = |declaration: &Declaration| matches!(&declaration.runtime, Runtime::Server { server: own, .. } if own == server);
        let places: HashMap<String, usize> =
            listed.iter().enumerate().map(|(place, one)| (one.key.clone(), place)).collect();
        for (name, error) in session.registry().replace(owned, incoming) {
            let own = self.spec.own(name.as_str()).unwrap_or_default();
            tracing::warn!(server = %server, "tool `{name}` is withheld: {error}");
            let withheld = places.get(&format!("tool:{own}")).and_then(|place| listed.get_mut(*place));
            if let Some(one) = withheld.filter(|one| one.quarantine.is_none()) {
                let refusal = Refusal::new(Code::ToolNotPermitted, error.to_string());
                one.quarantine = Some(Quarantine { refusal, changes: Vec::new() });
            }
        }
        let waiting = listed.iter().filter(|one| one.quarantine.is_some()).count();
        if waiting > 0 && lock(&self.tools).judged.len() != listed.len() {
            let review = &session.house().options.review;
            tracing::warn!(
                "{waiting} tools of server `{server}` are withheld: `{review} diff --server {server}` shows why"
            );
        }
        *lock(&self.tools) = Listing { known: true, judged: listed };
    }

    fn tool(self: &Arc<Self>, name: &str, definition: Value, asks: Asks) -> Option<Arc<dyn Tool>> {
        let offered: ToolName = self.spec.offered(name).parse().ok()?;
        let rule = self.spec.tools.get(name).cloned().unwrap_or_default();
        let text = |field: &str| definition.get(field).and_then(Value::as_str).map(str::to_owned);
        let class = class_of(&self.spec.capabilities, rule.class, &definition);
        let has_output = definition.get("outputSchema").is_some();
        let limits = self.spec.limits_of(&rule);
        let declaration = Declaration {
            name: offered,
            title: text("title"),
            description: text("description").unwrap_or_default(),
            input: definition.get("inputSchema").cloned().unwrap_or_else(|| json!({ "type": "object" })),
            output: definition.get("outputSchema").cloned().unwrap_or(Value::Bool(true)),
            capabilities: Some(self.spec.capabilities.clone()),
            class: Some(class),
            risk: rule.risk,
            idempotency: rule.idempotency,
            constraints: rule.constraints,
            limits,
            assurance: None,
            runtime: Runtime::Server { server: self.spec.name.clone(), definition },
        };
        Some(Arc::new(ServerTool::new(declaration, name.to_owned(), asks, Arc::downgrade(self), has_output)))
    }
}

/// Says whether something has a name that can be compared with others and shown: neither long nor with anything hidden in it.
fn has_usable_name(definition: &Value) -> bool {
    let is_usable = |name: &str| (1..=128).contains(&name.len()) && ringfence::text::clean(name).text == name;
    definition.get("name").and_then(Value::as_str).is_some_and(is_usable)
}

/// Returns the class that calls of a server's tool are judged by: what its server reaches, what the operator says of it and what
/// the definition says of itself, whichever is gravest.
pub fn class_of(reach: &Capabilities, rule: Option<SafetyClass>, definition: &Value) -> SafetyClass {
    reach.implied_class().max(annotated(definition)).max(rule.unwrap_or(SafetyClass::Read))
}

/// Returns the least class that a server's own annotations speak for. They are its word: they make a class higher, never lower.
fn annotated(definition: &Value) -> SafetyClass {
    let says = |hint: &str| {
        definition.pointer("/annotations").and_then(|all| all.get(hint)) == Some(&Value::Bool(true))
    };
    let destructive = if says("destructiveHint") { SafetyClass::Write } else { SafetyClass::Read };
    let open = if says("openWorldHint") { SafetyClass::Network } else { SafetyClass::Read };
    destructive.max(open)
}

fn clean(text: &str) -> String {
    let text: String = text.chars().take(400).collect();
    ringfence::text::clean(&text).text.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_raise_a_class_and_never_lower_it() {
        #[rustfmt::skip]
        let cases = [
            (json!({}),                                                       SafetyClass::Read),
            (json!({"annotations": {"readOnlyHint": true}}),                  SafetyClass::Read),
            (json!({"annotations": {"destructiveHint": true}}),               SafetyClass::Write),
            (json!({"annotations": {"openWorldHint": true}}),                 SafetyClass::Network),
            (json!({"annotations": {"destructiveHint": true, "readOnlyHint": true}}), SafetyClass::Write),
            (json!({"annotations": {"destructiveHint": "yes"}}),              SafetyClass::Read),
        ];
        for (definition, class) in cases {
            assert_eq!(annotated(&definition), class, "{definition}");
        }
        assert_eq!(
            SafetyClass::Financial.max(annotated(&json!({"annotations": {"readOnlyHint": true}}))),
            SafetyClass::Financial
        );
    }
}
