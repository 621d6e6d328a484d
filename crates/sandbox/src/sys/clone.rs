//! The clone: a process in new namespaces that shares this process's memory until it executes a program.

use std::ffi::c_void;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

use rustix::io::Errno;
use rustix::process::{Signal, WaitId, WaitIdOptions, pidfd_send_signal, waitid};

use super::child::{self, Context};
use crate::linux::op::Op;

/// `struct clone_args` of the kernel, version 0 (64 bytes).
#[repr(C)]
#[derive(Default)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
}

const STACK: usize = 64 << 10;
const GUARD: usize = 4 << 10;

/// A stack with a page below it that may not be touched.
struct Stack(NonNull<c_void>);

impl Stack {
    fn new() -> Result<Self, Errno> {
        let protection = rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE;
        let flags = rustix::mm::MapFlags::PRIVATE;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no existing memory.
        let start =
            unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), STACK + GUARD, protection, flags)? };
        let start = NonNull::new(start).ok_or(Errno::NOMEM)?;
        let stack = Self(start);
        // SAFETY: the first page of the mapping just made; nothing points into it yet.
        unsafe {
            rustix::mm::mprotect(start.as_ptr(), GUARD, rustix::mm::MprotectFlags::empty())?;
        }
        Ok(stack)
    }

    fn bottom(&self) -> u64 {
        self.0.as_ptr() as u64 + GUARD as u64
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` and its owner gives it up here. A process that ran on it is gone or
        // has a program of its own: see `Prepared`.
        let _unmapped = unsafe { rustix::mm::munmap(self.0.as_ptr(), STACK + GUARD) };
    }
}

// SAFETY: the mapping is owned by the one value and bound to no thread.
unsafe impl Send for Stack {}

/// A cloned process: process 1 of its own namespaces.
///
/// INVARIANT: the memory the clone runs on lives as long as this value, and dropping it first kills the clone, with it
/// everything in its pid namespace, and waits for its end.
pub(crate) struct Prepared {
    context: Box<Context>,
    pidfd: OwnedFd,
    pid: i32,
    _stacks: (Stack, Stack),
}

// SAFETY: `Context` is written by the clone only through atomics, and read by whoever owns this value.
unsafe impl Send for Prepared {}

impl Prepared {
    /// Returns the descriptor that stands for the process.
    pub(crate) fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Returns the number of the process, which is its own until this value is dropped.
    pub(crate) const fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether everything is done but the command's own start.
    pub(crate) fn is_sealed(&self) -> bool {
        self.context.is_sealed()
    }

    /// Returns what went wrong in the clone, if it said so.
    pub(crate) fn failure(&self) -> Option<child::Failure> {
        self.context.failure()
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // Fails only when the process is already gone, which is what is wanted.
        let _sent = pidfd_send_signal(&self.pidfd, Signal::KILL);
        while let Err(Errno::INTR) = waitid(WaitId::PidFd(self.pidfd.as_fd()), WaitIdOptions::EXITED) {}
    }
}

/// Clones a process into new namespaces. It runs `ops`, then waits on `control` for [`super::Instructions`]. Where descriptors are
/// inherited, none are sent with the instructions.
///
/// Must be called from a thread that outlives the process: the parent-death signal follows the thread.
///
/// # Errors
///
/// What the kernel says to the clone.
pub(crate) fn enter(
    namespaces: u64,
    ops: std::sync::Arc<[Op]>,
    (control, init): (BorrowedFd<'_>, BorrowedFd<'_>),
    inherited: &[OwnedFd],
) -> Result<Prepared, Errno> {
    const CLEAR_SIGHAND: u64 = 0x1_0000_0000;
    let (outer, inner) = (Stack::new()?, Stack::new()?);
    let inherited = inherited.iter().map(AsRawFd::as_raw_fd).collect();
    let descriptors = (control.as_raw_fd(), init.as_raw_fd());
    let mut context = Box::new(Context::new(ops, descriptors, inherited, (inner.bottom(), STACK as u64)));
    let mut pidfd: i32 = -1;
    let arguments = CloneArgs {
        flags: namespaces | libc::CLONE_VM as u64 | libc::CLONE_PIDFD as u64 | CLEAR_SIGHAND,
        pidfd: (&raw mut pidfd) as u64,
        exit_signal: libc::SIGCHLD as u64,
        stack: outer.bottom(),
        stack_size: STACK as u64,
        ..CloneArgs::default()
    };
    // SAFETY: the stack is mapped, writable, used by nobody else and kept, with the context, by the `Prepared` that is
    // returned. `namespace_entry` takes the context and never returns. No thread-local is touched by the clone.
    let result = unsafe { clone3(&arguments, child::namespace_entry, (&raw mut *context).cast()) };
    if result < 0 {
        return Err(Errno::from_raw_os_error(i32::try_from(-result).unwrap_or(libc::EINVAL)));
    }
    // SAFETY: the kernel has just stored a descriptor that nobody else owns.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    let pid = i32::try_from(result).unwrap_or(-1);
    Ok(Prepared { context, pidfd, pid, _stacks: (outer, inner) })
}

/// Clones the command out of process 1. Both go on at once, each on its own stack.
///
/// # Safety
///
/// To be called in a clone only. `stack..stack + size` is writable memory that nothing else uses, and `context` lives on.
pub(super) unsafe fn clone_command(
    stack: u64,
    size: u64,
    entry: extern "C" fn(*mut c_void) -> !,
    context: *mut c_void,
) -> isize {
    let arguments = CloneArgs {
        flags: libc::CLONE_VM as u64,
        exit_signal: libc::SIGCHLD as u64,
        stack,
        stack_size: size,
        ..CloneArgs::default()
    };
    // SAFETY: passed on from the caller.
    unsafe { clone3(&arguments, entry, context) }
}

/// # Safety
///
/// `arguments` describes a clone that shares memory, on a stack of its own; `entry` must be sound to run there.
#[cfg(target_arch = "x86_64")]
unsafe fn clone3(
    arguments: &CloneArgs,
    entry: extern "C" fn(*mut c_void) -> !,
    context: *mut c_void,
) -> isize {
    let result: isize;
    // SAFETY: in the parent this is an ordinary system call. In the clone nothing after `call` is reached, and the stack
    // pointer is the top of the new stack, which is aligned as a call demands.
    unsafe {
        core::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r13",
            "call r12",
            "ud2",
            "2:",
            inlateout("rax") libc::SYS_clone3 as isize => result,
            in("rdi") arguments,
            in("rsi") size_of::<CloneArgs>(),
            in("r12") entry,
            in("r13") context,
            lateout("rcx") _, lateout("r11") _,
        );
    }
    result
}

/// # Safety
///
/// `arguments` describes a clone that shares memory, on a stack of its own; `entry` must be sound to run there.
#[cfg(target_arch = "aarch64")]
unsafe fn clone3(
    arguments: &CloneArgs,
    entry: extern "C" fn(*mut c_void) -> !,
    context: *mut c_void,
) -> isize {
    let result: isize;
    // SAFETY: as for x86_64.
    unsafe {
        core::arch::asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x0, x21",
            "blr x20",
            "brk 1",
            "2:",
            in("x8") libc::SYS_clone3,
            inlateout("x0") arguments => result,
            in("x1") size_of::<CloneArgs>(),
            in("x20") entry,
            in("x21") context,
        );
    }
    result
}
