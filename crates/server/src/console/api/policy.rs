//! The policy in force, questions to it, and its manifest.

use std::sync::Arc;

use axum::extract::State;
use ringfence::Role;

use super::super::act;
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::port::{ManifestPage, PolicyAnswer, PolicyPage, PolicyQuestion};
use super::super::view::{AcceptanceSent, Done};
use super::{Endpoint, Json, Sent};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/api/v1/policy", "Show the policy in force", Role::Viewer)
            .answers::<PolicyPage, _, _>(policy),
        Endpoint::post(
            "/api/v1/policy/question",
            "Ask what the policy says, without doing anything",
            Role::Viewer,
        )
        .takes::<PolicyQuestion>()
        .answers::<PolicyAnswer, _, _>(ask),
        Endpoint::get("/api/v1/manifest", "Compare the manifest with the accepted one", Role::Viewer)
            .answers::<ManifestPage, _, _>(manifest),
        Endpoint::post("/api/v1/manifest/acceptance", "Accept the manifest as it is now", Role::Admin)
            .takes::<AcceptanceSent>()
            .answers::<Done, _, _>(accept),
    ]
}

async fn policy(State(front): State<Arc<Front>>) -> Result<Json<PolicyPage>, Fault> {
    Ok(Json(front.ask(|desk| desk.policy()).await?))
}

async fn ask(
    State(front): State<Arc<Front>>,
    Sent(question): Sent<PolicyQuestion>,
) -> Result<Json<PolicyAnswer>, Fault> {
    Ok(Json(front.ask(move |desk| desk.ask(&question)).await?))
}

async fn manifest(State(front): State<Arc<Front>>) -> Result<Json<ManifestPage>, Fault> {
    Ok(Json(front.ask(|desk| desk.manifest()).await?))
}

async fn accept(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Sent(sent): Sent<AcceptanceSent>,
) -> Result<Json<Done>, Fault> {
    act::accept(&front, &caller, sent).await?;
    Ok(Json(Done::YES))
}
