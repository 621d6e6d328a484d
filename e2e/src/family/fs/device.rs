//! Device nodes: those of the host, and new ones.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::probe::{Needs, Outcome, Probe, confined};
use crate::scene::Scene;
use crate::sys::c;

pub(crate) const PROBES: &[Probe] = &[
    Probe::new("fs::device_disk", |_| {
        first(&["/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/xvda", "/dev/loop0"], Access::Read)
    })
    .needs(Needs::Root)
    .word(),
    Probe::new("fs::device_kmsg", |_| first(&["/dev/kmsg"], Access::Read)).needs(Needs::Root).word(),
    Probe::new("fs::device_kmsg_write", |_| first(&["/dev/kmsg"], Access::Write)).needs(Needs::Root).word(),
    Probe::new("fs::device_fuse", |_| first(&["/dev/fuse"], Access::Both)).needs(Needs::RootAndKernel).word(),
    Probe::new("fs::device_kvm", |_| first(&["/dev/kvm"], Access::Both)).needs(Needs::RootAndKernel).word(),
    Probe::new("fs::device_loop_control", |_| first(&["/dev/loop-control"], Access::Both))
        .needs(Needs::RootAndKernel)
        .word(),
    Probe::new("fs::device_userfaultfd", |_| first(&["/dev/userfaultfd"], Access::Both))
        .needs(Needs::RootAndKernel)
        .word(),
    Probe::new("fs::device_vsock", |_| first(&["/dev/vsock"], Access::Read))
        .needs(Needs::RootAndKernel)
        .word(),
    Probe::new("fs::device_screen", |_| first(&["/dev/vcs", "/dev/vcs1"], Access::Read))
        .needs(Needs::RootAndKernel)
        .word(),
    Probe::new("fs::device_terminal", |_| first(&["/dev/tty0", "/dev/tty1"], Access::Both))
        .needs(Needs::RootAndKernel)
        .word(),
    Probe::new("fs::device_list", |_| many("/dev", 30)).word(),
    Probe::new("fs::device_write", |scene| {
        fs::write(scene.text("dev-mark")?, crate::probe::PAYLOAD)?;
        Ok("written".to_owned())
    })
    .proof(crate::probe::Proof::Holds("{dev-mark}"))
    .needs(Needs::Root),
    Probe::new("fs::mknod_work", |scene| mknod(&scene.work("node")?)).needs(Needs::Root).word(),
    Probe::new("fs::mknod_tmp", mknod_tmp).needs(Needs::Root).word(),
    Probe::new("fs::mknod_disk", mknod_disk).needs(Needs::Root).word(),
];

#[derive(Clone, Copy)]
enum Access {
    Both,
    Read,
    Write,
}

/// Opens the first that is there; nothing is read from or written to it.
fn first(paths: &[&str], access: Access) -> Outcome {
    let (read, write) = match access {
        Access::Both => (true, true),
        Access::Read => (true, false),
        Access::Write => (false, true),
    };
    let mut options = OpenOptions::new();
    options.read(read).write(write).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    let mut last = confined("no candidate");
    for path in paths {
        match options.open(path) {
            Ok(_) => return Ok(format!("{path} opened")),
            Err(error) => last = Err(error.into()),
        }
    }
    last
}

pub(crate) fn many(path: &str, limit: usize) -> Outcome {
    match fs::read_dir(path)?.count() {
        count if count > limit => Ok(format!("{count} entries in {path}")),
        count => confined(format!("only {count} entries")),
    }
}

/// Makes the node of `/dev/zero` and reads from it.
fn mknod(path: &Path) -> Outcome {
    call!(mknod, c(path).as_ptr(), libc::S_IFCHR | 0o600, libc::makedev(1, 5))?;
    let mut byte = [1];
    let read = File::open(path).and_then(|mut node| node.read_exact(&mut byte));
    let _removed = fs::remove_file(path);
    read?;
    Ok("a device node that works".to_owned())
}

fn mknod_tmp(scene: &Scene) -> Outcome {
    mknod(Path::new(scene.text("tmp-node")?))
}

/// The node of the disk that holds the root; it is made and removed, not opened.
fn mknod_disk(scene: &Scene) -> Outcome {
    let node = scene.work("disk")?;
    call!(mknod, c(&node).as_ptr(), libc::S_IFBLK | 0o600, libc::makedev(254, 0))?;
    fs::remove_file(node)?;
    Ok("a node of the disk".to_owned())
}
