//! The page of a call.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::routing::get;
use ringfence::policy::explain::explain_command;
use ringfence::{Code, Role};

use super::super::api::{Index, Wanted};
use super::super::enter::{Reply, encode};
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::view::{Bars, CallView, Piece, RawQuery, Segment, fold, mark, size, stage_bars, time};
use super::{Frame, html};

/// Where it is.
pub(super) fn routes() -> Router<Arc<Front>> {
    Router::new().route("/calls/{index}", get(show))
}

#[derive(Template)]
#[template(path = "call.html")]
struct CallPage {
    frame: Frame,
    view: CallView,
    stages: Bars,
    clean: Option<Vec<Segment>>,
    raw: Option<Vec<Segment>>,
    /// Whether whoever looks may see what the tool returned.
    may_look: bool,
}

impl CallPage {
    fn arguments(&self) -> Vec<Piece> {
        fold(&self.view.arguments)
    }

    fn raw_arguments(&self) -> String {
        super::super::view::json::compact(&self.view.arguments)
    }

    fn run_href(&self) -> Option<String> {
        self.view.row.run.as_deref().map(|run| format!("/runs/{}", encode(run)))
    }

    fn tool_href(&self) -> String {
        format!("/tools?text={}", encode(self.view.row.tool.as_deref().unwrap_or_default()))
    }

    /// Returns the command that explains why it was not done; what a tool failed with by itself, no rule has decided.
    fn explain(&self) -> Option<String> {
        let code = self.view.row.code.as_deref()?;
        (code != Code::ExecutionFailed.as_str()).then(|| explain_command(&self.view.row.index.to_string()))
    }

    /// Writes a number of bytes.
    fn size(bytes: &u64) -> String {
        size(*bytes)
    }

    /// Writes a number of milliseconds.
    fn millis(millis: &f64) -> String {
        time::lasting(std::time::Duration::try_from_secs_f64(millis / 1000.0).unwrap_or_default())
    }
}

async fn show(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Index(index): Index,
    Wanted(query): Wanted<RawQuery>,
) -> Result<Reply, Fault> {
    let view = CallView::read(&front, &caller, index, &query).await?;
    let tool = view.row.tool.as_deref().unwrap_or("call");
    let frame = Frame::new(&front, &caller, &format!("{tool}, call {index}"), "/activity").await;
    html(&CallPage {
        frame,
        stages: stage_bars(&view.stages),
        clean: view.clean.as_ref().map(|output| mark::clean(output, &view.findings)),
        raw: view.raw.as_ref().map(|output| mark::raw(output, &view.findings)),
        may_look: caller.at_least(Role::Approver).is_ok(),
        view,
    })
}
