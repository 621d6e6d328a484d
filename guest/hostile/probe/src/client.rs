//! HTTP by the way that a component has.

use ringfence_guest::http;
use serde_json::json;

use crate::Came;
use crate::network::Exchange;

pub(crate) fn exchange(wanted: Exchange) -> Came {
    let mut request = http::request(wanted.method.as_deref().unwrap_or("GET"), &wanted.url);
    request = request.body(wanted.body.unwrap_or_default()).most(wanted.most.unwrap_or(http::DEFAULT_MOST));
    if let Some((name, value)) = wanted.header {
        request = request.header(&name, &value);
    }
    let response = request.send().map_err(|error| error.to_string())?;
    let body = String::from_utf8_lossy(response.body());
    Ok(json!({ "status": response.status(), "body": body, "location": response.header("location") }))
}
