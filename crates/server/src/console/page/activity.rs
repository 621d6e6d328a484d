//! The activity: what happens, as it happens.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect};
use axum::routing::get;

use super::super::api::{Index, Wanted};
use super::super::enter::Reply;
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::view::{PAGE, RowQuery, Rows};
use super::{Frame, html};

/// Where it is.
pub(super) fn routes() -> Router<Arc<Front>> {
    Router::new().route("/activity", get(show)).route("/entries/{index}", get(entry))
}

#[derive(Template)]
#[template(path = "activity.html")]
struct ActivityPage {
    frame: Frame,
    query: RowQuery,
    found: Rows,
}

/// A field of the filter: its name, its label, what it holds, and what may be in it.
type Field<'a> = (&'static str, &'static str, &'a str, &'static [&'static str]);

const KINDS: &[&str] =
    &["approval", "approver", "call", "connection", "console", "policy", "server", "settlement"];
const CLASSES: &[&str] = &["read", "write", "network", "financial", "privileged"];

impl ActivityPage {
    /// Returns the fields of the filter.
    fn fields(&self) -> Vec<Field<'_>> {
        let all = self.query.fields().into_iter().map(|(name, value)| {
            let (label, choices): (&str, &[&str]) = match name {
                "kind" => ("Kind", KINDS),
                "class" => ("Class", CLASSES),
                "run" => ("Run", &[]),
                "tool" => ("Tool", &[]),
                "code" => ("Code", &[]),
                "host" => ("Host", &[]),
                "principal" => ("Who", &[]),
                "since" => ("Since", &[]),
                _ => ("Until", &[]),
            };
            (name, label, value.as_deref().unwrap_or_default(), choices)
        });
        all.collect()
    }

    /// Says whether it is the newest page, which goes on by itself.
    const fn is_newest(&self) -> bool {
        self.query.below.is_none() && self.query.from.is_none()
    }

    /// Returns the address of what is before.
    fn older(&self) -> Option<String> {
        let written = self.query.written();
        let and = if written.is_empty() { "" } else { "&" };
        self.found.older.map(|below| format!("/activity?{written}{and}below={below}"))
    }
}

async fn show(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Wanted(query): Wanted<RowQuery>,
) -> Result<Reply, Fault> {
    let found = Rows::read(&front, &query, PAGE).await?;
    let frame = Frame::new(&front, &caller, "Activity", "/activity").await;
    html(&ActivityPage { frame, query, found })
}

/// An entry by itself is a page of the audit.
async fn entry(_caller: Caller, Index(index): Index) -> Reply {
    Redirect::to(&format!("/audit/entries/{index}")).into_response()
}
