//! The seccomp program: which system calls a confined process may make.
//!
//! Pure: the same bytes are made on every machine, from [`table`](self::table) and a [`Profile`]. The program is a binary
//! search over the numbers of the system calls, so that an allowed call passes about eight comparisons instead of a
//! hundred; calls that depend on an argument end in a small check of their own.
//!
//! INVARIANT: a system call of another architecture, of the x32 ABI, or with a number this table does not know is refused.

mod name;
mod oci;
mod program;
mod table;
#[cfg(any(target_os = "linux", test))]
mod watched;

pub use oci::oci_seccomp;
#[cfg(target_os = "linux")]
pub(crate) use program::refusal;
pub use program::{Instruction, program};
#[cfg(any(target_os = "linux", test))]
pub(crate) use watched::{Act, Place, act, watching};

use serde::{Deserialize, Serialize};

/// The processor a program is made for.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// 64-bit ARM.
    Aarch64,
    /// 64-bit Intel and AMD.
    X86_64,
}

impl Architecture {
    /// The architecture this program was built for.
    pub const HERE: Self = if cfg!(target_arch = "aarch64") { Self::Aarch64 } else { Self::X86_64 };

    /// The kernel's name of it (`AUDIT_ARCH_*`).
    const fn audit(self) -> u32 {
        match self {
            Self::Aarch64 => 0xc000_00b7,
            Self::X86_64 => 0xc000_003e,
        }
    }
}

/// What a program lets through beyond the base.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
pub struct Profile {
    /// Lets `socket(AF_UNIX)` through.
    pub unix_sockets: bool,
    /// Lets memory be made that only a control group counts: memory files and the shared memory of System V.
    #[serde(default)]
    pub counted_memory: bool,
    /// Has every refusal told to the supervisor, which answers it: slower, and then the report says what was refused.
    pub observe: bool,
}

/// What happens to a system call that is not simply allowed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Verdict {
    Refuse(u16),
    Check(Check),
}

/// A system call that is judged by an argument.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Check {
    /// No namespace flag in the first argument.
    CloneFlags,
    /// Setting the limit of core files, the first argument's resource, does nothing.
    CoreLimit,
    /// The same, where the resource is the second argument and the third says whether anything is set.
    CoreLimitOf,
    /// No lease on a file, no signal of a folder's changes, no larger pipe.
    FileControl,
    /// No set-uid or set-gid bit in the argument of this number.
    FileMode(u8),
    /// No ioctl that types into or rewires a terminal.
    Ioctl,
    /// Only memory files that can never be executed.
    MemoryFile,
    /// No set-uid or set-gid bit in the mode, which is read only when the flags before it make a file.
    OpenMode(u8),
    /// Only the ordinary personality.
    Personality,
    /// No filter of system calls.
    ProcessControl,
    /// Only families of sockets that a network namespace confines.
    Socket,
    /// No program for the kernel to run on what a socket receives.
    SocketOption,
    /// Only pairs of Unix sockets that reach nothing but each other.
    SocketPair,
    /// Memory that outlives a process or belongs to none: only where a control group counts it.
    UncountedMemory,
    /// Pages of a file that wait in a socket or a pipe: only where a control group counts them. Programs copy them instead.
    UncountedPages,
}

/// Nothing is done, and no error is told.
const NO_ERROR: u16 = 0;
const EPERM: u16 = 1;
const EACCES: u16 = 13;
const EINVAL: u16 = 22;
const ENOSYS: u16 = 38;
const ENOPROTOOPT: u16 = 92;
const EPROTONOSUPPORT: u16 = 93;
const EAFNOSUPPORT: u16 = 97;
