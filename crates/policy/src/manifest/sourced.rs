//! Sets of a manifest whose entries say who wrote them.
//!
//! INVARIANT: the set holds exactly the entries that are listed with where they are from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::network::WEB_PORTS;
use crate::{HostPattern, HostSet, HostShape, NameKind, NameSet, PathPattern, PathSet, Private};

/// Who wrote an entry.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Provenance {
    /// The tool and the personality, or it is what their entries have in common.
    Both,
    /// Nobody: it is what holds where nothing is written.
    Default,
    /// The personality; the tool asked for more.
    Personality,
    /// The tool; the personality permits more, or does not mention it.
    Tool,
}

impl Provenance {
    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Default => "default",
            Self::Personality => "personality",
            Self::Tool => "tool",
        }
    }

    pub(super) const fn of(in_tool: bool, in_personality: bool) -> Self {
        match (in_tool, in_personality) {
            (true, false) => Self::Tool,
            (false, true) => Self::Personality,
            (true, true) | (false, false) => Self::Both,
        }
    }
}

/// A set, and where each of its entries is from.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(
    bound = "S: Listed",
    try_from = "BTreeMap<String, Provenance>",
    into = "BTreeMap<String, Provenance>"
)]
pub struct Sourced<S> {
    from: BTreeMap<String, Provenance>,
    set: S,
}

impl<S: Listed> Sourced<S> {
    /// Makes a set of written entries.
    pub(super) fn new(entries: impl IntoIterator<Item = (String, Provenance)>) -> Result<Self, String> {
        Self::try_from(entries.into_iter().collect::<BTreeMap<_, _>>())
    }

    /// Returns the entries, sorted, with where they are from.
    pub fn entries(&self) -> impl Iterator<Item = (&str, Provenance)> {
        self.from.iter().map(|(entry, from)| (entry.as_str(), *from))
    }

    /// Returns the set.
    pub const fn set(&self) -> &S {
        &self.set
    }

    /// Says whether nothing is admitted.
    pub fn is_empty(&self) -> bool {
        self.from.is_empty()
    }
}

impl<S: Listed> TryFrom<BTreeMap<String, Provenance>> for Sourced<S> {
    type Error = String;

    fn try_from(from: BTreeMap<String, Provenance>) -> Result<Self, String> {
        Ok(Self { set: S::listed(from.keys().map(String::as_str))?, from })
    }
}

impl<S> From<Sourced<S>> for BTreeMap<String, Provenance> {
    fn from(sourced: Sourced<S>) -> Self {
        sourced.from
    }
}

/// A set that is written as a list of texts.
pub trait Listed: Clone + Default {
    /// Reads the entries.
    ///
    /// # Errors
    ///
    /// The first that is none.
    fn listed<'a>(entries: impl Iterator<Item = &'a str>) -> Result<Self, String>;

    /// Returns the entries that `wide` does not cover.
    fn beyond(&self, wide: &Self) -> Vec<String>;

    /// Returns the entries as they are written.
    fn texts(&self) -> Vec<String>;
}

/// The hosts of a grant, where `*` is every public host and a range may have a port.
impl Listed for HostSet {
    fn listed<'a>(entries: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        entries.map(|entry| host(entry).map(HostPattern::into_ceiling)).collect()
    }

    fn beyond(&self, wide: &Self) -> Vec<String> {
        let is_new = |pattern: &&HostPattern| !covers_host(wide, pattern) || opens_port(wide, pattern);
        self.iter().filter(is_new).map(ToString::to_string).collect()
    }

    fn texts(&self) -> Vec<String> {
        self.iter().map(ToString::to_string).collect()
    }
}

impl Listed for Private {
    fn listed<'a>(entries: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        Self::parse(entries).map_err(|error| error.to_string())
    }

    fn beyond(&self, wide: &Self) -> Vec<String> {
        let wide: HostSet = wide.iter().cloned().collect();
        self.iter().filter(|pattern| !covers_host(&wide, pattern)).map(ToString::to_string).collect()
    }

    fn texts(&self) -> Vec<String> {
        self.iter().map(ToString::to_string).collect()
    }
}

impl Listed for PathSet {
    fn listed<'a>(entries: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        let parse = |entry: &str| entry.parse::<PathPattern>().map_err(|error| error.to_string());
        entries.map(parse).collect()
    }

    fn beyond(&self, wide: &Self) -> Vec<String> {
        self.iter().filter(|pattern| !wide.covers(pattern)).map(ToString::to_string).collect()
    }

    fn texts(&self) -> Vec<String> {
        self.iter().map(ToString::to_string).collect()
    }
}

impl<K: NameKind> Listed for NameSet<K> {
    fn listed<'a>(entries: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        Self::new(entries).map_err(|error| error.to_string())
    }

    fn beyond(&self, wide: &Self) -> Vec<String> {
        self.iter().filter(|pattern| !wide.covers(pattern)).map(ToString::to_string).collect()
    }

    fn texts(&self) -> Vec<String> {
        self.iter().map(ToString::to_string).collect()
    }
}

/// Reads a pattern, or a range with or without a port, as a grant writes them.
fn host(text: &str) -> Result<HostPattern, String> {
    if !text.contains('/') {
        return text.parse().map_err(|error: crate::HostError| error.to_string());
    }
    let (range, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once("]:")) {
        Some((range, port)) => (range, Some(port)),
        // The range of one colon or more without brackets has no port, unless it is of the old kind.
        None => match text.split_once(':') {
            Some((range, port)) if range.contains('.') => (range, Some(port)),
            _ => (text, None),
        },
    };
    let shape = Private::parse([range]).map_err(|error| error.to_string())?;
    let shape = shape.iter().next().map_or(HostShape::Public, |pattern| pattern.shape().clone());
    let port = port.map(|port| port.parse().map_err(|_| format!("`{text}` has no port after its colon")));
    Ok(HostPattern::new(shape, port.transpose()?))
}

/// Tells whether the pattern names a port that no pattern of the set names. A gate opens such a port, and does not look at what is said
/// there, while a pattern without a port opens only those of the web.
fn opens_port(wide: &HostSet, pattern: &HostPattern) -> bool {
    pattern
        .port()
        .is_some_and(|port| !WEB_PORTS.contains(&port) && wide.iter().all(|own| own.port() != Some(port)))
}

/// Tells whether the set admits everything that the pattern admits; ranges side by side count as one.
fn covers_host(wide: &HostSet, pattern: &HostPattern) -> bool {
    if wide.covers(pattern) {
        return true;
    }
    let HostShape::Range(range) = pattern.shape() else { return false };
    let fits = |own: &&HostPattern| own.port().is_none() || own.port() == pattern.port();
    let ranges = wide.iter().filter(fits).filter_map(|own| match own.shape() {
        HostShape::Address(address) => Some(ipnet::IpNet::from(*address)),
        HostShape::Range(range) => Some(*range),
        HostShape::Everything | HostShape::Name(_) | HostShape::Public | HostShape::Subdomains(_) => None,
    });
    ipnet::IpNet::aggregate(&ranges.collect()).iter().any(|joined| joined.contains(range))
}
