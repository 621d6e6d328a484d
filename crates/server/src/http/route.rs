//! The way of every request: is it meant for this host, whose is it, how often does it come, and where does it go.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Extension, Request, State};
use axum::http::header::{ALLOW, AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::routing::{any, get};

use super::config::{AgentToken, EdgeLimits};
use super::connection_slots::ConnectionSlot;
use super::guard::Guard;
use super::rate::{Rate, peer_key};
use super::reply::{Reply, later, plain, rpc, unreadable};
use super::table::{Full, Table};
use super::version::{self, Era};
use super::{body, legacy, modern, negotiate, old, token};
use crate::message::{Message, error_code};

/// How often a peer may show a token that is nobody's, in a minute.
const FAILURES: u32 = 60;

/// Everything that requests are judged by.
pub(super) struct House {
    pub(super) agents: Vec<AgentToken>,
    pub(super) anonymous: bool,
    pub(super) guard: Guard,
    pub(super) limits: EdgeLimits,
    pub(super) messages: Rate<Charged>,
    pub(super) failures: Rate<IpAddr>,
    pub(super) table: Table,
}

/// A way to it for every connection.
pub(super) type Front = Arc<House>;

/// Which agent asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller(pub(super) usize);

/// Whose messages are counted together.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Charged {
    /// Those of an agent, by its place.
    Agent(usize),
    /// Those of one session of clients that have no name, by a number that no other open session has.
    Session(usize),
}

/// Where a request comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

impl House {
    pub(super) fn new(
        agents: Vec<AgentToken>,
        anonymous: bool,
        guard: Guard,
        limits: EdgeLimits,
        table: Table,
    ) -> Front {
        let messages = Rate::new(limits.requests_per_minute);
        Arc::new(Self { agents, anonymous, guard, limits, messages, failures: Rate::new(FAILURES), table })
    }
}

/// Where requests go.
pub(super) fn router(front: &Front) -> Router {
    Router::new()
        .route("/mcp", any(mcp))
        .route("/sse", get(old::stream))
        .route("/messages", axum::routing::post(old::post))
        .route("/healthz", get(|| async { plain(StatusCode::OK, "ok") }))
        .fallback(|| async { plain(StatusCode::NOT_FOUND, "there is nothing here; the endpoint is /mcp") })
        .layer(from_fn_with_state(Arc::clone(front), enter))
        .with_state(Arc::clone(front))
}

/// Judges a request before anything of it is looked at.
async fn enter(
    State(front): State<Front>,
    Extension(peer): Extension<Peer>,
    Extension(place): Extension<Arc<ConnectionSlot>>,
    mut request: Request,
    next: Next,
) -> Reply {
    let (parts, body) = request.into_parts();
    if !front.guard.admits(&parts) {
        return sealed(plain(
            StatusCode::FORBIDDEN,
            "this host is not known by that name, or to that origin",
        ));
    }
    if parts.uri.path() == "/healthz" {
        return sealed(next.run(Request::from_parts(parts, body)).await);
    }
    let caller = match caller(&front, &parts, peer.0) {
        Ok(caller) => caller,
        Err(reply) => return sealed(reply),
    };
    if let Some(known) = front.agents.get(caller.0) {
        place.authenticate(&known.agent.name);
    }
    let charged = charged(&front, caller, &parts);
    if let Err(reply) = charge(&front, charged, 1) {
        return sealed(reply);
    }
    request = Request::from_parts(parts, body);
    request.extensions_mut().insert(caller);
    request.extensions_mut().insert(charged);
    sealed(next.run(request).await)
}

/// No browser is to guess what an answer is.
fn sealed(mut reply: Reply) -> Reply {
    reply.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    reply
}

/// Tells whose request it is.
fn caller(front: &Front, parts: &Parts, peer: IpAddr) -> Result<Caller, Reply> {
    if front.anonymous {
        return Ok(Caller(0));
    }
    let peer = peer_key(peer);
    let too_often = |wait| later(plain(StatusCode::TOO_MANY_REQUESTS, "too many attempts"), wait);
    // The token comes first: whoever guesses behind the same address must not keep those out who have one.
    let mut shown = parts.headers.get_all(AUTHORIZATION).iter();
    let shown = match (shown.next(), shown.next()) {
        (Some(one), None) => one.to_str().ok().and_then(bearer),
        _ => None,
    };
    if let Some(place) = shown.and_then(|shown| token::owner(&front.agents, shown)) {
        return Ok(Caller(place));
    }
    front.failures.take(peer, 1).map_err(too_often)?;
    tracing::debug!(%peer, "a request without a token that is somebody's");
    let mut reply = plain(StatusCode::UNAUTHORIZED, "a bearer token is needed");
    reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    Err(reply)
}

fn bearer(text: &str) -> Option<&str> {
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Tells whose messages a request is counted among. One anonymous client does not use up what another may send; what names no
/// session that there is counts for all of them together.
fn charged(front: &Front, caller: Caller, parts: &Parts) -> Charged {
    let named = parts.headers.get(legacy::SESSION).and_then(|value| value.to_str().ok());
    let queried = || parts.uri.query().and_then(|query| query.strip_prefix("session="));
    let session = named.or_else(queried).filter(|_| front.anonymous);
    let number = session.and_then(|id| front.table.number_of(caller.0, id));
    number.map_or(Charged::Agent(caller.0), Charged::Session)
}

/// Counts messages.
pub(super) fn charge(front: &Front, charged: Charged, count: usize) -> Result<(), Reply> {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    front
        .messages
        .take(charged, count)
        .map_err(|wait| later(plain(StatusCode::TOO_MANY_REQUESTS, "too many requests in a minute"), wait))
}

/// Says that no session can be opened.
pub(super) fn refused(full: Full) -> Reply {
    match full {
        Full::Agent => later(
            plain(StatusCode::TOO_MANY_REQUESTS, "the agent has too many sessions"),
            Duration::from_secs(60),
        ),
        Full::Edge => later(
            plain(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions"),
            Duration::from_secs(60),
        ),
        Full::Stopped => plain(StatusCode::SERVICE_UNAVAILABLE, "the gateway is being stopped"),
    }
}

/// The one endpoint of both eras.
async fn mcp(
    State(front): State<Front>,
    Extension(caller): Extension<Caller>,
    Extension(charged): Extension<Charged>,
    request: Request,
) -> Reply {
    let (parts, body) = request.into_parts();
    let Ok(stated) = version::header(&parts.headers, version::HEADER) else {
        let text = "the header `MCP-Protocol-Version` is not clear";
        return rpc(StatusCode::BAD_REQUEST, None, error_code::HEADER_MISMATCH, text);
    };
    let is_modern = version::era_of_header(stated) == Era::Modern;
    match parts.method {
        Method::POST => match posted(&front, (caller, charged), &parts, stated, body).await {
            Ok(reply) | Err(reply) => reply,
        },
        Method::GET | Method::DELETE if is_modern => modern::only_post(),
        Method::GET => match legacy::get(&front, caller, &parts.headers) {
            Ok(reply) | Err(reply) => reply,
        },
        Method::DELETE => legacy::delete(&front, caller, &parts.headers).await,
        _ => {
            let mut reply = plain(StatusCode::METHOD_NOT_ALLOWED, "only POST, GET and DELETE are known here");
            reply.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
            reply
        }
    }
}

async fn posted(
    front: &Front,
    (caller, charged): (Caller, Charged),
    parts: &Parts,
    stated: Option<&str>,
    body: axum::body::Body,
) -> Result<Reply, Reply> {
    negotiate::posted(&parts.headers)?;
    let text = body::read(&parts.headers, body, &front.limits).await?;
    let is_batch = text.trim_start().starts_with('[');
    if is_batch && version::era_of_header(stated) == Era::Modern {
        let refusal = "several messages at once are not part of this version";
        return Err(rpc(StatusCode::BAD_REQUEST, None, error_code::INVALID_REQUEST, refusal));
    }
    let mut all = Message::parse(&text).map_err(|error| unreadable(&error))?;
    drop(text);
    if is_batch {
        charge(front, charged, all.len() - 1)?;
        return Ok(legacy::post_batch(front, caller, &parts.headers, all).await);
    }
    let one = all.pop().ok_or_else(|| plain(StatusCode::BAD_REQUEST, "there is no message"))?;
    Ok(match version::era(stated, &one) {
        Era::Legacy => legacy::post(front, caller, &parts.headers, one).await,
        Era::Modern => modern::post(front, caller, &parts.headers, stated, one).await,
    })
}
