//! Two ceilings, compared: what a tool that asks for everything would get.

use super::ChangeCode;
use super::ChangeCode::{
    PersonalityApprovalsNarrowed, PersonalityApprovalsWidened, PersonalityEnvironmentNarrowed,
    PersonalityEnvironmentWidened, PersonalityExecNarrowed, PersonalityExecWidened,
    PersonalityFilesystemReadNarrowed, PersonalityFilesystemReadWidened, PersonalityFilesystemWriteNarrowed,
    PersonalityFilesystemWriteWidened, PersonalityIdChanged, PersonalityLimitsNarrowed,
    PersonalityLimitsWidened, PersonalityNetworkNarrowed, PersonalityNetworkWidened,
    PersonalitySecretsNarrowed, PersonalitySecretsWidened, PersonalitySocketsNarrowed,
    PersonalitySocketsWidened, PersonalityToolsNarrowed, PersonalityToolsWidened,
};
use super::change::{Changes, Sets, arrow};
use super::rule::{self, decision};
use crate::manifest::paths::{floor_beyond, lifted};
use crate::report::Level;
use crate::{
    Approvals, Decision, Direction, NameKind, NamePattern, NameSet, OnUnknown, Personality, SafetyClass,
};

/// Compares everything.
pub(super) fn compare(changes: &mut Changes<'_>, old: &Personality, new: &Personality) {
    if old == new {
        return;
    }
    if old.id != new.id {
        let id = |one: &Personality| one.id.clone().unwrap_or_else(|| "none".to_owned());
        changes.changed(PersonalityIdChanged, Level::Warning, format!("id: {}", arrow(&id(old), &id(new))));
    }
    tools(changes, old, new);
    network(changes, old, new);
    paths(changes, old, new);
    let codes = [PersonalitySecretsWidened, PersonalitySecretsNarrowed];
    names(changes, codes, "secrets", old.secrets.as_ref(), new.secrets.as_ref());
    let codes = [PersonalityExecWidened, PersonalityExecNarrowed];
    names(changes, codes, "programs", old.process.as_ref(), new.process.as_ref());
    let codes = [PersonalityEnvironmentWidened, PersonalityEnvironmentNarrowed];
    names(changes, codes, "environment", old.environment.as_ref(), new.environment.as_ref());
    sockets(changes, old.unix_sockets, new.unix_sockets);
    approvals(changes, &old.approvals, &new.approvals);
    let codes = [PersonalityLimitsWidened, PersonalityLimitsNarrowed];
    rule::held_limits(changes, codes, &old.limits, &new.limits);
}

/// Compares whether servers may open Unix sockets. Where nothing is said, each server says it.
fn sockets(changes: &mut Changes<'_>, old: Option<bool>, new: Option<bool>) {
    let word = |says: Option<bool>| match says {
        None => "what each server declares",
        Some(true) => "permitted",
        Some(false) => "refused",
    };
    let message = format!("Unix sockets: {}", arrow(word(old), word(new)));
    match (old == Some(false), new == Some(false)) {
        (true, false) => changes.widened(PersonalitySocketsWidened, message),
        (false, true) => changes.narrowed(PersonalitySocketsNarrowed, message),
        (true, true) | (false, false) => {}
    }
}

fn tools(changes: &mut Changes<'_>, old: &Personality, new: &Personality) {
    let codes = [PersonalityToolsWidened, PersonalityToolsNarrowed];
    match (&old.tools, &new.tools) {
        (None, None) => {}
        (Some(_), None) => changes.widened(codes[0], "tools: a list → every tool"),
        (None, Some(_)) => changes.narrowed(codes[1], "tools: every tool → a list"),
        (Some(before), Some(now)) => {
            let texts = |some: &[crate::ToolName], others: &[crate::ToolName]| -> Vec<String> {
                some.iter().filter(|tool| !others.contains(tool)).map(ToString::to_string).collect()
            };
            let sets = Sets {
                was: texts(before, &[]),
                is: texts(now, &[]),
                gained: texts(now, before),
                lost: texts(before, now),
            };
            changes.sets(codes, "tools", &sets);
        }
    }
}

fn network(changes: &mut Changes<'_>, old: &Personality, new: &Personality) {
    let codes = [PersonalityNetworkWidened, PersonalityNetworkNarrowed];
    let (before, now) = (&old.network, &new.network);
    changes.sets(codes, "hosts", &Sets::of(before.hosts(), now.hosts()));
    changes.sets(codes, "private addresses", &Sets::of(before.private(), now.private()));
    match (before.on_unknown(), now.on_unknown()) {
        (OnUnknown::Refuse, OnUnknown::Ask) => {
            changes.widened(codes[0], "hosts that nothing names: `refuse` → `ask`");
        }
        (OnUnknown::Ask, OnUnknown::Refuse) => {
            changes.narrowed(codes[1], "hosts that nothing names: `ask` → `refuse`");
        }
        (OnUnknown::Ask, OnUnknown::Ask) | (OnUnknown::Refuse, OnUnknown::Refuse) => {}
    }
}

fn paths(changes: &mut Changes<'_>, old: &Personality, new: &Personality) {
    for (direction, codes) in [
        (Direction::Read, [PersonalityFilesystemReadWidened, PersonalityFilesystemReadNarrowed]),
        (Direction::Write, [PersonalityFilesystemWriteWidened, PersonalityFilesystemWriteNarrowed]),
    ] {
        let (before, now) = (old.fs_reach.direction(direction), new.fs_reach.direction(direction));
        let floor =
            |some, others| floor_beyond(lifted(some, direction), lifted(others, direction), direction);
        let mut sets = Sets::of(before, now);
        sets.gained.extend(floor(now, before));
        sets.lost.extend(floor(before, now));
        changes.sets(codes, "paths", &sets);
    }
}

/// Compares lists of names, where an absent one leaves it to the tools, which name theirs one by one.
fn names<K: NameKind>(
    changes: &mut Changes<'_>,
    codes: [ChangeCode; 2],
    what: &str,
    old: Option<&NameSet<K>>,
    new: Option<&NameSet<K>>,
) {
    let is_any = |set: &NameSet<K>| set.covers(&NamePattern::Any);
    match (old, new) {
        (None, None) => {}
        (Some(before), None) if is_any(before) => {
            changes.narrowed(codes[1], format!("{what}: `*` → what each tool declares"));
        }
        (Some(_), None) => changes.widened(codes[0], format!("{what}: a list → what each tool declares")),
        (None, Some(now)) if is_any(now) => {
            changes.widened(codes[0], format!("{what}: what each tool declares → `*`"));
        }
        (None, Some(_)) => changes.narrowed(codes[1], format!("{what}: what each tool declares → a list")),
        (Some(before), Some(now)) => changes.sets(codes, what, &Sets::of(before, now)),
    }
}

fn approvals(changes: &mut Changes<'_>, old: &Approvals, new: &Approvals) {
    let codes = [PersonalityApprovalsWidened, PersonalityApprovalsNarrowed];
    let mut judge = |what: String, before: Decision, now: Decision, words: [&str; 2]| {
        let message = format!("{what}: {}", arrow(words[0], words[1]));
        match now.cmp(&before) {
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Less => changes.widened(codes[0], message),
            std::cmp::Ordering::Greater => changes.narrowed(codes[1], message),
        }
    };
    for class in SafetyClass::ALL {
        let (before, now) = (old.class_decision(class), new.class_decision(class));
        judge(format!("class {}", class.as_str()), before, now, [decision(before), decision(now)]);
    }
    let own = |approvals: &Approvals, tool| {
        approvals.tools.get(tool).map_or(Decision::Allow, |route| Decision::from(*route))
    };
    let tools: std::collections::BTreeSet<_> = old.tools.keys().chain(new.tools.keys()).collect();
    for tool in tools {
        // Without a route of its own a tool has that of its class.
        let word = |approvals: &Approvals| {
            if approvals.tools.contains_key(tool) {
                decision(own(approvals, tool))
            } else {
                "that of its class"
            }
        };
        judge(format!("tool {tool}"), own(old, tool), own(new, tool), [word(old), word(new)]);
    }
    let span =
        |approvals: &Approvals| approvals.expires.map_or("by default".to_owned(), |span| span.to_string());
    if old.expires != new.expires {
        let message = format!("requests wait: {}", arrow(&span(old), &span(new)));
        // How long the default is, nobody says here; only what is written is known to be shorter.
        match (old.expires, new.expires) {
            (Some(before), Some(now)) if now < before => changes.narrowed(codes[1], message),
            _ => changes.widened(codes[0], message),
        }
    }
    if old.client != new.client {
        let word = |approvals: &Approvals| match approvals.client {
            None => "where the user started it",
            Some(true) => "yes",
            Some(false) => "no",
        };
        let message = format!("the person at a client may agree: {}", arrow(word(old), word(new)));
        let rank = |approvals: &Approvals| match approvals.client {
            Some(false) => 0,
            None => 1,
            Some(true) => 2,
        };
        if rank(new) < rank(old) {
            changes.narrowed(codes[1], message);
        } else {
            changes.widened(codes[0], message);
        }
    }
}
