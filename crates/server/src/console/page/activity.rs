//! The activity: what happens, as it happens.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect};
use axum::routing::get;
use ringfence::Role;

use super::super::api::{Index, Wanted};
use super::super::enter::Reply;
use super::super::export;
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::summary::Column;
use super::super::view::{PAGE, RowQuery, Rows};
use super::{Frame, html};

/// Where it is.
pub(super) fn routes() -> Router<Arc<Front>> {
    Router::new()
        .route("/activity", get(show))
        .route("/activity/export.csv", get(export::csv))
        .route("/activity/export.jsonl", get(export::jsonl))
        .route("/entries/{index}", get(entry))
}

#[derive(Template)]
#[template(path = "activity.html")]
struct ActivityPage {
    frame: Frame,
    query: RowQuery,
    found: Rows,
    /// Names that there are, by column.
    names: Vec<(Column, Vec<String>)>,
    /// Whether whoever looks may export.
    exports: bool,
}

/// A field of the filter in which a name is written: its name, its label, what it holds, and names that there are.
type NamedField<'a> = (&'static str, &'static str, &'a str, &'a [String]);
/// A field of the filter with a few words to choose from.
type ChosenField<'a> = (&'static str, &'static str, &'a str, &'static [&'static str]);

const KINDS: &[&str] =
    &["approval", "approver", "call", "connection", "console", "policy", "server", "settlement"];
const CLASSES: &[&str] = &["read", "write", "network", "financial", "privileged"];
/// Times that are one click away: since when, how it is called, and the key that opens it.
const SPANS: [(&str, &str, &str); 4] =
    [("", "all", ""), ("1h", "1 hour", ""), ("24h", "24 hours", ""), ("7d", "7 days", "w")];
/// How many names a page brings along for each field.
const NAMES: usize = 30;

impl ActivityPage {
    fn value(field: &Option<String>) -> &str {
        field.as_deref().unwrap_or_default()
    }

    /// Returns the fields in which a name, or its beginning, is written.
    fn named(&self) -> Vec<NamedField<'_>> {
        let fields = [
            ("tool", "Tool", &self.query.tool),
            ("principal", "Agent or person", &self.query.principal),
            ("run", "Run", &self.query.run),
            ("code", "Code", &self.query.code),
        ];
        let names = |name: &str| {
            let found = self.names.iter().find(|(column, _)| column.as_str() == name);
            found.map_or(&[][..], |(_, names)| names.as_slice())
        };
        fields
            .into_iter()
            .map(|(name, label, field)| (name, label, Self::value(field), names(name)))
            .collect()
    }

    /// Returns the fields with a few words to choose from.
    fn chosen(&self) -> [ChosenField<'_>; 2] {
        [
            ("kind", "Kind", Self::value(&self.query.kind), KINDS),
            ("class", "Class", Self::value(&self.query.class), CLASSES),
        ]
    }

    /// Returns the fields that are written freely.
    fn times(&self) -> [(&'static str, &'static str, &str); 3] {
        [
            ("host", "Host", Self::value(&self.query.host)),
            ("since", "Since", Self::value(&self.query.since)),
            ("until", "Until", Self::value(&self.query.until)),
        ]
    }

    /// Says whether a field is filled in that is not seen at once.
    fn has_more(&self) -> bool {
        let hidden = [&self.query.kind, &self.query.class, &self.query.host, &self.query.until];
        hidden.into_iter().any(|field| !Self::value(field).is_empty())
    }

    const fn spans(&self) -> [(&'static str, &'static str, &'static str); 4] {
        SPANS
    }

    /// Returns the address of the same entries since another time.
    fn since(&self, since: &str) -> String {
        let query = RowQuery { since: Some(since.to_owned()), ..self.query.clone() };
        format!("/activity?{}", query.written())
    }

    fn is_since(&self, since: &str) -> bool {
        Self::value(&self.query.since) == since
    }

    /// Returns the address of the same entries, only those with a code; or of all where it is those already.
    fn refusals(&self) -> String {
        let code = if self.is_refusals() { None } else { Some("*".to_owned()) };
        format!("/activity?{}", RowQuery { code, ..self.query.clone() }.written())
    }

    fn is_refusals(&self) -> bool {
        Self::value(&self.query.code) == "*"
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
    let exports = caller.at_least(Role::Approver).is_ok();
    let suggest = |column| {
        let count = front.summary.count();
        (column, count.names().suggest(column, "", NAMES))
    };
    let names = Column::ALL.into_iter().map(suggest).collect();
    html(&ActivityPage { frame, query, found, names, exports })
}

/// An entry by itself is a page of the audit.
async fn entry(_caller: Caller, Index(index): Index) -> Reply {
    Redirect::to(&format!("/audit/entries/{index}")).into_response()
}
