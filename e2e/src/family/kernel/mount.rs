//! Mounts. Each is tried in a child with a mount namespace of its own where it can have one, so that the host keeps
//! its own when nothing confines the probe.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;

use crate::probe::{Needs, Outcome, Probe, Stop, setup, token_in};
use crate::scene::Scene;
use crate::sys::{c, in_child, owned};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new("kernel::mount_tmpfs", mount_tmpfs).needs(Needs::Root).word(),
    Probe::new("kernel::mount_proc", mount_proc).needs(Needs::Root).word(),
    Probe::new("kernel::mount_bind", mount_bind).needs(Needs::Root).word(),
    Probe::new("kernel::mount_remount", mount_remount).needs(Needs::Root).word(),
    Probe::new("kernel::mount_disk", mount_filesystem).needs(Needs::Root).word(),
    Probe::new("kernel::unmount", unmount).needs(Needs::Root).word(),
    Probe::new("kernel::pivot_root", pivot_root).needs(Needs::Root).word(),
    Probe::new("kernel::chroot", |scene| alone(|| call!(chroot, c(work(scene)?).as_ptr()).map(drop)))
        .needs(Needs::Root)
        .word(),
    Probe::new("kernel::fsopen", |_| {
        owned(sys!(libc::SYS_fsopen, c("tmpfs").as_ptr(), 0)?);
        Ok("a filesystem context".to_owned())
    })
    .needs(Needs::Root)
    .word(),
    Probe::new("kernel::fsmount", fsmount).needs(Needs::Root).word(),
    Probe::new("kernel::open_tree_clone", open_tree).needs(Needs::Root).word(),
    Probe::new("kernel::mount_setattr", mount_setattr).needs(Needs::Root).word(),
    Probe::new("kernel::open_by_handle", open_by_handle).needs(Needs::Root),
];

fn work(scene: &Scene) -> io::Result<String> {
    scene.text("work").map(str::to_owned).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

/// In a child; a private mount namespace first, if the kernel lets it.
fn alone(act: impl FnOnce() -> io::Result<()>) -> Outcome {
    in_child(|| {
        let own = call!(unshare, libc::CLONE_NEWNS);
        let (none, root) = (c("none"), c("/"));
        let private = libc::MS_REC | libc::MS_PRIVATE;
        if own.is_ok() {
            sys!(libc::SYS_mount, none.as_ptr(), root.as_ptr(), 0, private, 0)?;
        }
        act()
    })?;
    Ok("done".to_owned())
}

fn mount(source: &str, target: &str, kind: &str, flags: libc::c_ulong) -> io::Result<()> {
    let (source, target, kind) = (c(source), c(target), c(kind));
    sys!(libc::SYS_mount, source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, 0).map(drop)
}

fn mount_tmpfs(scene: &Scene) -> Outcome {
    alone(|| mount("tmpfs", &work(scene)?, "tmpfs", 0))
}

fn mount_proc(scene: &Scene) -> Outcome {
    alone(|| mount("proc", &work(scene)?, "proc", 0))
}

fn mount_bind(scene: &Scene) -> Outcome {
    alone(|| mount("/", &work(scene)?, "none", libc::MS_BIND))
}

/// The read-only grant made writable.
fn mount_remount(scene: &Scene) -> Outcome {
    let ro = scene.text("ro")?.to_owned();
    alone(|| {
        // On the host the folder is no mount of its own; inside it is, and binding it again changes nothing.
        mount(&ro, &ro, "none", libc::MS_BIND)?;
        mount("none", &ro, "none", libc::MS_BIND | libc::MS_REMOUNT)
    })
}

/// Any filesystem that shows the host: control groups, debugging, tracing.
fn mount_filesystem(scene: &Scene) -> Outcome {
    alone(|| {
        let work = work(scene)?;
        let mut last = Ok(());
        for kind in ["sysfs", "cgroup2", "debugfs", "tracefs", "devtmpfs"] {
            last = mount(kind, &work, kind, 0);
            if last.is_ok() {
                break;
            }
        }
        last
    })
}

fn unmount(_: &Scene) -> Outcome {
    alone(|| call!(umount2, c("/proc").as_ptr(), libc::MNT_DETACH).map(drop))
}

fn pivot_root(scene: &Scene) -> Outcome {
    setup(fs::create_dir(scene.work("old")?))?;
    alone(|| {
        let work = work(scene)?;
        mount(&work, &work, "none", libc::MS_BIND)?;
        sys!(libc::SYS_pivot_root, c(&work).as_ptr(), c(format!("{work}/old")).as_ptr()).map(drop)
    })
}

fn fsmount(scene: &Scene) -> Outcome {
    alone(|| {
        const CREATE: i32 = 6;
        const EMPTY_PATH: i32 = 4;
        let context = owned(sys!(libc::SYS_fsopen, c("tmpfs").as_ptr(), 0)?);
        sys!(libc::SYS_fsconfig, context.as_raw_fd(), CREATE, 0, 0, 0)?;
        let tree = owned(sys!(libc::SYS_fsmount, context.as_raw_fd(), 0, 0)?);
        let (empty, work) = (c(""), c(work(scene)?));
        let here = libc::AT_FDCWD;
        sys!(libc::SYS_move_mount, tree.as_raw_fd(), empty.as_ptr(), here, work.as_ptr(), EMPTY_PATH)
            .map(drop)
    })
}

fn open_tree(_: &Scene) -> Outcome {
    const CLONE: i32 = 1;
    owned(sys!(libc::SYS_open_tree, libc::AT_FDCWD, c("/").as_ptr(), CLONE | libc::AT_RECURSIVE)?);
    Ok("a copy of the mount tree".to_owned())
}

fn mount_setattr(scene: &Scene) -> Outcome {
    let ro = scene.text("ro")?.to_owned();
    alone(|| {
        // On the host the folder is no mount of its own yet.
        let _bound = mount(&ro, &ro, "none", libc::MS_BIND);
        const READ_ONLY: u64 = 1;
        let change = [0_u64, READ_ONLY, 0, 0];
        let path = c(&ro);
        sys!(libc::SYS_mount_setattr, libc::AT_FDCWD, path.as_ptr(), 0, change.as_ptr(), 32).map(drop)
    })
}

#[repr(C)]
struct Handle {
    bytes: u32,
    kind: i32,
    value: [u8; 128],
}

/// A handle needs no path: that of the filesystem's root opens everything on it.
fn open_by_handle(scene: &Scene) -> Outcome {
    let work = setup(fs::File::open(scene.work("")?))?;
    let mut handle = Handle { bytes: 128, kind: 0, value: [0; 128] };
    let mut mount = 0_i32;
    let secret = c(scene.outside("secret")?);
    // Where the secret has no name, the handle of the root inode, which is the same on every ext4.
    let named = sys!(
        libc::SYS_name_to_handle_at,
        libc::AT_FDCWD,
        secret.as_ptr(),
        &raw mut handle,
        &raw mut mount,
        0
    );
    let by_root = named.is_err();
    if by_root {
        handle = Handle { bytes: 8, kind: 1, value: [0; 128] };
        if let Some(first) = handle.value.first_mut() {
            *first = 2;
        }
    }
    let flags = if by_root { libc::O_PATH } else { libc::O_RDONLY };
    let opened = owned(sys!(libc::SYS_open_by_handle_at, work.as_raw_fd(), &raw const handle, flags)?);
    let read = if by_root {
        let relative = c(scene.text("outside")?.trim_start_matches('/').to_owned() + "/secret");
        owned(call!(openat, opened.as_raw_fd(), relative.as_ptr(), libc::O_RDONLY)?)
    } else {
        opened
    };
    let mut bytes = [0_u8; 256];
    call!(pread, read.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), 0)
        .map_err(Stop::from)
        .and_then(|_| token_in(&bytes))
}
