//! What people say about a request, and what that means for the call that waits for it.
//!
//! INVARIANT: a request is decided while it is open, by people who did not propose it, each once.

use std::time::Duration;

use ringfence::{
    ApprovalError, ApproverName, Decided, FiledRequest, PersonDecision, RequestState, Standing, Word,
};

use super::error::PostgresError;
use super::request::{self, short_name};
use super::session::Session;

/// Says where a request stands; nothing where it can be taken.
pub(super) async fn standing(
    session: &Session,
    id: &str,
) -> Result<Option<(FiledRequest, Option<Standing>)>, PostgresError> {
    let Some(filed) = request::find(session, id).await? else { return Ok(None) };
    let last = filed.decided.last();
    let said =
        |word: Word| last.filter(|last| last.word == word).map(|last| (last.by.clone(), last.reason.clone()));
    let standing = match filed.state {
        RequestState::Approved => None,
        RequestState::Denied => {
            let (by, reason) = said(Word::Deny).unwrap_or_default();
            Some(Standing::Denied { by, reason })
        }
        RequestState::Expired => Some(Standing::Expired),
        RequestState::Open => Some(Standing::Open),
        RequestState::Replaced => {
            let next = request::select(session, "r.replaces = $1", &[&filed.id]).await?.pop();
            Some(match (next, said(Word::Change)) {
                (Some(next), Some((by, reason))) => {
                    Standing::Changed { arguments: (*next.request.arguments).clone(), by, reason }
                }
                _ => Standing::Expired,
            })
        }
        RequestState::Taken => Some(Standing::Taken),
    };
    Ok(Some((filed, standing)))
}

/// Applies what a person says: the request as it stands then, and the one that takes its place.
pub(super) fn decided(
    mut filed: FiledRequest,
    decision: &PersonDecision,
    by: &ApproverName,
    now: Duration,
) -> Result<(FiledRequest, Option<FiledRequest>), ApprovalError> {
    if decision.word == Word::Withdraw {
        filed.withdraw(by)?;
        return Ok((filed, None));
    }
    match filed.state {
        RequestState::Open => {}
        RequestState::Expired => return Err(ApprovalError::Expired),
        state => return Err(ApprovalError::NotOpen { state }),
    }
    if filed.request.is_proposed_by(by.as_str()) {
        return Err(ApprovalError::Proposer { by: by.clone() });
    }
    if filed.decided.iter().any(|decided| decided.by == by.as_str()) {
        return Err(ApprovalError::Already { by: by.clone() });
    }
    let said = Decided {
        by: by.to_string(),
        word: decision.word,
        reason: decision.reason.clone(),
        at_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
    };
    filed.decided.push(said.clone());
    match decision.word {
        Word::Approve | Word::Withdraw => {
            if filed.decided.len() >= filed.request.needed.approvals() {
                filed.state = RequestState::Approved;
            }
            Ok((filed, None))
        }
        Word::Deny => {
            filed.state = RequestState::Denied;
            Ok((filed, None))
        }
        Word::Change => {
            let changed = decision.changed.clone().ok_or(ApprovalError::Changed)?;
            if !filed.request.is_changed_by(&changed) {
                return Err(ApprovalError::Changed);
            }
            filed.state = RequestState::Replaced;
            let is_enough = changed.needed.approvals() <= 1;
            let next = FiledRequest {
                id: short_name()?,
                request: changed,
                state: if is_enough { RequestState::Approved } else { RequestState::Open },
                asked: now,
                expires: filed.expires,
                decided: vec![said],
                replaces: Some(filed.id.clone()),
            };
            Ok((filed, Some(next)))
        }
    }
}
