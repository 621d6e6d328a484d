//! Patterns that admit hosts, as a declaration or a personality writes them.
//!
//! INVARIANT: patterns are a meet-semilattice with exact intersections: `a.meet(b)` admits exactly the targets
//! that both `a` and `b` admit. Two choices keep it exact: the names below a suffix are public all or none, and
//! a range stands for its non-public addresses only (the public ones need no lifting), without those at which clouds hand out
//! credentials.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Host, HostError, HostName, Target, text};
use crate::address;
use crate::metadata::is_metadata_address;
use crate::visited::visited;

/// Which hosts a pattern admits.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum HostShape {
    /// That very address, public or not.
    Address(IpAddr),
    /// Every host: a tool's `*`, which means whatever the personality allows.
    Everything,
    /// That very name.
    Name(HostName),
    /// Every public host: a personality's `*`.
    Public,
    /// The non-public addresses of a range; made from a personality's `private` only.
    Range(IpNet),
    /// Every name below this one, never the name itself.
    Subdomains(HostName),
}

/// A set of hosts, with one port or any.
///
/// # Examples
///
/// ```
/// use ringfence_policy::{HostPattern, Target};
///
/// let declared: HostPattern = "*.github.com".parse()?;
/// let permitted: HostPattern = "api.github.com:443".parse()?;
///
/// assert_eq!(declared.meet(&permitted), Some(permitted));
/// assert!(!declared.matches(&Target::from_url("https://github.com/")?)); // the apex must be named on its own
/// # Ok::<(), ringfence_policy::HostError>(())
/// ```
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct HostPattern {
    shape: HostShape,
    port: Option<u16>,
}

impl HostPattern {
    /// Joins a shape and a port, where none means any.
    pub const fn new(shape: HostShape, port: Option<u16>) -> Self {
        Self { shape, port }
    }

    /// Returns which hosts it admits.
    pub const fn shape(&self) -> &HostShape {
        &self.shape
    }

    /// Returns the only port it admits, or none for any.
    pub const fn port(&self) -> Option<u16> {
        self.port
    }

    /// Reads the pattern as a personality means it: `*` is every public host.
    #[must_use]
    pub fn into_ceiling(self) -> Self {
        match self.shape {
            HostShape::Everything => Self { shape: HostShape::Public, ..self },
            _ => self,
        }
    }

    /// Tells whether the target is admitted.
    pub fn matches(&self, target: &Target) -> bool {
        self.port.is_none_or(|port| port == target.port) && self.matches_host(&target.host)
    }

    /// Tells whether the host is admitted on some port.
    pub(crate) fn matches_host(&self, host: &Host) -> bool {
        match (&self.shape, host) {
            (HostShape::Everything, _) => true,
            (HostShape::Public, Host::Address(asked)) => address::is_public(*asked),
            (HostShape::Public, Host::Name(asked)) => asked.is_public(),
            (HostShape::Address(own), Host::Address(asked)) => own == asked,
            (HostShape::Range(range), Host::Address(asked)) => in_range(range, *asked),
            (HostShape::Name(own), Host::Name(asked)) => own == asked,
            (HostShape::Subdomains(apex), Host::Name(asked)) => asked.is_below(apex),
            (HostShape::Address(_) | HostShape::Range(_), Host::Name(_))
            | (HostShape::Name(_) | HostShape::Subdomains(_), Host::Address(_)) => false,
        }
    }

    /// Tells whether everything that `other` admits is admitted here too.
    pub fn covers(&self, other: &HostPattern) -> bool {
        (self.port.is_none() || self.port == other.port) && self.shape.covers(&other.shape)
    }

    /// Returns the pattern for exactly what both admit, or none when that is nothing.
    pub fn meet(&self, other: &HostPattern) -> Option<HostPattern> {
        let port = match (self.port, other.port) {
            (None, port) | (port, None) => port,
            (Some(own), Some(others)) if own == others => Some(own),
            (Some(_), Some(_)) => return None,
        };
        // Any two shapes are nested or disjoint, so that the smaller one is the intersection.
        let shape = if other.shape.covers(&self.shape) {
            &self.shape
        } else if self.shape.covers(&other.shape) {
            &other.shape
        } else {
            return None;
        };
        Some(Self { shape: shape.clone(), port })
    }
}

impl HostShape {
    fn covers(&self, other: &HostShape) -> bool {
        match (self, other) {
            (Self::Everything, _) | (Self::Public, Self::Public) => true,
            (Self::Public, Self::Address(inner)) => address::is_public(*inner),
            (Self::Public, Self::Name(inner)) => inner.is_public(),
            (Self::Public, Self::Subdomains(inner)) => inner.has_public_children(),
            (Self::Range(range), Self::Address(inner)) => in_range(range, *inner),
            (Self::Range(range), Self::Range(inner)) => range.contains(inner),
            (Self::Subdomains(apex), Self::Name(inner)) => inner.is_below(apex),
            (Self::Subdomains(apex), Self::Subdomains(inner)) => inner == apex || inner.is_below(apex),
            (Self::Address(own), Self::Address(inner)) => own == inner,
            (Self::Name(own), Self::Name(inner)) => own == inner,
            (Self::Address(_) | Self::Name(_) | Self::Public | Self::Range(_) | Self::Subdomains(_), _) => {
                false
            }
        }
    }
}

fn in_range(range: &IpNet, asked: IpAddr) -> bool {
    range.contains(&asked) && !address::is_public(asked) && !is_metadata_address(asked)
}

impl FromStr for HostPattern {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        reject_foreign_parts(text)?;
        let (host, port) = split_port(text)?;
        let shape = match host {
            "*" => HostShape::Everything,
            _ => match host.strip_prefix("*.") {
                Some(apex) => subdomains(apex, text)?,
                None => exact(host, text)?,
            },
        };
        Ok(Self { shape, port: port.map(|digits| text::port(digits, text)).transpose()? })
    }
}

fn reject_foreign_parts(text: &str) -> Result<(), HostError> {
    let owned = || text.to_owned();
    if text.is_empty() {
        Err(HostError::Empty)
    } else if text.contains("://") {
        Err(HostError::Scheme { text: owned() })
    } else if text.parse::<IpNet>().is_ok() {
        Err(HostError::Range { text: owned() })
    } else if text.contains(['/', '\\', '?', '#']) {
        Err(HostError::Path { text: owned() })
    } else if text.contains('@') {
        Err(HostError::UserInfo { text: owned() })
    } else if text.contains('%') && text.matches(':').count() > 1 {
        Err(HostError::Zone { text: owned() })
    } else {
        Ok(())
    }
}

/// Splits off the port. What has two colons and no brackets is an IPv6 address without a port.
fn split_port(text: &str) -> Result<(&str, Option<&str>), HostError> {
    if text.starts_with('[') {
        return match text.rsplit_once("]:") {
            Some((host, port)) if !host.contains(']') => {
                Ok((text.get(..=host.len()).unwrap_or(text), Some(port)))
            }
            _ => Ok((text, None)),
        };
    }
    match text.split_once(':') {
        Some((host, port)) if !port.contains(':') => Ok((host, Some(port))),
        Some(_) if text.parse::<IpAddr>().is_err() => Err(HostError::Port { text: text.to_owned() }),
        _ => Ok((text, None)),
    }
}

fn subdomains(apex: &str, text: &str) -> Result<HostShape, HostError> {
    if apex.contains('*') {
        return Err(HostError::Wildcard { text: text.to_owned() });
    }
    match text::host(apex, text)? {
        Host::Address(_) => Err(HostError::Address { text: text.to_owned() }),
        Host::Name(apex) => Ok(HostShape::Subdomains(apex)),
    }
}

fn exact(host: &str, text: &str) -> Result<HostShape, HostError> {
    if host.contains('*') {
        return Err(HostError::Wildcard { text: text.to_owned() });
    }
    let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(written) = inner.or_else(|| host.contains(':').then_some(host)) {
        let address = IpAddr::V6(text::bracketed(written, text)?);
        return text::canonical(address, written, text).map(HostShape::Address);
    }
    match text::host(host, text)? {
        Host::Address(address) => text::canonical(address, host, text).map(HostShape::Address),
        Host::Name(name) => Ok(HostShape::Name(name)),
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(port) = self.port else { return write!(f, "{}", self.shape) };
        match &self.shape {
            HostShape::Address(IpAddr::V6(_)) | HostShape::Range(IpNet::V6(_)) => {
                write!(f, "[{}]:{port}", self.shape)
            }
            _ => write!(f, "{}:{port}", self.shape),
        }
    }
}

impl fmt::Display for HostShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address}"),
            Self::Everything | Self::Public => f.write_str("*"),
            Self::Name(name) => write!(f, "{name}"),
            Self::Range(range) => write!(f, "{range}"),
            Self::Subdomains(apex) => write!(f, "*.{apex}"),
        }
    }
}

impl Serialize for HostPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HostPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        visited(deserializer, "a host pattern, as a string", str::parse)
    }
}
