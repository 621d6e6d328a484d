//! The personality's `private` list: which internal hosts the address floor lets through.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::host::{HostError, HostName, HostPattern, HostSet, HostShape};
use crate::metadata::is_metadata_address;

/// Names, addresses and ranges that may lie on, or resolve to, non-public addresses; empty by default.
///
/// An entry is an exact name, `*.suffix`, an address or a range such as `10.0.0.0/8`; never `*`, never a port.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Private(HostSet);

impl Private {
    /// Reads the entries.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, HostError> {
        entries.into_iter().map(entry).collect::<Result<HostSet, _>>().map(Self)
    }

    /// Returns exactly what both list.
    pub(super) fn meet(&self, other: &Self) -> Self {
        Self(self.0.meet(&other.0))
    }

    /// Tells whether the address itself, or a range around it, is listed. No range covers where clouds hand out credentials.
    pub fn covers_address(&self, address: IpAddr) -> bool {
        self.iter().any(|entry| match entry.shape() {
            HostShape::Address(own) => *own == address,
            HostShape::Range(range) => range.contains(&address) && !is_metadata_address(address),
            HostShape::Everything | HostShape::Name(_) | HostShape::Public | HostShape::Subdomains(_) => {
                false
            }
        })
    }

    /// Tells whether the name, or a suffix above it, is listed.
    pub fn covers_name(&self, name: &HostName) -> bool {
        self.iter().any(|entry| match entry.shape() {
            HostShape::Name(own) => own == name,
            HostShape::Subdomains(apex) => name.is_below(apex),
            HostShape::Address(_) | HostShape::Everything | HostShape::Public | HostShape::Range(_) => false,
        })
    }

    /// Returns the entries as patterns.
    pub fn iter(&self) -> std::slice::Iter<'_, HostPattern> {
        self.0.iter()
    }

    /// Tells whether nothing is listed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn entry(text: &str) -> Result<HostPattern, HostError> {
    if text.contains('/') && !text.contains("://") {
        return match text.parse::<IpNet>() {
            Ok(range) if range.trunc() == range && range.to_string() == text => {
                Ok(HostPattern::new(HostShape::Range(range), None))
            }
            _ => Err(HostError::RangeForm { text: text.to_owned() }),
        };
    }
    let pattern: HostPattern = text.parse()?;
    match pattern.shape() {
        HostShape::Everything => Err(HostError::WildcardInPrivate),
        _ if pattern.port().is_some() => Err(HostError::PortInPrivate { text: text.to_owned() }),
        _ => Ok(pattern),
    }
}

impl<'de> Deserialize<'de> for Private {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Vec::<String>::deserialize(deserializer)?;
        Self::parse(entries.iter().map(String::as_str)).map_err(D::Error::custom)
    }
}
