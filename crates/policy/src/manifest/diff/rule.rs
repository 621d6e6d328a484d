//! Rules about calls, compared: who agrees, how often, how much, and whether a call is recognised when it comes again.

use super::ChangeCode::{
    ToolApprovalStrengthened, ToolApprovalWeakened, ToolClassLowered, ToolClassRaised, ToolConstraintRelaxed,
    ToolConstraintTightened, ToolIdempotencyAdded, ToolIdempotencyDropped, ToolRiskDecreased,
    ToolRiskIncreased,
};
use super::change::{Changes, arrow, quote};
use crate::manifest::limits::{fields, shown};
use crate::report::Level;
use crate::{Constraints, Decision, Idempotency, IdempotencyMode, Limits, Risk, SafetyClass};

/// Returns a decision as a policy writes it.
pub(super) const fn decision(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "auto",
        Decision::Ask => "human",
        Decision::AskTwo => "dual",
        Decision::Forbid => "deny",
    }
}

const fn risk(risk: Risk) -> &'static str {
    match risk {
        Risk::Low => "low",
        Risk::Medium => "medium",
        Risk::High => "high",
        Risk::Critical => "critical",
        Risk::Unknown => "unknown",
    }
}

pub(super) fn approvals(changes: &mut Changes<'_>, old: Decision, new: Decision) {
    let message = format!("approval: {}", arrow(decision(old), decision(new)));
    match new.cmp(&old) {
        std::cmp::Ordering::Equal => {}
        std::cmp::Ordering::Less => changes.widened(ToolApprovalWeakened, message),
        std::cmp::Ordering::Greater => changes.narrowed(ToolApprovalStrengthened, message),
    }
}

pub(super) fn classes(changes: &mut Changes<'_>, old: SafetyClass, new: SafetyClass) {
    let message = format!("class: {}", arrow(old.as_str(), new.as_str()));
    match new.cmp(&old) {
        std::cmp::Ordering::Equal => {}
        std::cmp::Ordering::Less => changes.widened(ToolClassLowered, message),
        std::cmp::Ordering::Greater => changes.changed(ToolClassRaised, Level::Note, message),
    }
}

pub(super) fn risks(changes: &mut Changes<'_>, old: Risk, new: Risk) {
    let message = format!("risk: {}", arrow(risk(old), risk(new)));
    match new.cmp(&old) {
        std::cmp::Ordering::Equal => {}
        std::cmp::Ordering::Less => changes.changed(ToolRiskDecreased, Level::Note, message),
        std::cmp::Ordering::Greater => changes.widened(ToolRiskIncreased, message),
    }
}

pub(super) fn constraints(changes: &mut Changes<'_>, old: &Constraints, new: &Constraints) {
    let number = |limit: Option<u32>| limit.map_or("unlimited".to_owned(), |limit| limit.to_string());
    let message =
        format!("most calls of a run: {}", arrow(&number(old.max_invocations), &number(new.max_invocations)));
    let limit = |one: &Constraints| one.max_invocations.map_or(u64::MAX, u64::from);
    match limit(new).cmp(&limit(old)) {
        std::cmp::Ordering::Equal => {}
        std::cmp::Ordering::Greater => changes.widened(ToolConstraintRelaxed, message),
        std::cmp::Ordering::Less => changes.narrowed(ToolConstraintTightened, message),
    }
    for name in old.only_after.iter().filter(|name| !new.only_after.contains(name)) {
        changes.widened(ToolConstraintRelaxed, format!("no longer only after {}", quote(name.as_str())));
    }
    for name in new.only_after.iter().filter(|name| !old.only_after.contains(name)) {
        changes.narrowed(ToolConstraintTightened, format!("only after {}", quote(name.as_str())));
    }
    match (old.force_at_step, new.force_at_step) {
        (old, new) if old == new => {}
        (None, Some(step)) => {
            changes.narrowed(ToolConstraintTightened, format!("must be call {step} of a run"));
        }
        (Some(step), None) => {
            changes.widened(ToolConstraintRelaxed, format!("no longer must be call {step} of a run"));
        }
        // What came after it may come before it now, or the other way round.
        (Some(old), Some(new)) => changes.widened(
            ToolConstraintRelaxed,
            format!("forced call of a run: {}", arrow(&old.to_string(), &new.to_string())),
        ),
        (None, None) => {}
    }
    match (old.forbidden, new.forbidden) {
        (true, false) => changes.widened(ToolConstraintRelaxed, "a model may call it now"),
        (false, true) => changes.narrowed(ToolConstraintTightened, "a model may no longer call it"),
        (true, true) | (false, false) => {}
    }
}

pub(super) fn idempotency(changes: &mut Changes<'_>, old: &Idempotency, new: &Idempotency) {
    let rank = |one: &Idempotency| match one.mode {
        None => 0,
        Some(IdempotencyMode::Optional) => 1,
        Some(IdempotencyMode::Required) => 2,
    };
    let word =
        |one: &Idempotency| ["none", "optional", "required"].into_iter().nth(rank(one)).unwrap_or_default();
    let message = format!("idempotency: {}", arrow(word(old), word(new)));
    match rank(new).cmp(&rank(old)) {
        std::cmp::Ordering::Equal => {}
        std::cmp::Ordering::Less => changes.widened(ToolIdempotencyDropped, message),
        std::cmp::Ordering::Greater => changes.narrowed(ToolIdempotencyAdded, message),
    }
    // Without a mode the fields say nothing.
    if old.mode.is_none() || new.mode.is_none() {
        return;
    }
    let key = |one: &Idempotency| {
        let mut key = one.key.clone();
        key.sort_unstable();
        key.dedup();
        key
    };
    let (before, now) = (key(old), key(new));
    if before == now {
        return;
    }
    let named = |key: &[String]| if key.is_empty() { "the caller's".to_owned() } else { key.join("+") };
    let message = format!("key: {}", arrow(&named(&before), &named(&now)));
    // Fewer fields make more calls the same one; no field leaves it to the caller.
    let is_surer = !now.is_empty() && (before.is_empty() || now.iter().all(|field| before.contains(field)));
    if is_surer {
        changes.narrowed(ToolIdempotencyAdded, message);
    } else {
        changes.widened(ToolIdempotencyDropped, message);
    }
}

/// Compares the limits of something that runs, to which those of the network hold where nobody says otherwise.
pub(super) fn held_limits(
    changes: &mut Changes<'_>,
    codes: [super::ChangeCode; 2],
    old: &Limits,
    new: &Limits,
) {
    let network = Limits::of_network();
    limits(changes, codes, &old.over(&network), &new.over(&network));
}

/// Compares limits, of which an absent one is none.
pub(super) fn limits(
    changes: &mut Changes<'_>,
    [raised, lowered]: [super::ChangeCode; 2],
    old: &Limits,
    new: &Limits,
) {
    let (before, now, both) = (fields(old), fields(new), fields(&old.meet(new)));
    let names: std::collections::BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    for name in names {
        let (was, is) = (before.get(name), now.get(name));
        if was == is {
            continue;
        }
        let word = |value: Option<&serde_json::Value>| value.map_or("none".to_owned(), shown);
        let message = format!("{}: {}", name.replace('_', " "), arrow(&word(was), &word(is)));
        // The meet is the tighter one, so it is the new one where the new one is tighter.
        if both.get(name) == is {
            changes.narrowed(lowered, message);
        } else {
            changes.widened(raised, message);
        }
    }
}
