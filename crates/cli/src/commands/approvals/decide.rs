//! Approving, denying, approving with other arguments, and withdrawing an approval.

use std::io::Write;

use ringfence::policy::{JsonLimits, parse_json};
use ringfence::{ApproverToken, PersonDecision, Proof, RequestState, Word};
use ringfence_store::Database;

use super::list::find;
use crate::error::{CommandError, Exit};

/// Says a word about a request.
pub(super) async fn decide(
    store: &dyn Database,
    id: &str,
    word: Word,
    token: &ApproverToken,
    reason: &str,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let filed = find(store, id).await?;
    let by = Proof::Token(token.hash());
    let decision = PersonDecision { id: filed.id, by, word, changed: None, reason: reason.to_owned() };
    said(store, &decision, out).await
}

/// Agrees to other arguments.
pub(super) async fn change(
    store: &dyn Database,
    id: &str,
    arguments: &str,
    token: &ApproverToken,
    reason: &str,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let input = |message: String| CommandError::Input { message, hint: None };
    let arguments = parse_json(arguments, JsonLimits::ARGUMENTS).map_err(|error| CommandError::Input {
        message: format!("the arguments are not JSON: {error}"),
        hint: Some("quote them for the shell, such as '{\"amount\": 2}'"),
    })?;
    let filed = find(store, id).await?;
    let changed = filed.request.with_arguments(arguments).map_err(input)?;
    if changed.digest == filed.request.digest {
        return Err(CommandError::Input {
            message: "these are the arguments that the call has".to_owned(),
            hint: Some("leave --arguments out to agree to the call as it is"),
        });
    }
    let decision = PersonDecision {
        id: filed.id,
        by: Proof::Token(token.hash()),
        word: Word::Change,
        changed: Some(changed),
        reason: reason.to_owned(),
    };
    said(store, &decision, out).await
}

/// Withdraws an approval that no call has used yet.
pub(super) async fn withdraw(
    store: &dyn Database,
    id: &str,
    token: &ApproverToken,
    reason: &str,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let filed = find(store, id).await?;
    let by = Proof::Token(token.hash());
    let name = store.principal(&by).await?.map(|principal| principal.name.to_string()).unwrap_or_default();
    let word = Word::Withdraw;
    let decision = PersonDecision { id: filed.id, by, word, changed: None, reason: reason.to_owned() };
    let filed = store.decide(&decision).await?;
    let missing = filed.request.needed.approvals().saturating_sub(filed.decided.len());
    writeln!(
        out,
        "withdrawn by {name}: {}, a call of `{}`; {missing} must agree",
        filed.id, filed.request.tool
    )?;
    Ok(Exit::Done)
}

async fn said(
    store: &dyn Database,
    decision: &PersonDecision,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let filed = store.decide(decision).await?;
    let by = filed.decided.last().map(|decided| decided.by.as_str()).unwrap_or_default();
    let (id, tool) = (&filed.id, &filed.request.tool);
    let missing = filed.request.needed.approvals().saturating_sub(filed.decided.len());
    match filed.state {
        RequestState::Denied => writeln!(out, "denied by {by}: {id}, a call of `{tool}`")?,
        RequestState::Open => {
            writeln!(out, "agreed by {by}: {id}, a call of `{tool}`; {missing} more must agree")?;
        }
        _ => {
            writeln!(out, "approved by {by}: {id}, a call of `{tool}`")?;
            writeln!(out, "it runs at once if it waits, or else when it is made again")?;
        }
    }
    if decision.word == Word::Change {
        writeln!(out, "with other arguments, in place of {}", decision.id)?;
    }
    Ok(Exit::Done)
}
