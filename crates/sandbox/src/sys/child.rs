//! What runs between clone and exec: first as process 1 of the namespaces, then as process 2, the command.
//!
//! Everything here shares memory with the parent. It reads what the parent prepared, makes raw system calls, and writes
//! nothing but its own stack and the two atomics of [`Context`].

use std::ffi::{CStr, c_void};
use std::mem::zeroed;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use super::clone::clone_command;
use super::syscall::call;
use crate::host::Identity;
use crate::linux::op::Op;
use crate::step::Step;

/// Where the control socket and the program of process 1 are put, above the standard streams.
const CONTROL: usize = 3;
const INIT: usize = 4;
/// Where received descriptors beyond the standard streams are put.
pub(crate) const FIRST_RECEIVED: usize = INIT + 1;
/// The most descriptors that can be received.
pub(crate) const MAX_RECEIVED: usize = 16;

/// What the parent sends over the control socket, with the descriptors: where in memory the rest of the steps is.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Instructions([Steps; 3]);

/// Where a list of steps is, and how long it is.
#[derive(Clone, Copy)]
#[repr(C)]
struct Steps {
    first: *const Op,
    length: usize,
}

impl Steps {
    const fn new(ops: &[Op]) -> Self {
        Self { first: ops.as_ptr(), length: ops.len() }
    }

    /// # Safety
    ///
    /// The list this was made from must still be there, and stay as long as what is returned is used.
    const unsafe fn get<'a>(self) -> &'a [Op] {
        // SAFETY: passed on from the caller.
        unsafe { core::slice::from_raw_parts(self.first, self.length) }
    }
}

impl Instructions {
    /// Points at steps for process 1 before and after it has made the command's process, and at the command's own. They
    /// must live until the command has ended.
    pub(crate) fn new(outer: &[Op], closing: &[Op], inner: &[Op]) -> Self {
        Self([outer, closing, inner].map(Steps::new))
    }

    /// Returns the message for the control socket.
    pub(crate) fn to_bytes(self) -> [u8; size_of::<Self>()] {
        let words = self.0.map(|steps| [steps.first as usize, steps.length]);
        let mut bytes = [0; size_of::<Self>()];
        let words = words.as_flattened().iter().flat_map(|word| word.to_ne_bytes());
        for (to, from) in bytes.iter_mut().zip(words) {
            *to = from;
        }
        bytes
    }
}

/// A step that failed, and how.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Failure {
    pub(crate) step: Step,
    pub(crate) errno: i32,
    /// The number of the step in its list.
    pub(crate) index: usize,
    /// Whether the list was the one sent with the instructions (the command's follow process 1's).
    pub(crate) part: Part,
}

/// Which list of steps an index counts in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Part {
    /// The steps that build the namespaces.
    Namespaces = 0,
    /// The steps of process 1 that the plan asks for.
    Outer = 1,
    /// The steps of the command.
    Inner = 2,
    /// The steps of process 1 after it has made the command's process.
    Closing = 3,
}

/// What the clone is given. It lives in the parent's memory as long as the clone.
pub(super) struct Context {
    ops: Arc<[Op]>,
    control: i32,
    init: i32,
    stack: u64,
    stack_size: u64,
    failed: AtomicU64,
    inner: AtomicU64,
    inner_length: AtomicU64,
    /// Set when the old root is gone and the new one is closed.
    sealed: AtomicU64,
    /// Both ends of the pipe that closes when process 1 has a program of its own.
    gate: [AtomicI32; 2],
}

impl Context {
    pub(super) fn new(ops: Arc<[Op]>, control: i32, init: i32, stack: u64, stack_size: u64) -> Self {
        let zero = || AtomicU64::new(0);
        let gate = [AtomicI32::new(-1), AtomicI32::new(-1)];
        Self {
            ops,
            control,
            init,
            stack,
            stack_size,
            failed: zero(),
            inner: zero(),
            inner_length: zero(),
            sealed: zero(),
            gate,
        }
    }

    pub(super) fn failure(&self) -> Option<Failure> {
        decode(self.failed.load(Ordering::Acquire))
    }

    fn fail(&self, part: Part, index: usize, step: Step, errno: isize) -> ! {
        self.failed.store(encode(part, index, step, errno), Ordering::Release);
        exit(1)
    }
}

const fn encode(part: Part, index: usize, step: Step, errno: isize) -> u64 {
    (part as u64) << 60 | ((index as u64) & 0xfff_ffff) << 32 | (step as u64) << 16 | (errno as u64) & 0xffff
}

fn decode(word: u64) -> Option<Failure> {
    let part = match word >> 60 {
        0 => Part::Namespaces,
        1 => Part::Outer,
        2 => Part::Inner,
        _ => Part::Closing,
    };
    let step = Step::from_number((word >> 16 & 0xffff) as u32)?;
    Some(Failure { step, errno: (word & 0xffff) as i32, index: (word >> 32 & 0xfff_ffff) as usize, part })
}

/// Process 1, from the clone to the program of `sys::init`.
pub(super) extern "C" fn namespace_entry(context: *mut c_void) -> ! {
    // SAFETY: `enter` passes its context, which outlives this process.
    let context: &Context = unsafe { &*context.cast::<Context>() };
    if let Err(errno) = place_descriptors(context.control, context.init) {
        context.fail(Part::Namespaces, 0, Step::Descriptors, errno);
    }
    run(context, Part::Namespaces, &context.ops);

    let instructions = match receive() {
        Ok(instructions) => instructions,
        Err(errno) => context.fail(Part::Namespaces, 0, Step::Control, errno),
    };
    let Instructions([outer, closing, inner]) = instructions;
    // SAFETY: the parent keeps the steps it has sent until everything is over.
    run(context, Part::Outer, unsafe { outer.get() });

    let ends = match pipe() {
        Ok(ends) => ends,
        Err(errno) => context.fail(Part::Namespaces, 0, Step::Descriptors, errno),
    };
    for (gate, end) in context.gate.iter().zip(ends) {
        gate.store(end, Ordering::Release);
    }
    context.inner.store(inner.first as u64, Ordering::Release);
    context.inner_length.store(inner.length as u64, Ordering::Release);
    let pointer = (&raw const *context).cast_mut().cast();
    // SAFETY: this is a clone; the second stack belongs to the context and is used by nobody else.
    let command = unsafe { clone_command(context.stack, context.stack_size, command_entry, pointer) };
    if command < 0 {
        context.fail(Part::Namespaces, 0, Step::Clone, -command);
    }
    // While the command's process restricts itself. It executes nothing before this is done.
    // SAFETY: as above.
    run(context, Part::Closing, unsafe { closing.get() });
    context.sealed.store(1, Ordering::Release);
    if let Err(errno) = become_init() {
        context.fail(Part::Namespaces, 0, Step::Init, errno);
    }
    exit(1)
}

/// Process 2, from its clone to the command's program.
extern "C" fn command_entry(context: *mut c_void) -> ! {
    // SAFETY: `namespace_entry` passes on its context.
    let context: &Context = unsafe { &*context.cast::<Context>() };
    let inner = context.inner.load(Ordering::Acquire) as *const Op;
    let length = context.inner_length.load(Ordering::Acquire) as usize;
    // SAFETY: as the steps of process 1.
    let inner = unsafe { Steps { first: inner, length }.get() };
    let Some((execute, preparation)) = inner.split_last() else {
        context.fail(Part::Inner, 0, Step::Exec, libc::ENOEXEC as isize)
    };
    run(context, Part::Inner, preparation);
    // Until process 1 has a program of its own, it still is this program to whoever looks at it from inside. And when
    // it is killed instead, the gate opens too: then nothing may be executed.
    if let Err(errno) = wait_for_init(context) {
        context.fail(Part::Inner, length, Step::Init, errno);
    }
    if context.sealed.load(Ordering::Acquire) == 0 {
        exit(1);
    }
    if let Err((step, errno)) = perform(execute) {
        context.fail(Part::Inner, length - 1, step, errno);
    }
    exit(1)
}

/// Reads from the gate until nobody holds its other end.
fn wait_for_init(context: &Context) -> Result<(), isize> {
    let [read, write] = context.gate.each_ref().map(|end| end.load(Ordering::Acquire) as usize);
    close(write);
    let mut byte = 0_u8;
    loop {
        match kernel(libc::SYS_read, &[read, (&raw mut byte) as usize, 1]) {
            Ok(_) => return Ok(()),
            Err(errno) if errno == libc::EINTR as isize => {}
            Err(errno) => return Err(errno),
        }
    }
}

fn pipe() -> Result<[i32; 2], isize> {
    let mut ends = [0_i32; 2];
    kernel(libc::SYS_pipe2, &[(&raw mut ends) as usize, libc::O_CLOEXEC as usize])?;
    Ok(ends)
}

fn run(context: &Context, part: Part, ops: &[Op]) {
    for (index, op) in ops.iter().enumerate() {
        if let Err((step, errno)) = perform(op) {
            context.fail(part, index, step, errno);
        }
    }
}

/// Carries out steps in this very process, which must be single-threaded; returns only the failure.
pub(super) fn apply_here(ops: &[Op]) -> Failure {
    for (index, op) in ops.iter().enumerate() {
        if let Err((step, errno)) = perform(op) {
            return Failure { step, errno: errno as i32, index, part: Part::Inner };
        }
    }
    Failure { step: Step::Exec, errno: libc::ENOEXEC, index: ops.len(), part: Part::Inner }
}

fn exit(code: usize) -> ! {
    loop {
        // SAFETY: takes a number and does not return.
        unsafe { call(libc::SYS_exit_group, [code, 0, 0, 0, 0, 0]) };
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
fn kernel(number: i64, arguments: &[usize]) -> Result<usize, isize> {
    let mut all = [0; 6];
    for (to, from) in all.iter_mut().zip(arguments) {
        *to = *from;
    }
    // SAFETY: as said above; each caller is in this file.
    checked(unsafe { call(number, all) })
}

fn address(text: &CStr) -> usize {
    text.as_ptr() as usize
}

const AT_FDCWD: usize = libc::AT_FDCWD as isize as usize;

/// Keeps the control socket and the program of process 1, and closes everything else that was inherited.
fn place_descriptors(control: i32, init: i32) -> Result<(), isize> {
    let cloexec = libc::O_CLOEXEC as usize;
    // Out of the way first, so that neither overwrites the other.
    let high = 100;
    let duplicate = |descriptor: i32| {
        kernel(libc::SYS_fcntl, &[descriptor as usize, libc::F_DUPFD_CLOEXEC as usize, high])
    };
    let (control, init) = (duplicate(control)?, duplicate(init)?);
    kernel(libc::SYS_dup3, &[control, CONTROL, cloexec])?;
    kernel(libc::SYS_dup3, &[init, INIT, cloexec])?;
    kernel(libc::SYS_close_range, &[0, 2, 0])?;
    kernel(libc::SYS_close_range, &[INIT + 1, u32::MAX as usize, 0])?;
    Ok(())
}

/// Waits for the instructions, with which the standard streams come as descriptors 0, 1 and 2.
fn receive() -> Result<Instructions, isize> {
    #[repr(C, align(8))]
    struct Control([u8; 24 + MAX_RECEIVED * 4]);
    let mut control = Control([0; 24 + MAX_RECEIVED * 4]);
    let mut words = [0_usize; 6];
    let mut vector = libc::iovec { iov_base: (&raw mut words).cast(), iov_len: size_of_val(&words) };
    // SAFETY: `msghdr` is plain data for which zero is a value.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = size_of::<Control>();
    let received = kernel(libc::SYS_recvmsg, &[CONTROL, (&raw mut message) as usize, 0])?;
    if received != size_of_val(&words) {
        return Err(libc::EPIPE as isize);
    }
    // The kernel gives the lowest free numbers, which are 0, 1 and 2: anything else would be somebody else's stream.
    // (Level and type are written after the length; the descriptors follow at byte 16.)
    let expected = [0_i32, 1, 2];
    for (place, wanted) in expected.into_iter().enumerate() {
        let at = 16 + place * 4;
        let found = control.0.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
        if found != Some(wanted) || message.msg_controllen < at + 4 {
            return Err(libc::EBADF as isize);
        }
    }
    let [outer, outer_length, closing, closing_length, inner, inner_length] = words;
    let steps = |first: usize, length| Steps { first: first as *const Op, length };
    Ok(Instructions([steps(outer, outer_length), steps(closing, closing_length), steps(inner, inner_length)]))
}

/// Becomes the small program that waits for the command. Only the control socket stays open.
fn become_init() -> Result<(), isize> {
    kernel(libc::SYS_close_range, &[0, 2, 0])?;
    // Not closed before: the gate must stay shut until the new program is there.
    kernel(libc::SYS_close_range, &[INIT + 1, u32::MAX as usize, libc::CLOSE_RANGE_CLOEXEC as usize])?;
    kernel(libc::SYS_fcntl, &[CONTROL, libc::F_SETFD as usize, 0])?;
    perform(&Op::DropCapabilities).map_err(|(_, errno)| errno)?;
    perform(&Op::NoNewPrivileges).map_err(|(_, errno)| errno)?;
    let name = c"init";
    let arguments = [name.as_ptr(), std::ptr::null()];
    let environment: [*const libc::c_char; 1] = [std::ptr::null()];
    let empty = c"";
    kernel(
        libc::SYS_execveat,
        &[
            INIT,
            address(empty),
            arguments.as_ptr() as usize,
            environment.as_ptr() as usize,
            libc::AT_EMPTY_PATH as usize,
        ],
    )?;
    Ok(())
}

fn perform(op: &Op) -> Result<(), (Step, isize)> {
    let at = |step| move |errno| (step, errno);
    match op {
        Op::DieWithParent => {
            prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as usize).map_err(at(Step::ParentDeath))
        }
        Op::WriteTo { step, path, bytes } => write_to(path, bytes).map_err(at(*step)),
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
        Op::Bind { may_be_gone, source, target, attributes, identity, recursive } => {
            match bind(source, target, *attributes, *identity, *recursive) {
                Err((Step::Bind, errno)) if *may_be_gone && errno == libc::ENOENT as isize => Ok(()),
                bound => bound,
            }
        }
        Op::Proc { at: target } => proc(target).map_err(at(Step::Proc)),
        Op::Detach { path } => detach(path).map_err(at(Step::Pivot)),
        Op::Remove { path, flags } => kernel(libc::SYS_unlinkat, &[AT_FDCWD, address(path), *flags as usize])
            .map(drop)
            .map_err(at(Step::Root)),
        Op::Attributes { path, attributes } => {
            set_attributes(AT_FDCWD, path, 0, *attributes).map_err(at(Step::Root))
        }
        Op::RaiseLoopback => raise_loopback().map_err(at(Step::Loopback)),
        Op::JoinCgroups { count } => join_cgroups(*count).map_err(at(Step::Cgroup)),
        Op::Session { terminal } => session(*terminal).map_err(at(Step::Session)),
        Op::Limit { resource, value } => limit(*resource, *value).map_err(at(Step::Limit)),
        Op::Signals => reset_signals().map_err(at(Step::Signals)),
        Op::CloseOnExecFrom { first } => {
            let flag = libc::CLOSE_RANGE_CLOEXEC as usize;
            kernel(libc::SYS_close_range, &[*first as usize, u32::MAX as usize, flag])
                .map(drop)
                .map_err(at(Step::Descriptors))
        }
        Op::DropCapabilities => drop_capabilities().map_err(at(Step::Capabilities)),
        Op::NoNewPrivileges => prctl(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(at(Step::NoNewPrivileges)),
        Op::Landlock { handled, scoped, rules } => {
            landlock(*handled, *scoped, rules).map_err(at(Step::Landlock))
        }
        Op::Seccomp { program } => seccomp(program).map_err(at(Step::Seccomp)),
        Op::Execute(execution) => {
            kernel(libc::SYS_execve, &execution.addresses()).map(drop).map_err(at(Step::Exec))
        }
    }
}

fn prctl(option: i32, value: usize) -> Result<(), isize> {
    kernel(libc::SYS_prctl, &[option as usize, value, 0, 0, 0]).map(drop)
}

fn close(descriptor: usize) {
    let _closed = kernel(libc::SYS_close, &[descriptor]);
}

fn open(path: &CStr, flags: i32, mode: u32) -> Result<usize, isize> {
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

fn bind(
    source: &CStr,
    target: &CStr,
    attributes: u64,
    identity: Option<Identity>,
    recursive: bool,
) -> Result<(), (Step, isize)> {
    const OPEN_TREE_CLONE: i32 = 1;
    let depth = if recursive { libc::AT_RECURSIVE } else { 0 };
    let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC | depth;
    let failed = |errno| (Step::Bind, errno);
    let tree = kernel(libc::SYS_open_tree, &[AT_FDCWD, address(source), flags as usize]).map_err(failed)?;
    let result = attach(tree, target, attributes, identity, depth);
    close(tree);
    result
}

fn attach(
    tree: usize,
    target: &CStr,
    attributes: u64,
    identity: Option<Identity>,
    depth: i32,
) -> Result<(), (Step, isize)> {
    let failed = |errno| (Step::Bind, errno);
    if let Some(expected) = identity {
        // SAFETY: `stat` is plain data for which zero is a value.
        let mut found: libc::stat = unsafe { zeroed() };
        let flags = libc::AT_EMPTY_PATH as usize;
        kernel(libc::SYS_newfstatat, &[tree, address(c""), (&raw mut found) as usize, flags])
            .map_err(failed)?;
        if found.st_dev != expected.device || found.st_ino != expected.inode {
            return Err((Step::Changed, libc::ESTALE as isize));
        }
    }
    if attributes != 0 {
        set_attributes(tree, c"", libc::AT_EMPTY_PATH | depth, attributes).map_err(failed)?;
    }
    kernel(libc::SYS_move_mount, &[tree, address(c""), AT_FDCWD, address(target), MOVE_MOUNT_F_EMPTY_PATH])
        .map(drop)
        .map_err(failed)
}

fn proc(target: &CStr) -> Result<(), isize> {
    const FSOPEN_CLOEXEC: usize = 1;
    const FSCONFIG_SET_STRING: usize = 1;
    const FSCONFIG_CMD_CREATE: usize = 6;
    const FSMOUNT_CLOEXEC: usize = 1;
    let attributes =
        libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOEXEC;
    let file_system = kernel(libc::SYS_fsopen, &[address(c"proc"), FSOPEN_CLOEXEC])?;
    // Process 1 is not shown; where the kernel does not know the option, it still cannot be looked into.
    let _hidden = kernel(
        libc::SYS_fsconfig,
        &[file_system, FSCONFIG_SET_STRING, address(c"hidepid"), address(c"invisible"), 0],
    );
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

/// `struct landlock_ruleset_attr` of the kernel.
#[repr(C)]
struct Ruleset {
    handled_fs: u64,
    handled_net: u64,
    scoped: u64,
}

/// `struct landlock_path_beneath_attr` of the kernel.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

fn landlock(handled: u64, scoped: u64, rules: &[(std::ffi::CString, u64)]) -> Result<(), isize> {
    const PATH_BENEATH: usize = 1;
    let ruleset = Ruleset { handled_fs: handled, handled_net: 0, scoped };
    // A kernel that knows less takes a shorter structure; the parent has asked which it knows.
    let size = if scoped == 0 { 8 } else { size_of::<Ruleset>() };
    let domain = kernel(libc::SYS_landlock_create_ruleset, &[(&raw const ruleset) as usize, size, 0])?;
    for (path, allowed) in rules {
        let parent = open(path, libc::O_PATH, 0)?;
        let rule = PathBeneath { allowed: *allowed, parent: parent as i32 };
        let added =
            kernel(libc::SYS_landlock_add_rule, &[domain, PATH_BENEATH, (&raw const rule) as usize, 0]);
        close(parent);
        added?;
    }
    let restricted = kernel(libc::SYS_landlock_restrict_self, &[domain, 0]);
    close(domain);
    restricted.map(drop)
}

/// `struct sock_fprog` of the kernel.
#[repr(C)]
struct Filter {
    length: u16,
    instructions: *const crate::seccomp::Instruction,
}

fn seccomp(program: &[crate::seccomp::Instruction]) -> Result<(), isize> {
    let Ok(length) = u16::try_from(program.len()) else { return Err(libc::EINVAL as isize) };
    let filter = Filter { length, instructions: program.as_ptr() };
    kernel(libc::SYS_seccomp, &[libc::SECCOMP_SET_MODE_FILTER as usize, 0, (&raw const filter) as usize])
        .map(drop)
}
