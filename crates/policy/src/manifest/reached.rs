//! What a tool or a server really reaches: what it declares, as far as the personality permits it.
//!
//! Variables stay as they are written, so that a manifest is the same on every machine. Where a declared path and a permitted one
//! start with different variables, nobody can say what they have in common, and both are kept as an overlap.
//!
//! INVARIANT: a surface that is absent is not reached, and nothing here admits what the grant of a call would not.

use serde::{Deserialize, Serialize};

use super::ManifestError;
use super::paths::{Paths, ReachedPaths};
use super::sourced::{Listed, Provenance, Sourced};
use crate::{
    BinarySet, Capabilities, HostPattern, HostSet, HostShape, NameKind, NameSet, NetworkGrant, OnUnknown,
    Personality, Private, SecretSet, Storage, VariableSet, resolve_capabilities,
};

/// What is reached, surface by surface.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reached {
    /// Environment variables.
    #[serde(skip_serializing_if = "Sourced::is_empty")]
    pub environment: Sourced<VariableSet>,
    /// Paths.
    #[serde(skip_serializing_if = "ReachedPaths::is_empty")]
    pub fs_reach: ReachedPaths,
    /// Hosts.
    #[serde(skip_serializing_if = "ReachedHosts::is_empty")]
    pub network: ReachedHosts,
    /// Programs.
    #[serde(skip_serializing_if = "Sourced::is_empty")]
    pub process: Sourced<BinarySet>,
    /// Secrets.
    #[serde(skip_serializing_if = "Sourced::is_empty")]
    pub secrets: Sourced<SecretSet>,
    /// Storage; only a tool asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
}

/// Hosts that are reached.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReachedHosts {
    /// The hosts.
    #[serde(skip_serializing_if = "Sourced::is_empty")]
    pub hosts: Sourced<HostSet>,
    /// What becomes of a host that nothing names.
    #[serde(skip_serializing_if = "is_refuse")]
    pub on_unknown: OnUnknown,
    /// What may lie on private addresses; always the personality's.
    #[serde(skip_serializing_if = "Sourced::is_empty")]
    pub private: Sourced<Private>,
}

impl ReachedHosts {
    /// Says whether nothing is reached, whoever is asked.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() && is_refuse(&self.on_unknown)
    }
}

fn is_refuse(on_unknown: &OnUnknown) -> bool {
    *on_unknown == OnUnknown::Refuse
}

impl Reached {
    /// Computes what is reached; `place` says whose capabilities they are. With variables replaced on both sides it is what a call
    /// reaches on this machine.
    ///
    /// # Errors
    ///
    /// Capabilities that no grant can express.
    pub fn new(
        declared: &Capabilities,
        personality: &Personality,
        place: &str,
    ) -> Result<Self, ManifestError> {
        let source = |message: String| ManifestError::Source { place: place.to_owned(), message };
        let without_paths = Capabilities { fs_reach: None, ..declared.clone() };
        let grant =
            resolve_capabilities(&without_paths, personality).map_err(|error| source(error.to_string()))?;
        let binaries = declared.process.as_ref().map(|own| &own.allowed_binaries);
        let reached = Self {
            environment: names(
                grant.environment.as_ref(),
                declared.environment.as_ref(),
                personality.environment.as_ref(),
            )
            .map_err(source)?,
            fs_reach: match &declared.fs_reach {
                Some(own) => ReachedPaths::new(own, &personality.fs_reach).map_err(source)?,
                None => ReachedPaths::default(),
            },
            network: match (&grant.network, &declared.network) {
                (Some(grant), Some(own)) => hosts(grant, &own.allowed_hosts, personality).map_err(source)?,
                _ => ReachedHosts::default(),
            },
            process: names(grant.process.as_ref(), binaries, personality.process.as_ref()).map_err(source)?,
            secrets: names(grant.secrets.as_ref(), declared.secrets.as_ref(), personality.secrets.as_ref())
                .map_err(source)?,
            storage: grant.storage,
        };
        Ok(reached)
    }

    /// Says whether nothing is reached at all.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Returns what is reached as pairs of a surface and its entries, for people.
    pub fn summary(&self) -> Vec<(&'static str, Vec<String>)> {
        let mut summary = Vec::new();
        let mut push = |surface, entries: Vec<String>| {
            if !entries.is_empty() {
                summary.push((surface, entries));
            }
        };
        push("network", shown(&self.network.hosts));
        push("private network", shown(&self.network.private));
        if self.network.on_unknown == OnUnknown::Ask {
            push("other hosts", vec!["after asking a person".to_owned()]);
        }
        push("read files", self.fs_reach.read.shown());
        push("write files", self.fs_reach.write.shown());
        push("lifted floor", lifted(&[&self.fs_reach.read, &self.fs_reach.write]));
        push("run programs", shown(&self.process));
        push("secrets", shown(&self.secrets));
        push("environment", shown(&self.environment));
        push("storage", self.storage.iter().map(|storage| storage.scope.to_string()).collect());
        summary
    }
}

fn lifted(sides: &[&Paths]) -> Vec<String> {
    let mut lifted: Vec<String> =
        sides.iter().flat_map(|side| side.lifted.iter().map(ToString::to_string)).collect();
    lifted.sort_unstable();
    lifted.dedup();
    lifted
}

fn shown<S: Listed>(set: &Sourced<S>) -> Vec<String> {
    set.entries().map(|(entry, _)| entry.to_owned()).collect()
}

fn names<K: NameKind>(
    granted: Option<&NameSet<K>>,
    tool: Option<&NameSet<K>>,
    personality: Option<&NameSet<K>>,
) -> Result<Sourced<NameSet<K>>, String> {
    let holds =
        |set: Option<&NameSet<K>>, pattern| set.is_some_and(|set| set.iter().any(|one| one == pattern));
    Sourced::new(granted.into_iter().flat_map(NameSet::iter).map(|pattern| {
        let from = Provenance::of(holds(tool, pattern), holds(personality, pattern));
        (pattern.to_string(), from)
    }))
}

fn hosts(grant: &NetworkGrant, tool: &HostSet, personality: &Personality) -> Result<ReachedHosts, String> {
    let ceiling = personality.network.hosts();
    let holds = |set: &HostSet, pattern| set.iter().any(|one| one == pattern);
    let named = |set: &HostSet, port| set.iter().any(|one| one.port() == port);
    let opened = grant.opened();
    let granted = grant.hosts().iter().map(|pattern| {
        let from = Provenance::of(holds(tool, pattern), holds(ceiling, pattern));
        (pattern.to_string(), from)
    });
    let hosts = Sourced::new(granted.chain(opened.iter().map(|pattern| {
        let from = Provenance::of(named(tool, pattern.port()), named(ceiling, pattern.port()));
        (pattern.to_string(), from)
    })))?;
    let private = concerned(grant, grant.on_unknown() == OnUnknown::Ask);
    let private = Sourced::new(private.into_iter().map(|entry| (entry, Provenance::Personality)))?;
    Ok(ReachedHosts { hosts, on_unknown: grant.on_unknown(), private })
}

/// Returns the private entries that matter for what is reached: names as far as they are reached, and addresses where some name
/// is that may resolve to them.
fn concerned(grant: &NetworkGrant, is_asked: bool) -> Vec<String> {
    let is_name = |own: &HostPattern| !matches!(own.shape(), HostShape::Address(_) | HostShape::Range(_));
    let reaches_names = is_asked || grant.hosts().iter().any(is_name);
    let part = |entry: &HostPattern| -> Vec<HostPattern> {
        match entry.shape() {
            _ if is_asked => vec![entry.clone()],
            HostShape::Name(_) | HostShape::Subdomains(_) => {
                let both = grant.hosts().iter().filter_map(|own| own.meet(entry));
                both.map(|both| HostPattern::new(both.shape().clone(), None)).collect()
            }
            HostShape::Address(_) | HostShape::Everything | HostShape::Public | HostShape::Range(_) => {
                if reaches_names {
                    vec![entry.clone()]
                } else {
                    Vec::new()
                }
            }
        }
    };
    grant.private().iter().flat_map(part).map(|entry| entry.to_string()).collect()
}
