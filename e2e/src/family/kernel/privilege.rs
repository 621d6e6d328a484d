//! What only root may do, and what makes a process root.

use std::fs;

use crate::probe::{Needs, Outcome, Probe, confined, setup};
use crate::sys::{c, in_child};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new("kernel::capabilities", |_| capabilities("CapEff:")).needs(Needs::Root).word(),
    Probe::new("kernel::capabilities_bound", |_| capabilities("CapBnd:")).word(),
    Probe::new("kernel::new_privileges", |_| {
        match setup(call!(prctl, libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0))? {
            0 => Ok("set-user-id programs would be honoured".to_owned()),
            _ => confined("no_new_privs is set"),
        }
    })
    .word(),
    Probe::new("kernel::seccomp_absent", |_| match status("Seccomp:")?.as_str() {
        "0" => Ok("no filter".to_owned()),
        mode => confined(format!("mode {mode}")),
    })
    .word(),
    Probe::new("kernel::set_user", |_| child(|| sys!(libc::SYS_setuid, 12_345))).needs(Needs::Root).word(),
    Probe::new("kernel::set_group", |_| child(|| sys!(libc::SYS_setgid, 12_345))).needs(Needs::Root).word(),
    Probe::new("kernel::set_groups", |_| child(|| sys!(libc::SYS_setgroups, 1, &raw const STRANGER)))
        .needs(Needs::Root)
        .word(),
    Probe::new("kernel::host_name", |_| host_name()).needs(Needs::Root).word(),
    Probe::new("kernel::clock_set", |_| clock_set()).needs(Needs::Root).word(),
    Probe::new("kernel::clock_adjust", |_| clock_adjust()).needs(Needs::Root).word(),
    Probe::new("kernel::io_ports", |_| child(|| sys!(libc::SYS_ioperm, 0x80, 1, 1)))
        .needs(Needs::RootAndKernel)
        .word(),
    Probe::new("kernel::io_level", |_| child(|| sys!(libc::SYS_iopl, 3))).needs(Needs::RootAndKernel).word(),
    Probe::new("kernel::reboot", |_| {
        // Says that ctrl-alt-del may restart the machine, which is how it starts.
        sys!(libc::SYS_reboot, 0xfee1_dead_u32, 672_274_793, 0x89ab_cdef_u32, 0)?;
        Ok("the machine's keys are ours".to_owned())
    })
    .needs(Needs::Root)
    .word(),
    Probe::new("kernel::realtime", |_| {
        let priority = 1_i32;
        child(|| sys!(libc::SYS_sched_setscheduler, 0, libc::SCHED_FIFO, &raw const priority))
    })
    .needs(Needs::Root)
    .word(),
    Probe::new("kernel::io_realtime", |_| child(|| sys!(libc::SYS_ioprio_set, 1, 0, 1 << 13)))
        .needs(Needs::Root)
        .word(),
    Probe::new("kernel::higher_priority", |_| child(|| call!(setpriority, libc::PRIO_PROCESS, 0, -5)))
        .needs(Needs::Root)
        .word(),
    Probe::new("kernel::swap", |_| {
        // A path that is no swap area: the answer says whether the caller was asked for its rights first.
        match sys!(libc::SYS_swapoff, c("/rf-no-such").as_ptr()) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
                Ok("swap is ours to turn off".to_owned())
            }
            Err(error) => Err(error.into()),
            Ok(_) => Ok("done".to_owned()),
        }
    })
    .needs(Needs::RootAndKernel)
    .word(),
    Probe::new("kernel::accounting", |_| match sys!(libc::SYS_acct, c("/rf-no-such").as_ptr()) {
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
            Ok("accounting is ours to start".to_owned())
        }
        Err(error) => Err(error.into()),
        Ok(_) => Ok("done".to_owned()),
    })
    .needs(Needs::RootAndKernel)
    .word(),
];

static STRANGER: libc::gid_t = 12_345;

fn child(act: impl FnOnce() -> std::io::Result<i64>) -> Outcome {
    in_child(|| act().map(drop))?;
    Ok("done".to_owned())
}

fn status(field: &str) -> Outcome {
    let status = setup(fs::read_to_string("/proc/self/status"))?;
    let value = status.lines().find_map(|line| line.strip_prefix(field)).map(str::trim).map(str::to_owned);
    value.ok_or_else(|| crate::probe::Stop::Broken(format!("no `{field}` in the status")))
}

fn capabilities(field: &str) -> Outcome {
    match status(field)?.trim_start_matches('0') {
        "" => confined("none"),
        some => Ok(some.to_owned()),
    }
}

/// Sets the name it already has.
fn host_name() -> Outcome {
    let name = setup(fs::read_to_string("/proc/sys/kernel/hostname"))?;
    let name = name.trim();
    sys!(libc::SYS_sethostname, name.as_ptr(), name.len())?;
    Ok("the host's name".to_owned())
}

/// Sets the time it already is.
fn clock_set() -> Outcome {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    setup(sys!(libc::SYS_clock_gettime, libc::CLOCK_REALTIME, &raw mut now))?;
    sys!(libc::SYS_clock_settime, libc::CLOCK_REALTIME, &raw const now)?;
    Ok("the host's clock".to_owned())
}

/// Sets the error estimate it already has.
fn clock_adjust() -> Outcome {
    // SAFETY: `timex` is plain data, for which all zeros is a value.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    sys!(libc::SYS_adjtimex, &raw mut state)?;
    state.modes = libc::ADJ_ESTERROR;
    sys!(libc::SYS_adjtimex, &raw mut state)?;
    Ok("the host's clock".to_owned())
}
