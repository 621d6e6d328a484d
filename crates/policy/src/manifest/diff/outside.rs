//! Agents, the gateway, the console and whoever is told, compared.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use super::ChangeCode::{
    self, AgentAdded, AgentApprovalStrengthened, AgentApprovalWeakened, AgentRemoved, AgentScopeNarrowed,
    AgentScopeWidened, AgentTokenChanged, ConsoleChanged, ConsoleNarrowed, ConsoleWidened, GatewayChanged,
    GatewayNarrowed, GatewayWidened, NotifyAdded, NotifyChanged, NotifyNarrowed, NotifyRemoved,
    NotifyWidened,
};
use super::change::{Change, Changes, Sets, Subject, arrow, quote, quoted};
use crate::GatewayEntry;
use crate::manifest::{AgentRecord, ConsoleRecord, GatewayRecord, Manifest, NotifyRecord};
use crate::report::Level;
use crate::{NetworkCeiling, OnUnknown};

/// Compares everything.
pub(super) fn compare(found: &mut Vec<Change>, old: &Manifest, new: &Manifest) {
    for (name, record) in &new.agents {
        let mut changes = Changes::of(Subject::Agent(name.to_string()), found);
        match old.agents.get(name) {
            Some(before) => agents(&mut changes, before, record),
            None => agent_added(&mut changes, record),
        }
    }
    for name in old.agents.keys().filter(|name| !new.agents.contains_key(*name)) {
        Changes::of(Subject::Agent(name.to_string()), found).narrowed(AgentRemoved, "is gone");
    }
    gateways(&mut Changes::of(Subject::Gateway, found), &old.gateway, &new.gateway);
    consoles(&mut Changes::of(Subject::Console, found), &old.console, &new.console);
    let mut left: Vec<&NotifyRecord> = old.notify.iter().collect();
    for record in &new.notify {
        let mut changes = Changes::of(Subject::Notify(record.name()), found);
        // The very same one first, so that of two with one name each finds its own.
        let same = left.iter().position(|before| *before == record);
        match same.or_else(|| left.iter().position(|before| before.name() == record.name())) {
            Some(at) => told(&mut changes, left.remove(at), record),
            None => told_added(&mut changes, record),
        }
    }
    for record in left {
        Changes::of(Subject::Notify(record.name()), found).narrowed(NotifyRemoved, "is no longer told");
    }
}

fn agent_added(changes: &mut Changes<'_>, agent: &AgentRecord) {
    let scope = |list: Option<&BTreeSet<String>>, every: &str| match list {
        None => every.to_owned(),
        Some(list) if list.is_empty() => "none".to_owned(),
        Some(list) => quoted(&list.iter().collect::<Vec<_>>()),
    };
    let agrees = if agent.approves { "; may agree to calls" } else { "" };
    let message = format!(
        "new: servers {}; tools {}{agrees}",
        scope(agent.servers.as_ref(), "all"),
        scope(agent.tools.as_ref(), "all of them")
    );
    changes.widened(AgentAdded, message);
}

fn agents(changes: &mut Changes<'_>, old: &AgentRecord, new: &AgentRecord) {
    for (what, before, now) in [("servers", &old.servers, &new.servers), ("tools", &old.tools, &new.tools)] {
        match (before, now) {
            (None, None) => {}
            (Some(_), None) => changes.widened(AgentScopeWidened, format!("{what}: a list → all")),
            (None, Some(now)) => {
                let now: Vec<_> = now.iter().collect();
                changes.narrowed(AgentScopeNarrowed, format!("{what}: all → {}", quoted(&now)));
            }
            (Some(before), Some(now)) => {
                texts(changes, [AgentScopeWidened, AgentScopeNarrowed], what, before, now);
            }
        }
    }
    match (old.approves, new.approves) {
        (false, true) => changes.widened(AgentApprovalWeakened, "it may agree to calls now"),
        (true, false) => changes.narrowed(AgentApprovalStrengthened, "it may no longer agree to calls"),
        (true, true) | (false, false) => {}
    }
    if old.token != new.token {
        let short = |token: &str| token.chars().take(19).collect::<String>();
        let message = format!("token: {}", arrow(&short(&old.token), &short(&new.token)));
        changes.changed(AgentTokenChanged, Level::Warning, message);
    }
}

fn texts(
    changes: &mut Changes<'_>,
    codes: [ChangeCode; 2],
    what: &str,
    old: &BTreeSet<String>,
    new: &BTreeSet<String>,
) {
    let sets = Sets {
        was: old.iter().cloned().collect(),
        is: new.iter().cloned().collect(),
        gained: new.difference(old).cloned().collect(),
        lost: old.difference(new).cloned().collect(),
    };
    changes.sets(codes, what, &sets);
}

fn gateways(changes: &mut Changes<'_>, old: &GatewayRecord, new: &GatewayRecord) {
    texts(changes, [GatewayWidened, GatewayNarrowed], "hosts", &old.hosts, &new.hosts);
    addresses(changes, [GatewayWidened, GatewayNarrowed, GatewayChanged], old.listen, new.listen);
    encrypted(changes, [GatewayWidened, GatewayNarrowed], old.tls, new.tls);
    match (old.policy_tool, new.policy_tool) {
        (false, true) => changes.widened(GatewayWidened, "agents are told what they may reach now"),
        (true, false) => changes.narrowed(GatewayNarrowed, "agents are no longer told what they may reach"),
        (true, true) | (false, false) => {}
    }
    let usual = GatewayEntry::default();
    let sessions = |record: &GatewayRecord| record.sessions_per_agent.unwrap_or(usual.sessions_per_agent);
    let message = format!("sessions for each agent: {} → {}", sessions(old), sessions(new));
    match sessions(new).cmp(&sessions(old)) {
        Ordering::Greater => changes.widened(GatewayWidened, message),
        Ordering::Less => changes.narrowed(GatewayNarrowed, message),
        Ordering::Equal => {}
    }
    let requests = |record: &GatewayRecord| record.requests_per_minute.unwrap_or(usual.requests_per_minute);
    let message = format!("messages a minute for each agent: {} → {}", requests(old), requests(new));
    match requests(new).cmp(&requests(old)) {
        Ordering::Greater => changes.widened(GatewayWidened, message),
        Ordering::Less => changes.narrowed(GatewayNarrowed, message),
        Ordering::Equal => {}
    }
    // A key that is forgotten sooner lets the same call take effect twice.
    let keep = |record: &GatewayRecord| record.keep_keys.unwrap_or(usual.keep_keys);
    let message = format!("idempotency keys are kept for {} → {}", keep(old), keep(new));
    match keep(new).cmp(&keep(old)) {
        Ordering::Less => changes.widened(GatewayWidened, message),
        Ordering::Greater => changes.narrowed(GatewayNarrowed, message),
        Ordering::Equal => {}
    }
}

fn consoles(changes: &mut Changes<'_>, old: &ConsoleRecord, new: &ConsoleRecord) {
    texts(changes, [ConsoleWidened, ConsoleNarrowed], "hosts", &old.hosts, &new.hosts);
    addresses(changes, [ConsoleWidened, ConsoleNarrowed, ConsoleChanged], old.listen, new.listen);
    encrypted(changes, [ConsoleWidened, ConsoleNarrowed], old.tls, new.tls);
    match (old.enabled, new.enabled) {
        (false, true) => changes.widened(ConsoleWidened, "it is switched on"),
        (true, false) => changes.narrowed(ConsoleNarrowed, "it is switched off"),
        (true, true) | (false, false) => {}
    }
    if old.trust != new.trust {
        let word = |one: &ConsoleRecord| one.trust.as_deref().map_or_else(|| "nothing".to_owned(), quote);
        let message = format!("the key that it believes: {} → {}", word(old), word(new));
        changes.changed(ConsoleChanged, Level::Warning, message);
    }
}

fn addresses(
    changes: &mut Changes<'_>,
    [wide, narrow, other]: [ChangeCode; 3],
    old: Option<SocketAddr>,
    new: Option<SocketAddr>,
) {
    if old == new {
        return;
    }
    let word =
        |one: Option<SocketAddr>| one.map_or_else(|| "loopback".to_owned(), |address| address.to_string());
    let message = format!("listens on: {}", arrow(&word(old), &word(new)));
    let address = |one: Option<SocketAddr>| one.map(|listen| listen.ip());
    match (covers(address(old), address(new)), covers(address(new), address(old))) {
        (false, _) => changes.widened(wide, message),
        (true, true) => changes.changed(other, Level::Warning, message),
        (true, false) => changes.narrowed(narrow, message),
    }
}

fn encrypted(changes: &mut Changes<'_>, [wide, narrow]: [ChangeCode; 2], old: bool, new: bool) {
    match (old, new) {
        (true, false) => changes.widened(wide, "tls: `yes` → `no`"),
        (false, true) => changes.narrowed(narrow, "tls: `no` → `yes`"),
        (true, true) | (false, false) => {}
    }
}

/// Says whether nobody reaches the second address who does not reach the first; an absent one is loopback.
fn covers(wide: Option<IpAddr>, narrow: Option<IpAddr>) -> bool {
    let Some(narrow) = narrow.filter(|address| !address.is_loopback()) else { return true };
    match wide {
        None => false,
        Some(wide) => {
            wide == narrow
                || (wide.is_unspecified() && !narrow.is_unspecified() && wide.is_ipv4() == narrow.is_ipv4())
        }
    }
}

fn told_added(changes: &mut Changes<'_>, record: &NotifyRecord) {
    match record {
        NotifyRecord::Command { network, .. } => {
            let hosts: Vec<String> = network.hosts().iter().map(ToString::to_string).collect();
            let mut reach = if hosts.is_empty() { "no host".to_owned() } else { quoted(&hosts) };
            if network.on_unknown() == OnUnknown::Ask {
                reach.push_str(", and others after asking a person");
            }
            changes.widened(NotifyAdded, format!("new: a program that reaches {reach}"));
        }
        NotifyRecord::Webhook { secret, .. } => {
            let message = format!("new: is told of each call that waits, signed with {}", quote(secret));
            changes.widened(NotifyAdded, message);
        }
    }
}

/// Compares two of one name.
fn told(changes: &mut Changes<'_>, old: &NotifyRecord, new: &NotifyRecord) {
    let codes = [NotifyWidened, NotifyNarrowed];
    match (old, new) {
        (NotifyRecord::Command { network: before, .. }, NotifyRecord::Command { network: now, .. }) => {
            networks(changes, before, now);
        }
        (
            NotifyRecord::Webhook { private: before, secret: former, .. },
            NotifyRecord::Webhook { private: now, secret, .. },
        ) => {
            changes.sets(codes, "private addresses", &Sets::of(before, now));
            if former != secret {
                let message = format!("the secret that signs: {}", arrow(former, secret));
                changes.changed(NotifyChanged, Level::Warning, message);
            }
        }
        // A program and a server have no name in common.
        (_, now) => told_added(changes, now),
    }
}

fn networks(changes: &mut Changes<'_>, old: &NetworkCeiling, new: &NetworkCeiling) {
    let codes = [NotifyWidened, NotifyNarrowed];
    changes.sets(codes, "hosts", &Sets::of(old.hosts(), new.hosts()));
    changes.sets(codes, "private addresses", &Sets::of(old.private(), new.private()));
    match (old.on_unknown(), new.on_unknown()) {
        (OnUnknown::Refuse, OnUnknown::Ask) => {
            changes.widened(codes[0], "hosts that nothing names: `refuse` → `ask`");
        }
        (OnUnknown::Ask, OnUnknown::Refuse) => {
            changes.narrowed(codes[1], "hosts that nothing names: `ask` → `refuse`");
        }
        (OnUnknown::Ask, OnUnknown::Ask) | (OnUnknown::Refuse, OnUnknown::Refuse) => {}
    }
}
