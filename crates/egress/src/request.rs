//! A request, before it is judged.
//!
//! INVARIANT: the URL is http or https without user information, and no header changes where the request goes or
//! how it is framed.

use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use ringfence_policy::{HostError, Target};
use serde::Serialize;
use url::Url;

use crate::{EgressError, redirect};

/// Headers that say where a message goes or where it ends; beside them everything that starts with `proxy-`.
const RESERVED: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// One HTTP request; cheap to clone.
///
/// # Examples
///
/// ```
/// use ringfence_egress::Request;
///
/// let request = Request::post("https://api.acme.io/items")?
///     .header("authorization", "Bearer token")?
///     .json(&serde_json::json!({ "name": "ring" }))?;
/// assert!(request.header("host", "evil.net").is_err()); // the URL alone says where it goes
/// # Ok::<(), ringfence_egress::EgressError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) target: Target,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) deadline: Option<Duration>,
    pub(crate) limit: Option<u64>,
    pub(crate) keeps_redirects: bool,
}

impl Request {
    /// Makes a request without a body.
    pub fn new(method: Method, url: &str) -> Result<Self, EgressError> {
        match Url::parse(url) {
            Ok(url) => Self::with_url(method, url),
            Err(problem) => Err(EgressError::Url(HostError::Url { problem: problem.to_string() })),
        }
    }

    /// Makes a request without a body, for a URL that is parsed already.
    pub fn with_url(method: Method, url: Url) -> Result<Self, EgressError> {
        let target = Target::from_url_parsed(&url).map_err(EgressError::Url)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(EgressError::Scheme { scheme: url.scheme().to_owned() });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EgressError::UserInfo);
        }
        if matches!(method, Method::CONNECT | Method::TRACE) {
            return Err(EgressError::Method { method });
        }
        Ok(Self {
            method,
            url,
            target,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            deadline: None,
            limit: None,
            keeps_redirects: false,
        })
    }

    /// Makes a GET request.
    pub fn get(url: &str) -> Result<Self, EgressError> {
        Self::new(Method::GET, url)
    }

    /// Makes a POST request.
    pub fn post(url: &str) -> Result<Self, EgressError> {
        Self::new(Method::POST, url)
    }

    /// Adds a header; the ones that route or frame the message belong to the client.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, EgressError> {
        let name = HeaderName::try_from(name).map_err(|_| EgressError::HeaderText)?;
        let value = HeaderValue::try_from(value).map_err(|_| EgressError::HeaderText)?;
        if RESERVED.contains(&name.as_str()) || name.as_str().starts_with("proxy-") {
            return Err(EgressError::HeaderReserved { name: name.as_str().to_owned() });
        }
        self.headers.try_append(name, value).map_err(|_| EgressError::HeaderText)?;
        Ok(self)
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets the body to the value as JSON, with its content type.
    pub fn json<T: Serialize + ?Sized>(mut self, value: &T) -> Result<Self, EgressError> {
        self.body = serde_json::to_vec(value).map_err(EgressError::Json)?.into();
        self.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(self)
    }

    /// Sets how long the whole exchange may take, the body included, in place of the client's own deadline.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets how many decoded bytes the response may have, in place of the client's own limit.
    #[must_use]
    pub fn limit(mut self, limit: u64) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Hands a redirect back as the response it is, instead of following it.
    #[must_use]
    pub fn keeping_redirects(mut self) -> Self {
        self.keeps_redirects = true;
        self
    }

    /// Returns what it asks for, as a grant judges it.
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// Returns the URL.
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the headers.
    pub const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns the method.
    pub const fn method(&self) -> &Method {
        &self.method
    }

    /// Returns the request that a redirect asks for, or why it is not made. The grant still has to judge it.
    pub fn redirected(&self, status: StatusCode, location: &str) -> Result<Self, EgressError> {
        redirect::follow(self, status, location)
    }
}
