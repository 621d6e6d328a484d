//! What a request that speaks for itself must say: in its body, and the same again in its headers.
//!
//! INVARIANT: what an intermediary reads in the headers is what the room reads in the body.

use axum::http::{HeaderMap, StatusCode};
use serde_json::json;

use super::param;
use super::reply::{Reply, rpc, rpc_raw};
use super::version::{HEADER, header, meta};
use crate::door::Room;
use crate::era::{CAPABILITIES, MODERN, VERSION, is_gone};
use crate::message::{Id, Notification, Request, error_code, rpc_error_with};
use crate::raw::RawObject;

/// Checks everything that can be told without the room.
pub(super) fn check(headers: &HeaderMap, request: &Request) -> Result<(), Reply> {
    let id = Some(&request.id);
    let version = claimed(&request.params)
        .map_err(|text| rpc(StatusCode::BAD_REQUEST, id, error_code::INVALID_PARAMS, text))?;
    let mismatch = |text: String| rpc(StatusCode::BAD_REQUEST, id, error_code::HEADER_MISMATCH, &text);
    compare(headers, HEADER, &version, as_is).map_err(mismatch)?;
    compare(headers, "mcp-method", &request.method, as_is).map_err(mismatch)?;
    check_name(headers, request).map_err(mismatch)?;
    supported(id, &version)?;
    if is_gone(&request.method) {
        let text = format!("there is no method `{}` in {MODERN}", request.method);
        return Err(rpc(StatusCode::NOT_FOUND, id, error_code::METHOD_NOT_FOUND, &text));
    }
    Ok(())
}

/// Checks the arguments that the schema of the called tool wants in headers.
pub(super) fn check_params(headers: &HeaderMap, request: &Request, room: &dyn Room) -> Result<(), Reply> {
    if request.method != "tools/call" {
        return Ok(());
    }
    let Some(schema) = request.params.text("name").and_then(|tool| room.input_schema(&tool)) else {
        return Ok(());
    };
    param::check(headers, &schema, request.params.get("arguments"))
        .map_err(|text| rpc(StatusCode::BAD_REQUEST, Some(&request.id), error_code::HEADER_MISMATCH, &text))
}

/// Checks what a notification says where it says it; it need not say anything.
pub(super) fn check_notification(
    headers: &HeaderMap,
    notification: &Notification,
    stated: Option<&str>,
) -> Result<(), Reply> {
    let mismatch = |text: String| rpc(StatusCode::BAD_REQUEST, None, error_code::HEADER_MISMATCH, &text);
    let claimed = meta(&notification.params).and_then(|meta| meta.text(VERSION));
    if let (Some(stated), Some(claimed)) = (stated, &claimed)
        && stated != claimed
    {
        return Err(mismatch(differs(HEADER)));
    }
    if headers.contains_key("mcp-method") {
        compare(headers, "mcp-method", &notification.method, as_is).map_err(mismatch)?;
    }
    stated.or(claimed.as_deref()).map_or(Ok(()), |version| supported(None, version))
}

/// Returns the version a request claims to speak, where what stands beside its parameters is whole.
fn claimed(params: &RawObject) -> Result<String, &'static str> {
    let meta = meta(params).ok_or("`_meta` is missing, or is no object")?;
    let version = meta
        .text(VERSION)
        .ok_or("`_meta` has no `io.modelcontextprotocol/protocolVersion` that is a string")?;
    if meta.object(CAPABILITIES).is_none() {
        return Err("`_meta` has no `io.modelcontextprotocol/clientCapabilities` that is an object");
    }
    Ok(version)
}

fn check_name(headers: &HeaderMap, request: &Request) -> Result<(), String> {
    let member = match request.method.as_str() {
        "prompts/get" | "tools/call" => "name",
        "resources/read" => "uri",
        "tasks/cancel" | "tasks/get" | "tasks/update" => "taskId",
        _ => return Ok(()),
    };
    match request.params.text(member) {
        Some(name) => compare(headers, "mcp-name", &name, param::unwrapped),
        None if headers.contains_key("mcp-name") => Err(differs("mcp-name")),
        None => Ok(()),
    }
}

fn compare(
    headers: &HeaderMap,
    name: &str,
    said: &str,
    read: impl Fn(&str) -> Option<String>,
) -> Result<(), String> {
    match header(headers, name) {
        Err(_) => Err(format!("the header `{name}` is not clear")),
        Ok(None) => Err(format!("the header `{name}` is missing")),
        Ok(Some(value)) if read(value).as_deref() == Some(said) => Ok(()),
        Ok(Some(_)) => Err(differs(name)),
    }
}

/// Reads a header that is never wrapped.
#[expect(clippy::unnecessary_wraps, reason = "it stands where a header that may be wrapped is read")]
fn as_is(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn differs(name: &str) -> String {
    format!("the header `{name}` is not what the body says")
}

fn supported(id: Option<&Id>, version: &str) -> Result<(), Reply> {
    if version == MODERN {
        return Ok(());
    }
    let data = json!({ "supported": [MODERN], "requested": version });
    let error =
        rpc_error_with(error_code::UNSUPPORTED_VERSION, "the protocol version is not supported", &data);
    Err(rpc_raw(StatusCode::BAD_REQUEST, id, &error))
}
