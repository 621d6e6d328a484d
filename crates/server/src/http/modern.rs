//! Requests that speak for themselves: no session, nothing remembered, and a closed connection gives the request up.

use axum::http::header::ALLOW;
use axum::http::{HeaderMap, HeaderValue, StatusCode};

use super::envelope;
use super::feed::{Answered, First, attended, first};
use super::reply::{Reply, TOO_MUCH, empty, later, message, plain, rpc};
use super::route::{Caller, Front, refused};
use super::sse;
use crate::message::{Message, Request, error_code};

/// The one request whose answer never ends by itself.
const LISTEN: &str = "subscriptions/listen";

/// Takes one message.
pub(super) async fn post(
    front: &Front,
    caller: Caller,
    headers: &HeaderMap,
    stated: Option<&str>,
    one: Message,
) -> Reply {
    match one {
        Message::Request(request) => {
            ask(front, caller, headers, request).await.unwrap_or_else(std::convert::identity)
        }
        // There is nothing a notification could mean here, and a room is shared by all that one agent asks: it goes nowhere.
        Message::Notification(notification) => envelope::check_notification(headers, &notification, stated)
            .map_or_else(std::convert::identity, |()| empty(StatusCode::ACCEPTED)),
        Message::Response(response) => rpc(
            StatusCode::BAD_REQUEST,
            response.id.as_ref(),
            error_code::INVALID_REQUEST,
            "nothing was asked that could be answered",
        ),
    }
}

/// Refuses what only sessions have.
pub(super) fn only_post() -> Reply {
    let mut reply = plain(StatusCode::METHOD_NOT_ALLOWED, "only POST is known here");
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    reply
}

async fn ask(front: &Front, caller: Caller, headers: &HeaderMap, request: Request) -> Result<Reply, Reply> {
    envelope::check(headers, &request)?;
    let held = front.table.modern(caller.0).map_err(refused)?;
    envelope::check_params(headers, &request, &*held.room)?;
    let id = request.id.clone();
    let Some(permit) = held.begin(1) else {
        let reply =
            rpc(StatusCode::TOO_MANY_REQUESTS, Some(&id), TOO_MUCH, "too many requests are under way");
        return Err(later(reply, std::time::Duration::from_secs(1)));
    };
    let listens = request.method == LISTEN;
    let silence = front.limits.keep_alive;
    let feed = attended(held, request, permit);
    Ok(match first(feed, silence).await {
        First::Answer(event, Answered::Result) if listens => {
            sse::reply(vec![sse::written(&event)], Box::pin(futures_util::stream::empty()), silence)
        }
        First::Answer(event, answered) => message(status(answered), event.line),
        First::Stream(event, feed) => sse::reply(event.iter().map(sse::written).collect(), feed, silence),
        First::Nothing => {
            let text = "the request was given up";
            rpc(StatusCode::OK, Some(&id), error_code::INTERNAL, text)
        }
    })
}

/// Returns the status of an answer. Errors of the envelope have one of their own, so that an intermediary sees them too.
const fn status(answered: Answered) -> StatusCode {
    match answered {
        Answered::Error(error_code::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Answered::Error(
            error_code::PARSE
            | error_code::INVALID_REQUEST
            | error_code::HEADER_MISMATCH
            | error_code::MISSING_CAPABILITY
            | error_code::UNSUPPORTED_VERSION,
        ) => StatusCode::BAD_REQUEST,
        Answered::Error(_) | Answered::Result => StatusCode::OK,
    }
}
