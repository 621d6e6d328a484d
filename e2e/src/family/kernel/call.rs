//! Calls that widen the kernel's surface, and other ways into it than the usual one.

use std::os::fd::AsRawFd;

use crate::probe::{Needs, Outcome, Probe, confined};
use crate::sys::{c, forked, in_child, owned, waited};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new("kernel::bpf_map", |_| bpf_map()).needs(Needs::Root).word(),
    Probe::new("kernel::bpf_program", |_| bpf_program()).needs(Needs::Root).word(),
    Probe::new("kernel::perf_event", |_| perf_event()).word(),
    Probe::new("kernel::userfaultfd", |_| {
        owned(sys!(libc::SYS_userfaultfd, libc::O_CLOEXEC | 1)?);
        Ok("faults are ours to answer".to_owned())
    })
    .needs(Needs::Kernel)
    .word(),
    Probe::new("kernel::ptrace_child", |_| {
        in_child(|| sys!(libc::SYS_ptrace, libc::PTRACE_TRACEME, 0, 0, 0).map(drop))?;
        Ok("traced".to_owned())
    })
    .word(),
    Probe::new("kernel::memory_of_child", |_| memory_of_child()).word(),
    Probe::new("kernel::compare_self", |_| {
        // SAFETY: `getpid` has no demands.
        let own = unsafe { libc::getpid() };
        sys!(libc::SYS_kcmp, own, own, 0, 0, 0)?;
        Ok("compared".to_owned())
    })
    .needs(Needs::Kernel)
    .word(),
    Probe::new("kernel::personality", |_| {
        call!(personality, 0x0004_0000)?;
        Ok("addresses are no longer random".to_owned())
    })
    .word(),
    Probe::new("kernel::syslog", |_| {
        let mut bytes = [0_u8; 64];
        sys!(libc::SYS_syslog, 3, bytes.as_mut_ptr(), bytes.len())?;
        Ok("the kernel's log".to_owned())
    })
    .needs(Needs::Root)
    .word(),
    Probe::new("kernel::module_load", |_| {
        module(sys!(libc::SYS_init_module, b"x".as_ptr(), 1, c("").as_ptr()), libc::ENOEXEC)
    })
    .needs(Needs::RootAndKernel)
    .word(),
    Probe::new("kernel::module_load_file", |_| module(sys!(libc::SYS_finit_module, -1, 0, 0), libc::EBADF))
        .needs(Needs::RootAndKernel)
        .word(),
    Probe::new("kernel::module_unload", |_| {
        module(sys!(libc::SYS_delete_module, c("rf-no-such").as_ptr(), libc::O_NONBLOCK), libc::ENOENT)
    })
    .needs(Needs::RootAndKernel)
    .word(),
    Probe::new("kernel::kexec_load", |_| module(sys!(libc::SYS_kexec_load, 0, 17, 0, 0), libc::EINVAL))
        .needs(Needs::RootAndKernel)
        .word(),
    Probe::new("kernel::kexec_file_load", |_| {
        module(sys!(libc::SYS_kexec_file_load, -1, -1, 0, 0, 0x80), libc::EINVAL)
    })
    .needs(Needs::RootAndKernel)
    .word(),
    Probe::new("kernel::int80", |_| int80(20, 0)).needs(Needs::Kernel).or_killed().word(),
    Probe::new("kernel::int80_unshare", |_| int80(310, libc::CLONE_NEWUSER))
        .needs(Needs::Kernel)
        .or_killed()
        .word(),
    Probe::new("kernel::x32", |_| {
        let pid = sys!(0x4000_0000_i64 | libc::SYS_getpid)?;
        Ok(format!("pid {pid} by way of x32"))
    })
    .needs(Needs::Kernel)
    .or_killed()
    .word(),
];

/// The call got as far as looking at its arguments, which are wrong on purpose.
fn module(result: std::io::Result<i64>, reached: i32) -> Outcome {
    match result {
        Err(error) if error.raw_os_error() == Some(reached) => Ok(format!("reached: {error}")),
        Err(error) => Err(error.into()),
        Ok(_) => Ok("done".to_owned()),
    }
}

fn bpf_map() -> Outcome {
    // An array of one 4-byte value: type, key size, value size, entries.
    let attributes: [u32; 18] = [2, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    owned(sys!(libc::SYS_bpf, 0, attributes.as_ptr(), size_of_val(&attributes))?);
    Ok("a map".to_owned())
}

fn bpf_program() -> Outcome {
    // r0 = 0; exit
    let code: [u64; 2] = [0xb7, 0x95];
    let licence = c("GPL");
    // A socket filter of two instructions: type, count, code, licence.
    let attributes: [u64; 16] =
        [1 | (2 << 32), code.as_ptr() as u64, licence.as_ptr() as u64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    owned(sys!(libc::SYS_bpf, 5, attributes.as_ptr(), 128)?);
    Ok("a program in the kernel".to_owned())
}

fn perf_event() -> Outcome {
    // Software task clock, of this process, without the kernel: type, size, config, …, flags.
    let mut attributes = [0_u32; 32];
    let flags = 0x60;
    for (index, value) in [(0, 1), (1, 128), (2, 1), (10, flags)] {
        if let Some(place) = attributes.get_mut(index) {
            *place = value;
        }
    }
    owned(sys!(libc::SYS_perf_event_open, attributes.as_ptr(), 0, -1, -1, 0)?);
    Ok("a counter".to_owned())
}

fn memory_of_child() -> Outcome {
    let here = *b"secret";
    let (ready, go) = setup_pipe()?;
    let child = forked(|| {
        let mut byte = 0_u8;
        i32::from(call!(read, ready.as_raw_fd(), (&raw mut byte).cast(), 1).is_err())
    })?;
    let mut there = [0_u8; 6];
    let local = libc::iovec { iov_base: there.as_mut_ptr().cast(), iov_len: 6 };
    let remote = libc::iovec { iov_base: here.as_ptr().cast_mut().cast(), iov_len: 6 };
    let read = sys!(libc::SYS_process_vm_readv, child, &raw const local, 1, &raw const remote, 1, 0);
    // SAFETY: `kill` has no demands.
    unsafe { libc::kill(child, libc::SIGKILL) };
    waited(child)?;
    // Until here, or the child would read the end and be gone.
    drop(go);
    read?;
    if there == here { Ok("another process's memory".to_owned()) } else { confined("other bytes") }
}

fn setup_pipe() -> Result<(std::io::PipeReader, std::io::PipeWriter), crate::probe::Stop> {
    crate::probe::setup(std::io::pipe())
}

/// The 32-bit gate: other numbers for the same calls, so a filter that knows one table must refuse the other whole.
#[cfg(target_arch = "x86_64")]
fn int80(number: i32, first: i32) -> Outcome {
    let code = std::sync::atomic::AtomicI32::new(0);
    in_child(|| {
        let mut returned = i64::from(number);
        // SAFETY: the kernel keeps every register but the one that answers; `rbx` is kept by hand because the
        // compiler does not give it away.
        unsafe {
            std::arch::asm!(
                "xchg rbx, {first}",
                "int 0x80",
                "xchg rbx, {first}",
                first = inout(reg) i64::from(first) => _,
                inout("rax") returned,
                out("r8") _, out("r9") _, out("r10") _, out("r11") _,
            );
        }
        let returned = returned as i32;
        code.store(returned, std::sync::atomic::Ordering::Relaxed);
        if returned < 0 { Err(std::io::Error::from_raw_os_error(-returned)) } else { Ok(()) }
    })?;
    Ok(format!("call {number} of i386"))
}

#[cfg(not(target_arch = "x86_64"))]
fn int80(_: i32, _: i32) -> Outcome {
    confined(std::io::Error::from_raw_os_error(libc::ENOSYS).to_string())
}
