//! One endpoint: where it is, who may ask, what it takes and what it answers.

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::handler::Handler;
use axum::http::Method;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use ringfence::Role;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::view::visible;

/// How large a body may be: arguments of full size, and a little around them.
const MOST: usize = 5 << 20;

/// Makes the schema of a type.
pub(super) type MakeSchema = fn(&mut SchemaGenerator) -> Schema;

/// One endpoint.
pub(crate) struct Endpoint {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) summary: &'static str,
    pub(super) role: Role,
    pub(super) query: Option<MakeSchema>,
    pub(super) body: Option<MakeSchema>,
    pub(super) answer: Option<(&'static str, Option<MakeSchema>)>,
    handler: Option<MethodRouter<Arc<Front>>>,
}

impl Endpoint {
    /// An endpoint that changes nothing.
    pub(crate) const fn get(path: &'static str, summary: &'static str, role: Role) -> Self {
        Self::new(Method::GET, path, summary, role)
    }

    /// An endpoint that changes something.
    pub(crate) const fn post(path: &'static str, summary: &'static str, role: Role) -> Self {
        Self::new(Method::POST, path, summary, role)
    }

    const fn new(method: Method, path: &'static str, summary: &'static str, role: Role) -> Self {
        Self { method, path, summary, role, query: None, body: None, answer: None, handler: None }
    }

    /// What its query may hold; the handler takes it as [`Wanted`].
    pub(crate) fn wants<Q: JsonSchema>(mut self) -> Self {
        self.query = Some(SchemaGenerator::subschema_for::<Q>);
        self
    }

    /// What its body holds; the handler takes it as [`Sent`].
    pub(crate) fn takes<B: JsonSchema>(mut self) -> Self {
        self.body = Some(SchemaGenerator::subschema_for::<B>);
        self
    }

    /// What it answers with, as JSON, and who does it.
    pub(crate) fn answers<A: JsonSchema, H, P>(mut self, handler: H) -> Self
    where
        H: Handler<P, Arc<Front>>,
        P: 'static,
    {
        self.answer = Some(("application/json", Some(SchemaGenerator::subschema_for::<A>)));
        self.handler(handler)
    }

    /// It answers with something that is no JSON.
    pub(crate) fn streams<H, P>(mut self, kind: &'static str, handler: H) -> Self
    where
        H: Handler<P, Arc<Front>>,
        P: 'static,
    {
        self.answer = Some((kind, None));
        self.handler(handler)
    }

    fn handler<H, P>(mut self, handler: H) -> Self
    where
        H: Handler<P, Arc<Front>>,
        P: 'static,
    {
        let filter = if self.method == Method::GET { MethodFilter::GET } else { MethodFilter::POST };
        let role = self.role;
        let judged = from_fn(move |caller: Caller, request: Request, next: Next| async move {
            match caller.at_least(role) {
                Ok(()) => next.run(request).await,
                Err(fault) => fault.into_response(),
            }
        });
        self.handler = Some(on(filter, handler).layer(judged));
        self
    }

    /// Adds it to a router.
    pub(super) fn add_to(self, router: Router<Arc<Front>>) -> Router<Arc<Front>> {
        match self.handler {
            Some(handler) => router.route(self.path, handler),
            None => router,
        }
    }
}

/// An answer as JSON, in which nothing is invisible: people decide by it, too.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: serde::Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_string(&self.0) {
            Ok(text) => ([(CONTENT_TYPE, "application/json")], visible(&text)).into_response(),
            Err(error) => Fault::unavailable(format!("the answer is not JSON: {error}")).into_response(),
        }
    }
}

/// What a query holds.
pub(crate) struct Wanted<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Wanted<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Fault> {
        let query = parts.uri.query().unwrap_or_default();
        // Nothing is called by a name with it, and not every database can be asked for one.
        if query.contains("%00") {
            return Err(Fault::input("the query holds a character that nothing has"));
        }
        serde_urlencoded::from_str(query)
            .map(Self)
            .map_err(|error| Fault::input(format!("the query cannot be understood: {error}")))
    }
}

/// The index of an entry, in an address.
pub(crate) struct Index(pub(crate) u64);

impl<S: Send + Sync> FromRequestParts<S> for Index {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let path = axum::extract::Path::<u64>::from_request_parts(parts, state).await;
        path.map(|path| Self(path.0)).map_err(|_| Fault::input("an entry is named by its index, a number"))
    }
}

/// What a body holds.
pub(crate) struct Sent<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Sent<T> {
    type Rejection = Fault;

    async fn from_request(request: Request, _: &S) -> Result<Self, Fault> {
        let kind =
            request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
            return Err(Fault::input("the body is sent as `application/json`"));
        }
        let bytes = super::super::sent::body(request, MOST).await?;
        serde_json::from_slice(&bytes)
            .map(Self)
            .map_err(|error| Fault::input(format!("the body cannot be understood: {error}")))
    }
}
