//! Two records of a server, compared by the codes of tools.

use std::cmp::Ordering;

use super::ChangeCode::{
    ToolAdded, ToolApprovalStrengthened, ToolApprovalWeakened, ToolClientNarrowed, ToolClientWidened,
    ToolCommandChanged, ToolDescriptionChanged, ToolLimitsLowered, ToolLimitsRaised, ToolNetworkNarrowed,
    ToolNetworkWidened, ToolRemoved, ToolSecretsNarrowed, ToolSecretsWidened, ToolSocketsNarrowed,
    ToolSocketsWidened,
};
use super::change::{Changes, Sets, arrow, quote};
use super::{lint, reach, rule, tool};
use crate::manifest::{ServerRecord, ServerToolRecord};
use crate::report::Level;
use crate::{Accept, Size};

/// Tells of a server that was not there. It runs code of its own, so it is never nothing.
pub(super) fn added(changes: &mut Changes<'_>, server: &ServerRecord) {
    let own = server.tools.values().filter(|one| one.enabled).map(|one| one.class.value);
    let class = own.max().unwrap_or(server.class.value).max(server.class.value);
    tool::arrived(changes, false, class, &server.capabilities);
    if server.unix_sockets {
        changes.widened(ToolSocketsWidened, "Unix sockets: no → yes");
    }
    lint::added(changes, server.lint.as_ref());
}

/// Compares everything.
pub(super) fn compare(changes: &mut Changes<'_>, old: &ServerRecord, new: &ServerRecord) {
    if old.hash == new.hash {
        return;
    }
    reach::compare(changes, &old.capabilities, &new.capabilities);
    rule::classes(changes, old.class.value, new.class.value);
    rule::approvals(changes, old.approval.value, new.approval.value);
    let codes = [ToolLimitsRaised, ToolLimitsLowered];
    rule::held_limits(changes, codes, old.limits.limits(), new.limits.limits());
    tool::tiers(changes, old.sandbox, new.sandbox);
    match (old.accept, new.accept) {
        (Accept::Review, Accept::Clean) => {
            changes
                .widened(ToolApprovalWeakened, "definitions: `review` → `clean`: nobody looks at clean ones");
        }
        (Accept::Clean, Accept::Review) => {
            changes.narrowed(ToolApprovalStrengthened, "definitions: `clean` → `review`");
        }
        (Accept::Clean, Accept::Clean) | (Accept::Review, Accept::Review) => {}
    }
    tool::commands(changes, &old.command, &new.command);
    tool::binaries(changes, &old.binaries, &new.binaries);
    started(changes, old, new);
    registry(changes, old, new);
    secrets(changes, old, new);
    switches(changes, old, new);
    definitions(changes, old, new);
    tools(changes, old, new);
    lint::compare(changes, old.lint.as_ref(), new.lint.as_ref());
}

/// Compares the hosts that its package is installed from. Without a list they are those of whoever installs, which nobody knows here.
fn registry(changes: &mut Changes<'_>, old: &ServerRecord, new: &ServerRecord) {
    let (before, now) = (old.registry.set(), new.registry.set());
    if now.is_empty() && !before.is_empty() {
        let message = "install hosts: a list → those of whoever installs";
        changes.widened(ToolNetworkWidened, message);
        return;
    }
    changes.sets([ToolNetworkWidened, ToolNetworkNarrowed], "install hosts", &Sets::of(before, now));
}

/// Compares what its process starts with.
fn started(changes: &mut Changes<'_>, old: &ServerRecord, new: &ServerRecord) {
    if old.directory != new.directory {
        let word = |record: &ServerRecord| record.directory.clone().unwrap_or_else(|| "none".to_owned());
        let message = format!("folder: {}", arrow(&word(old), &word(new)));
        changes.changed(ToolCommandChanged, Level::Warning, message);
    }
    let names: std::collections::BTreeSet<&String> = old.env.keys().chain(new.env.keys()).collect();
    for name in names {
        let how = match (old.env.get(name), new.env.get(name)) {
            (before, now) if before == now => continue,
            (None, _) => "is new",
            (_, None) => "is gone",
            _ => "has another value",
        };
        let message = format!("variable {} {how}", quote(name));
        changes.changed(ToolCommandChanged, Level::Warning, message);
    }
}

/// Compares what it is switched on and off for, and how large its messages are.
fn switches(changes: &mut Changes<'_>, old: &ServerRecord, new: &ServerRecord) {
    let client = [ToolClientWidened, ToolClientNarrowed];
    for ([wide, narrow], what, before, now) in [
        ([ToolSocketsWidened, ToolSocketsNarrowed], "Unix sockets", old.unix_sockets, new.unix_sockets),
        (client, "sampling", old.sampling, new.sampling),
        (client, "elicitation", old.elicitation, new.elicitation),
    ] {
        match (before, now) {
            (false, true) => changes.widened(wide, format!("{what}: no → yes")),
            (true, false) => changes.narrowed(narrow, format!("{what}: yes → no")),
            (true, true) | (false, false) => {}
        }
    }
    let most = |record: &ServerRecord| record.max_message.unwrap_or(Size::new(16 << 20));
    let message = format!("largest message: {} → {}", most(old), most(new));
    match most(new).cmp(&most(old)) {
        Ordering::Greater => changes.widened(ToolLimitsRaised, message),
        Ordering::Less => changes.narrowed(ToolLimitsLowered, message),
        Ordering::Equal => {}
    }
}

fn secrets(changes: &mut Changes<'_>, old: &ServerRecord, new: &ServerRecord) {
    for (variable, secret) in &new.secrets {
        let before = old.secrets.get(variable);
        if before != Some(secret) {
            let before = before.map_or("none", String::as_str);
            let message = format!("variable {}: {}", quote(variable), arrow(before, secret));
            changes.widened(ToolSecretsWidened, message);
        }
    }
    for variable in old.secrets.keys().filter(|variable| !new.secrets.contains_key(*variable)) {
        changes.narrowed(ToolSecretsNarrowed, format!("variable {} is gone", quote(variable)));
    }
}

fn definitions(changes: &mut Changes<'_>, old: &ServerRecord, new: &ServerRecord) {
    for (name, digest) in &new.definitions {
        match old.definitions.get(name) {
            Some(before) if before == digest => {}
            Some(_) => {
                let message = format!("the accepted definition of {}", quote(name));
                changes.changed(ToolDescriptionChanged, Level::Warning, message);
            }
            None => {
                let message = format!("{} was accepted", quote(name));
                if new.capabilities.is_nothing() {
                    changes.changed(ToolAdded, Level::Note, message);
                } else {
                    changes.widened(ToolAdded, format!("{message}, with all that the server reaches"));
                }
            }
        }
    }
    for name in old.definitions.keys().filter(|name| !new.definitions.contains_key(*name)) {
        changes.narrowed(ToolRemoved, format!("{} is no longer accepted", quote(name)));
    }
}

/// Compares what is said of single tools; of a tool that nothing is said of, what holds for the server.
fn tools(changes: &mut Changes<'_>, old: &ServerRecord, new: &ServerRecord) {
    let names: std::collections::BTreeSet<_> = old.tools.keys().chain(new.tools.keys()).collect();
    let subject = changes.subject.clone();
    for name in names {
        let (before, now) = (record(old, name.as_str()), record(new, name.as_str()));
        changes.subject = super::Subject::Server(match &subject {
            super::Subject::Server(server) => format!("{server} tool {name}"),
            other => other.to_string(),
        });
        match (before.enabled, now.enabled) {
            (false, true) => changes.widened(ToolAdded, "is offered now"),
            (true, false) => changes.narrowed(ToolRemoved, "is no longer offered"),
            (true, true) | (false, false) => {}
        }
        if !now.enabled {
            continue;
        }
        rule::classes(changes, before.class.value, now.class.value);
        // Nobody has said how risky a tool is that nothing is said of.
        if old.tools.contains_key(name) && new.tools.contains_key(name) {
            rule::risks(changes, before.risk, now.risk);
        }
        rule::approvals(changes, before.approval.value, now.approval.value);
        rule::constraints(changes, &before.constraints, &now.constraints);
        rule::idempotency(changes, &before.idempotency, &now.idempotency);
        let codes = [ToolLimitsRaised, ToolLimitsLowered];
        rule::limits(changes, codes, before.limits.limits(), now.limits.limits());
    }
    changes.subject = subject;
}

fn record(server: &ServerRecord, name: &str) -> ServerToolRecord {
    server.tools.get(name).cloned().unwrap_or_else(|| server.unmentioned())
}
