//! Cells that a weaker backend is known to lose, each with its reason. `native` has none, by rule.

/// Backend, probe, why.
pub(crate) const WEAK: &[(&str, &str, &str)] = &[];

/// Why this cell may escape, if it may.
pub(crate) fn reason(backend: &str, probe: &str) -> Option<&'static str> {
    WEAK.iter().find(|(weak, name, _)| *weak == backend && *name == probe).map(|(_, _, reason)| *reason)
}

#[test]
fn native_has_no_weak_cell() {
    let names: Vec<&str> = ringfence_e2e::probes().map(|probe| probe.name).collect();
    for (backend, probe, reason) in WEAK {
        assert_ne!(*backend, "native", "{probe}: {reason}");
        assert!(names.contains(probe), "there is no probe `{probe}`");
    }
}
