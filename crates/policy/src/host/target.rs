//! What a request asks for: one host and one port.
//!
//! A URL is read by the URL standard's rules, because that is what a client would dial. An authority (`host:port`,
//! as CONNECT sends it) is read strictly, because nothing downstream should have anything left to interpret.

use std::fmt;
use std::net::IpAddr;

use url::Url;

use super::{HostError, HostName, text};

/// A concrete host: a name, or an address that was asked for literally.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Host {
    /// A literal address.
    Address(IpAddr),
    /// A name that is still to be resolved.
    Name(HostName),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address}"),
            Self::Name(name) => write!(f, "{name}"),
        }
    }
}

/// Where a connection would go.
///
/// # Examples
///
/// ```
/// use ringfence_policy::Target;
///
/// let target = Target::from_url("http://0x7f.1:8080/")?;
/// assert_eq!(target.to_string(), "127.0.0.1:8080"); // judged as the address it is
/// assert!(Target::from_authority("user@api.github.com:443").is_err());
/// # Ok::<(), ringfence_policy::HostError>(())
/// ```
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Target {
    /// The host asked for.
    pub host: Host,
    /// The port asked for, or the scheme's own.
    pub port: u16,
}

impl Target {
    /// Joins a host and a port.
    pub const fn new(host: Host, port: u16) -> Self {
        Self { host, port }
    }

    /// Reads the target of an `http`, `https`, `ws` or `wss` URL.
    pub fn from_url(url: &str) -> Result<Self, HostError> {
        match Url::parse(url) {
            Ok(parsed) => Self::from_url_parsed(&parsed),
            Err(problem) => Err(HostError::Url { problem: problem.to_string() }),
        }
    }

    /// Reads the target of a URL that is parsed already. User information does not change it.
    pub fn from_url_parsed(url: &Url) -> Result<Self, HostError> {
        if !matches!(url.scheme(), "http" | "https" | "ws" | "wss") {
            return Err(HostError::UrlScheme { scheme: url.scheme().to_owned() });
        }
        let text = url.host_str().unwrap_or_default();
        let Some(host) = url.host() else { return Err(HostError::Empty) };
        match url.port_or_known_default() {
            Some(port) if port != 0 => Ok(Self { host: text::parsed_host(host, text)?, port }),
            _ => Err(HostError::Port { text: text.to_owned() }),
        }
    }

    /// Reads an authority as CONNECT sends it: ASCII, `host:port` or `[address]:port`, nothing else.
    pub fn from_authority(authority: &str) -> Result<Self, HostError> {
        if authority.is_empty() {
            return Err(HostError::Empty);
        }
        let owned = || authority.to_owned();
        if authority.contains('@') {
            return Err(HostError::UserInfo { text: owned() });
        }
        if authority.contains(['/', '\\', '?', '#']) {
            return Err(HostError::Path { text: owned() });
        }
        if let Some(found) = authority.chars().find(|c| !c.is_ascii_graphic()) {
            return Err(HostError::Character { text: owned(), found });
        }
        let Some((host, port)) = authority.rsplit_once(':') else {
            return Err(HostError::Port { text: owned() });
        };
        let host = match host.strip_prefix('[').map(|rest| rest.strip_suffix(']')) {
            Some(Some(inner)) => Host::Address(IpAddr::V6(text::bracketed(inner, authority)?)),
            Some(None) => return Err(HostError::Port { text: owned() }),
            None => text::host(host, authority)?,
        };
        Ok(Self { host, port: text::port(port, authority)? })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
            host => write!(f, "{host}:{}", self.port),
        }
    }
}
