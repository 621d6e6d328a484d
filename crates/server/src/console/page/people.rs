//! The people who may look or decide.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect};
use axum::routing::{get, post};
use ringfence::Role;

use super::super::act;
use super::super::api::Wanted;
use super::super::enter::{Reply, encode};
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::sent::Sent;
use super::super::view::{Person, PersonQuery, RevocationSent, people};
use super::{Frame, html};

/// Where this page is.
pub(super) fn routes() -> Router<Arc<Front>> {
    Router::new().route("/people", get(show)).route("/people/revoke", post(revoke))
}

#[derive(Template)]
#[template(path = "people.html")]
struct PeoplePage {
    frame: Frame,
    query: PersonQuery,
    people: Vec<Person>,
    /// Whether whoever looks may revoke.
    revokes: bool,
    own: String,
}

impl PeoplePage {
    /// Says whether a person can be revoked by whoever looks.
    fn can_revoke(&self, person: &Person) -> bool {
        self.revokes && person.is_known() && person.name != self.own
    }

    /// Writes a name so that it can stand in an address.
    fn encoded(person: &Person) -> String {
        encode(&person.name)
    }

    /// Says whether the filter leaves one person, whose button has the focus then.
    fn is_only_one(&self) -> bool {
        self.query.text.as_deref().is_some_and(|text| !text.is_empty())
            && self.people.iter().filter(|person| self.can_revoke(person)).count() == 1
    }
}

async fn show(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Wanted(query): Wanted<PersonQuery>,
) -> Result<Reply, Fault> {
    let people = people(&front, &query).await?;
    let frame = Frame::new(&front, &caller, "People", "/people").await;
    let revokes = caller.at_least(Role::Admin).is_ok();
    html(&PeoplePage { frame, query, people, revokes, own: caller.name().to_owned() })
}

async fn revoke(State(front): State<Arc<Front>>, sent: Sent<RevocationSent>) -> Result<Reply, Fault> {
    let Sent { caller, fields } = sent;
    act::revoke(&front, &caller, &fields).await?;
    Ok(Redirect::to("/people").into_response())
}
