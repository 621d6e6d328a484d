//! People who must agree, or a route that forbids.

use std::collections::BTreeSet;

use ringfence::Code;
use ringfence::policy::{Capabilities, Decision, Declaration, SafetyClass, ToolName};

use super::super::case::Policy;
use super::super::draft::{Edit, Owner, Setting};
use super::super::record::Recorded;
use super::{Attempt, Cause};

/// Finds the route that decided.
pub(super) fn cause(record: &Recorded, code: Code, policy: &Policy<'_>) -> Cause {
    let (Some(class), Ok(tool)) = (record.class, record.tool.parse::<ToolName>()) else {
        return Cause::instead(
            "the record does not say of which class the tool is, so that no line can be named",
        );
    };
    // Where everything is forbidden, a person who decides is the smallest change.
    let (wanted, route) =
        if code == Code::Forbidden { (Decision::Ask, "human") } else { (Decision::Allow, "auto") };
    let approvals = &policy.personality().approvals;
    let mut cause = Cause { lacking: Some("personality"), ..Cause::default() };
    if code == Code::ApprovalRequired {
        cause.instead.push(
            "have somebody agree to this very call: `ringfence approvals list` shows what waits, `ringfence approvals approve ID` answers; then make the same call in the same run"
                .to_owned(),
        );
    }
    let own = policy.loaded.declarations.iter().find(|own| own.name == tool);
    let server = tool.as_str().split_once("__").map(|(server, _)| server);
    let server = policy.loaded.servers.iter().find(|entry| Some(entry.name.as_str()) == server);
    let capabilities = match (own, server) {
        (Some(own), _) => own.capabilities.clone().unwrap_or_default(),
        (None, Some(server)) => server.capabilities.clone(),
        (None, None) => Capabilities::default(),
    };
    if approvals.decision_with(class, &capabilities, &tool) <= wanted {
        cause.notes.push("the policy of today asks nobody about it, or fewer people".to_owned());
        return cause;
    }
    let owner = Owner::Personality;
    let mut edits = Vec::new();
    let mut set = |way: &[&str]| {
        let way = way.iter().map(|name| vec![(*name).to_owned()]).collect();
        edits.push(Edit::Set { owner: Owner::Personality, way, setting: Setting::Text(route.to_owned()) });
    };
    let mut also = Vec::new();
    let own = approvals.tools.get(&tool).map(|route| Decision::from(*route));
    if let Some(own) = own.filter(|own| *own > wanted) {
        let field = format!("approvals.tools.{tool}");
        cause.rules.push(policy.field_rule(&owner, &field, format!("{} for this tool", asks(own))));
        set(&["approvals", "tools", tool.as_str()]);
        also.push(format!("any call of `{tool}` {}", freed(wanted)));
    }
    let classes: BTreeSet<SafetyClass> = capabilities.implied_classes().chain([class]).collect();
    for class in classes.into_iter().filter(|class| approvals.class_decision(*class) > wanted) {
        let of_class = approvals.class_decision(class);
        let name = class.as_str();
        let says = match of_class == class.default_decision() && !is_written(policy, name) {
            true => format!("names no route for the class `{name}`, and without one it {}", asks(of_class)),
            false => format!("{} for the class `{name}`", asks(of_class)),
        };
        cause.rules.push(policy.field_rule(&owner, &format!("approvals.{name}"), says));
        set(&["approvals", name]);
        let others = policy.loaded.declarations.iter().filter(|own| own.class() == class && own.name != tool);
        // A tool with a stricter route of its own keeps it, whatever its class has.
        let is_stricter =
            |name: &ToolName| approvals.tools.get(name).is_some_and(|own| Decision::from(*own) > wanted);
        let (stricter, freed_too): (Vec<_>, Vec<_>) = others.partition(|own| is_stricter(&own.name));
        let listed = |tools: &[&Declaration]| {
            tools.iter().map(|own| format!("`{}`", own.name)).collect::<Vec<_>>().join(", ")
        };
        let mut now = if freed_too.is_empty() {
            "which is only this tool now".to_owned()
        } else {
            format!("which is also {} now", listed(&freed_too))
        };
        if !stricter.is_empty() {
            now.push_str(&format!(" (not {}: `approvals.tools` asks more there)", listed(&stricter)));
        }
        also.push(format!(
            "any call of class `{name}` {}, {now}, and every tool of that class that comes later",
            freed(wanted)
        ));
    }
    let proof = move |policy: &Policy<'_>| {
        policy.personality().approvals.decision_with(class, &capabilities, &tool) <= wanted
    };
    cause.attempts.push(Attempt { edits, proof: Box::new(proof), also });
    cause
}

/// Says whether the personality has a route for a class.
fn is_written(policy: &Policy<'_>, class: &str) -> bool {
    let written = serde_json::to_value(&policy.personality().approvals).unwrap_or_default();
    written.get(class).is_some()
}

const fn asks(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "asks nobody",
        Decision::Ask => "asks one person",
        Decision::AskTwo => "asks two people",
        Decision::Forbid => "denies every call",
    }
}

const fn freed(wanted: Decision) -> &'static str {
    match wanted {
        Decision::Allow => "without a person",
        _ => "once a person agrees",
    }
}
