//! Cells that a weaker backend is known to lose, each with its reason. `native` has none, by rule.

/// Columns (`firejail`, or `firejail-root` for one user), probe, why it gets out there.
#[rustfmt::skip]
pub(crate) const WEAK: &[(&str, &str, &str)] = &[
    ("firejail",      "fs::access_outside",                IN_SIGHT),
    ("firejail",      "fs::open_path_outside",             IN_SIGHT),
    ("firejail",      "fs::read_xattr",                    IN_SIGHT),
    ("firejail",      "fs::readlink_outside",              IN_SIGHT),
    ("firejail",      "fs::root_list",                     IN_SIGHT),
    ("firejail",      "fs::stat_outside",                  IN_SIGHT),
    ("firejail",      "fs::watch_outside",                 IN_SIGHT),
    ("firejail-user", "resource::daemon_outlives_starter", SET_UID),
    ("firejail-user", "resource::outlives_starter",        SET_UID),
    ("firejail-user", "resource::process_tree",            SHARED_COUNT),
    ("firejail-user", "resource::threads",                 SHARED_COUNT),
];

/// Columns, probe, why the command is refused there before it starts.
pub(crate) const REFUSED: &[(&str, &str, &str)] =
    &[("firejail", "resource::scratch", UNSIZED), ("firejail", "resource::scratch_elsewhere", UNSIZED)];

const IN_SIGHT: &str =
    "firejail keeps the machine's root: Landlock closes its files, and their names stay in sight";
const SET_UID: &str = "firejail is set-uid, which clears the parent-death signal";
const SHARED_COUNT: &str = "no user namespace: what the user runs elsewhere is counted too, and is estimated";
const UNSIZED: &str = "firejail's private `/tmp` has no size, so that a limit on it cannot be kept";

/// Why a cell is in a list, if it is.
pub(crate) fn reason(list: &[(&str, &str, &'static str)], column: &str, probe: &str) -> Option<&'static str> {
    let applies = |columns: &str| columns == column || column.split('-').next() == Some(columns);
    list.iter().find(|(columns, name, _)| applies(columns) && *name == probe).map(|(_, _, why)| *why)
}

#[test]
fn native_has_no_weak_cell() {
    let checks = crate::check::checks().map(|check| check.name);
    let names: Vec<&str> = ringfence_e2e::probes().map(|probe| probe.name).chain(checks).collect();
    for (columns, probe, why) in WEAK.iter().chain(REFUSED) {
        assert!(!columns.starts_with("native"), "{probe}: {why}");
        assert!(names.contains(probe), "there is no `{probe}`");
    }
}
