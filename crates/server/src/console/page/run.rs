//! The page of a run.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;

use super::super::enter::{Reply, encode};
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::view::{Bars, Graph, RunView, graph, waterfall};
use super::{Frame, html};

/// Where it is.
pub(super) fn routes() -> Router<Arc<Front>> {
    Router::new().route("/runs/{run}", get(show))
}

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    frame: Frame,
    view: RunView,
    bars: Bars,
    graph: Graph,
}

impl RunPage {
    /// Returns the address of everything that the run has in the log.
    fn entries(&self) -> String {
        format!("/activity?run={}", encode(&self.view.run))
    }
}

async fn show(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Path(run): Path<String>,
) -> Result<Reply, Fault> {
    let view = RunView::read(&front, &run).await?;
    let frame = Frame::new(&front, &caller, &format!("Run {run}"), "/activity").await;
    let (bars, graph) = (waterfall(&view.calls), graph(&view.reach));
    html(&RunPage { frame, view, bars, graph })
}
