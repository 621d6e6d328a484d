//! Processes of the host: seeing, signalling, reading and changing them.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

use crate::probe::{Needs, Outcome, Probe, Stop, confined, token_in};
use crate::scene::Scene;
use crate::sys::owned;

pub(crate) const PROBES: &[Probe] = &[
    Probe::new("proc::see", |scene| Ok(fs::read_to_string(scene.expand("/proc/{pid}/comm"))?)).word(),
    Probe::new("proc::list", list).word(),
    Probe::new("proc::status", |scene| {
        fs::read_to_string(scene.expand("/proc/{pid}/status"))?;
        Ok("its status".to_owned())
    })
    .word(),
    Probe::new("proc::command_line", |scene| {
        fs::read(scene.expand("/proc/{pid}/cmdline"))?;
        Ok("its arguments".to_owned())
    })
    .word(),
    Probe::new("proc::program", |scene| {
        File::open(scene.expand("/proc/{pid}/exe"))?;
        Ok("its program".to_owned())
    })
    .word(),
    Probe::new("proc::maps", |scene| {
        let maps = fs::read(scene.expand("/proc/{pid}/maps"))?;
        if maps.is_empty() { confined("empty") } else { Ok("its memory map".to_owned()) }
    })
    .word(),
    Probe::new("proc::descriptors", |scene| {
        Ok(format!("{} descriptors", fs::read_dir(scene.expand("/proc/{pid}/fd"))?.count()))
    })
    .word(),
    Probe::new("proc::signal", |scene| done(call!(kill, pid(scene)?, 0))).word(),
    Probe::new("proc::signal_thread", |scene| done(sys!(libc::SYS_tgkill, pid(scene)?, pid(scene)?, 0)))
        .word(),
    Probe::new("proc::signal_queue", signal_queue).word(),
    Probe::new("proc::signal_group", |scene| done(call!(killpg, pid(scene)?, 0))).word(),
    Probe::new("proc::pidfd_open", |scene| done(sys!(libc::SYS_pidfd_open, pid(scene)?, 0))).word(),
    Probe::new("proc::pidfd_signal", pidfd_signal).word(),
    Probe::new("proc::pidfd_getfd", pidfd_getfd),
    Probe::new("proc::ptrace_attach", |scene| ptrace(scene, libc::PTRACE_ATTACH)).word(),
    Probe::new("proc::ptrace_seize", |scene| ptrace(scene, libc::PTRACE_SEIZE)).word(),
    Probe::new("proc::memory_read", memory_read),
    Probe::new("proc::memory_write", memory_write).word(),
    Probe::new("proc::memory_file", memory_file),
    Probe::new("proc::memory_file_write", memory_file_write).word(),
    Probe::new("proc::priority", priority).word(),
    Probe::new("proc::limits", limits).word(),
    Probe::new("proc::affinity", affinity).word(),
    Probe::new("proc::session", |scene| done(call!(getsid, pid(scene)?))).word(),
    Probe::new("proc::oom_score", |scene| {
        OpenOptions::new().write(true).open(scene.expand("/proc/{pid}/oom_score_adj"))?.write_all(b"1")?;
        Ok("changed".to_owned())
    })
    .word(),
    Probe::new("proc::compare", |scene| done(sys!(libc::SYS_kcmp, pid(scene)?, pid(scene)?, 0, 0, 0))).word(),
    Probe::new("proc::move_pages", |scene| done(sys!(libc::SYS_move_pages, pid(scene)?, 0, 0, 0, 0, 0)))
        .word(),
    Probe::new("proc::lock_list", |scene| {
        let (mut head, mut length) = (0_usize, 0_usize);
        done(sys!(libc::SYS_get_robust_list, pid(scene)?, &raw mut head, &raw mut length))
    })
    .word(),
    Probe::new("proc::join_namespace", join_namespace).needs(Needs::Root),
    Probe::new("proc::join_pidfd", join_pidfd).needs(Needs::Root),
];

fn pid(scene: &Scene) -> Result<libc::pid_t, Stop> {
    scene.number("pid")
}

fn done(result: std::io::Result<i64>) -> Outcome {
    Ok(format!("answered {}", result?))
}

fn list(scene: &Scene) -> Outcome {
    let wanted = scene.text("pid")?;
    for entry in fs::read_dir("/proc")? {
        if entry?.file_name() == wanted {
            return Ok(format!("{wanted} is listed"));
        }
    }
    confined("not listed")
}

fn signal_queue(scene: &Scene) -> Outcome {
    let value = libc::sigval { sival_ptr: std::ptr::null_mut() };
    done(call!(sigqueue, pid(scene)?, 0, value))
}

fn pidfd_signal(scene: &Scene) -> Outcome {
    let process = owned(sys!(libc::SYS_pidfd_open, pid(scene)?, 0)?);
    done(sys!(libc::SYS_pidfd_send_signal, process.as_raw_fd(), 0, 0, 0))
}

fn pidfd_getfd(scene: &Scene) -> Outcome {
    let process = owned(sys!(libc::SYS_pidfd_open, pid(scene)?, 0)?);
    let stolen = sys!(libc::SYS_pidfd_getfd, process.as_raw_fd(), scene.number::<i32>("fd")?, 0)?;
    let mut bytes = vec![0; 256];
    call!(pread, owned(stolen).as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), 0)
        .map(|_| token_in(&bytes))?
}

fn ptrace(scene: &Scene, how: libc::c_uint) -> Outcome {
    let pid = pid(scene)?;
    // Another probe may be attached at the moment.
    let mut attached = sys!(libc::SYS_ptrace, how, pid, 0, 0);
    for _ in 0..10 {
        if attached.is_ok() {
            break;
        }
        thread::sleep(Duration::from_millis(30));
        attached = sys!(libc::SYS_ptrace, how, pid, 0, 0);
    }
    attached?;
    if how == libc::PTRACE_ATTACH {
        let mut status = 0;
        call!(waitpid, pid, &raw mut status, libc::__WALL)?;
        sys!(libc::SYS_ptrace, libc::PTRACE_DETACH, pid, 0, 0)?;
    }
    Ok("attached".to_owned())
}

fn memory_read(scene: &Scene) -> Outcome {
    let mut bytes = vec![0_u8; scene.number("length")?];
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: scene.number::<usize>("address")? as *mut _, iov_len: bytes.len() };
    sys!(libc::SYS_process_vm_readv, pid(scene)?, &raw const local, 1, &raw const remote, 1, 0)?;
    token_in(&bytes)
}

fn memory_write(scene: &Scene) -> Outcome {
    let mut bytes = *b"rf";
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: scene.number::<usize>("scratch")? as *mut _, iov_len: bytes.len() };
    done(sys!(libc::SYS_process_vm_writev, pid(scene)?, &raw const local, 1, &raw const remote, 1, 0))
}

fn memory_file(scene: &Scene) -> Outcome {
    let mut memory = File::open(scene.expand("/proc/{pid}/mem"))?;
    memory.seek(SeekFrom::Start(scene.number("address")?))?;
    let mut bytes = vec![0; scene.number("length")?];
    memory.read_exact(&mut bytes)?;
    token_in(&bytes)
}

fn memory_file_write(scene: &Scene) -> Outcome {
    let mut memory = OpenOptions::new().write(true).open(scene.expand("/proc/{pid}/mem"))?;
    memory.seek(SeekFrom::Start(scene.number("scratch")?))?;
    memory.write_all(b"rf")?;
    Ok("written".to_owned())
}

/// Sets the priority it has; the kernel answers 20 less it.
fn priority(scene: &Scene) -> Outcome {
    let pid = pid(scene)?;
    let current = 20 - sys!(libc::SYS_getpriority, libc::PRIO_PROCESS, pid)?;
    done(sys!(libc::SYS_setpriority, libc::PRIO_PROCESS, pid, current))
}

fn limits(scene: &Scene) -> Outcome {
    let mut old = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    done(sys!(libc::SYS_prlimit64, pid(scene)?, libc::RLIMIT_CORE, 0, &raw mut old))
}

fn affinity(scene: &Scene) -> Outcome {
    let mut mask = [0_u64; 16];
    let pid = pid(scene)?;
    sys!(libc::SYS_sched_getaffinity, pid, size_of_val(&mask), mask.as_mut_ptr())?;
    done(sys!(libc::SYS_sched_setaffinity, pid, size_of_val(&mask), mask.as_ptr()))
}

/// Into the canary's view of the filesystem.
fn join_namespace(scene: &Scene) -> Outcome {
    let namespace = File::open(scene.expand("/proc/{pid}/ns/mnt"))?;
    call!(setns, namespace.as_raw_fd(), libc::CLONE_NEWNS)?;
    token_in(&fs::read(scene.outside("secret")?)?)
}

fn join_pidfd(scene: &Scene) -> Outcome {
    let process = owned(sys!(libc::SYS_pidfd_open, pid(scene)?, 0)?);
    call!(setns, process.as_raw_fd(), libc::CLONE_NEWNS | libc::CLONE_NEWNET)?;
    token_in(&fs::read(scene.outside("secret")?)?)
}
