//! Requests for approval, over the API.

use std::sync::Arc;

use axum::extract::{Path, State};
use ringfence::{RequestFilter, RequestState, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::decision::{self, Decided, Pick, Say};
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::view::{Asked, Damaged, Request};
use super::{Endpoint, Json, Sent, Wanted};

/// How many requests are returned at most, and when nobody says.
const MOST: usize = 500;
const USUAL: usize = 100;

/// Which requests are wanted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct RequestQuery {
    /// `approved`, `denied`, `expired`, `open`, `replaced` or `taken`.
    state: Option<String>,
    /// The run.
    run: Option<String>,
    /// The tool.
    tool: Option<String>,
    /// How many at most, newest first: 1 to 500, 100 when absent.
    most: Option<usize>,
}

/// What a person says about a request.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct DecisionBody {
    /// `approve`, `deny`, `change` to agree to other arguments, or `withdraw` to take back an approval before it is used.
    word: String,
    /// Why; a refusal needs one.
    #[serde(default)]
    reason: String,
    /// With `change`, the other arguments.
    #[schemars(with = "Option<Value>")]
    arguments: Option<Box<RawValue>>,
    /// The digest of what was shown; where it is given, nothing else is decided.
    digest: Option<String>,
}

/// What a person says about several requests.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct DecisionsBody {
    /// `approve` or `deny`.
    word: String,
    /// Why; a refusal needs one.
    #[serde(default)]
    reason: String,
    /// The requests, each with the digest of what was shown; at most 100.
    requests: Vec<Pick>,
}

/// What became of several decisions.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub(crate) struct DecisionList {
    /// What became of each, in the order they were sent.
    decided: Vec<Decided>,
}

/// Requests.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct RequestList {
    /// The requests, newest first.
    requests: Vec<Request>,
    /// Those whose rows were damaged or forged: nobody can decide about them.
    damaged: Vec<Damaged>,
    /// Whether there are older requests that are not listed.
    more: bool,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/api/v1/approvals", "List requests for approval", Role::Viewer)
            .wants::<RequestQuery>()
            .answers::<RequestList, _, _>(list),
        Endpoint::get("/api/v1/approvals/{id}", "Show a request with what is needed to decide", Role::Viewer)
            .answers::<Asked, _, _>(show),
        Endpoint::post("/api/v1/approvals/{id}/decision", "Decide about a request", Role::Approver)
            .takes::<DecisionBody>()
            .answers::<Request, _, _>(decide),
        Endpoint::post("/api/v1/approvals", "Approve or deny several requests", Role::Approver)
            .takes::<DecisionsBody>()
            .answers::<DecisionList, _, _>(decide_all),
    ]
}

async fn list(
    State(front): State<Arc<Front>>,
    Wanted(query): Wanted<RequestQuery>,
) -> Result<Json<RequestList>, Fault> {
    let state = query.state.filter(|state| !state.is_empty()).map(|text| {
        let found = RequestState::ALL.into_iter().find(|state| state.as_str() == text);
        found.ok_or_else(|| Fault::input(format!("there is no state `{text}`")))
    });
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let most = query.most.unwrap_or(USUAL).clamp(1, MOST);
    let filter = RequestFilter {
        state: state.transpose()?,
        run: given(query.run),
        tool: given(query.tool),
        // One more than is listed says whether the list is cut.
        most: most + 1,
    };
    let mut found = front.store.approvals.list_requests(&filter).await?;
    let more = found.requests.len() + found.damaged.len() > most;
    if more && found.requests.pop().is_none() {
        found.damaged.pop();
    }
    Ok(Json(RequestList {
        requests: found.requests.iter().map(Request::of).collect(),
        damaged: found.damaged.iter().map(Damaged::of).collect(),
        more,
    }))
}

async fn show(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Asked>, Fault> {
    Ok(Json(Asked::read(&front, &caller, &id).await?))
}

async fn decide(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Path(id): Path<String>,
    Sent(body): Sent<DecisionBody>,
) -> Result<Json<Request>, Fault> {
    let say = Say {
        word: decision::word(&body.word)?,
        reason: body.reason,
        arguments: body.arguments.map(|raw| raw.get().to_owned()),
        digest: body.digest,
    };
    Ok(Json(Request::of(&decision::decide(&front, &caller, &id, say).await?)))
}

async fn decide_all(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Sent(body): Sent<DecisionsBody>,
) -> Result<Json<DecisionList>, Fault> {
    let word = decision::word(&body.word)?;
    let decided = decision::decide_all(&front, &caller, body.requests, word, &body.reason).await?;
    Ok(Json(DecisionList { decided }))
}
