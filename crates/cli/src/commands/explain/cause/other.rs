//! Causes that are no list and no number: the toolset, schemas, what the machine lacks, and what only a person can settle.

use ringfence::policy::ListKind;

use super::super::case::{Policy, Subject};
use super::super::draft::{Edit, Owner};
use super::super::record::Recorded;
use super::{Attempt, Cause};
use crate::shown::one_line;

/// The tool is not in the toolset, or does not fit.
pub(super) fn not_permitted(record: &Recorded, policy: &Policy<'_>) -> Cause {
    let tool = record.tool.clone();
    if policy.personality().permits_tool(&tool) {
        return match policy.loaded.problems.is_empty() {
            true => Cause {
                notes: vec!["the tool is in the toolset of today: make the call again".to_owned()],
                ..Cause::default()
            },
            false => Cause::instead(
                "its declaration does not fit the personality: `ringfence check` lists all of it",
            ),
        };
    }
    let says = format!("does not list `{tool}`");
    let also =
        vec![format!("every agent under this personality may call `{tool}`, with all that it declares")];
    let name = tool.clone();
    let proof = move |policy: &Policy<'_>| policy.personality().permits_tool(&name);
    Cause {
        rules: vec![policy.list_rule(&Owner::Personality, ListKind::Tools, says)],
        lacking: Some("personality"),
        attempts: vec![Attempt {
            edits: vec![Edit::Add { owner: Owner::Personality, kind: ListKind::Tools, entry: tool }],
            proof: Box::new(proof),
            also,
        }],
        ..Cause::default()
    }
}

/// Arguments or an output that do not fit.
pub(super) fn schema(record: &Recorded, policy: &Policy<'_>, field: &str) -> Cause {
    let whose = if field == "input" {
        "send arguments that fit"
    } else {
        "correct the tool, so that its output fits"
    };
    let mut cause = Cause::instead(format!(
        "{whose}; the message names the place. No change is advised: a schema is loosened only where it is wrong"
    ));
    if let Some(tool) = policy.subject(&record.tool).and_then(Subject::tool) {
        let owner = Owner::Tool(tool.name.to_string());
        cause.rules.push(policy.field_rule(
            &owner,
            field,
            "does not admit it, or brings its own schema".to_owned(),
        ));
    }
    cause
}

/// No tool has the name.
pub(super) fn unknown_tool(record: &Recorded, policy: &Policy<'_>) -> Cause {
    let names: Vec<String> = policy.loaded.declarations.iter().map(|own| format!("`{}`", own.name)).collect();
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Cause::instead(format!(
        "no tool is named `{}`: the tools of the policy file are {known}. Names are matched letter by letter",
        one_line(&record.tool)
    ))
}

/// Something of this machine is missing.
pub(super) fn not_available(record: &Recorded, policy: &Policy<'_>) -> Cause {
    let mut cause = Cause::instead(
        "no change is advised: nothing runs with less than its fence. `ringfence doctor` shows what this machine has; give it what the message names",
    );
    if let (Some((_, rest)), Some(subject)) =
        (record.result.error.split_once("did not declare `"), policy.subject(&record.tool))
    {
        let surface = rest.split('`').next().unwrap_or_default();
        let field = match subject {
            Subject::Server(_) => format!("capabilities.{surface}"),
            Subject::Tool(_) => surface.to_owned(),
        };
        let says = format!("does not declare `{surface}`");
        cause.rules.push(policy.field_rule(&subject.owner(), &field, says));
        cause.lacking = Some("declaration");
        cause.instead = vec![format!(
            "declare `{surface}` in the capabilities with exactly what the tool needs; the next refusal names what that is"
        )];
    }
    if let Some(hint) = &record.hint {
        cause.instead.push(one_line(hint));
    }
    cause
}

/// Somebody must look at a definition first.
pub(super) fn quarantined(record: &Recorded) -> Cause {
    let tool = one_line(&record.tool);
    let said = &record.result.error;
    if said.contains("may do more than was accepted") {
        return Cause::instead(
            "no change is advised unread: `ringfence manifest verify` shows what it may do beyond the accepted manifest; then take that back, or have somebody run `ringfence manifest accept`",
        );
    }
    let mut cause = Cause::instead(format!(
        "no change is advised unread: look at it with `ringfence pins diff {tool}` and `ringfence scan`, as if it were a prompt"
    ));
    cause.instead.push(if said.contains("looks hostile") {
        "if it is hostile, take the tool or its server out; only what is harmless is accepted with `ringfence pins accept`".to_owned()
    } else {
        format!("ask whoever changed it; if it is right, `ringfence pins accept {tool}`")
    });
    cause
}

/// Nobody knows whether a call took effect.
pub(super) fn outcome_unknown(record: &Recorded) -> Cause {
    let key = record.idempotency_key.clone().or_else(|| {
        let (_, rest) = record.result.error.split_once("idempotency key `")?;
        rest.split('`').next().map(str::to_owned)
    });
    let key = key.map_or_else(|| "KEY".to_owned(), |key| one_line(&key));
    Cause::instead(format!(
        "no change is advised: running it again could do it twice. Find out at the other side whether it took effect, then `ringfence idempotency settle {key}`"
    ))
}
