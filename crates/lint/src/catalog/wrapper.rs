//! Crates that are a thin skin over system calls, told by name: looking inside would only find assembly and numbers.
//!
//! INVARIANT: a name of such a crate that no list knows is `None`; the caller then looks inside the crate.

use super::set;
use crate::Effect::{self, Clock, EnvRead, EnvWrite, Exec, FsRead, FsWrite, NetConnect, NetListen, Random};
use crate::EffectSet;

/// Returns what a function of a crate that wraps system calls does, by its crate and the rest of its path without generic arguments.
pub fn of_wrapper(krate: &str, path: &str) -> Option<EffectSet> {
    let name = path.rsplit("::").next()?;
    match krate {
        "getrandom" => Some(
            if matches!(name, "fill" | "fill_uninit" | "getrandom" | "getrandom_uninit" | "u32" | "u64")
                || path.starts_with("SysRng")
            {
                set(&[Random])
            } else {
                EffectSet::NONE
            },
        ),
        "rustix" | "nix" => {
            let module = path.split("::").next().unwrap_or("");
            TABLE
                .iter()
                .find(|(modules, names, _)| {
                    modules.split_whitespace().any(|known| known == module)
                        && names.split_whitespace().any(|known| known == name || known == "*")
                })
                .map(|(_, _, effects)| set(effects))
        }
        _ => None,
    }
}

/// First module of the path, names, what they do. The first line that fits decides.
#[rustfmt::skip]
const TABLE: &[(&str, &str, &[Effect])] = &[
    ("fs fcntl", "open openat openat2", &[FsRead, FsWrite]),
    ("fs", "stat lstat statat statx statfs statvfs readlink readlinkat readlinkat_raw access accessat getxattr lgetxattr listxattr llistxattr", &[FsRead]),
    ("fs", "add_watch new read_from", &[FsRead]),
    ("fs", "unlink unlinkat rename renameat renameat_with mkdir mkdirat rmdir link linkat symlink symlinkat chmod chmodat chown chownat mknodat utimensat truncate mkfifoat \
            setxattr lsetxattr removexattr lremovexattr", &[FsWrite]),
    ("mount", "*", &[FsWrite]),
    ("unistd", "unlink unlinkat mkdir mkdirat rmdir link linkat symlinkat chown fchownat truncate mkstemp mkdtemp mkfifo mkfifoat chroot pivot_root", &[FsWrite]),
    ("unistd", "access faccessat eaccess readlink", &[FsRead]),
    ("unistd", "execv execve execvp execvpe execveat fexecve fork daemon", &[Exec]),
    ("unistd", "getcwd gethostname", &[EnvRead]),
    ("unistd", "chdir fchdir sethostname", &[EnvWrite]),
    ("unistd", "*", &[]),
    ("fcntl", "readlink readlinkat", &[FsRead]),
    ("fcntl", "renameat renameat2", &[FsWrite]),
    ("fcntl", "*", &[]),
    ("dir", "open openat", &[FsRead]),
    ("spawn", "posix_spawn posix_spawnp", &[Exec]),
    ("sched", "clone", &[Exec]),
    ("net", "connect connect_v4 connect_v6 connect_unix connect_any sendto sendto_v4 sendto_v6 sendto_unix sendto_any sendmsg sendmsg_v4 sendmsg_v6 sendmsg_unix sendmsg_addr sendmsg_any", &[NetConnect]),
    ("net", "listen recvfrom recvmsg accept accept_with acceptfrom acceptfrom_with", &[NetListen]),
    ("process system", "getcwd uname", &[EnvRead]),
    ("process", "chdir fchdir", &[EnvWrite]),
    ("process", "chroot pivot_root", &[FsWrite]),
    ("process", "execveat kernel_fork", &[Exec]),
    ("runtime", "execve execveat kernel_fork", &[Exec]),
    ("io_uring", "*", &[Effect::Syscall]),
    ("rand", "getrandom", &[Random]),
    ("time", "clock_gettime clock_gettime_dynamic clock_getres now", &[Clock]),
    ("time", "clock_settime", &[Clock, EnvWrite]),
    ("fs io net event pipe mm thread process termios stdio pty param rand time system runtime shm ffi path fd", "*", &[]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_are_told_by_name() {
        #[rustfmt::skip]
        let cases: &[(&str, &str, Option<&[Effect]>)] = &[
            ("rustix",    "fs::openat",       Some(&[FsRead, FsWrite])),
            ("rustix",    "fs::unlinkat",     Some(&[FsWrite])),
            ("rustix",    "net::connect",     Some(&[NetConnect])),
            ("rustix",    "io::read",         Some(&[])),
            ("rustix",    "backend::x::open", None),
            ("nix",       "unistd::execvp",   Some(&[Exec])),
            ("nix",       "sys::socket::bind", None),
            ("getrandom", "fill",             Some(&[Random])),
            ("getrandom", "Error::code",      Some(&[])),
            ("mio",       "fs::open",         None),
        ];
        for (krate, path, expected) in cases {
            assert_eq!(of_wrapper(krate, path), expected.map(set), "{krate}::{path}");
        }
    }
}
