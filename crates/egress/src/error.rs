//! What can go wrong on the way out. A refusal is a decision; everything else is a failure or bad input.

use std::io;

use http::Method;
use ringfence_policy::{Code, HostError, Refusal, Target};

/// Why a connection or an exchange did not happen, or did not end well.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// The body could not be read or decoded.
    #[error("the response body could not be read: {0}")]
    Body(io::Error),
    /// None of the judged addresses answered.
    #[error("{target} could not be connected: {problem}")]
    Connect {
        /// Where the connection was to go.
        target: Target,
        /// What the last attempt met.
        problem: io::Error,
    },
    /// The whole exchange took longer than it may.
    #[error("the exchange did not end within its deadline")]
    Deadline,
    /// The body is layered in more encodings than are undone.
    #[error("the response body has more than {limit} content encodings")]
    Encodings {
        /// How many are undone.
        limit: usize,
    },
    /// The other side does not speak HTTP, or broke off.
    #[error("the exchange failed: {0}")]
    Exchange(hyper::Error),
    /// A header that only the client may set.
    #[error("the header `{name}` is set by the client and not by the caller")]
    HeaderReserved {
        /// The name, in lower case.
        name: String,
    },
    /// A header that is not one by the rules of HTTP.
    #[error("a header name or value has characters that HTTP does not allow")]
    HeaderText,
    /// The body is not JSON, or not the expected JSON.
    #[error("the body is not the expected JSON: {0}")]
    Json(serde_json::Error),
    /// A method that would turn the exchange into something else.
    #[error("the method `{method}` is not sent by this client")]
    Method {
        /// The method.
        method: Method,
    },
    /// The URL's path or query is not one by the rules of HTTP.
    #[error("the path of the URL has characters that HTTP does not allow")]
    Path,
    /// The chain of redirects is longer than it may be.
    #[error("more than {limit} redirects were answered")]
    Redirects {
        /// How many are followed.
        limit: usize,
    },
    /// Policy refuses it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The URL has a scheme that this client does not speak.
    #[error("the scheme `{scheme}` is not http or https")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// The TLS session could not be set up.
    #[error("TLS with {target} failed: {problem}")]
    Tls {
        /// Where the session was to go.
        target: Target,
        /// What the handshake met.
        problem: io::Error,
    },
    /// No certificate roots can be used.
    #[error("the certificate roots could not be used: {problem}")]
    TlsRoots {
        /// What is wrong with them.
        problem: String,
    },
    /// The decoded body, or what came over the wire for it, is larger than it may be.
    #[error("the response body is larger than {limit} bytes")]
    TooLarge {
        /// The largest decoded size.
        limit: u64,
    },
    /// The URL names no target.
    #[error(transparent)]
    Url(HostError),
    /// The URL has a user name or password.
    #[error("the URL has user information, which is not sent; use a header")]
    UserInfo,
}

impl EgressError {
    /// Returns the stable code. The match has no wildcard arm, so a new variant must choose one.
    pub fn code(&self) -> Code {
        match self {
            Self::Body(_)
            | Self::Connect { .. }
            | Self::Encodings { .. }
            | Self::Exchange(_)
            | Self::Json(_)
            | Self::Tls { .. } => Code::ExecutionFailed,
            Self::Deadline => Code::DeadlineExceeded,
            Self::HeaderReserved { .. }
            | Self::HeaderText
            | Self::Method { .. }
            | Self::Path
            | Self::Scheme { .. }
            | Self::UserInfo => Code::InputInvalid,
            Self::Redirects { .. } | Self::TooLarge { .. } => Code::LimitExceeded,
            Self::Refused(refusal) => refusal.code,
            Self::TlsRoots { .. } => Code::NotAvailable,
            Self::Url(error) => error.code(),
        }
    }
}
