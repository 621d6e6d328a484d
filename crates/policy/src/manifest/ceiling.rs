//! A personality as a manifest keeps it.

use crate::{HostSet, NameKind, NameSet, NetworkCeiling, PathPattern, PathSet, Personality, Private};

/// Returns the personality with its lists in order and each entry once, and without its examples, which grant nothing.
pub(super) fn sorted(personality: &Personality) -> Personality {
    let mut tools = personality.tools.clone();
    if let Some(tools) = &mut tools {
        tools.sort_unstable();
        tools.dedup();
    }
    let mut fs_reach = personality.fs_reach.clone();
    fs_reach.read = paths(&fs_reach.read);
    fs_reach.write = paths(&fs_reach.write);
    Personality {
        tools,
        network: network(&personality.network),
        fs_reach,
        secrets: personality.secrets.as_ref().map(names),
        process: personality.process.as_ref().map(names),
        environment: personality.environment.as_ref().map(names),
        example: Vec::new(),
        ..personality.clone()
    }
}

/// Returns the network of a ceiling with its lists in order.
pub(super) fn network(network: &NetworkCeiling) -> NetworkCeiling {
    let private = private(network.private());
    NetworkCeiling::new(hosts(network.allow()), private).with_on_unknown(network.on_unknown())
}

/// Returns private addresses in order.
pub(super) fn private(set: &Private) -> Private {
    let mut private: Vec<String> = set.iter().map(ToString::to_string).collect();
    private.sort_unstable();
    private.dedup();
    // Its entries were read once, so they can be read again.
    Private::parse(private.iter().map(String::as_str)).unwrap_or_else(|_| set.clone())
}

fn hosts(set: &HostSet) -> HostSet {
    let mut patterns: Vec<_> = set.iter().cloned().collect();
    patterns.sort_unstable();
    patterns.dedup();
    patterns.into_iter().collect()
}

fn paths(set: &PathSet) -> PathSet {
    let mut patterns: Vec<PathPattern> = set.iter().cloned().collect();
    patterns.sort_unstable();
    patterns.dedup();
    patterns.into_iter().collect()
}

fn names<K: NameKind>(set: &NameSet<K>) -> NameSet<K> {
    let mut names: Vec<String> = set.iter().map(ToString::to_string).collect();
    names.sort_unstable();
    names.dedup();
    NameSet::new(&names).unwrap_or_else(|_| set.clone())
}
