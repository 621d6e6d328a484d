//! Tools, prompts and instructions: where each stands, what it reaches, and what a person says of it.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect};
use axum::routing::{get, post};
use ringfence::Role;

use super::super::act;
use super::super::api::Wanted;
use super::super::enter::Reply;
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::port::{Definition, DefinitionId, DefinitionPage, Trust};
use super::super::sent::Sent;
use super::super::view::{DefinitionQuery, DiffLine, JudgementSent, diff, json};
use super::{Frame, html};

/// Where these pages are.
pub(super) fn routes() -> Router<Arc<Front>> {
    Router::new()
        .route("/tools", get(list))
        .route("/tools/definition", get(show))
        .route("/tools/judge", post(judge))
}

#[derive(Template)]
#[template(path = "tools.html")]
struct ToolsPage {
    frame: Frame,
    query: DefinitionQuery,
    definitions: Vec<Definition>,
    servers: Vec<String>,
    total: usize,
    waiting: usize,
}

impl ToolsPage {
    /// The words for where a definition may stand, for the filter.
    const fn trusts(&self) -> [Trust; 7] {
        [
            Trust::Changed,
            Trust::New,
            Trust::Renamed,
            Trust::Widened,
            Trust::Rejected,
            Trust::Unpinned,
            Trust::Accepted,
        ]
    }

    fn is_wanted(wanted: &Option<String>, own: &str) -> bool {
        wanted.as_deref() == Some(own)
    }
}

async fn list(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Wanted(query): Wanted<DefinitionQuery>,
) -> Result<Reply, Fault> {
    let all = front.ask(|desk| desk.definitions()).await?;
    let mut servers: Vec<String> = all.iter().map(|one| one.server().to_owned()).collect();
    servers.sort_unstable();
    servers.dedup();
    let (total, waiting) = (all.len(), all.iter().filter(|one| one.trust.waits()).count());
    let frame = Frame::new(&front, &caller, "Tools", "/tools").await;
    html(&ToolsPage { frame, definitions: query.pick(all), query, servers, total, waiting })
}

#[derive(Template)]
#[template(path = "definition.html")]
struct OnePage {
    frame: Frame,
    page: DefinitionPage,
    /// Nothing where both are shown in full.
    diff: Option<Vec<DiffLine>>,
    old: Option<String>,
    new: String,
    /// Whether whoever looks may judge it.
    judges: bool,
}

async fn show(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Wanted(asked): Wanted<DefinitionId>,
) -> Result<Reply, Fault> {
    let id = DefinitionId::read(asked.server, asked.key);
    let wanted = id.clone();
    let page = front.ask(move |desk| desk.definition(&wanted)).await?;
    let page = page.ok_or_else(|| act::missing(&id))?;
    let old = page.old.as_deref().map(json::visible);
    let new = json::visible(&page.new);
    let title = format!("{} · Tools", page.definition.name);
    let frame = Frame::new(&front, &caller, &title, "/tools").await;
    let judges = caller.at_least(Role::Admin).is_ok();
    let diff = old.as_deref().filter(|old| *old != new).and_then(|old| diff(old, &new));
    html(&OnePage { frame, diff, page, old, new, judges })
}

async fn judge(State(front): State<Arc<Front>>, sent: Sent<JudgementSent>) -> Result<Reply, Fault> {
    let Sent { caller, fields } = sent;
    let id = act::judge(&front, &caller, fields).await?;
    Ok(Redirect::to(&id.link()).into_response())
}
