//! `/etc`, `/sys`, `/proc` and control groups: what a host tells and takes by file.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::device::many;
use crate::probe::{Needs, Outcome, Probe, confined, setup, token_in};
use crate::scene::Scene;

pub(crate) const PROBES: &[Probe] = &[
    Probe::new("fs::etc_shadow", |_| some("/etc/shadow")).needs(Needs::Root).word(),
    Probe::new("fs::etc_passwd", etc_passwd).word(),
    Probe::new("fs::etc_list", |_| many("/etc", 40)).word(),
    Probe::new("fs::etc_hostname", |_| some("/etc/hostname")).needs(Needs::Kernel).word(),
    Probe::new("fs::etc_machine_id", |_| some("/etc/machine-id")).needs(Needs::Kernel).word(),
    Probe::new("fs::programs_list", |_| many("/usr/bin", 40)).word(),
    Probe::new("fs::root_list", root_list).word(),
    Probe::new("fs::var_list", |_| many("/var/lib", 3)).word(),
    Probe::new("fs::run_list", |_| many("/run", 3)).word(),
    Probe::new("fs::sys_list", |_| many("/sys/class", 3)).word(),
    Probe::new("fs::sys_block", |_| many("/sys/block", 0)).word(),
    Probe::new("fs::sys_network", |_| many("/sys/class/net", 1)).word(),
    Probe::new("fs::sys_write", |_| rewrite_first("/sys/block", "queue/read_ahead_kb"))
        .needs(Needs::Root)
        .word(),
    Probe::new("fs::cgroup_list", |_| many("/sys/fs/cgroup", 0)).word(),
    Probe::new("fs::cgroup_make", |_| cgroup_make()).needs(Needs::Root).word(),
    Probe::new("fs::cgroup_leave", |_| cgroup_leave()).needs(Needs::Root).word(),
    Probe::new("fs::proc_sys_write", |_| rewrite("/proc/sys/vm/swappiness")).needs(Needs::Root).word(),
    Probe::new("fs::proc_core_pattern", |_| rewrite("/proc/sys/kernel/core_pattern"))
        .needs(Needs::Root)
        .word(),
    Probe::new("fs::proc_modprobe", |_| rewrite("/proc/sys/kernel/modprobe"))
        .needs(Needs::RootAndKernel)
        .word(),
    Probe::new("fs::proc_hotplug", |_| rewrite("/proc/sys/kernel/poweroff_cmd")).needs(Needs::Root).word(),
    Probe::new("fs::proc_sysrq", |_| opened_for_writing("/proc/sysrq-trigger"))
        .needs(Needs::RootAndKernel)
        .word(),
    Probe::new("fs::proc_cmdline", |_| some("/proc/cmdline")).word(),
    Probe::new("fs::proc_partitions", |_| some("/proc/partitions")).needs(Needs::Kernel).word(),
    Probe::new("fs::proc_symbols", |_| some("/proc/kallsyms")).needs(Needs::Kernel).word(),
    Probe::new("fs::proc_modules", |_| some("/proc/modules")).needs(Needs::Kernel).word(),
    Probe::new("fs::proc_devices", |_| some("/proc/devices")).word(),
    Probe::new("fs::proc_interrupts", |_| some("/proc/interrupts")).word(),
    Probe::new("fs::proc_disks", |_| some("/proc/diskstats")).needs(Needs::Kernel).word(),
    Probe::new("fs::proc_boot_id", |_| some("/proc/sys/kernel/random/boot_id")).word(),
    Probe::new("fs::proc_kcore", |_| some("/proc/kcore")).needs(Needs::RootAndKernel).word(),
    Probe::new("fs::proc_kallsyms", |_| kallsyms()).needs(Needs::RootAndKernel).word(),
    Probe::new("fs::proc_kmsg", |_| kernel_log()).needs(Needs::RootAndKernel).word(),
    Probe::new("fs::proc_timer_list", |_| some("/proc/timer_list")).needs(Needs::RootAndKernel).word(),
    Probe::new("fs::proc_slabinfo", |_| some("/proc/slabinfo")).needs(Needs::RootAndKernel).word(),
    Probe::new("fs::proc_keys", |scene| {
        let keys = fs::read_to_string("/proc/keys")?;
        match keys.contains(scene.text("abstract")?) {
            true => Ok("the canary's key is listed".to_owned()),
            false => confined("the canary's key is not listed"),
        }
    })
    .needs(Needs::Kernel)
    .word(),
    Probe::new("fs::proc_canary_environ", |scene| {
        token_in(&setup_free(scene.expand("/proc/{pid}/environ"))?)
    }),
];

fn setup_free(path: String) -> std::io::Result<Vec<u8>> {
    fs::read(path)
}

/// Reads a little; what it was is not printed.
fn some(path: &str) -> Outcome {
    let mut bytes = [0; 16];
    match fs::File::open(path)?.read(&mut bytes)? {
        0 => confined("empty"),
        count => Ok(format!("{count} bytes of {path}")),
    }
}

/// A stub with a few names is no leak; the host's list of accounts is.
fn etc_passwd(_: &Scene) -> Outcome {
    match fs::read_to_string("/etc/passwd")?.lines().count() {
        count if count > 6 => Ok(format!("{count} accounts")),
        count => confined(format!("a stub of {count} accounts")),
    }
}

fn root_list(scene: &Scene) -> Outcome {
    // The folder around what is granted must be there.
    let granted = scene.text("work")?;
    let seen: Vec<&str> = ["/root", "/home", "/boot", "/srv", "/opt", "/mnt"]
        .into_iter()
        .filter(|path| !Path::new(granted).starts_with(path) && Path::new(path).exists())
        .collect();
    if seen.is_empty() { confined("none of the host's folders") } else { Ok(seen.join(" ")) }
}

/// Reading would wait for the next message, and take it from whoever keeps the log: having it open is enough, if it is
/// the kernel's and not a stand-in.
fn kernel_log() -> Outcome {
    let log = fs::File::open("/proc/kmsg")?.metadata()?;
    if log.dev() == fs::metadata("/proc/self/status")?.dev() {
        Ok("the kernel's log".to_owned())
    } else {
        confined("another file in its place")
    }
}

/// Writes back what is there, so that nothing changes.
fn rewrite(path: &str) -> Outcome {
    let old = fs::read(path)?;
    OpenOptions::new().write(true).open(path)?.write_all(&old)?;
    Ok(format!("{path} written"))
}

fn rewrite_first(folder: &str, below: &str) -> Outcome {
    let mut last = confined("nothing there");
    for entry in fs::read_dir(folder)? {
        last = rewrite(&entry?.path().join(below).to_string_lossy());
        if last.is_ok() {
            break;
        }
    }
    last
}

fn opened_for_writing(path: &str) -> Outcome {
    OpenOptions::new().write(true).open(path)?;
    Ok(format!("{path} opened for writing"))
}

/// Where the host keeps the processes of its root group, in version 2 or 1.
const GROUPS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/pids"];

fn cgroup_make() -> Outcome {
    let mut last = confined("no control groups");
    for root in GROUPS {
        let group = Path::new(root).join(format!("rf-probe-{}", std::process::id()));
        match fs::create_dir(&group) {
            Ok(()) => {
                let real = group.join("cgroup.procs").exists();
                let _removed = fs::remove_dir(&group);
                if real {
                    return Ok("a group of its own".to_owned());
                }
            }
            Err(error) => last = Err(error.into()),
        }
    }
    last
}

fn cgroup_leave() -> Outcome {
    let mut last = confined("no control groups");
    for root in GROUPS {
        match OpenOptions::new().write(true).open(format!("{root}/cgroup.procs")) {
            Ok(mut procs) => {
                setup(procs.flush())?;
                procs.write_all(b"0")?;
                return Ok("out of its group".to_owned());
            }
            Err(error) => last = Err(error.into()),
        }
    }
    last
}

fn kallsyms() -> Outcome {
    let mut bytes = [0; 4096];
    let count = fs::File::open("/proc/kallsyms")?.read(&mut bytes)?;
    let text = String::from_utf8_lossy(bytes.get(..count).unwrap_or_default()).into_owned();
    match text.lines().find(|line| !line.starts_with("0000000000000000") && line.len() > 16) {
        Some(_) => Ok("addresses of the kernel".to_owned()),
        None => confined("only zeros"),
    }
}
