//! What a page says of agents, of the gateway, of the console, and of whoever is told.

use std::collections::BTreeSet;

use super::page::{Rows, Section};
use crate::manifest::{AgentRecord, ConsoleRecord, GatewayRecord, Manifest, NotifyRecord};
use crate::{NetworkCeiling, OnUnknown};

/// Returns their sections; a gateway or console that nothing is said of has none.
pub(super) fn sections(manifest: &Manifest) -> Vec<Section> {
    let mut sections = Vec::new();
    if !manifest.gateway.is_default() {
        sections.push(gateway(&manifest.gateway));
    }
    if !manifest.console.is_default() {
        sections.push(console(&manifest.console));
    }
    sections.extend(manifest.agents.iter().map(|(name, record)| agent(name.as_str(), record)));
    sections.extend(manifest.notify.iter().map(told));
    sections
}

fn gateway(record: &GatewayRecord) -> Section {
    let mut rows = Rows::default();
    rows.plain("answers to", record.hosts.iter().cloned().collect());
    let mut facts = vec![if record.tls { "TLS" } else { "without TLS" }.to_owned()];
    if !record.policy_tool {
        facts.push("does not tell agents what they may reach".to_owned());
    }
    facts.extend(record.sessions_per_agent.map(|most| format!("at most {most} sessions for each agent")));
    facts.extend(
        record.requests_per_minute.map(|most| format!("at most {most} messages a minute for each agent")),
    );
    facts.extend(record.keep_keys.map(|keep| format!("keeps idempotency keys for {keep}")));
    let name = record.listen.map_or_else(|| "on loopback".to_owned(), |listen| format!("on {listen}"));
    Section { kind: "gateway", name, facts, rows: rows.0 }
}

fn console(record: &ConsoleRecord) -> Section {
    let mut rows = Rows::default();
    rows.plain("answers to", record.hosts.iter().cloned().collect());
    rows.plain("believes", record.trust.iter().cloned().collect());
    let mut facts = vec![if record.tls { "TLS" } else { "without TLS" }.to_owned()];
    if !record.enabled {
        facts.push("switched off".to_owned());
    }
    let name = record.listen.map_or_else(|| "on loopback".to_owned(), |listen| format!("on {listen}"));
    Section { kind: "console", name, facts, rows: rows.0 }
}

fn agent(name: &str, record: &AgentRecord) -> Section {
    let mut rows = Rows::default();
    let scope = |list: Option<&BTreeSet<String>>, every: &str| match list {
        None => vec![every.to_owned()],
        Some(list) if list.is_empty() => vec!["none".to_owned()],
        Some(list) => list.iter().cloned().collect(),
    };
    rows.plain("servers", scope(record.servers.as_ref(), "all"));
    rows.plain("tools", scope(record.tools.as_ref(), "all of those servers"));
    let facts =
        vec![if record.approves { "may agree to calls" } else { "may not agree to calls" }.to_owned()];
    Section { kind: "agent", name: name.to_owned(), facts, rows: rows.0 }
}

fn told(record: &NotifyRecord) -> Section {
    let mut rows = Rows::default();
    match record {
        NotifyRecord::Command { network, .. } => reach(&mut rows, network),
        NotifyRecord::Webhook { private, secret, .. } => {
            rows.plain("private network", private.iter().map(ToString::to_string).collect());
            rows.plain("signed with", vec![secret.clone()]);
        }
    }
    Section { kind: "notify", name: record.name(), facts: Vec::new(), rows: rows.0 }
}

fn reach(rows: &mut Rows, network: &NetworkCeiling) {
    let hosts: Vec<String> = network.hosts().iter().map(ToString::to_string).collect();
    rows.plain("network", if hosts.is_empty() { vec!["nothing".to_owned()] } else { hosts });
    rows.plain("private network", network.private().iter().map(ToString::to_string).collect());
    if network.on_unknown() == OnUnknown::Ask {
        rows.plain("other hosts", vec!["after asking a person".to_owned()]);
    }
}
