//! The policy in force, as a page.

use ringfence::Personality;
use ringfence::policy::{Decision, Direction, NameKind, NameSet, OnUnknown, SafetyClass};
use ringfence_server::console::{ApprovalRule, DeskError, PolicyPage, ReachRow};

use super::{FileDesk, View, sent};

impl FileDesk {
    pub(super) fn policy_page(&self) -> Result<PolicyPage, DeskError> {
        let view = self.view()?;
        let personality = &view.loaded.personality;
        let rule = |class: SafetyClass| ApprovalRule {
            class: class.as_str().to_owned(),
            decision: word(personality.approvals.class_decision(class)),
        };
        let mut approvals: Vec<ApprovalRule> = SafetyClass::ALL.into_iter().map(rule).collect();
        approvals.extend(personality.approvals.tools.iter().map(|(tool, route)| ApprovalRule {
            class: format!("tool {tool}"),
            decision: word(Decision::from(*route)),
        }));
        Ok(PolicyPage {
            file: self.place.policy.display().to_string(),
            text: view.loaded.text().to_owned(),
            personality: personality.id.clone(),
            ceiling: ceiling(personality),
            approvals,
            tools: tools(&view),
        })
    }
}

/// Returns the word for a decision as it is written on the wire.
fn word(decision: Decision) -> String {
    serde_json::to_value(decision).ok().and_then(|word| Some(word.as_str()?.to_owned())).unwrap_or_default()
}

/// Returns the names of the tools that are known: those of the file, then those of each server.
fn tools(view: &View) -> Vec<String> {
    let mut tools: Vec<String> = view.loaded.declarations.iter().map(|own| own.name.to_string()).collect();
    for server in &view.loaded.servers {
        let server = server.name.as_str();
        let known = sent::current(&view.pins, &view.seen, server);
        tools.extend(known.iter().filter_map(|one| one.tool()).map(|name| sent::offered(server, name)));
    }
    tools
}

/// Returns what the personality permits at most, with a row for every surface: what is not mentioned is said to be so.
fn ceiling(personality: &Personality) -> Vec<ReachRow> {
    let mut rows = Vec::new();
    let mut push = |surface: &str, granted: Vec<String>| {
        rows.push(ReachRow { surface: surface.to_owned(), granted, refused: Vec::new() });
    };
    let mut hosts: Vec<String> = personality.network.allow().iter().map(ToString::to_string).collect();
    hosts.extend(personality.network.private().iter().map(|own| format!("private {own}")));
    if personality.network.on_unknown() == OnUnknown::Ask {
        hosts.push("any other host after asking a person".to_owned());
    }
    push("network", hosts);
    for direction in [Direction::Read, Direction::Write] {
        let paths = personality.fs_reach.direction(direction);
        push(direction.as_str(), paths.iter().map(ToString::to_string).collect());
    }
    push("secrets", names(personality.secrets.as_ref()));
    push("process", names(personality.process.as_ref()));
    push("environment", names(personality.environment.as_ref()));
    rows
}

/// Returns a list of names, which limits only where it is written.
fn names<K: NameKind>(list: Option<&NameSet<K>>) -> Vec<String> {
    list.map_or_else(
        || vec!["whatever a tool declares by name".to_owned()],
        |list| list.iter().map(ToString::to_string).collect(),
    )
}
