//! What can be wrong with the text of a host, a pattern or a target.

use std::net::IpAddr;

use crate::Code;

/// Why a text is not a host, a pattern, a target or an entry of `private`.
///
/// What is echoed is escaped, so that a message stays on its line.
/// A URL is never echoed whole: its user info, path and query may hold secrets.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum HostError {
    /// A name was expected and the text is an address.
    #[error("`{text}` is an address, and a name is expected here", text = .text.escape_debug())]
    Address {
        /// The text as written.
        text: String,
    },
    /// A character that no host has.
    #[error("`{text}` contains {found}, which is never part of a host", text = .text.escape_debug(), found = Found(*.found))]
    Character {
        /// The text as written.
        text: String,
        /// The first such character.
        found: char,
    },
    /// Nothing was written.
    #[error("a host is expected, and the text is empty")]
    Empty,
    /// A label is empty or longer than 63 octets.
    #[error("`{text}` has an empty label, or one longer than 63 octets", text = .text.escape_debug())]
    Label {
        /// The text as written.
        text: String,
    },
    /// The name is longer than 253 octets.
    #[error("the name is {length} octets long, and DNS ends at 253")]
    Length {
        /// How long it is.
        length: usize,
    },
    /// The text is no name by the rules of IDNA and the URL standard.
    #[error("`{text}` is not a valid host name", text = .text.escape_debug())]
    Name {
        /// The text as written.
        text: String,
    },
    /// An address that is spelled in another than its canonical form.
    #[error("`{text}` is an odd spelling of the address {canonical}", text = .text.escape_debug())]
    OddAddress {
        /// The text as written.
        text: String,
        /// The address it means.
        canonical: IpAddr,
    },
    /// A path, query or fragment after the host.
    #[error("`{text}` has a path, and only hosts are matched", text = .text.escape_debug())]
    Path {
        /// The text as written.
        text: String,
    },
    /// The port is missing or not a number from 1 to 65535.
    #[error("`{text}` does not end in a port from 1 to 65535", text = .text.escape_debug())]
    Port {
        /// The text as written.
        text: String,
    },
    /// A port where none may be.
    #[error("`{text}` has a port, and an entry of `private` covers every port", text = .text.escape_debug())]
    PortInPrivate {
        /// The text as written.
        text: String,
    },
    /// A range of addresses where only hosts may be.
    #[error("`{text}` is a range of addresses, which only `private` takes", text = .text.escape_debug())]
    Range {
        /// The text as written.
        text: String,
    },
    /// The text has a slash and is no range, or its address has bits beyond the prefix.
    #[error("`{text}` is not a range of addresses in canonical form", text = .text.escape_debug())]
    RangeForm {
        /// The text as written.
        text: String,
    },
    /// A scheme before the host.
    #[error("`{text}` has a scheme, and only hosts are matched", text = .text.escape_debug())]
    Scheme {
        /// The text as written.
        text: String,
    },
    /// The text is no URL.
    #[error("the URL does not parse: {problem}")]
    Url {
        /// What the parser says of it.
        problem: String,
    },
    /// The URL has a scheme other than http, https, ws and wss.
    #[error("the scheme `{scheme}` is not http, https, ws or wss")]
    UrlScheme {
        /// The scheme.
        scheme: String,
    },
    /// A user name or password before the host.
    #[error("`{text}` has user information before the host", text = .text.escape_debug())]
    UserInfo {
        /// The text as written.
        text: String,
    },
    /// A wildcard elsewhere than as the whole first label.
    #[error("`{text}` has a wildcard other than `*` alone or a leading `*.`", text = .text.escape_debug())]
    Wildcard {
        /// The text as written.
        text: String,
    },
    /// A lone `*` in `private`.
    #[error("`*` in `private` would admit every internal host; name them or their range")]
    WildcardInPrivate,
    /// An IPv6 zone.
    #[error("`{text}` has a zone id, which means something on one machine only", text = .text.escape_debug())]
    Zone {
        /// The text as written.
        text: String,
    },
}

impl HostError {
    /// Returns the stable code.
    pub const fn code(&self) -> Code {
        match self {
            Self::Address { .. }
            | Self::Character { .. }
            | Self::Empty
            | Self::Label { .. }
            | Self::Length { .. }
            | Self::Name { .. }
            | Self::OddAddress { .. }
            | Self::Path { .. }
            | Self::Port { .. }
            | Self::PortInPrivate { .. }
            | Self::Range { .. }
            | Self::RangeForm { .. }
            | Self::Scheme { .. }
            | Self::Url { .. }
            | Self::UrlScheme { .. }
            | Self::UserInfo { .. }
            | Self::Wildcard { .. }
            | Self::WildcardInPrivate
            | Self::Zone { .. } => Code::InputInvalid,
        }
    }
}

/// A character as a reader can see it: controls and blanks by their number.
struct Found(char);

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_ascii_graphic() {
            write!(f, "`{}`", self.0)
        } else {
            write!(f, "the character U+{:04X}", u32::from(self.0))
        }
    }
}
