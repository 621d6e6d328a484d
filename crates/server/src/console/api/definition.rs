//! Tools, prompts and instructions.

use std::sync::Arc;

use axum::extract::State;
use ringfence::Role;

use super::super::act;
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::port::{Definition, DefinitionId, DefinitionPage};
use super::super::view::{DefinitionQuery, Done, JudgementSent};
use super::{Endpoint, Json, Sent, Wanted};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/api/v1/definitions", "List tools, prompts and instructions", Role::Viewer)
            .wants::<DefinitionQuery>()
            .answers::<Vec<Definition>, _, _>(list),
        Endpoint::get("/api/v1/definition", "Show one definition beside the accepted one", Role::Viewer)
            .wants::<DefinitionId>()
            .answers::<DefinitionPage, _, _>(show),
        Endpoint::post("/api/v1/definitions/judgement", "Accept or reject a definition", Role::Admin)
            .takes::<JudgementSent>()
            .answers::<Done, _, _>(judge),
    ]
}

async fn list(
    State(front): State<Arc<Front>>,
    Wanted(query): Wanted<DefinitionQuery>,
) -> Result<Json<Vec<Definition>>, Fault> {
    Ok(Json(query.pick(front.ask(|desk| desk.definitions()).await?)))
}

async fn show(
    State(front): State<Arc<Front>>,
    Wanted(asked): Wanted<DefinitionId>,
) -> Result<Json<DefinitionPage>, Fault> {
    let id = DefinitionId::read(asked.server, asked.key);
    let wanted = id.clone();
    let page = front.ask(move |desk| desk.definition(&wanted)).await?;
    page.map(Json).ok_or_else(|| act::missing(&id))
}

async fn judge(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Sent(sent): Sent<JudgementSent>,
) -> Result<Json<Done>, Fault> {
    act::judge(&front, &caller, sent).await?;
    Ok(Json(Done::YES))
}
