//! People who may look or decide, over the API.

use std::sync::Arc;

use axum::extract::State;
use ringfence::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::act;
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::view::{Person, PersonQuery, RevocationSent, people};
use super::{Endpoint, Json, Sent, Wanted};

/// People.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct PersonList {
    /// Those who may come in first, then by name.
    people: Vec<Person>,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/api/v1/people", "List people who may look or decide", Role::Viewer)
            .wants::<PersonQuery>()
            .answers::<PersonList, _, _>(list),
        Endpoint::post("/api/v1/people/revocation", "Revoke somebody at once", Role::Admin)
            .takes::<RevocationSent>()
            .answers::<PersonList, _, _>(revoke),
    ]
}

async fn list(
    State(front): State<Arc<Front>>,
    Wanted(query): Wanted<PersonQuery>,
) -> Result<Json<PersonList>, Fault> {
    Ok(Json(PersonList { people: people(&front, &query).await? }))
}

async fn revoke(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Sent(body): Sent<RevocationSent>,
) -> Result<Json<PersonList>, Fault> {
    act::revoke(&front, &caller, &body).await?;
    Ok(Json(PersonList { people: people(&front, &PersonQuery::default()).await? }))
}
