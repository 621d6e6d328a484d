//! Revoking somebody.
//!
//! INVARIANT: only the person who was shown is revoked, and their sessions and streams end with it. What they agreed to and nobody
//! has used yet no longer counts, which the store sees to.

use ringfence::{ApproverName, Role};
use serde_json::json;

use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::view::RevocationSent;

/// Revokes somebody at once.
pub(crate) async fn revoke(front: &Front, caller: &Caller, sent: &RevocationSent) -> Result<(), Fault> {
    caller.at_least(Role::Admin)?;
    let missing = || Fault::missing(format!("there is nobody named `{}`", sent.name));
    let name: ApproverName = sent.name.parse().map_err(|_| missing())?;
    if name == caller.principal.name {
        return Err(Fault::conflict("you cannot revoke yourself here")
            .hint("ask another admin, or run `ringfence approver revoke`"));
    }
    let people = front.store.approvals.approvers().await?;
    let found = people.into_iter().find(|person| person.name == name).ok_or_else(missing)?;
    if found.added.as_millis() != u128::from(sent.added_ms) {
        return Err(Fault::conflict(format!("`{name}` was added again since you looked"))
            .hint("look at the people again"));
    }
    if found.revoked.is_some() {
        return Err(Fault::conflict(format!("`{name}` is revoked already")));
    }
    front.keep(caller, "revoke person", json!({ "name": name.as_str() })).await?;
    let was_there = front.store.approvals.revoke_approver(&name).await?;
    front.access.sessions.end_of(&name);
    if was_there { Ok(()) } else { Err(Fault::conflict(format!("`{name}` is revoked already"))) }
}
