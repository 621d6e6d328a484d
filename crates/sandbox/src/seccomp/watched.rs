//! The system calls that name a path, a program or an address, and the filter that has them told.
//!
//! The filter is laid beside the confining one and confines nothing: the kernel takes the strictest answer of all filters, so
//! that a call which the other one refuses stays refused and is not told of.
//!
//! INVARIANT: `sendmsg` is not among them. The command's process hands out by it the descriptor that tells of calls.

use super::Architecture;
use super::program::{Instruction, telling};
use crate::record::How;

/// A system call that is told of.
pub(crate) struct Watched {
    x86_64: Option<u32>,
    aarch64: Option<u32>,
    pub(crate) act: Act,
}

/// What it does with what it names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Act {
    /// A socket address in the argument of this number; its length is in the next.
    Address(u8),
    /// Makes a file, or empties it.
    Create(Place),
    /// One thing with one path.
    Do(How, Place),
    /// Looks at the first, makes the second.
    Link(Place, Place),
    /// Opens with the flags in the argument of this number.
    Open(Place, u8),
    /// Starts a program.
    Execute(Place),
    /// Removes the first, makes the second.
    Rename(Place, Place),
    /// A socket address that is there only when its length, in the argument of this number, is not 0; it is in the one before.
    Send(u8),
}

/// Where the arguments say a path: the descriptor of the folder it starts from, and the text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Place {
    pub(crate) folder: Option<u8>,
    pub(crate) text: u8,
}

/// The path of this argument, from the working directory.
const fn here(text: u8) -> Place {
    Place { folder: None, text }
}

/// The path of this argument, from the folder in the argument before it.
const fn below(text: u8) -> Place {
    Place { folder: Some(text - 1), text }
}

const fn both(x86_64: u32, aarch64: u32, act: Act) -> Watched {
    Watched { x86_64: Some(x86_64), aarch64: Some(aarch64), act }
}

const fn old(x86_64: u32, act: Act) -> Watched {
    Watched { x86_64: Some(x86_64), aarch64: None, act }
}

use Act::{Address, Create, Do, Execute, Link, Open, Rename, Send};
use How::{Change, Look, Make, Remove};

#[rustfmt::skip]
pub(crate) const WATCHED: &[Watched] = &[
    old (2,        Open(here(0), 1)),             // open
    both(257, 56,  Open(below(1), 2)),            // openat
    old (85,       Create(here(0))),              // creat
    old (4,        Do(Look, here(0))),            // stat
    old (6,        Do(Look, here(0))),            // lstat
    both(262, 79,  Do(Look, below(1))),           // newfstatat
    both(332, 291, Do(Look, below(1))),           // statx
    old (21,       Do(Look, here(0))),            // access
    both(269, 48,  Do(Look, below(1))),           // faccessat
    both(439, 439, Do(Look, below(1))),           // faccessat2
    old (89,       Do(Look, here(0))),            // readlink
    both(267, 78,  Do(Look, below(1))),           // readlinkat
    both(137, 43,  Do(Look, here(0))),            // statfs
    both(80,  49,  Do(Look, here(0))),            // chdir
    both(254, 27,  Do(Look, here(1))),            // inotify_add_watch
    both(191, 8,   Do(Look, here(0))),            // getxattr
    both(192, 9,   Do(Look, here(0))),            // lgetxattr
    both(194, 11,  Do(Look, here(0))),            // listxattr
    both(195, 12,  Do(Look, here(0))),            // llistxattr
    both(59,  221, Execute(here(0))),             // execve
    both(322, 281, Execute(below(1))),            // execveat
    old (83,       Do(Make, here(0))),            // mkdir
    both(258, 34,  Do(Make, below(1))),           // mkdirat
    old (133,      Do(Make, here(0))),            // mknod
    both(259, 33,  Do(Make, below(1))),           // mknodat
    old (88,       Do(Make, here(1))),            // symlink
    both(266, 36,  Do(Make, below(2))),           // symlinkat
    old (84,       Do(Remove, here(0))),          // rmdir
    old (87,       Do(Remove, here(0))),          // unlink
    both(263, 35,  Do(Remove, below(1))),         // unlinkat
    old (82,       Rename(here(0), here(1))),     // rename
    both(264, 38,  Rename(below(1), below(3))),   // renameat
    both(316, 276, Rename(below(1), below(3))),   // renameat2
    old (86,       Link(here(0), here(1))),       // link
    both(265, 37,  Link(below(1), below(3))),     // linkat
    old (90,       Do(Change, here(0))),          // chmod
    both(268, 53,  Do(Change, below(1))),         // fchmodat
    both(452, 452, Do(Change, below(1))),         // fchmodat2
    old (92,       Do(Change, here(0))),          // chown
    old (94,       Do(Change, here(0))),          // lchown
    both(260, 54,  Do(Change, below(1))),         // fchownat
    both(76,  45,  Do(Change, here(0))),          // truncate
    old (132,      Do(Change, here(0))),          // utime
    old (235,      Do(Change, here(0))),          // utimes
    old (261,      Do(Change, below(1))),         // futimesat
    both(280, 88,  Do(Change, below(1))),         // utimensat
    both(188, 5,   Do(Change, here(0))),          // setxattr
    both(189, 6,   Do(Change, here(0))),          // lsetxattr
    both(197, 14,  Do(Change, here(0))),          // removexattr
    both(198, 15,  Do(Change, here(0))),          // lremovexattr
    both(42,  203, Address(1)),                   // connect
    both(49,  200, Address(1)),                   // bind
    both(44,  206, Send(5)),                      // sendto
];

impl Watched {
    const fn number(&self, architecture: Architecture) -> Option<u32> {
        match architecture {
            Architecture::Aarch64 => self.aarch64,
            Architecture::X86_64 => self.x86_64,
        }
    }
}

/// Returns what a system call of this number does.
pub(crate) fn act(architecture: Architecture, number: u32) -> Option<Act> {
    WATCHED.iter().find(|watched| watched.number(architecture) == Some(number)).map(|watched| watched.act)
}

/// Makes the filter that tells of them all.
pub(crate) fn watching(architecture: Architecture) -> Vec<Instruction> {
    let calls = WATCHED.iter().filter_map(|watched| {
        let unless_zero = match watched.act {
            Send(length) => Some(length),
            _ => None,
        };
        Some((watched.number(architecture)?, unless_zero))
    });
    telling(architecture, &calls.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_stands_twice() {
        for architecture in [Architecture::X86_64, Architecture::Aarch64] {
            let mut numbers: Vec<u32> =
                WATCHED.iter().filter_map(|watched| watched.number(architecture)).collect();
            let count = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), count);
        }
        assert_eq!(act(Architecture::X86_64, 257), Some(Open(below(1), 2)));
        assert_eq!(act(Architecture::Aarch64, 257), None);
    }

    /// The numbers are those of this machine's own headers, where they are the same calls.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn the_numbers_are_the_kernels() {
        #[rustfmt::skip]
        let numbers = [
            libc::SYS_open, libc::SYS_openat, libc::SYS_creat, libc::SYS_stat, libc::SYS_lstat, libc::SYS_newfstatat, libc::SYS_statx,
            libc::SYS_access, libc::SYS_faccessat, libc::SYS_faccessat2, libc::SYS_readlink, libc::SYS_readlinkat, libc::SYS_statfs,
            libc::SYS_chdir, libc::SYS_inotify_add_watch, libc::SYS_getxattr, libc::SYS_lgetxattr, libc::SYS_listxattr,
            libc::SYS_llistxattr, libc::SYS_execve, libc::SYS_execveat, libc::SYS_mkdir, libc::SYS_mkdirat, libc::SYS_mknod,
            libc::SYS_mknodat, libc::SYS_symlink, libc::SYS_symlinkat, libc::SYS_rmdir, libc::SYS_unlink, libc::SYS_unlinkat,
            libc::SYS_rename, libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_link, libc::SYS_linkat, libc::SYS_chmod,
            libc::SYS_fchmodat, 452, libc::SYS_chown, libc::SYS_lchown, libc::SYS_fchownat, libc::SYS_truncate, libc::SYS_utime,
            libc::SYS_utimes, libc::SYS_futimesat, libc::SYS_utimensat, libc::SYS_setxattr, libc::SYS_lsetxattr,
            libc::SYS_removexattr, libc::SYS_lremovexattr, libc::SYS_connect, libc::SYS_bind, libc::SYS_sendto,
        ];
        let own: Vec<i64> =
            WATCHED.iter().map(|watched| i64::from(watched.x86_64.unwrap_or_default())).collect();
        assert_eq!(own, numbers);
    }
}
