//! The system calls that are not simply allowed, with their numbers.

use super::{Architecture, Check, ENOSYS, EPERM, Verdict};
use Verdict::{Check as Judge, Refuse};

/// One line: the name, the number on x86-64 and on aarch64 (where it exists), and the verdict.
pub(super) struct Line {
    /// What the kernel calls it.
    pub(super) name: &'static str,
    x86_64: Option<u32>,
    aarch64: Option<u32>,
    pub(super) verdict: Verdict,
}

impl Line {
    pub(super) const fn number(&self, architecture: Architecture) -> Option<u32> {
        match architecture {
            Architecture::Aarch64 => self.aarch64,
            Architecture::X86_64 => self.x86_64,
        }
    }
}

/// The last system call that is looked at one by one (`fchmodat2`, Linux 6.6); a later one is answered `ENOSYS`, as an
/// older kernel would, and programs fall back.
pub(super) const LAST: u32 = 452;

const fn both(name: &'static str, x86_64: u32, aarch64: u32, verdict: Verdict) -> Line {
    Line { name, x86_64: Some(x86_64), aarch64: Some(aarch64), verdict }
}

const fn old(name: &'static str, x86_64: u32, verdict: Verdict) -> Line {
    Line { name, x86_64: Some(x86_64), aarch64: None, verdict }
}

const fn new(name: &'static str, number: u32, verdict: Verdict) -> Line {
    Line { name, x86_64: Some(number), aarch64: Some(number), verdict }
}

#[rustfmt::skip]
pub(super) const LINES: &[Line] = &[
    // Judged by an argument.
    both("clone",          56,  220, Judge(Check::CloneFlags)),
    both("unshare",        272, 97,  Judge(Check::CloneFlags)),
    both("socket",         41,  198, Judge(Check::Socket)),
    both("socketpair",     53,  199, Judge(Check::SocketPair)),
    both("ioctl",          16,  29,  Judge(Check::Ioctl)),
    both("fcntl",          72,  25,  Judge(Check::FileControl)),
    both("prctl",          157, 167, Judge(Check::ProcessControl)),
    both("setsockopt",     54,  208, Judge(Check::SocketOption)),
    both("setrlimit",      160, 164, Judge(Check::CoreLimit)),
    both("prlimit64",      302, 261, Judge(Check::CoreLimitOf)),
    both("memfd_create",   319, 279, Judge(Check::MemoryFile)),
    both("personality",    135, 92,  Judge(Check::Personality)),
    both("shmget",         29,  194, Judge(Check::UncountedMemory)),
    both("semget",         64,  190, Judge(Check::UncountedMemory)),
    both("msgget",         68,  186, Judge(Check::UncountedMemory)),
    both("vmsplice",       278, 75,  Judge(Check::UncountedMemory)),
    // A byte of a page that waits in a socket keeps the whole page.
    both("splice",         275, 76,  Judge(Check::UncountedMemory)),
    both("tee",            276, 77,  Judge(Check::UncountedMemory)),
    both("sendfile",       40,  71,  Judge(Check::UncountedPages)),
    // A set-uid file in a writable folder would be an exit for whoever starts it outside.
    old ("open",           2,        Judge(Check::OpenMode(2))),
    old ("creat",          85,       Judge(Check::FileMode(1))),
    old ("chmod",          90,       Judge(Check::FileMode(1))),
    old ("mknod",          133,      Judge(Check::FileMode(1))),
    old ("mkdir",          83,       Judge(Check::FileMode(1))),
    both("openat",         257, 56,  Judge(Check::OpenMode(3))),
    both("fchmod",         91,  52,  Judge(Check::FileMode(1))),
    both("fchmodat",       268, 53,  Judge(Check::FileMode(2))),
    both("mkdirat",        258, 34,  Judge(Check::FileMode(2))),
    both("mknodat",        259, 33,  Judge(Check::FileMode(2))),
    new ("fchmodat2",      452,      Judge(Check::FileMode(2))),
    // Its mode lies in memory, where no filter can look; programs fall back to openat.
    new ("openat2",        437,      Refuse(ENOSYS)),

    // Programs fall back when these do not exist.
    new ("clone3",             435, Refuse(ENOSYS)),
    new ("io_uring_setup",     425, Refuse(ENOSYS)),
    new ("io_uring_enter",     426, Refuse(ENOSYS)),
    new ("io_uring_register",  427, Refuse(ENOSYS)),
    // Filters of many processes that end at once have locked up a kernel, and ours is enough.
    both("seccomp",            317, 277, Refuse(ENOSYS)),
    // The machine has one count of these for everybody.
    both("io_setup",           206, 0,   Refuse(ENOSYS)),

    // Other processes.
    both("ptrace",             101, 117, Refuse(EPERM)),
    both("process_vm_readv",   310, 270, Refuse(EPERM)),
    both("process_vm_writev",  311, 271, Refuse(EPERM)),
    both("kcmp",               312, 272, Refuse(EPERM)),
    new ("pidfd_getfd",        438,      Refuse(EPERM)),
    new ("process_madvise",    440,      Refuse(EPERM)),
    new ("process_mrelease",   448,      Refuse(EPERM)),
    both("migrate_pages",      256, 238, Refuse(EPERM)),
    both("move_pages",         279, 239, Refuse(EPERM)),

    // Mounts, roots and namespaces.
    both("mount",              165, 40,  Refuse(EPERM)),
    both("umount2",            166, 39,  Refuse(EPERM)),
    both("pivot_root",         155, 41,  Refuse(EPERM)),
    both("chroot",             161, 51,  Refuse(EPERM)),
    both("setns",              308, 268, Refuse(EPERM)),
    new ("open_tree",          428,      Refuse(EPERM)),
    new ("move_mount",         429,      Refuse(EPERM)),
    new ("fsopen",             430,      Refuse(EPERM)),
    new ("fsconfig",           431,      Refuse(EPERM)),
    new ("fsmount",            432,      Refuse(EPERM)),
    new ("fspick",             433,      Refuse(EPERM)),
    new ("mount_setattr",      442,      Refuse(EPERM)),
    both("name_to_handle_at",  303, 264, Refuse(EPERM)),
    both("open_by_handle_at",  304, 265, Refuse(EPERM)),
    both("fanotify_init",      300, 262, Refuse(EPERM)),
    both("fanotify_mark",      301, 263, Refuse(EPERM)),
    both("quotactl",           179, 60,  Refuse(EPERM)),
    new ("quotactl_fd",        443,      Refuse(EPERM)),
    both("swapon",             167, 224, Refuse(EPERM)),
    both("swapoff",            168, 225, Refuse(EPERM)),

    // Keys, programs for the kernel, its memory.
    both("add_key",            248, 217, Refuse(EPERM)),
    both("request_key",        249, 218, Refuse(EPERM)),
    both("keyctl",             250, 219, Refuse(EPERM)),
    both("bpf",                321, 280, Refuse(EPERM)),
    both("perf_event_open",    298, 241, Refuse(EPERM)),
    both("userfaultfd",        323, 282, Refuse(EPERM)),
    new ("memfd_secret",       447,      Refuse(EPERM)),
    both("kexec_load",         246, 104, Refuse(EPERM)),
    both("kexec_file_load",    320, 294, Refuse(EPERM)),
    both("init_module",        175, 105, Refuse(EPERM)),
    both("finit_module",       313, 273, Refuse(EPERM)),
    both("delete_module",      176, 106, Refuse(EPERM)),
    both("syslog",             103, 116, Refuse(EPERM)),
    both("lookup_dcookie",     212, 18,  Refuse(EPERM)),

    // The machine.
    both("reboot",             169, 142, Refuse(EPERM)),
    both("acct",               163, 89,  Refuse(EPERM)),
    both("sethostname",        170, 161, Refuse(EPERM)),
    both("setdomainname",      171, 162, Refuse(EPERM)),
    both("settimeofday",       164, 170, Refuse(EPERM)),
    both("clock_settime",      227, 112, Refuse(EPERM)),
    both("adjtimex",           159, 171, Refuse(EPERM)),
    both("clock_adjtime",      305, 266, Refuse(EPERM)),
    both("vhangup",            153, 58,  Refuse(EPERM)),
    both("nfsservctl",         180, 42,  Refuse(EPERM)),
    old ("uselib",             134,      Refuse(ENOSYS)),
    old ("iopl",               172,      Refuse(EPERM)),
    old ("ioperm",             173,      Refuse(EPERM)),
    old ("modify_ldt",         154,      Refuse(EPERM)),
    old ("ustat",              136,      Refuse(ENOSYS)),
    old ("sysfs",              139,      Refuse(ENOSYS)),
    old ("_sysctl",            156,      Refuse(EPERM)),
    // Numbers of calls that Linux no longer has; refusing them joins their neighbours into one range.
    old ("create_module",      174,      Refuse(EPERM)),
    old ("get_kernel_syms",    177,      Refuse(EPERM)),
    old ("query_module",       178,      Refuse(EPERM)),
    old ("getpmsg",            181,      Refuse(EPERM)),
    old ("putpmsg",            182,      Refuse(EPERM)),
    old ("afs_syscall",        183,      Refuse(EPERM)),
    old ("tuxcall",            184,      Refuse(EPERM)),
    old ("security",           185,      Refuse(EPERM)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_once_and_below_the_last() {
        for architecture in [Architecture::X86_64, Architecture::Aarch64] {
            let mut numbers: Vec<u32> = LINES.iter().filter_map(|line| line.number(architecture)).collect();
            let count = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), count, "{architecture:?}: a number stands twice");
            assert!(numbers.iter().all(|number| *number <= LAST));
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn numbers_are_those_of_this_system() {
        #[rustfmt::skip]
        let known = [
            ("clone", libc::SYS_clone), ("unshare", libc::SYS_unshare), ("socket", libc::SYS_socket),
            ("socketpair", libc::SYS_socketpair), ("ioctl", libc::SYS_ioctl), ("memfd_create", libc::SYS_memfd_create),
            ("personality", libc::SYS_personality), ("openat", libc::SYS_openat), ("fchmod", libc::SYS_fchmod),
            ("fchmodat", libc::SYS_fchmodat), ("mkdirat", libc::SYS_mkdirat), ("mknodat", libc::SYS_mknodat),
            ("openat2", libc::SYS_openat2), ("clone3", libc::SYS_clone3), ("io_uring_setup", libc::SYS_io_uring_setup),
            ("io_uring_enter", libc::SYS_io_uring_enter), ("io_uring_register", libc::SYS_io_uring_register),
            ("ptrace", libc::SYS_ptrace), ("process_vm_readv", libc::SYS_process_vm_readv),
            ("process_vm_writev", libc::SYS_process_vm_writev), ("kcmp", libc::SYS_kcmp),
            ("pidfd_getfd", libc::SYS_pidfd_getfd), ("process_madvise", libc::SYS_process_madvise),
            ("process_mrelease", libc::SYS_process_mrelease), ("migrate_pages", libc::SYS_migrate_pages),
            ("move_pages", libc::SYS_move_pages), ("mount", libc::SYS_mount), ("umount2", libc::SYS_umount2),
            ("pivot_root", libc::SYS_pivot_root), ("chroot", libc::SYS_chroot), ("setns", libc::SYS_setns),
            ("open_tree", libc::SYS_open_tree), ("move_mount", libc::SYS_move_mount), ("fsopen", libc::SYS_fsopen),
            ("fsconfig", libc::SYS_fsconfig), ("fsmount", libc::SYS_fsmount), ("fspick", libc::SYS_fspick),
            ("mount_setattr", libc::SYS_mount_setattr), ("name_to_handle_at", libc::SYS_name_to_handle_at),
            ("open_by_handle_at", libc::SYS_open_by_handle_at), ("fanotify_init", libc::SYS_fanotify_init),
            ("fanotify_mark", libc::SYS_fanotify_mark), ("quotactl", libc::SYS_quotactl),
            ("quotactl_fd", libc::SYS_quotactl_fd), ("swapon", libc::SYS_swapon), ("swapoff", libc::SYS_swapoff),
            ("add_key", libc::SYS_add_key), ("request_key", libc::SYS_request_key), ("keyctl", libc::SYS_keyctl),
            ("bpf", libc::SYS_bpf), ("perf_event_open", libc::SYS_perf_event_open),
            ("userfaultfd", libc::SYS_userfaultfd), ("memfd_secret", libc::SYS_memfd_secret),
            ("kexec_load", libc::SYS_kexec_load), ("kexec_file_load", libc::SYS_kexec_file_load),
            ("init_module", libc::SYS_init_module), ("finit_module", libc::SYS_finit_module),
            ("delete_module", libc::SYS_delete_module), ("syslog", libc::SYS_syslog),
            ("lookup_dcookie", libc::SYS_lookup_dcookie), ("reboot", libc::SYS_reboot), ("acct", libc::SYS_acct),
            ("sethostname", libc::SYS_sethostname), ("setdomainname", libc::SYS_setdomainname),
            ("settimeofday", libc::SYS_settimeofday), ("clock_settime", libc::SYS_clock_settime),
            ("adjtimex", libc::SYS_adjtimex), ("clock_adjtime", libc::SYS_clock_adjtime),
            ("vhangup", libc::SYS_vhangup), ("nfsservctl", libc::SYS_nfsservctl), ("fcntl", libc::SYS_fcntl),
            ("prctl", libc::SYS_prctl), ("setsockopt", libc::SYS_setsockopt), ("setrlimit", libc::SYS_setrlimit),
            ("prlimit64", libc::SYS_prlimit64), ("seccomp", libc::SYS_seccomp), ("io_setup", libc::SYS_io_setup),
            ("vmsplice", libc::SYS_vmsplice), ("splice", libc::SYS_splice), ("tee", libc::SYS_tee),
            ("sendfile", libc::SYS_sendfile),
        ];
        let mut compared = 0;
        for (name, number) in known {
            let line = LINES.iter().find(|line| line.name == name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(line.number(Architecture::HERE).map(i64::from), Some(number), "{name}");
            compared += 1;
        }
        assert!(compared >= 70);
    }
}
