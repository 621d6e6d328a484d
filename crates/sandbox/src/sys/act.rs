//! The acts: one function for each step, each a few raw system calls.
//!
//! They run in a clone that shares memory with the parent, or in the inner stage. They allocate nothing and cannot panic.

use std::ffi::CStr;
use std::mem::zeroed;

use super::child::{CONTROL, FIRST_RECEIVED};
use super::landlock::landlock;
use super::syscall::call;
use crate::host::Identity;
use crate::linux::op::{Op, Socket};
use crate::step::Step;

/// Carries out one step.
pub(super) fn perform(op: &Op) -> Result<(), (Step, isize)> {
    let at = |step| move |errno| (step, errno);
    match op {
        Op::DieWithParent => {
            prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as usize).map_err(at(Step::ParentDeath))
        }
        Op::WriteTo { step, path, bytes } => write_to(path, bytes).map_err(at(*step)),
        Op::Setting { path, bytes } => {
            let _set = write_to(path, bytes);
            Ok(())
        }
        Op::PrivateMounts => {
            let flags = (libc::MS_REC | libc::MS_PRIVATE) as usize;
            kernel(libc::SYS_mount, &[0, address(c"/"), 0, flags, 0])
                .map(drop)
                .map_err(at(Step::PrivateMounts))
        }
        Op::Tmpfs { step, at: target, options, flags } => {
            let name = address(c"tmpfs");
            kernel(libc::SYS_mount, &[name, address(target), name, *flags as usize, address(options)])
                .map(drop)
                .map_err(at(*step))
        }
        Op::ChangeDirectory { step, to } => {
            kernel(libc::SYS_chdir, &[address(to)]).map(drop).map_err(at(*step))
        }
        Op::PivotRoot { old } => pivot(old).map_err(at(Step::Pivot)),
        Op::MakeDirectory { path, mode } => make_directory(path, *mode).map_err(at(Step::Root)),
        Op::MakeFile { path, mode, content } => make_file(path, *mode, content).map_err(at(Step::Root)),
        Op::Link { to, at: place } => kernel(libc::SYS_symlinkat, &[address(to), AT_FDCWD, address(place)])
            .map(drop)
            .map_err(at(Step::Root)),
        Op::Bind { may_be_gone, onto, source, target, attributes, identity, recursive } => {
            match bind(source, target, *attributes, (*identity, *onto), *recursive) {
                Err((Step::Bind, errno)) if *may_be_gone && errno == libc::ENOENT as isize => Ok(()),
                bound => bound,
            }
        }
        Op::Proc { at: target } => proc(target).map_err(at(Step::Proc)),
        Op::NarrowProc { at: target } => narrow_proc(target).map_err(at(Step::Proc)),
        Op::Detach { path } => detach(path).map_err(at(Step::Pivot)),
        Op::Remove { path, flags } => kernel(libc::SYS_unlinkat, &[AT_FDCWD, address(path), *flags as usize])
            .map(drop)
            .map_err(at(Step::Root)),
        Op::Attributes { path, attributes } => {
            set_attributes(AT_FDCWD, path, 0, *attributes).map_err(at(Step::Root))
        }
        Op::HostName { name } => kernel(libc::SYS_sethostname, &[name.as_ptr() as usize, name.len()])
            .map(drop)
            .map_err(at(Step::Root)),
        Op::RaiseLoopback => raise_loopback().map_err(at(Step::Loopback)),
        Op::Routing { messages } => routing(messages).map_err(at(Step::Gate)),
        Op::OpenSockets { sockets } => open_sockets(sockets).map_err(at(Step::Gate)),
        Op::JoinCgroups { count } => join_cgroups(*count).map_err(at(Step::Cgroup)),
        Op::Session { terminal } => session(*terminal).map_err(at(Step::Session)),
        Op::Limit { resource, value } => limit(*resource, *value).map_err(at(Step::Limit)),
        Op::SmallPages => prctl(libc::PR_SET_THP_DISABLE, 1).map_err(at(Step::Limit)),
        Op::Signals => reset_signals().map_err(at(Step::Signals)),
        Op::CloseOnExecFrom { first } => {
            let flag = libc::CLOSE_RANGE_CLOEXEC as usize;
            kernel(libc::SYS_close_range, &[*first as usize, u32::MAX as usize, flag])
                .map(drop)
                .map_err(at(Step::Descriptors))
        }
        Op::DropCapabilities => drop_capabilities().map_err(at(Step::Capabilities)),
        Op::NoNewPrivileges => prctl(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(at(Step::NoNewPrivileges)),
        Op::Landlock { handled, scoped, rules } => landlock(*handled, *scoped, rules),
        Op::Seccomp { program, observe } => seccomp(program, *observe).map_err(at(Step::Seccomp)),
        Op::Execute(execution) => {
            kernel(libc::SYS_execve, &execution.addresses()).map(drop).map_err(at(Step::Exec))
        }
    }
}

fn prctl(option: i32, value: usize) -> Result<(), isize> {
    kernel(libc::SYS_prctl, &[option as usize, value, 0, 0, 0]).map(drop)
}

pub(super) fn close(descriptor: usize) {
    let _closed = kernel(libc::SYS_close, &[descriptor]);
}

pub(super) fn open(path: &CStr, flags: i32, mode: u32) -> Result<usize, isize> {
    let flags = (flags | libc::O_CLOEXEC) as usize;
    kernel(libc::SYS_openat, &[AT_FDCWD, address(path), flags, mode as usize])
}

fn write_all(descriptor: usize, bytes: &[u8]) -> Result<(), isize> {
    let written = kernel(libc::SYS_write, &[descriptor, bytes.as_ptr() as usize, bytes.len()])?;
    if written == bytes.len() { Ok(()) } else { Err(libc::EIO as isize) }
}

fn write_to(path: &CStr, bytes: &[u8]) -> Result<(), isize> {
    let file = open(path, libc::O_WRONLY, 0)?;
    let result = write_all(file, bytes);
    close(file);
    result
}

fn make_file(path: &CStr, mode: u32, content: &[u8]) -> Result<(), isize> {
    let file = open(path, libc::O_WRONLY | libc::O_CREAT | libc::O_NOFOLLOW, mode)?;
    let result = if content.is_empty() { Ok(()) } else { write_all(file, content) };
    close(file);
    result
}

fn make_directory(path: &CStr, mode: u32) -> Result<(), isize> {
    match kernel(libc::SYS_mkdirat, &[AT_FDCWD, address(path), mode as usize]) {
        Ok(_) => Ok(()),
        Err(errno) if errno == libc::EEXIST as isize => Ok(()),
        Err(errno) => Err(errno),
    }
}

fn pivot(old: &CStr) -> Result<(), isize> {
    kernel(libc::SYS_pivot_root, &[address(c"."), address(old)])?;
    kernel(libc::SYS_chdir, &[address(c"/")]).map(drop)
}

fn detach(path: &CStr) -> Result<(), isize> {
    kernel(libc::SYS_umount2, &[address(path), libc::MNT_DETACH as usize])?;
    kernel(libc::SYS_unlinkat, &[AT_FDCWD, address(path), libc::AT_REMOVEDIR as usize]).map(drop)
}

/// `struct mount_attr` of the kernel.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

fn set_attributes(directory: usize, path: &CStr, flags: i32, set: u64) -> Result<(), isize> {
    let attributes = MountAttributes { set, clear: 0, propagation: 0, user_namespace: 0 };
    kernel(
        libc::SYS_mount_setattr,
        &[
            directory,
            address(path),
            flags as usize,
            (&raw const attributes) as usize,
            size_of::<MountAttributes>(),
        ],
    )
    .map(drop)
}

const MOVE_MOUNT_F_EMPTY_PATH: usize = 4;
const MOVE_MOUNT_T_EMPTY_PATH: usize = 0x40;

fn bind(
    source: &CStr,
    target: &CStr,
    attributes: u64,
    identities: (Option<Identity>, Option<Identity>),
    recursive: bool,
) -> Result<(), (Step, isize)> {
    const OPEN_TREE_CLONE: i32 = 1;
    let depth = if recursive { libc::AT_RECURSIVE } else { 0 };
    let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC | depth;
    let failed = |errno| (Step::Bind, errno);
    let tree = kernel(libc::SYS_open_tree, &[AT_FDCWD, address(source), flags as usize]).map_err(failed)?;
    let result = attach(tree, target, attributes, identities, depth);
    close(tree);
    result
}

fn attach(
    tree: usize,
    target: &CStr,
    attributes: u64,
    (identity, onto): (Option<Identity>, Option<Identity>),
    depth: i32,
) -> Result<(), (Step, isize)> {
    let failed = |errno| (Step::Bind, errno);
    if let Some(expected) = identity {
        compare(tree, expected)?;
    }
    if attributes != 0 {
        set_attributes(tree, c"", libc::AT_EMPTY_PATH | depth, attributes).map_err(failed)?;
    }
    let Some(expected) = onto else {
        return kernel(
            libc::SYS_move_mount,
            &[tree, address(c""), AT_FDCWD, address(target), MOVE_MOUNT_F_EMPTY_PATH],
        )
        .map(drop)
        .map_err(failed);
    };
    // What is held cannot be exchanged before the mount is on it.
    let place = open(target, libc::O_PATH | libc::O_NOFOLLOW, 0).map_err(failed)?;
    let flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
    let attached = compare(place, expected).and_then(|()| {
        kernel(libc::SYS_move_mount, &[tree, address(c""), place, address(c""), flags])
            .map(drop)
            .map_err(failed)
    });
    close(place);
    attached
}

/// Checks that a descriptor is the file that was seen.
pub(super) fn compare(descriptor: usize, expected: Identity) -> Result<(), (Step, isize)> {
    // SAFETY: `stat` is plain data for which zero is a value.
    let mut found: libc::stat = unsafe { zeroed() };
    let flags = libc::AT_EMPTY_PATH as usize;
    kernel(libc::SYS_newfstatat, &[descriptor, address(c""), (&raw mut found) as usize, flags])
        .map_err(|errno| (Step::Bind, errno))?;
    if found.st_dev == expected.device && found.st_ino == expected.inode {
        Ok(())
    } else {
        Err((Step::Changed, libc::ESTALE as isize))
    }
}

/// What is there of `/proc` besides processes: what programs ask of the machine they run on. Everything else tells of the host, as its
/// kernel's command line and symbols, its disks and devices.
const SHOWN_OF_PROC: [&CStr; 11] = [
    c"cgroups",
    c"cpuinfo",
    c"filesystems",
    c"loadavg",
    c"meminfo",
    c"mounts",
    c"net",
    c"stat",
    c"sys",
    c"uptime",
    c"version",
];

/// The descriptors that hold these, above all others of process 1.
pub(super) const SHOWN: std::ops::Range<usize> = 64..64 + SHOWN_OF_PROC.len();

fn proc(target: &CStr) -> Result<(), isize> {
    const FSOPEN_CLOEXEC: usize = 1;
    const FSCONFIG_CMD_CREATE: usize = 6;
    const FSMOUNT_CLOEXEC: usize = 1;
    let attributes =
        libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOEXEC;
    let file_system = kernel(libc::SYS_fsopen, &[address(c"proc"), FSOPEN_CLOEXEC])?;
    // Without `hidepid`: it would hide a program that the user may start and not read from the supervisor too, which then counts
    // neither its memory nor its time. Process 1 is shown, and cannot be looked into.
    let mount = kernel(libc::SYS_fsconfig, &[file_system, FSCONFIG_CMD_CREATE, 0, 0, 0])
        .and_then(|_| kernel(libc::SYS_fsmount, &[file_system, FSMOUNT_CLOEXEC, attributes as usize]));
    close(file_system);
    let mount = mount?;
    let moved = kernel(
        libc::SYS_move_mount,
        &[mount, address(c""), AT_FDCWD, address(target), MOVE_MOUNT_F_EMPTY_PATH],
    );
    close(mount);
    moved.map(drop)
}

fn configure(file_system: usize, name: &CStr, value: &CStr) -> Result<(), isize> {
    const FSCONFIG_SET_STRING: usize = 1;
    let arguments = [file_system, FSCONFIG_SET_STRING, address(name), address(value), 0];
    kernel(libc::SYS_fsconfig, &arguments).map(drop)
}

/// Has the kernel find nothing but processes any more; what is held is still found.
fn narrow_proc(proc: &CStr) -> Result<(), isize> {
    const FSPICK_CLOEXEC: usize = 1;
    const FSCONFIG_CMD_RECONFIGURE: usize = 7;
    hold_shown(proc)?;
    let file_system = kernel(libc::SYS_fspick, &[AT_FDCWD, address(proc), FSPICK_CLOEXEC])?;
    let narrowed = configure(file_system, c"subset", c"pid")
        .and_then(|()| kernel(libc::SYS_fsconfig, &[file_system, FSCONFIG_CMD_RECONFIGURE, 0, 0, 0]));
    close(file_system);
    narrowed.map(drop)
}

/// Opens what is to be found later, without a right to anything. Process 1 keeps these to its end.
fn hold_shown(proc: &CStr) -> Result<(), isize> {
    let flags = (libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC) as usize;
    let folder = open(proc, libc::O_PATH | libc::O_DIRECTORY, 0)?;
    let held = SHOWN_OF_PROC.iter().zip(SHOWN).try_for_each(|(name, place)| {
        match kernel(libc::SYS_openat, &[folder, address(name), flags, 0]) {
            Ok(found) => {
                let placed = kernel(libc::SYS_dup3, &[found, place, 0]);
                close(found);
                placed.map(drop)
            }
            // A kernel may lack some of them.
            Err(_) => Ok(()),
        }
    });
    close(folder);
    held
}

fn raise_loopback() -> Result<(), isize> {
    let socket = kernel(
        libc::SYS_socket,
        &[libc::AF_INET as usize, (libc::SOCK_DGRAM | libc::SOCK_CLOEXEC) as usize, 0],
    )?;
    // SAFETY: `ifreq` is plain data for which zero is a value.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    let raised = kernel(libc::SYS_ioctl, &[socket, libc::SIOCSIFFLAGS as usize, (&raw mut request) as usize]);
    close(socket);
    raised.map(drop)
}

/// The first descriptors beyond the streams, the control socket and the program were sent for this.
fn join_cgroups(count: usize) -> Result<(), isize> {
    for descriptor in FIRST_RECEIVED..FIRST_RECEIVED + count {
        write_all(descriptor, b"0")?;
        close(descriptor);
    }
    Ok(())
}

fn session(terminal: bool) -> Result<(), isize> {
    kernel(libc::SYS_setsid, &[])?;
    if terminal {
        kernel(libc::SYS_ioctl, &[0, libc::TIOCSCTTY as usize, 0])?;
    }
    Ok(())
}

fn limit(resource: u32, value: u64) -> Result<(), isize> {
    let both = [value, value];
    kernel(libc::SYS_prlimit64, &[0, resource as usize, (&raw const both) as usize, 0]).map(drop)
}

/// Handlers were reset by the clone; what the parent ignored (as Rust programs do with `SIGPIPE`) still is.
fn reset_signals() -> Result<(), isize> {
    const SIGNAL_SET: usize = 8;
    let default = [0_u64; 4];
    for signal in 1..=64 {
        if signal != libc::SIGKILL as usize && signal != libc::SIGSTOP as usize {
            kernel(libc::SYS_rt_sigaction, &[signal, (&raw const default) as usize, 0, SIGNAL_SET])?;
        }
    }
    let none = 0_u64;
    kernel(libc::SYS_rt_sigprocmask, &[libc::SIG_SETMASK as usize, (&raw const none) as usize, 0, SIGNAL_SET])
        .map(drop)
}

fn drop_capabilities() -> Result<(), isize> {
    const SECBITS_LOCKED: usize = 0b1110_1111; // no root, no set-uid fix-up, no ambient, each locked; keep-caps locked off
    const VERSION_3: u32 = 0x2008_0522;
    for capability in 0..64 {
        match prctl(libc::PR_CAPBSET_DROP, capability) {
            Ok(()) => {}
            // One past the last capability of this kernel; or there was nothing to drop and no right to drop it.
            Err(errno) if errno == libc::EINVAL as isize || errno == libc::EPERM as isize => break,
            Err(errno) => return Err(errno),
        }
    }
    // Without the right to set them there is also nothing that they would hold back.
    let _locked = prctl(libc::PR_SET_SECUREBITS, SECBITS_LOCKED);
    let header = [VERSION_3, 0];
    let none = [0_u32; 6];
    kernel(libc::SYS_capset, &[(&raw const header) as usize, (&raw const none) as usize]).map(drop)
}

/// `struct sock_fprog` of the kernel.
#[repr(C)]
struct Filter {
    length: u16,
    instructions: *const crate::seccomp::Instruction,
}

fn seccomp(program: &[crate::seccomp::Instruction], observe: bool) -> Result<(), isize> {
    const NEW_LISTENER: usize = 1 << 3;
    // A signal does not break off a call that is being answered: programs do not expect that of opening a file.
    const WAIT_KILLABLE: usize = 1 << 5;
    let Ok(length) = u16::try_from(program.len()) else { return Err(libc::EINVAL as isize) };
    let filter = Filter { length, instructions: program.as_ptr() };
    let install = |flags: usize| {
        let mode = libc::SECCOMP_SET_MODE_FILTER as usize;
        kernel(libc::SYS_seccomp, &[mode, flags, (&raw const filter) as usize])
    };
    let listener = if observe {
        match install(NEW_LISTENER | WAIT_KILLABLE) {
            // Linux before 5.19.
            Err(errno) if errno == libc::EINVAL as isize => install(NEW_LISTENER)?,
            installed => installed?,
        }
    } else {
        install(0)?
    };
    if observe { send(*b"listener", &[listener as i32]) } else { Ok(()) }
}

/// Sends each message and reads what the kernel says to it: `struct nlmsghdr`, then an error number below zero.
fn routing(messages: &[Vec<u8>]) -> Result<(), isize> {
    let kind = (libc::SOCK_RAW | libc::SOCK_CLOEXEC) as usize;
    let socket = kernel(libc::SYS_socket, &[libc::AF_NETLINK as usize, kind, libc::NETLINK_ROUTE as usize])?;
    let sent = messages.iter().try_for_each(|message| {
        let mut answer = [0_i32; 64];
        kernel(libc::SYS_write, &[socket, message.as_ptr() as usize, message.len()])?;
        kernel(libc::SYS_read, &[socket, (&raw mut answer) as usize, size_of_val(&answer)])?;
        let [_, _, _, _, errno, ..] = answer;
        match errno {
            0 => Ok(()),
            // Already so.
            errno if -errno == libc::EEXIST => Ok(()),
            errno => Err(-errno as isize),
        }
    });
    close(socket);
    sent
}

/// How many connections wait to be taken.
const BACKLOG: usize = 4096;

fn open_sockets(sockets: &[Socket]) -> Result<(), isize> {
    let mut descriptors = [0_i32; MOST_SENT];
    let Some(places) = descriptors.get_mut(..sockets.len()) else { return Err(libc::E2BIG as isize) };
    for (place, socket) in places.iter_mut().zip(sockets) {
        *place = open_socket(socket)? as i32;
    }
    let sent = match send(*b"sockets!", places) {
        // What the user has in flight elsewhere is counted too: then they are fetched instead.
        Err(errno) if errno == libc::ETOOMANYREFS as isize => offer(*b"sockets!", places),
        sent => sent,
    };
    places.iter().for_each(|descriptor| close(*descriptor as usize));
    sent
}

fn open_socket(socket: &Socket) -> Result<usize, isize> {
    let kind = (socket.kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) as usize;
    let descriptor = kernel(libc::SYS_socket, &[socket.family as usize, kind, 0])?;
    if socket.family == libc::AF_INET6 {
        let only = 1_i32;
        let (level, option) = (libc::IPPROTO_IPV6 as usize, libc::IPV6_V6ONLY as usize);
        let value = (&raw const only) as usize;
        kernel(libc::SYS_setsockopt, &[descriptor, level, option, value, size_of_val(&only)])?;
    }
    kernel(libc::SYS_bind, &[descriptor, socket.address.as_ptr() as usize, socket.address.len()])?;
    if socket.kind == libc::SOCK_STREAM {
        kernel(libc::SYS_listen, &[descriptor, BACKLOG])?;
    }
    Ok(descriptor)
}

/// How many descriptors go into one message.
pub(crate) const MOST_SENT: usize = 130;

/// Sends descriptors to the parent. The command does not keep them: they are closed when its program is executed.
fn send(mut word: [u8; 8], descriptors: &[i32]) -> Result<(), isize> {
    /// `struct cmsghdr` with its descriptors, padded as the kernel counts.
    #[repr(C, align(8))]
    struct Rights {
        length: usize,
        level: i32,
        kind: i32,
        descriptors: [i32; MOST_SENT],
    }
    const HEADER: usize = 16;
    let mut rights = Rights {
        length: HEADER + size_of_val(descriptors),
        level: libc::SOL_SOCKET,
        kind: libc::SCM_RIGHTS,
        descriptors: [0; MOST_SENT],
    };
    for (to, from) in rights.descriptors.iter_mut().zip(descriptors) {
        *to = *from;
    }
    let mut vector = libc::iovec { iov_base: (&raw mut word).cast(), iov_len: word.len() };
    // SAFETY: `msghdr` is plain data for which zero is a value.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut rights).cast();
    // The C libraries disagree about its size; the kernel reads eight bytes, and the others are zero.
    message.msg_controllen = (HEADER + size_of_val(descriptors)).next_multiple_of(8) as _;
    kernel(libc::SYS_sendmsg, &[CONTROL, (&raw const message) as usize, 0]).map(drop)
}

/// Sends the numbers of descriptors of process 1, and waits until the parent has fetched them.
fn offer(word: [u8; 8], descriptors: &[i32]) -> Result<(), isize> {
    #[repr(C)]
    struct Offer {
        word: [u8; 8],
        descriptors: [i32; MOST_SENT],
    }
    let mut offer = Offer { word, descriptors: [0; MOST_SENT] };
    for (to, from) in offer.descriptors.iter_mut().zip(descriptors) {
        *to = *from;
    }
    let length = word.len() + size_of_val(descriptors);
    kernel(libc::SYS_write, &[CONTROL, (&raw const offer) as usize, length])?;
    let mut answer = 0_u64;
    match kernel(libc::SYS_read, &[CONTROL, (&raw mut answer) as usize, size_of_val(&answer)])? {
        0 => Err(libc::ETOOMANYREFS as isize),
        _ => Ok(()),
    }
}

/// Turns what the kernel returned into a value or an error number above zero.
fn checked(result: isize) -> Result<usize, isize> {
    if result < 0 { Err(-result) } else { Ok(result as usize) }
}

/// Makes a system call whose pointers are all taken from references or are null.
///
/// The functions of this file pass only addresses of values they borrow, with their true lengths; what the kernel
/// writes goes to values of the right type on their own stack.
pub(super) fn kernel(number: i64, arguments: &[usize]) -> Result<usize, isize> {
    let mut all = [0; 6];
    for (to, from) in all.iter_mut().zip(arguments) {
        *to = *from;
    }
    // SAFETY: as said above; each caller is in this file or in `landlock`.
    checked(unsafe { call(number, all) })
}

pub(super) fn address(text: &CStr) -> usize {
    text.as_ptr() as usize
}

const AT_FDCWD: usize = libc::AT_FDCWD as isize as usize;
