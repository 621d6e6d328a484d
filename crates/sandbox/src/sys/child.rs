//! What runs between clone and exec: first as process 1 of the namespaces, then as process 2, the command.
//!
//! Everything here shares memory with the parent. It reads what the parent prepared, makes raw system calls, and writes
//! nothing but its own stack and the two atomics of [`Context`].

use std::ffi::c_void;
use std::mem::zeroed;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use super::act::{SHOWN, address, close, kernel, perform};
use super::clone::clone_command;
use super::syscall::call;
use crate::linux::op::Op;
use crate::step::Step;

/// Where the control socket and the program of process 1 are put, above the standard streams.
pub(super) const CONTROL: usize = 3;
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
    /// The descriptors of the instructions, where they are not sent with them.
    inherited: Vec<i32>,
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
    pub(super) fn new(
        ops: Arc<[Op]>,
        (control, init): (i32, i32),
        inherited: Vec<i32>,
        (stack, stack_size): (u64, u64),
    ) -> Self {
        let zero = || AtomicU64::new(0);
        let gate = [AtomicI32::new(-1), AtomicI32::new(-1)];
        Self {
            ops,
            control,
            init,
            inherited,
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

    /// Whether the new root is closed, and nothing but the command's own start is left to do.
    pub(super) fn is_sealed(&self) -> bool {
        self.sealed.load(Ordering::Acquire) != 0
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
    if let Err(errno) = place_descriptors(context.control, context.init, &context.inherited) {
        context.fail(Part::Namespaces, 0, Step::Descriptors, errno);
    }
    run(context, Part::Namespaces, &context.ops);

    let instructions = match receive(context.inherited.is_empty()) {
        Ok(instructions) => instructions,
        Err(errno) => context.fail(Part::Namespaces, 0, Step::Control, errno),
    };
    // Whoever sent them may have been killed before this process asked to end with it.
    if !is_parent_there() {
        exit(1);
    }
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

/// Keeps the control socket, the program of process 1 and what is meant to be inherited, and closes everything else.
fn place_descriptors(control: i32, init: i32, inherited: &[i32]) -> Result<(), isize> {
    let cloexec = libc::O_CLOEXEC as usize;
    // Out of the way first, so that none overwrites another.
    let high = 100;
    let duplicate = |descriptor: i32| {
        kernel(libc::SYS_fcntl, &[descriptor as usize, libc::F_DUPFD_CLOEXEC as usize, high])
    };
    let (control, init) = (duplicate(control)?, duplicate(init)?);
    let mut kept = [0; MAX_RECEIVED];
    let Some(kept) = kept.get_mut(..inherited.len()) else { return Err(libc::E2BIG as isize) };
    for (to, from) in kept.iter_mut().zip(inherited) {
        *to = duplicate(*from)?;
    }
    kernel(libc::SYS_dup3, &[control, CONTROL, cloexec])?;
    kernel(libc::SYS_dup3, &[init, INIT, cloexec])?;
    kernel(libc::SYS_close_range, &[0, 2, 0])?;
    // Where they would be received.
    for (place, from) in (0..CONTROL).chain(FIRST_RECEIVED..).zip(kept.iter()) {
        kernel(libc::SYS_dup3, &[*from, place, 0])?;
    }
    let first_free =
        if inherited.is_empty() { INIT + 1 } else { INIT + 1 + inherited.len().saturating_sub(CONTROL) };
    kernel(libc::SYS_close_range, &[first_free, u32::MAX as usize, 0])?;
    Ok(())
}

/// Says whether somebody still holds the other end of the control socket, without taking anything from it.
fn is_parent_there() -> bool {
    let mut byte = 0_u8;
    let flags = (libc::MSG_PEEK | libc::MSG_DONTWAIT) as usize;
    match kernel(libc::SYS_recvfrom, &[CONTROL, (&raw mut byte) as usize, 1, flags, 0, 0]) {
        Ok(length) => length != 0,
        Err(errno) => errno == libc::EAGAIN as isize,
    }
}

/// Waits for the instructions, with which the standard streams come as descriptors 0, 1 and 2, unless these were inherited.
fn receive(with_descriptors: bool) -> Result<Instructions, isize> {
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
    // The C libraries disagree about its size; the kernel reads eight bytes, and the others are zero.
    message.msg_controllen = size_of::<Control>() as _;
    let received = kernel(libc::SYS_recvmsg, &[CONTROL, (&raw mut message) as usize, 0])?;
    if received != size_of_val(&words) {
        return Err(libc::EPIPE as isize);
    }
    // The kernel gives the lowest free numbers, which are 0, 1 and 2: anything else would be somebody else's stream.
    // (Level and type are written after the length; the descriptors follow at byte 16.)
    let expected: &[i32] = if with_descriptors { &[0, 1, 2] } else { &[] };
    for (place, wanted) in expected.iter().enumerate() {
        let at = 16 + place * 4;
        let found = control.0.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
        if found != Some(*wanted) || message.msg_controllen < (at + 4) as _ {
            return Err(libc::EBADF as isize);
        }
    }
    let [outer, outer_length, closing, closing_length, inner, inner_length] = words;
    let steps = |first: usize, length| Steps { first: first as *const Op, length };
    Ok(Instructions([steps(outer, outer_length), steps(closing, closing_length), steps(inner, inner_length)]))
}

/// Becomes the small program that waits for the command. Only the control socket stays open, and what keeps parts of `/proc` in sight.
fn become_init() -> Result<(), isize> {
    kernel(libc::SYS_close_range, &[0, 2, 0])?;
    // Not closed before: the gate must stay shut until the new program is there.
    for (first, last) in [(INIT + 1, SHOWN.start - 1), (SHOWN.end, u32::MAX as usize)] {
        kernel(libc::SYS_close_range, &[first, last, libc::CLOSE_RANGE_CLOEXEC as usize])?;
    }
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
