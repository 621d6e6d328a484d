//! New namespaces: inside a user namespace of its own, a process has every capability again.

use std::io;

use crate::probe::{Needs, Outcome, Probe};
use crate::sys::{c, in_child, waited};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new("kernel::unshare_user", |_| unshared(libc::CLONE_NEWUSER)).word(),
    Probe::new("kernel::unshare_user_mount", |_| user_mount()).word(),
    Probe::new("kernel::unshare_user_network", |_| unshared(libc::CLONE_NEWUSER | libc::CLONE_NEWNET)).word(),
    Probe::new("kernel::unshare_mount", |_| unshared(libc::CLONE_NEWNS)).needs(Needs::Root).word(),
    Probe::new("kernel::unshare_network", |_| unshared(libc::CLONE_NEWNET)).needs(Needs::Root).word(),
    Probe::new("kernel::unshare_pid", |_| unshared(libc::CLONE_NEWPID)).needs(Needs::Root).word(),
    Probe::new("kernel::unshare_ipc", |_| unshared(libc::CLONE_NEWIPC)).needs(Needs::Root).word(),
    Probe::new("kernel::unshare_uts", |_| unshared(libc::CLONE_NEWUTS)).needs(Needs::Root).word(),
    Probe::new("kernel::unshare_cgroup", |_| unshared(libc::CLONE_NEWCGROUP)).needs(Needs::Root).word(),
    Probe::new("kernel::unshare_time", |_| unshared(0x80)).needs(Needs::Root).word(),
    Probe::new("kernel::clone_user", |_| cloned(libc::CLONE_NEWUSER)).word(),
    Probe::new("kernel::clone_pid", |_| cloned(libc::CLONE_NEWPID)).needs(Needs::Root).word(),
    Probe::new("kernel::clone3_user", |_| cloned3()).word(),
    Probe::new("kernel::clone3_into_cgroup", |_| cloned3_into_cgroup()).needs(Needs::RootAndKernel).word(),
];

fn unshared(flags: i32) -> Outcome {
    in_child(|| call!(unshare, flags).map(drop))?;
    Ok(format!("namespaces {flags:#x}"))
}

/// The usual way up: a user namespace, and in it a mount.
fn user_mount() -> Outcome {
    in_child(|| {
        call!(unshare, libc::CLONE_NEWUSER | libc::CLONE_NEWNS)?;
        let (kind, at) = (c("tmpfs"), c("/proc"));
        sys!(libc::SYS_mount, kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, 0).map(drop)
    })?;
    Ok("mounted in a namespace of its own".to_owned())
}

/// The child of a raw clone goes on here with a copy of the memory; it must only end.
fn ended(child: i64) -> io::Result<()> {
    if child == 0 {
        // SAFETY: `_exit` has no demands.
        unsafe { libc::_exit(0) }
    }
    waited(libc::pid_t::try_from(child).unwrap_or(-1)).map(drop)
}

fn cloned(flags: i32) -> Outcome {
    ended(sys!(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0)?)?;
    Ok(format!("a child in namespaces {flags:#x}"))
}

fn cloned3() -> Outcome {
    // flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls
    let arguments = [libc::CLONE_NEWUSER as u64, 0, 0, 0, libc::SIGCHLD as u64, 0, 0, 0];
    ended(sys!(libc::SYS_clone3, arguments.as_ptr(), size_of_val(&arguments))?)?;
    Ok("a child in a user namespace".to_owned())
}

/// A filter cannot see the arguments of this call, so only refusing it whole helps.
fn cloned3_into_cgroup() -> Outcome {
    let roots = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
    let mut last = Err(io::Error::from_raw_os_error(libc::ENOENT).into());
    for root in roots {
        if !std::path::Path::new(root).join("cgroup.procs").exists() {
            continue;
        }
        let group = call!(open, c(root).as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC)?;
        const INTO_CGROUP: u64 = 0x2_0000_0000;
        let group_number = u64::try_from(group).unwrap_or(0);
        let arguments = [INTO_CGROUP, 0, 0, 0, libc::SIGCHLD as u64, 0, 0, 0, 0, 0, group_number];
        last = match sys!(libc::SYS_clone3, arguments.as_ptr(), size_of_val(&arguments)) {
            Ok(child) => {
                ended(child)?;
                return Ok("a child in the root group".to_owned());
            }
            Err(error) => Err(error.into()),
        };
    }
    last
}
