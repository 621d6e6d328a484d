//! The table of probes itself.

use std::collections::{BTreeMap, BTreeSet};

use ringfence_e2e::probes;

#[test]
fn covers_every_family() {
    let mut families: BTreeMap<&str, usize> = BTreeMap::new();
    for probe in probes() {
        *families.entry(probe.family()).or_default() += 1;
    }
    for family in
        ["env", "exec", "fs", "inject", "ipc", "kernel", "net", "proc", "protect", "resource", "tty"]
    {
        assert!(families.get(family).is_some_and(|count| *count >= 5), "{family}: {families:?}");
    }
    assert!(probes().count() >= 100, "{families:?}");
}

#[test]
fn names_are_unique() {
    let mut seen = BTreeSet::new();
    for probe in probes() {
        assert!(probe.name.contains("::"), "{}", probe.name);
        assert!(seen.insert(probe.name), "{} twice", probe.name);
    }
}
