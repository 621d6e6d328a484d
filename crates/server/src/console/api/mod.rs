//! The API: the same things as the pages, as JSON, and a document that says what there is.
//!
//! INVARIANT: an endpoint is routed and described by the same entry of one list, so that the document cannot say anything else
//! than what is there.

mod approval;
mod audit;
mod definition;
mod endpoint;
mod entry;
mod health;
mod key;
mod me;
mod openapi;
mod person;
mod policy;
mod run;
mod trend;

use std::sync::Arc;

use axum::Router;

use super::front::Front;
pub(crate) use endpoint::{Endpoint, Index, Json, Sent, Wanted};

/// Every endpoint.
fn endpoints() -> Vec<Endpoint> {
    let mut all = Vec::new();
    all.extend(approval::endpoints());
    all.extend(entry::endpoints());
    all.extend(me::endpoints());
    all.extend(run::endpoints());
    all.extend(definition::endpoints());
    all.extend(policy::endpoints());
    all.extend(key::endpoints());
    all.extend(audit::endpoints());
    all.extend(health::endpoints());
    all.extend(person::endpoints());
    all.extend(trend::endpoints());
    all
}

/// Where the API is.
pub(crate) fn routes() -> Router<Arc<Front>> {
    let router = endpoints().into_iter().fold(Router::new(), |router, endpoint| endpoint.add_to(router));
    router.route("/api/v1/openapi.json", axum::routing::get(openapi::show))
}

/// Returns the document of the API, for whoever wants it without a server.
pub fn document() -> serde_json::Value {
    openapi::document(&endpoints())
}
