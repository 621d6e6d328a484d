//! The way of every request: is it meant for this host, whose is it, and did a page of ours send it.
//!
//! INVARIANT: nothing is changed by a request that only a cookie vouches for, unless it comes from our own origin and brings
//! along what only our own pages know. No answer can be framed, sniffed or kept by others.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{AUTHORIZATION, HOST, LOCATION, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use axum::middleware::Next;
use axum::response::IntoResponse;
use ringfence::{ApproverToken, Proof};
use tokio_util::sync::CancellationToken;

use super::fault::Fault;
use super::front::{Caller, Front};
use super::page;
use crate::http::{ConnectionSlot, Peer, peer_key};

/// The answer to a request.
pub(crate) type Reply = Response<axum::body::Body>;

/// The header that a script of ours sends with what changes something.
pub(crate) const FORM_HEADER: &str = "x-ringfence-form";

/// What browsers are told of every answer: no inline script, no other origin, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; \
    require-trusted-types-for 'script'; trusted-types ringfence";

/// Paths that nobody has to log in for.
fn is_open(path: &str) -> bool {
    path == "/login" || path == "/healthz" || path == "/favicon.ico" || path.starts_with("/assets/")
}

/// Says whether a path is for programs rather than for people.
fn is_for_programs(path: &str) -> bool {
    path.starts_with("/api/") || path == "/metrics" || path == "/live"
}

/// Judges a request before anything of it is looked at.
pub(crate) async fn enter(State(front): State<Arc<Front>>, request: Request, next: Next) -> Reply {
    let path = request.uri().path().to_owned();
    let wanted = request.uri().path_and_query().map_or_else(String::new, ToString::to_string);
    let is_reading = matches!(*request.method(), Method::GET | Method::HEAD);
    let (parts, body) = request.into_parts();
    let mut known = None;
    let reply = match judge(&front, &parts).await {
        Err(fault) => fault.into_response(),
        Ok(caller) => {
            known.clone_from(&caller);
            if let (Some(place), Some(caller)) = (parts.extensions.get::<Arc<ConnectionSlot>>(), &caller) {
                place.authenticate(caller.name());
            }
            let mut request = Request::from_parts(parts, body);
            if let Some(caller) = caller {
                request.extensions_mut().insert(caller);
            }
            next.run(request).await
        }
    };
    let reply = match reply.extensions().get::<Fault>().cloned() {
        Some(fault) if is_for_programs(&path) => fault.into_response(),
        Some(fault) if fault.status == StatusCode::UNAUTHORIZED && is_reading => to_login(&wanted),
        Some(fault) => page::fault(&front, known.as_ref(), &fault),
        None => reply,
    };
    sealed(reply, front.cookies.secure)
}

async fn judge(front: &Front, parts: &Parts) -> Result<Option<Caller>, Fault> {
    if !front.guard.admits(parts) || !is_own_origin(front, &parts.headers) || is_embedded(&parts.headers) {
        let text = "this host is not known by that name, or to that origin";
        return Err(Fault::forbidden(text));
    }
    let is_reading = matches!(parts.method, Method::GET | Method::HEAD);
    if is_open(parts.uri.path()) {
        if !is_reading && !parts.headers.contains_key(ORIGIN) {
            return Err(Fault::forbidden("a form is taken only from a page that says where it is from"));
        }
        return Ok(None);
    }
    if parts.headers.contains_key(AUTHORIZATION) {
        return bearer(front, parts).await.map(Some);
    }
    let own = front.cookies.read(&parts.headers).ok_or_else(Fault::nobody)?;
    let entered = front.access.sessions.find(own).ok_or_else(Fault::nobody)?;
    let person = front.store.approvals.principal(&Proof::Named(entered.name.clone())).await?;
    let Some(principal) = person.filter(|person| entered.is_of(person)) else {
        front.access.sessions.end(own);
        return Err(Fault::nobody());
    };
    if !is_reading {
        if !parts.headers.contains_key(ORIGIN) {
            return Err(Fault::forbidden("a form is taken only from a page that says where it is from"));
        }
        // Forms bring it in their body, where whoever reads the body looks at it.
        let brought = parts.headers.get(FORM_HEADER).and_then(|value| value.to_str().ok());
        if is_for_programs(parts.uri.path()) && !brought.is_some_and(|brought| entered.owns_form(brought)) {
            return Err(Fault::forbidden("the request does not bring along what a page of ours would")
                .hint("send it as the header `X-Ringfence-Form`, or use a bearer token"));
        }
    }
    Ok(Some(Caller { principal, form: Some(entered.form), over: entered.over }))
}

async fn bearer(front: &Front, parts: &Parts) -> Result<Caller, Fault> {
    let peer = parts.extensions.get::<Peer>().map(|peer| peer_key(peer.0));
    let too_often =
        || Fault::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_REQUESTS", "too many attempts to log in");
    let mut shown = parts.headers.get_all(AUTHORIZATION).iter();
    let token = match (shown.next().and_then(|one| one.to_str().ok()), shown.next()) {
        (Some(one), None) => one.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")),
        _ => None,
    };
    if let Some((_, token)) = token {
        let proof = Proof::Token(ApproverToken::new(token).hash());
        if let Some(principal) = front.store.approvals.principal(&proof).await? {
            return Ok(Caller { principal, form: None, over: CancellationToken::new() });
        }
    }
    if let Some(peer) = peer {
        front.logins.take(peer, 1).map_err(|_| too_often())?;
    }
    Err(Fault::nobody())
}

/// A page of another origin is refused, also where it has a name of this host and another port.
fn is_own_origin(front: &Front, headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let scheme: &[u8] = if front.cookies.secure { b"https://" } else { b"http://" };
    let host = headers.get(HOST).map(HeaderValue::as_bytes).unwrap_or_default();
    origin.as_bytes().strip_prefix(scheme).is_some_and(|origin| origin.eq_ignore_ascii_case(host))
}

/// A page of another origin may lead here, but it may not take anything of this console into itself: not even a request whose
/// answer it cannot read.
fn is_embedded(headers: &HeaderMap) -> bool {
    let says = |name: &str, words: &[&str]| {
        headers.get(name).is_some_and(|value| words.iter().any(|word| value.as_bytes() == word.as_bytes()))
    };
    says("sec-fetch-site", &["same-site", "cross-site"]) && !says("sec-fetch-mode", &["navigate"])
}

/// Sends somebody to the login, and back afterwards.
fn to_login(wanted: &str) -> Reply {
    let mut reply = StatusCode::SEE_OTHER.into_response();
    let target = if wanted == "/" { "/login".to_owned() } else { format!("/login?next={}", encode(wanted)) };
    if let Ok(target) = HeaderValue::try_from(target) {
        reply.headers_mut().insert(LOCATION, target);
    }
    reply
}

/// Writes a text so that it can stand in a query.
pub(crate) fn encode(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::with_capacity(text.len()), |mut all, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => all.push(char::from(byte)),
            other => drop(write!(all, "%{other:02X}")),
        }
        all
    })
}

fn sealed(mut reply: Reply, secure: bool) -> Reply {
    let headers = reply.headers_mut();
    #[rustfmt::skip]
    let all = [
        ("content-security-policy",      POLICY),
        ("x-content-type-options",       "nosniff"),
        ("x-frame-options",              "DENY"),
        // With less a browser would not say where a form is from.
        ("referrer-policy",              "same-origin"),
        ("cross-origin-opener-policy",   "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy",           "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ];
    for (name, value) in all {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if secure {
        let always = HeaderValue::from_static("max-age=31536000");
        headers.insert("strict-transport-security", always);
    }
    headers.entry("cache-control").or_insert(HeaderValue::from_static("no-store"));
    reply
}

impl IntoResponse for Fault {
    /// As JSON; the way out of the console makes a page of it for people.
    fn into_response(self) -> Reply {
        let mut reply = (self.status, axum::Json(&self.problem)).into_response();
        reply.extensions_mut().insert(self);
        reply
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Fault> {
        parts.extensions.get::<Self>().cloned().ok_or_else(Fault::nobody)
    }
}
