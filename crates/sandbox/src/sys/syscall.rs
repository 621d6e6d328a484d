//! One system call with up to six arguments, without libc: `errno` belongs to a thread that the clone shares.

use core::arch::asm;

/// Makes a system call and returns what the kernel returned: a value, or an error number below zero.
///
/// # Safety
///
/// The caller answers for what the system call demands of its arguments.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) unsafe fn call(number: i64, arguments: [usize; 6]) -> isize {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let result: isize;
    // SAFETY: the kernel clobbers rcx and r11 and returns in rax, which is said below; the caller answers for the rest.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") first, in("rsi") second, in("rdx") third,
            in("r10") fourth, in("r8") fifth, in("r9") sixth,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Makes a system call and returns what the kernel returned: a value, or an error number below zero.
///
/// # Safety
///
/// The caller answers for what the system call demands of its arguments.
#[cfg(target_arch = "aarch64")]
#[inline]
pub(super) unsafe fn call(number: i64, arguments: [usize; 6]) -> isize {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let result: isize;
    // SAFETY: the kernel returns in x0 and keeps the other registers; the caller answers for the rest.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") first => result,
            in("x1") second, in("x2") third, in("x3") fourth, in("x4") fifth, in("x5") sixth,
            options(nostack),
        );
    }
    result
}
