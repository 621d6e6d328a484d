//! Idempotency keys.

use std::sync::Arc;

use axum::extract::State;
use ringfence::Role;

use super::super::act;
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::view::{Done, KeyList, KeyQuery, SettlementSent};
use super::{Endpoint, Json, Sent, Wanted};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/api/v1/keys", "List idempotency keys, newest first", Role::Viewer)
            .wants::<KeyQuery>()
            .answers::<KeyList, _, _>(list),
        Endpoint::post("/api/v1/keys/settlement", "Say what became of a call in doubt", Role::Approver)
            .takes::<SettlementSent>()
            .answers::<Done, _, _>(settle),
    ]
}

async fn list(
    State(front): State<Arc<Front>>,
    Wanted(query): Wanted<KeyQuery>,
) -> Result<Json<KeyList>, Fault> {
    Ok(Json(KeyList::read(&front, query.filter()?).await?))
}

async fn settle(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Sent(sent): Sent<SettlementSent>,
) -> Result<Json<Done>, Fault> {
    act::settle(&front, &caller, sent).await?;
    Ok(Json(Done::YES))
}
