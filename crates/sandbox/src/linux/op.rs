//! The steps of a launch, prepared by the parent and carried out one by one in the clone.
//!
//! Each is one act with everything it needs owned beside it, so that the clone only reads. The list is data: it can be
//! printed, compared and tested without starting anything.

use std::ffi::{CString, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::host::Identity;
use crate::seccomp::Instruction;
use crate::step::Step;

/// One step.
#[derive(Debug)]
pub(crate) enum Op {
    /// `prctl(PR_SET_PDEATHSIG, SIGKILL)`
    DieWithParent,
    /// Opens an existing file, writes to it, closes it.
    WriteTo { step: Step, path: CString, bytes: Vec<u8> },
    /// Writes a setting of the new namespaces, where the kernel has it and lets it be written.
    Setting { path: CString, bytes: Vec<u8> },
    /// `mount(NULL, "/", NULL, flags)`: no mount of ours is seen outside, none from outside after now.
    PrivateMounts,
    /// Mounts a tmpfs over a directory.
    Tmpfs { step: Step, at: CString, options: CString, flags: u64 },
    /// `chdir`
    ChangeDirectory { step: Step, to: CString },
    /// `pivot_root(".", old)`, then `chdir("/")`
    PivotRoot { old: CString },
    /// `mkdir`; a directory that is already there is kept.
    MakeDirectory { path: CString, mode: u32 },
    /// Makes a file with this content.
    MakeFile { path: CString, mode: u32, content: Vec<u8> },
    /// `symlink`
    Link { to: CString, at: CString },
    /// Clones a mount, compares it, sets its attributes, attaches it.
    Bind {
        may_be_gone: bool,
        /// Which file it must be attached to, where that matters.
        onto: Option<Identity>,
        source: CString,
        target: CString,
        attributes: u64,
        identity: Option<Identity>,
        recursive: bool,
    },
    /// Mounts a fresh `/proc`, read-only.
    Proc { at: CString },
    /// Leaves of it the processes, and little else.
    NarrowProc { at: CString },
    /// `umount2(path, MNT_DETACH)`, then `rmdir`
    Detach { path: CString },
    /// `unlink` or `rmdir`
    Remove { path: CString, flags: u32 },
    /// Sets attributes of the mount at a path.
    Attributes { path: CString, attributes: u64 },
    /// `sethostname`: what the machine is called is not the command's business.
    HostName { name: Vec<u8> },
    /// Raises `lo`.
    RaiseLoopback,
    /// Sends messages to the kernel's routing, each of which must be acknowledged.
    Routing { messages: Vec<Vec<u8>> },
    /// Makes sockets and sends them over the control socket, in this order.
    OpenSockets { sockets: Vec<Socket> },
    /// Writes `0` to this many of the received descriptors after the first three: joins those control groups.
    JoinCgroups { count: usize },
    /// `setsid`, and with a terminal on descriptor 0 makes it the controlling one.
    Session { terminal: bool },
    /// `setrlimit`, both soft and hard
    Limit { resource: u32, value: u64 },
    /// `prctl(PR_SET_THP_DISABLE)`. A huge page of which little is still mapped is kept whole, and the process shows only that little.
    /// Until it executes its program a process shares its memory with us: this program has no huge pages either from then on.
    SmallPages,
    /// Empties the signal mask and sets the ignored signals back.
    Signals,
    /// `close_range(first, .., CLOSE_RANGE_CLOEXEC)`
    CloseOnExecFrom { first: u32 },
    /// Empties the bounding, ambient and every other set; locks the special treatment of uid 0 out.
    DropCapabilities,
    /// `prctl(PR_SET_NO_NEW_PRIVS)`
    NoNewPrivileges,
    /// A Landlock domain.
    Landlock { handled: u64, scoped: u64, rules: Vec<Beneath> },
    /// A seccomp filter. With `observe`, the descriptor that tells of calls is sent over the control socket.
    Seccomp { program: Vec<Instruction>, observe: bool },
    /// `execve`
    Execute(Execution),
}

/// A rule of a Landlock domain: what is allowed on a path and below it.
#[derive(Debug)]
pub(crate) struct Beneath {
    pub(crate) path: CString,
    pub(crate) rights: u64,
    /// Which file it must be, where that is known.
    pub(crate) identity: Option<Identity>,
}

/// A socket to be made, with its address as the kernel takes it.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Socket {
    pub(crate) family: i32,
    pub(crate) kind: i32,
    pub(crate) address: Vec<u8>,
}

/// A program with its arguments and environment, laid out for `execve`.
#[derive(Debug)]
pub(crate) struct Execution {
    path: CString,
    _texts: Vec<CString>,
    arguments: Pointers,
    environment: Pointers,
}

#[derive(Debug)]
pub(crate) struct Pointers(Vec<*const c_char>);

impl Execution {
    pub(crate) fn new(path: CString, arguments: Vec<CString>, environment: Vec<CString>) -> Self {
        // The texts lie on the heap, so that their addresses stay when the vectors move.
        let list = |texts: &[CString]| {
            Pointers(texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect())
        };
        let (argv, envp) = (list(&arguments), list(&environment));
        let texts = arguments.into_iter().chain(environment).collect();
        Self { path, _texts: texts, arguments: argv, environment: envp }
    }

    /// Returns the program.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(self.path.as_bytes()))
    }

    /// Returns the addresses that `execve` takes, valid as long as this value.
    pub(crate) fn addresses(&self) -> [usize; 3] {
        [
            self.path.as_ptr() as usize,
            self.arguments.0.as_ptr() as usize,
            self.environment.0.as_ptr() as usize,
        ]
    }
}
