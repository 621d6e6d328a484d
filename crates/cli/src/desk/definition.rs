//! Every definition that is known, with where it stands and what it reaches.
//!
//! INVARIANT: what has no reason to be withheld is what a call would be let through to, and nothing else.

use std::collections::BTreeSet;

use ringfence::policy::{SafetyClass, ServerEntry, ServerTool};
use ringfence::text::{Scan, Verdict};
use ringfence::{Change, Declaration, PinStatus};
use ringfence_server::console::{
    Definition, DefinitionId, DefinitionPage, DeskError, ReachRow, ScanFinding, Trust,
};
use serde_json::Value;

use super::fault::input;
use super::grant::{rows, server_entry};
use super::sent::{self, Sent, offered};
use super::{FileDesk, View};

impl FileDesk {
    /// Returns everything: the tools of the file first, then what each server sent.
    pub(super) fn pages(&self) -> Result<Vec<DefinitionPage>, DeskError> {
        let view = self.view()?;
        let own = view.loaded.declarations.iter().map(|tool| view.own_page(tool));
        let mut pages = own.collect::<Result<Vec<_>, _>>()?;
        pages.sort_by(|one, other| one.definition.id.key.cmp(&other.definition.id.key));
        let entries = view.loaded.servers.iter().map(|server| server.name.as_str());
        let servers: BTreeSet<&str> = entries.chain(view.pins.servers()).chain(view.seen.servers()).collect();
        for server in servers {
            pages.extend(view.sent_pages(server)?);
        }
        Ok(pages)
    }
}

impl View {
    fn own_page(&self, tool: &Declaration) -> Result<DefinitionPage, DeskError> {
        let digest = ringfence::definition_digest(tool).map_err(input)?;
        let new = serde_json::to_value(tool).map_err(|error| input(error.to_string()))?;
        let (trust, why) = self.own_standing(tool, &digest);
        let scan = ringfence::scan_declaration(tool);
        let accepted = self.held.pins.as_ref().and_then(|pins| pins.definition(tool.name.as_str()));
        let reach = rows(
            &tool.capabilities.clone().unwrap_or_default(),
            &self.loaded.personality,
            tool.name.as_str(),
        )?;
        let definition = Definition {
            id: DefinitionId { server: None, key: format!("tool:{}", tool.name) },
            name: tool.name.to_string(),
            description: tool.description.clone(),
            trust,
            why,
            class: Some(tool.class().as_str().to_owned()),
            accepted_digest: accepted.map(|(own, _)| own.to_owned()).filter(|own| *own != digest),
            digest,
            verdict: Some(scan.verdict.as_str().to_owned()),
            findings: findings(&scan),
            reach,
        };
        Ok(page(definition, accepted.map(|(_, own)| own), &new))
    }

    /// Says where a tool of the file stands, and why it is refused, in the order that registration looks.
    pub(super) fn own_standing(&self, tool: &Declaration, digest: &str) -> (Trust, Option<String>) {
        let is_hostile = ringfence::scan_declaration(tool).verdict == Verdict::Quarantine;
        let status = self.held.pins.as_ref().map(|pins| pins.status(tool, digest));
        let (trust, why) = match status {
            Some(PinStatus::Changed(_)) => (Trust::Changed, Some("it is not the accepted one")),
            Some(PinStatus::New) | None if is_hostile => (Trust::New, Some("it looks hostile")),
            Some(PinStatus::New) => (Trust::New, Some("it was not accepted yet")),
            Some(PinStatus::Rejected) => (Trust::Rejected, Some("it was rejected")),
            Some(PinStatus::Accepted) => (Trust::Accepted, None),
            None => (Trust::Unpinned, None),
        };
        let widened = self.held.in_force.widened.get(&tool.name);
        let widened = widened.map(|why| format!("it may do more than was accepted: {why}"));
        let trust = if widened.is_some() && why.is_none() { Trust::Widened } else { trust };
        let whys = [why.map(str::to_owned), widened, self.outside_the_toolset(tool.name.as_str())];
        (trust, joined(whys))
    }

    fn outside_the_toolset(&self, name: &str) -> Option<String> {
        let is_permitted = self.loaded.personality.permits_tool(name);
        (!is_permitted).then(|| "it is not in the personality's toolset".to_owned())
    }

    fn sent_pages(&self, server: &str) -> Result<Vec<DefinitionPage>, DeskError> {
        let entry = server_entry(&self.loaded, server);
        let reach = match entry {
            Some(entry) => rows(&entry.capabilities, &self.loaded.personality, server)?,
            None => Vec::new(),
        };
        let known = sent::current(&self.pins, &self.seen, server);
        Ok(known.iter().map(|one| self.sent_page(server, entry, one, &reach)).collect())
    }

    fn sent_page(
        &self,
        server: &str,
        entry: Option<&ServerEntry>,
        one: &Sent<'_>,
        reach: &[ReachRow],
    ) -> DefinitionPage {
        let (trust, why) = self.sent_standing(server, entry, one);
        let scan = ringfence_server::scan_definition(one.definition);
        let class = one.tool().and_then(|_| Some(class_of(entry?, one).as_str().to_owned()));
        let former = self.pins.accepted_definition(server, one.former());
        let former_digest = former.and_then(|own| ringfence::json_digest(own).ok());
        let text = |field: &str| one.definition.get(field).and_then(Value::as_str);
        let name = one.key.split_once(':').map_or(one.key, |(_, name)| name);
        let definition = Definition {
            id: DefinitionId { server: Some(server.to_owned()), key: one.key.to_owned() },
            name: if one.key == "instructions" { one.key.to_owned() } else { offered(server, name) },
            description: one.definition.as_str().or_else(|| text("description")).unwrap_or_default().into(),
            trust,
            why,
            class,
            digest: one.digest.to_owned(),
            accepted_digest: former_digest.filter(|own| own != one.digest),
            verdict: Some(scan.verdict.as_str().to_owned()),
            findings: findings(&scan),
            reach: if one.tool().is_some() { reach.to_vec() } else { Vec::new() },
        };
        page(definition, former, one.definition)
    }

    /// Says where what a server sent stands, and why it is withheld.
    pub(super) fn sent_standing(
        &self,
        server: &str,
        entry: Option<&ServerEntry>,
        one: &Sent<'_>,
    ) -> (Trust, Option<String>) {
        let trust = one.trust();
        let why = match one.seen {
            Some(seen) => Some(seen.why.clone()),
            None if trust == Trust::Rejected => Some("it was rejected".to_owned()),
            None => None,
        };
        let widened = self.held.servers.get(server);
        let widened = widened.map(|why| format!("its server may do more than was accepted: {why}"));
        let trust = if widened.is_some() && trust == Trust::Accepted { Trust::Widened } else { trust };
        let unknown = entry.is_none().then(|| "the policy has no server of this name".to_owned());
        let tool = one.tool();
        let is_off = tool.and_then(|name| rule(entry?, name)).is_some_and(|rule| !rule.enabled);
        let off = is_off.then(|| "the policy switches it off".to_owned());
        let outside = tool.and_then(|name| self.outside_the_toolset(&offered(server, name)));
        (trust, joined([why, widened, unknown, off, outside]))
    }
}

/// Returns the class that calls of a server's tool are judged by.
pub(super) fn class_of(entry: &ServerEntry, one: &Sent<'_>) -> SafetyClass {
    let rule = one.tool().and_then(|name| rule(entry, name)).and_then(|rule| rule.class);
    ringfence_server::class_of(&entry.capabilities, rule, one.definition)
}

fn rule<'a>(entry: &'a ServerEntry, name: &str) -> Option<&'a ServerTool> {
    entry.tools.iter().find(|(own, _)| own.as_str() == name).map(|(_, rule)| rule)
}

fn joined(whys: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let whys: Vec<String> = whys.into_iter().flatten().collect();
    (!whys.is_empty()).then(|| whys.join("; "))
}

fn findings(scan: &Scan) -> Vec<ScanFinding> {
    let found = scan.findings.iter().map(|finding| ScanFinding {
        rule: finding.rule.to_owned(),
        place: finding.field.clone(),
        message: finding.message.to_owned(),
    });
    found.collect()
}

fn page(definition: Definition, old: Option<&Value>, new: &Value) -> DefinitionPage {
    let mut changes = old.map(|old| ringfence::compare_definitions(old, new)).unwrap_or_default();
    changes.sort_by_key(gravity);
    DefinitionPage {
        definition,
        old: old.map(pretty),
        new: pretty(new),
        changes: changes.iter().map(ToString::to_string).collect(),
    }
}

/// Says how grave a change is, the gravest first: what runs and reaches, then what decides, then what a model is told, then the
/// rest.
fn gravity(change: &Change) -> u8 {
    match change.place.trim_start_matches('/').split('/').next().unwrap_or_default() {
        "capabilities" | "runtime" => 0,
        "annotations" | "class" | "constraints" | "idempotency" | "limits" | "risk" => 1,
        "" | "description" | "title" => 2,
        "input" | "inputSchema" => 3,
        _ => 4,
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
