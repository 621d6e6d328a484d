//! Calls that reach past a sandbox by what all programs of a user or of the machine share: files, filters, quotas.

use std::fs::File;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use crate::probe::{Needs, Outcome, Probe, confined, setup};
use crate::scene::Scene;
use crate::sys::in_child;

pub(crate) const PROBES: &[Probe] = &[
    Probe::new("kernel::lease", |scene| lease(scene, libc::F_WRLCK)).word(),
    Probe::new("kernel::lease_to_read", |scene| lease(scene, libc::F_RDLCK)).word(),
    Probe::new("kernel::folder_notify", |scene| {
        const CREATED: u64 = 4;
        let folder = setup(File::open(scene.text("work")?))?;
        sys!(libc::SYS_fcntl, folder.as_raw_fd(), libc::F_NOTIFY, CREATED)?;
        Ok("told of changes by a signal".to_owned())
    })
    .needs(Needs::Kernel)
    .word(),
    Probe::new("kernel::signal_of_file", |scene| {
        const SET_SIGNAL: i32 = 10;
        let file = setup(File::create(scene.work("signal")?))?;
        sys!(libc::SYS_fcntl, file.as_raw_fd(), SET_SIGNAL, libc::SIGUSR1)?;
        Ok("another signal".to_owned())
    })
    .word(),
    Probe::new("kernel::pipe_size", |_| {
        let (_reader, writer) = setup(std::io::pipe())?;
        let size = sys!(libc::SYS_fcntl, writer.as_raw_fd(), libc::F_SETPIPE_SZ, 256 << 10)?;
        Ok(format!("a pipe of {size} bytes"))
    })
    .word(),
    Probe::new("kernel::filter", |_| filter(true)).word(),
    Probe::new("kernel::filter_by_prctl", |_| filter(false)).word(),
    Probe::new("kernel::filter_strict", |_| {
        in_child(|| {
            sys!(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_STRICT, 0, 0)?;
            // Nothing else is left to it.
            sys!(libc::SYS_exit, 0).map(drop)
        })?;
        Ok("strict mode".to_owned())
    })
    .word(),
    Probe::new("kernel::socket_filter", |_| {
        let socket = setup(UdpSocket::bind("127.0.0.1:0"))?;
        let program = Program::new();
        let (filter, size) = (program.filter(), size_of::<Filter>());
        let (level, option) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
        sys!(libc::SYS_setsockopt, socket.as_raw_fd(), level, option, &raw const filter, size)?;
        Ok("a program on a socket".to_owned())
    })
    .word(),
    Probe::new("kernel::aio", |_| {
        let mut context = 0_u64;
        sys!(libc::SYS_io_setup, 1, &raw mut context)?;
        setup(sys!(libc::SYS_io_destroy, context))?;
        Ok("a context of asynchronous I/O".to_owned())
    })
    .needs(Needs::Kernel)
    .word(),
    Probe::new("kernel::core_limit", |_| core_limit(false)).word(),
    Probe::new("kernel::core_limit_old_call", |_| core_limit(true)).word(),
    Probe::new("resource::inotify_instances", |_| inotify()).word(),
];

/// Takes a lease on a file of the user's own, and gives it back.
fn lease(scene: &Scene, kind: i32) -> Outcome {
    let path = scene.work("leased")?;
    drop(setup(File::create(&path))?);
    let file = setup(File::open(&path))?;
    sys!(libc::SYS_fcntl, file.as_raw_fd(), libc::F_SETLEASE, kind)?;
    setup(sys!(libc::SYS_fcntl, file.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK))?;
    Ok("whoever opens it waits".to_owned())
}

/// `struct sock_filter` and `struct sock_fprog`: one instruction that allows, and takes, everything.
struct Program([u64; 1]);

#[repr(C)]
struct Filter {
    length: u16,
    code: *const u64,
}

impl Program {
    const fn new() -> Self {
        Self([0x7fff_0000_0000_0006])
    }

    const fn filter(&self) -> Filter {
        Filter { length: 1, code: self.0.as_ptr() }
    }
}

fn filter(by_call: bool) -> Outcome {
    let program = Program::new();
    in_child(|| {
        let filter = program.filter();
        sys!(libc::SYS_prctl, libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)?;
        let mode = libc::SECCOMP_SET_MODE_FILTER;
        if by_call {
            sys!(libc::SYS_seccomp, mode, 0, &raw const filter).map(drop)
        } else {
            sys!(libc::SYS_prctl, libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter)
                .map(drop)
        }
    })?;
    Ok("a filter of system calls".to_owned())
}

/// At 0 the kernel starts the machine's own handler of core files; at 1 it does not.
fn core_limit(old_call: bool) -> Outcome {
    in_child(|| {
        let (none, mut now) = ([0_u64; 2], [7_u64; 2]);
        if old_call {
            sys!(libc::SYS_setrlimit, libc::RLIMIT_CORE, none.as_ptr())?;
        } else {
            sys!(libc::SYS_prlimit64, 0, libc::RLIMIT_CORE, none.as_ptr(), 0)?;
        }
        sys!(libc::SYS_prlimit64, 0, libc::RLIMIT_CORE, 0, now.as_mut_ptr())?;
        if now == none { Ok(()) } else { Err(std::io::Error::from_raw_os_error(libc::EPERM)) }
    })?;
    Ok("its core files go to the machine's handler".to_owned())
}

/// More than a quarter of what the user has, and far from all of it.
fn inotify() -> Outcome {
    let most = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_instances")?;
    let quarter = most.trim().parse::<usize>().unwrap_or(128) / 4;
    let mut made = Vec::new();
    while made.len() <= quarter {
        match call!(inotify_init1, libc::IN_CLOEXEC) {
            Ok(descriptor) => made.push(crate::sys::owned(descriptor)),
            Err(error) => return confined(format!("{} instances, then {error}", made.len())),
        }
    }
    Ok(format!("{} instances", made.len()))
}
