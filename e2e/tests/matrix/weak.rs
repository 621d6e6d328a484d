//! Cells that a weaker backend is known to lose, each with its reason. `native` has none, by rule.

use Loses::{Always, Sometimes};

/// A cell that is lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weak {
    /// A backend, or `firejail-root` for one of its users.
    columns: &'static str,
    /// The probe or check.
    name: &'static str,
    pub(crate) loses: Loses,
    pub(crate) why: &'static str,
}

/// How often a cell is lost.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Loses {
    /// A cell that is no longer lost must leave the list.
    Always,
    /// It depends on what else the machine does.
    Sometimes,
}

const fn weak(columns: &'static str, name: &'static str, loses: Loses, why: &'static str) -> Weak {
    Weak { columns, name, loses, why }
}

#[rustfmt::skip]
const WEAK: &[Weak] = &[
    weak("bwrap",         "resource::cpu_of_children",             Always,    ONE_BY_ONE),
    weak("bwrap-user",    "resource::memory_of_children",          Always,    ONE_BY_ONE),
    weak("bwrap-user",    "resource::memory_shared",               Always,    ONE_BY_ONE),
    weak("bwrap-user",    "resource::memory_stacks",               Always,    ONE_BY_ONE),
    weak("bwrap-user",    "resource::memory_behind_a_slow_process",Always,    ONE_BY_ONE),
    weak("bwrap-user",    "resource::memory_page_tables",          Always,    ONE_BY_ONE),
    weak("bwrap-user",    "resource::memory_shared_dropped",       Always,    ONE_BY_ONE),
    weak("bwrap-user",    "resource::memory_shared_of_the_dead",   Always,    ONE_BY_ONE),
    weak("bwrap-user",    "resource::memory_shared_trimmed",       Always,    ONE_BY_ONE),
    weak("bwrap-user",    "resource::memory_shared_zero_device",   Always,    ONE_BY_ONE),
    weak("bwrap-user",    "resource::memory_tcp6_buffers",         Always,    ONE_BY_ONE),
    weak("bwrap-user",    "resource::memory_tcp_buffers",          Always,    ONE_BY_ONE),
    weak("bwrap-user",    "resource::memory_unix_buffers",         Always,    ONE_BY_ONE),
    weak("bwrap-user",    "resource::memory_unix_buffers_grown",   Always,    ONE_BY_ONE),
    weak("bwrap-user",    "resource::memory_without_a_leader",     Always,    ONE_BY_ONE),
    weak("bwrap",         "resource::cpu_of_forgotten_children",   Sometimes, ONE_BY_ONE),
    weak("bwrap",         "resource::cpu_of_short_children",       Always,    ONE_BY_ONE),
    weak("firejail",      "resource::cpu_of_children",             Always,    ONE_BY_ONE),
    weak("firejail-user", "resource::memory_of_children",          Always,    ONE_BY_ONE),
    weak("firejail-user", "resource::memory_shared",               Always,    ONE_BY_ONE),
    weak("firejail-user", "resource::memory_stacks",               Always,    ONE_BY_ONE),
    weak("firejail-user", "resource::memory_behind_a_slow_process",Always,    ONE_BY_ONE),
    weak("firejail-user", "resource::memory_page_tables",          Always,    ONE_BY_ONE),
    weak("firejail-user", "resource::memory_shared_dropped",       Always,    ONE_BY_ONE),
    weak("firejail-user", "resource::memory_shared_of_the_dead",   Always,    ONE_BY_ONE),
    weak("firejail-user", "resource::memory_shared_trimmed",       Always,    ONE_BY_ONE),
    weak("firejail-user", "resource::memory_shared_zero_device",   Always,    ONE_BY_ONE),
    weak("firejail-user", "resource::memory_tcp6_buffers",         Always,    ONE_BY_ONE),
    weak("firejail-user", "resource::memory_tcp_buffers",          Always,    ONE_BY_ONE),
    weak("firejail-user", "resource::memory_unix_buffers",         Always,    ONE_BY_ONE),
    weak("firejail-user", "resource::memory_unix_buffers_grown",   Always,    ONE_BY_ONE),
    weak("firejail-user", "resource::memory_without_a_leader",     Always,    ONE_BY_ONE),
    weak("firejail",      "resource::cpu_of_forgotten_children",   Sometimes, ONE_BY_ONE),
    weak("firejail",      "resource::cpu_of_short_children",       Always,    ONE_BY_ONE),
    weak("firejail",      "fs::access_outside",                    Always,    IN_SIGHT),
    weak("firejail",      "fs::etc_passwd",                        Always,    IN_SIGHT),
    weak("firejail",      "fs::open_path_outside",                 Always,    IN_SIGHT),
    weak("firejail",      "fs::read_xattr",                        Always,    IN_SIGHT),
    weak("firejail",      "fs::readlink_outside",                  Always,    IN_SIGHT),
    weak("firejail",      "fs::root_list",                         Always,    IN_SIGHT),
    weak("firejail",      "fs::stat_outside",                      Always,    IN_SIGHT),
    weak("firejail",      "fs::watch_outside",                     Always,    IN_SIGHT),
    weak("firejail-user", "resource::daemon_outlives_starter",     Always,    SET_UID),
    weak("firejail-user", "resource::outlives_starter",            Always,    SET_UID),
    weak("firejail-user", "orphan::when_ringfence_is_killed",      Always,    SET_UID),
    weak("firejail-user", "resource::process_tree",                Sometimes, SHARED_COUNT),
    weak("firejail-user", "resource::processes",                   Sometimes, SHARED_COUNT),
    weak("firejail-user", "resource::threads",                     Sometimes, SHARED_COUNT),
    weak("bwrap",         "protect::link_replaced",                Always,    BY_PATH),
    weak("firejail",      "protect::link_replaced",                Always,    NO_PINS),
    weak("firejail",      "protect::git_folder_renamed",           Always,    NO_PINS),
    weak("firejail",      "protect::folder_above_renamed",         Always,    NO_PINS),
    weak("firejail",      "cargo::build_script",                   Always,    WHOLE_FOLDERS),
    weak("firejail",      "shell::program_in_a_writable_folder",   Always,    WHOLE_FOLDERS),
    weak("bwrap",         "resource::inotify_instances",           Always,    COUNTED_FOR_USER),
    weak("firejail",      "resource::inotify_instances",           Always,    COUNTED_FOR_USER),
];

/// Backends, probes and why the command is refused there before it starts.
#[rustfmt::skip]
const REFUSED: &[Weak] = &[
    weak("firejail", "resource::scratch",           Always, UNSIZED),
    weak("firejail", "resource::scratch_elsewhere", Always, UNSIZED),
];

const BY_PATH: &str =
    "bwrap mounts on paths, and a path leads through a link: only the look afterwards finds another";
const NO_PINS: &str = "firejail mounts nothing out of sight: folders and links around what is protected move, and are looked for afterwards";
const IN_SIGHT: &str =
    "firejail keeps the machine's root: Landlock closes its files, and their names stay in sight";
const ONE_BY_ONE: &str =
    "where no control group counts it, the limit holds for each process, not for all together";
const SET_UID: &str = "firejail is set-uid, which clears the parent-death signal";
const SHARED_COUNT: &str = "no user namespace: what the user runs elsewhere is counted too, and is estimated";
const UNSIZED: &str = "firejail's private `/tmp` has no size, so that a limit on it cannot be kept";
const WHOLE_FOLDERS: &str = "firejail makes a folder noexec with all that is in it: nothing in one starts";

const COUNTED_FOR_USER: &str =
    "no user namespace of ours, where a part of what the user has could be set aside";

/// Why a cell may be lost, if it may.
pub(crate) fn known(column: &str, name: &str) -> Option<&'static Weak> {
    find(WEAK, column, name)
}

/// Whether a backend refuses what a probe asks for.
pub(crate) fn refuses(backend: &str, probe: &str) -> bool {
    find(REFUSED, backend, probe).is_some()
}

fn find(list: &'static [Weak], column: &str, name: &str) -> Option<&'static Weak> {
    let applies = |columns: &str| columns == column || column.split('-').next() == Some(columns);
    list.iter().find(|weak| applies(weak.columns) && weak.name == name)
}

#[test]
fn native_has_no_weak_cell() {
    let checks = crate::matrix::check::checks().map(|check| check.name);
    let names: Vec<&str> = ringfence_e2e::probes().map(|probe| probe.name).chain(checks).collect();
    for weak in WEAK.iter().chain(REFUSED) {
        assert!(!weak.columns.starts_with("native"), "{weak:?}");
        assert!(names.contains(&weak.name), "there is no `{}`", weak.name);
    }
}
