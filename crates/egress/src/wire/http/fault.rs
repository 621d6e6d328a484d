//! Why a request does not pass. What is echoed is escaped and bounded, so that a message stays on its line.

use ringfence_policy::Target;

use super::{LONGEST_HEAD, MOST_HEADERS};

/// How many bytes of foreign text are echoed at most.
const LONGEST_SHOWN: usize = 64;

/// Why a request, or the answer to an upgrade, is not taken.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum HttpFault {
    /// The answer is something else.
    #[error("the answer is not a response of HTTP/1")]
    Answer,
    /// The head of the answer does not end.
    #[error("the head of the answer is longer than {LONGEST_HEAD} bytes")]
    AnswerLong,
    /// A body where many servers expect none, and would read it as the next request.
    #[error("the {method} request has a body, which many servers would read as the next request")]
    Body {
        /// The method.
        method: &'static str,
    },
    /// The body's length is told in two ways.
    #[error("the request has both a Content-Length and a Transfer-Encoding")]
    BothLengths,
    /// A byte that belongs to no line of text.
    #[error("the request has the control byte 0x{found:02X} in its head or trailer")]
    Byte {
        /// The byte.
        found: u8,
    },
    /// A chunk's data is followed by something else than the end of a line.
    #[error("a chunk of the body is not followed by CRLF")]
    ChunkEnd,
    /// A chunk does not begin with its size.
    #[error("a chunk of the body does not begin with a line of its size")]
    ChunkSize,
    /// A coding that hides where the body ends.
    #[error("the Transfer-Encoding `{value}` is not `chunked` alone")]
    Coding {
        /// The value, escaped.
        value: String,
    },
    /// A coding where the version knows none.
    #[error("a request of HTTP/1.0 has a Transfer-Encoding")]
    CodingVersion,
    /// A tunnel was asked for.
    #[error("the method CONNECT is refused: connections are judged one by one, and need no proxy")]
    Connect,
    /// Nothing where the request was to begin.
    #[error("there is an empty line before the request")]
    EmptyLine,
    /// A header that goes on in the next line.
    #[error("a header line begins with a space")]
    Fold,
    /// The head does not end.
    #[error("the head of the request is longer than {LONGEST_HEAD} bytes")]
    HeadLong,
    /// A line that is no header.
    #[error("a header line is not a name, a colon and a value")]
    Header,
    /// Too many headers.
    #[error("the request has more than {MOST_HEADERS} headers")]
    Headers,
    /// The request is for somebody else.
    #[error("the Host header names `{found}` and the connection goes to `{target}`")]
    Host {
        /// What it names, escaped.
        found: String,
        /// Where the connection goes.
        target: Target,
    },
    /// The request is for nobody.
    #[error("the request has no Host header")]
    HostMissing,
    /// A protocol whose requests are not judged.
    #[error("the connection begins with the preface of HTTP/2, and only HTTP/1 is judged")]
    Http2,
    /// A length that is none.
    #[error("the Content-Length `{value}` is not a plain decimal number")]
    Length {
        /// The value, escaped.
        value: String,
    },
    /// A line that ends in another way.
    #[error("a line of the request does not end in CRLF")]
    LineEnd,
    /// A header that the next server would take out.
    #[error("the Connection header lists `{name}`, which decides where the request goes or ends")]
    Option {
        /// What it lists, escaped.
        name: String,
    },
    /// A header that must not be there twice.
    #[error("the request has more than one {name} header")]
    Repeated {
        /// Its name.
        name: &'static str,
    },
    /// The first line is something else.
    #[error("the first line is not a request of HTTP/1")]
    RequestLine,
    /// A decisive header in a spelling that servers read in different ways.
    #[error("the header line `{line}` is spelled in a way that servers read differently")]
    Spelling {
        /// The line, escaped.
        line: String,
    },
    /// The request's own line is for somebody else.
    #[error("the request asks for `{found}` and the connection goes to `{target}`")]
    Target {
        /// What it asks for, escaped.
        found: String,
        /// Where the connection goes.
        target: Target,
    },
    /// What is asked for is neither a path nor the target.
    #[error("the request asks for `{found}`, which is neither a path nor an http URL")]
    TargetForm {
        /// What it asks for, escaped.
        found: String,
    },
    /// A decisive header behind the body.
    #[error("the trailer of the body has the header `{name}`")]
    Trailer {
        /// Its name, escaped.
        name: String,
    },
    /// The trailer does not end.
    #[error("the trailer of the body is too long")]
    TrailerLong,
    /// An upgrade to something that carries requests.
    #[error("an upgrade to `{protocol}` is refused, because its requests are not judged")]
    Upgrade {
        /// The protocol, escaped.
        protocol: String,
    },
    /// An upgrade with a body.
    #[error("a request for an upgrade has a body")]
    UpgradeBody,
    /// An upgrade after other requests.
    #[error("an upgrade is asked for after other requests on the same connection")]
    UpgradeLate,
    /// Another version.
    #[error("the version `{found}` is neither HTTP/1.0 nor HTTP/1.1")]
    Version {
        /// The version, escaped.
        found: String,
    },
}

/// Escapes foreign bytes for a reader, and cuts them where they get long.
pub(super) fn shown(bytes: &[u8]) -> String {
    let start = bytes.get(..LONGEST_SHOWN).unwrap_or(bytes);
    let more = if start.len() < bytes.len() { "…" } else { "" };
    format!("{}{more}", start.escape_ascii())
}
