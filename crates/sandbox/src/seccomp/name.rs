//! The system calls that are simply allowed, by name: what a profile for a container engine has to list.
//!
//! INVARIANT: together with the [table](super::table) these are all calls up to [`LAST`](super::table::LAST), and none stands in both.

/// Names of x86-64 and of aarch64, in alphabetical order; an engine passes over those that its processor does not have.
#[rustfmt::skip]
pub(super) const ALLOWED: &[&str] = &[
    "accept", "accept4", "access", "alarm", "arch_prctl", "bind", "brk", "cachestat", "capget", "capset",
    "chdir", "chown", "clock_getres", "clock_gettime", "clock_nanosleep", "close", "close_range", "connect",
    "copy_file_range", "dup", "dup2", "dup3", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_ctl_old",
    "epoll_pwait", "epoll_pwait2", "epoll_wait", "epoll_wait_old", "eventfd", "eventfd2", "execve",
    "execveat", "exit", "exit_group", "faccessat", "faccessat2", "fadvise64", "fallocate", "fchdir", "fchown",
    "fchownat", "fdatasync", "fgetxattr", "flistxattr", "flock", "fork", "fremovexattr", "fsetxattr",
    "fstat", "fstatfs", "fsync", "ftruncate", "futex", "futex_waitv", "futimesat", "get_mempolicy",
    "get_robust_list", "get_thread_area", "getcpu", "getcwd", "getdents", "getdents64", "getegid", "geteuid",
    "getgid", "getgroups", "getitimer", "getpeername", "getpgid", "getpgrp", "getpid", "getppid",
    "getpriority", "getrandom", "getresgid", "getresuid", "getrlimit", "getrusage", "getsid", "getsockname",
    "getsockopt", "gettid", "gettimeofday", "getuid", "getxattr", "inotify_add_watch", "inotify_init",
    "inotify_init1", "inotify_rm_watch", "io_cancel", "io_destroy", "io_getevents", "io_pgetevents",
    "io_submit", "ioprio_get", "ioprio_set", "kill", "landlock_add_rule",
    "landlock_create_ruleset", "landlock_restrict_self", "lchown", "lgetxattr", "link", "linkat", "listen",
    "listxattr", "llistxattr", "lremovexattr", "lseek", "lsetxattr", "lstat", "madvise", "mbind",
    "membarrier", "mincore", "mlock", "mlock2", "mlockall", "mmap", "mprotect", "mq_getsetattr", "mq_notify",
    "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink", "mremap", "msgctl", "msgrcv", "msgsnd",
    "msync", "munlock", "munlockall", "munmap", "nanosleep", "newfstatat", "pause", "pidfd_open",
    "pidfd_send_signal", "pipe", "pipe2", "pkey_alloc", "pkey_free", "pkey_mprotect", "poll", "ppoll",
    "pread64", "preadv", "preadv2", "pselect6", "pwrite64", "pwritev", "pwritev2",
    "read", "readahead", "readlink", "readlinkat", "readv", "recvfrom", "recvmmsg", "recvmsg",
    "remap_file_pages", "removexattr", "rename", "renameat", "renameat2", "restart_syscall", "rmdir", "rseq",
    "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
    "rt_sigtimedwait", "rt_tgsigqueueinfo", "sched_get_priority_max", "sched_get_priority_min",
    "sched_getaffinity", "sched_getattr", "sched_getparam", "sched_getscheduler", "sched_rr_get_interval",
    "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler", "sched_yield",
    "select", "semctl", "semop", "semtimedop", "sendmmsg", "sendmsg", "sendto", "set_mempolicy",
    "set_mempolicy_home_node", "set_robust_list", "set_thread_area", "set_tid_address", "setfsgid",
    "setfsuid", "setgid", "setgroups", "setitimer", "setpgid", "setpriority", "setregid", "setresgid",
    "setresuid", "setreuid", "setsid", "setuid", "setxattr", "shmat", "shmctl",
    "shmdt", "shutdown", "sigaltstack", "signalfd", "signalfd4", "stat", "statfs", "statx",
    "symlink", "symlinkat", "sync", "sync_file_range", "syncfs", "sysinfo",
    "tgkill", "time", "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime",
    "timerfd_create", "timerfd_gettime", "timerfd_settime", "times", "tkill", "truncate", "umask", "uname",
    "unlink", "unlinkat", "utime", "utimensat", "utimes", "vfork", "vserver", "wait4", "waitid",
    "write", "writev",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seccomp::Architecture;
    use crate::seccomp::table::LINES;

    #[test]
    fn no_name_stands_twice_or_in_the_table() {
        assert!(ALLOWED.is_sorted_by(|one, next| one < next));
        for line in LINES {
            assert!(!ALLOWED.contains(&line.name), "{}", line.name);
        }
    }

    #[test]
    fn every_number_has_a_name() {
        // x86-64 has the numbers 0 to 334 and 424 to 452.
        let judged = LINES.iter().filter(|line| line.number(Architecture::X86_64).is_some()).count();
        assert_eq!(ALLOWED.len() + judged, 335 + 29);
    }
}
