//! Which limits there are and what enforces each.

use std::fmt;

use serde::Serialize;

/// A limit by name, as it is written after `--limit`.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitName {
    /// Processor time.
    Cpu,
    /// Size of one written file.
    FileSize,
    /// Memory.
    Memory,
    /// Open files of one process.
    OpenFiles,
    /// Output kept.
    Output,
    /// Processes and threads.
    Processes,
    /// Scratch space.
    Scratch,
    /// Wall-clock time.
    Wall,
}

impl LimitName {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Cpu,
        Self::FileSize,
        Self::Memory,
        Self::OpenFiles,
        Self::Output,
        Self::Processes,
        Self::Scratch,
        Self::Wall,
    ];
}

impl fmt::Display for LimitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::FileSize => "file-size",
            Self::Memory => "memory",
            Self::OpenFiles => "open-files",
            Self::Output => "output",
            Self::Processes => "processes",
            Self::Scratch => "scratch",
            Self::Wall => "wall",
        })
    }
}

/// What enforces a limit, from the whole tree of processes to one of them.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Enforcer {
    /// A control group of the second version: the whole tree.
    CgroupV2,
    /// A control group of the first version: the whole tree.
    CgroupV1,
    /// The size of a mount.
    Mount,
    /// A limit of the user namespace: the whole tree.
    Namespace,
    /// A limit that each process has for itself.
    PerProcess,
    /// This process, which watches.
    Supervisor,
    /// A limit of the user, which counts what the user runs elsewhere too.
    User,
}
