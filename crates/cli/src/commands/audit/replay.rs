//! Deciding a recorded run again: what was, and what would be now.
//!
//! INVARIANT: nothing runs, nobody is asked and nothing is written.

mod connection;
mod verdict;

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use ringfence::policy::ToolName;
use ringfence::{Asker, Call, Registry, Run};
use ringfence_store::{Database, Filter, Stored};
use serde_json::{Value, json};

use self::connection::Connection;
use self::verdict::{Now, Was};
use crate::error::{CommandError, Exit};
use crate::load::Place;
use crate::progress::Busy;
use crate::shown::{json_line, one_line};

/// How many records are read at once.
const PAGE: usize = 500;

/// One recorded call, then and now.
struct Replayed {
    index: u64,
    tool: String,
    was: Was,
    now: Now,
    /// Whether the tool is defined as it was; nothing where it was or is unknown.
    is_same_definition: Option<bool>,
    connections: Vec<Connection>,
}

/// Decides every recorded call of a run again.
pub(super) async fn replay(
    store: Arc<dyn Database>,
    place: &Place,
    run: &str,
    json: bool,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let loaded = place.load()?.sound()?;
    let digests: HashMap<String, String> =
        loaded.digests(&[])?.into_iter().map(|(own, digest)| (own.name.to_string(), digest)).collect();
    let personality = loaded.personality.id.clone();
    // The store stands behind tools that declare storage; there is no audit, so that nothing is written.
    let held = place.held(&loaded)?;
    let registry = loaded.registry(held, Some(Arc::clone(&store)), |builder| builder)?;
    let mut history = History { registry, digests, place, run: None, agreed: HashMap::new() };
    let filter = Filter { run: Some(run.to_owned()), ..Filter::default() };
    let busy = Busy::with("deciding the run again");
    let mut calls = Vec::new();
    let mut next = 0;
    loop {
        let page = store.entries(&filter, next, PAGE).await?;
        let Some(last) = page.last().map(|stored| stored.index) else { break };
        calls.extend(page.iter().filter_map(|stored| history.entry(stored)));
        next = last + 1;
    }
    drop(busy);
    if calls.is_empty() {
        return Err(CommandError::Input {
            message: format!("no call of a run `{}` is recorded", one_line(run)),
            hint: Some("`ringfence audit tail` shows the newest records, each with its run"),
        });
    }
    let differing = calls.iter().filter(|call| call.differs()).count();
    if json {
        for call in &calls {
            writeln!(out, "{}", json_line(&call.json()))?;
        }
    } else {
        let under = personality.map_or_else(
            || "a personality without a name".to_owned(),
            |id| format!("the personality `{}`", one_line(&id)),
        );
        writeln!(out, "run `{}`, decided again under {under}", one_line(run))?;
        for call in &calls {
            call.tell(out)?;
        }
        writeln!(out, "{differing} of {} calls would differ", calls.len())?;
    }
    Ok(if differing == 0 { Exit::Done } else { Exit::Findings })
}

/// What went before, as far as the next decision depends on it.
struct History<'a> {
    registry: Registry,
    digests: HashMap<String, String>,
    place: &'a Place,
    run: Option<Run>,
    /// How many people agreed to a call that has not ended yet, by its number and tool.
    agreed: HashMap<(u64, String), usize>,
}

impl History<'_> {
    /// Takes an entry of the run; a call is decided again.
    fn entry(&mut self, stored: &Stored) -> Option<Replayed> {
        let record: Value = serde_json::from_str(&stored.record).unwrap_or(Value::Null);
        let tool = record.get("tool").and_then(Value::as_str)?.to_owned();
        let number = record.get("call").and_then(Value::as_u64).unwrap_or(0);
        match stored.kind.as_str() {
            "approval" => {
                if record.get("step").and_then(Value::as_str) == Some("approved") {
                    let people = record.get("by").and_then(Value::as_array).map_or(0, Vec::len);
                    self.agreed.insert((number, tool), people);
                }
                None
            }
            "call" => {
                let people = self.agreed.remove(&(number, tool.clone())).unwrap_or(0);
                Some(self.decided(stored.index, tool, &record, people))
            }
            _ => None,
        }
    }

    fn decided(&mut self, index: u64, tool: String, record: &Value, people: usize) -> Replayed {
        let text = |field: &str| record.get(field).and_then(Value::as_str);
        let run = self.run.get_or_insert_with(|| {
            let run = Run::builder(text("run").unwrap_or_default(), text("session").unwrap_or_default())
                .proposed_by(text("proposer").unwrap_or_default());
            match self.place.working_dir() {
                Some(directory) => run.in_directory(directory).start(),
                None => run.start(),
            }
        });
        let arguments = record.get("arguments").cloned().unwrap_or(Value::Null);
        let asker = if text("asker") == Some("code") { Asker::Code } else { Asker::Model };
        let mut call = Call::new(tool.as_str(), arguments).asked_by(asker);
        if let Some(key) = text("idempotency_key") {
            call = call.idempotency_key(key);
        }
        let review = self.registry.review(run, &call);
        let was = Was::of(record, people);
        let now = Now::of(&review);
        // What would not have run now does not count for what came after it.
        if let (true, false, Ok(name)) = (was.ran(), now.is_refused(), tool.parse::<ToolName>()) {
            run.recall(&name, was == Was::Done { people });
        }
        let network = review.grant.as_deref().and_then(|grant| grant.network.as_ref());
        let connections = match record.get("connections").and_then(Value::as_array) {
            // A call that is refused makes no connection.
            Some(seen) if !now.is_refused() => {
                seen.iter().filter_map(|seen| Connection::judged(seen, network)).collect()
            }
            _ => Vec::new(),
        };
        let is_same_definition =
            text("tool_digest").zip(self.digests.get(&tool)).map(|(then, now)| then == now);
        Replayed { index, tool, was, now, is_same_definition, connections }
    }
}

impl Replayed {
    fn differs(&self) -> bool {
        self.was.differs_from(&self.now) || self.connections.iter().any(Connection::differs)
    }

    fn tell(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let mark = if self.differs() { '!' } else { ' ' };
        let (tool, was, now) = (one_line(&self.tool), &self.was, one_line(&self.now.to_string()));
        writeln!(out, "{mark} {} {tool}: {was}; now {now}", self.index)?;
        if self.is_same_definition == Some(false) {
            writeln!(out, "      the definition of `{tool}` has changed since")?;
        }
        for connection in &self.connections {
            let mark = if connection.differs() { '!' } else { ' ' };
            writeln!(out, "    {mark} {}", one_line(&connection.to_string()))?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        json!({
            "index": self.index,
            "tool": self.tool,
            "was": self.was.json(),
            "now": self.now.json(),
            "sameDefinition": self.is_same_definition,
            "connections": self.connections.iter().map(Connection::json).collect::<Vec<_>>(),
            "differs": self.differs(),
        })
    }
}
