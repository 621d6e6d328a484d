//! Removing what gateways left behind that did not live to do it themselves.

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::Method;
use serde::Deserialize;

use crate::body::OWNER_LABEL;
use crate::client::{Client, Question};
use crate::error::ContainerError;
use crate::guard::remove;
use crate::owner::{Life, Owner};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    id: String,
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
}

/// Removes the containers of dead gateways, and returns how many those were. The first that cannot be removed is told, after the others
/// were tried.
pub(crate) async fn sweep(client: &Client, api: &str) -> Result<usize, ContainerError> {
    let here = |error| ContainerError::Here { place: "finding out which process this is", error };
    let this = Owner::this().map_err(here)?;
    // The filter is written as JSON and sent in the query.
    let filter = format!("%7B%22label%22%3A%5B%22{OWNER_LABEL}%22%5D%7D");
    let question = Question {
        place: "listing what is left of earlier commands",
        method: Method::GET,
        path: format!("/v{api}/containers/json?all=true&filters={filter}"),
        body: None,
        within: Duration::from_secs(30),
    };
    let listed: Vec<Listed> = client.ask(question).await?;
    let (mut removed, mut failed) = (0, None);
    for one in listed {
        let owner = one.labels.as_ref().and_then(|labels| labels.get(OWNER_LABEL)?.parse::<Owner>().ok());
        let is_ours = one.id.len() >= 12 && one.id.chars().all(|digit| digit.is_ascii_hexdigit());
        if !is_ours || owner.is_none_or(|owner| owner.life(&this) == Life::Unknown) {
            continue;
        }
        match remove(client, api, &one.id).await {
            Ok(()) => removed += 1,
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(removed), Err)
}
