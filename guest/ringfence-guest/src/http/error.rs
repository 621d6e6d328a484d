//! Why there is no response.

/// Why there is no response.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum HttpError {
    /// The connection or the body broke.
    #[error("the exchange with `{host}` broke: {reason}")]
    Broken {
        /// Whom it was with.
        host: String,
        /// What the host said.
        reason: String,
    },
    /// A header or the method is not one.
    #[error("`{name}` is no header or method that may be sent")]
    Header {
        /// Which.
        name: String,
    },
    /// The body is longer than the request allows.
    #[error("the response of `{host}` is longer than {most} bytes")]
    Long {
        /// Who answered.
        host: String,
        /// How much was allowed.
        most: usize,
    },
    /// The body was asked for as text and is none.
    #[error("the response is not UTF-8 text")]
    NotText,
    /// The host refused, in its own words, such as `HOST_NOT_ALLOWED: …`.
    #[error("{0}")]
    Refused(String),
    /// The URL cannot be read.
    #[error("the URL `{url}` cannot be read: {reason}")]
    Url {
        /// What was written.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}
