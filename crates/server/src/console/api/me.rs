//! Who asks.

use ringfence::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::fault::Fault;
use super::super::front::Caller;
use super::{Endpoint, Json};

/// Who asks.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Me {
    /// The name.
    name: String,
    /// `viewer`, `approver` or `admin`.
    role: String,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![Endpoint::get("/api/v1/me", "Say who asks", Role::Viewer).answers::<Me, _, _>(me)]
}

async fn me(caller: Caller) -> Result<Json<Me>, Fault> {
    Ok(Json(Me { name: caller.name().to_owned(), role: caller.principal.role.as_str().to_owned() }))
}
