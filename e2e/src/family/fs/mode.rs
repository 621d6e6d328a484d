//! Owners, modes, times and attributes: of files outside, and of files that would outlive the run.

use std::fs::{self, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};

use crate::probe::{Needs, Outcome, Probe, confined, setup};
use crate::scene::Scene;
use crate::sys::c;

pub(crate) const PROBES: &[Probe] = &[
    Probe::new("fs::chmod_outside", |scene| {
        fs::set_permissions(scene.outside("victim")?, Permissions::from_mode(0o666))?;
        Ok("changed".to_owned())
    })
    .word(),
    Probe::new("fs::chmod_readonly", |scene| {
        fs::set_permissions(scene.expand("{ro}/note"), Permissions::from_mode(0o666))?;
        Ok("changed".to_owned())
    })
    .word(),
    Probe::new("fs::chown_outside", |scene| {
        let path = c(scene.outside("victim")?);
        // SAFETY: these have no demands.
        let (uid, gid) = unsafe { (libc::getuid(), libc::getgid()) };
        call!(chown, path.as_ptr(), uid, gid)?;
        Ok("changed".to_owned())
    })
    .word(),
    Probe::new("fs::chown_to_stranger", chown_to_stranger).needs(Needs::Root).word(),
    Probe::new("fs::utimes_outside", |scene| {
        call!(utimes, c(scene.outside("victim")?).as_ptr(), std::ptr::null())?;
        Ok("changed".to_owned())
    })
    .word(),
    Probe::new("fs::utimes_readonly", |scene| {
        call!(utimes, c(scene.expand("{ro}/note")).as_ptr(), std::ptr::null())?;
        Ok("changed".to_owned())
    })
    .word(),
    Probe::new("fs::setxattr_outside", |scene| set_xattr(scene.outside("victim")?, "user.probe", b"x"))
        .word(),
    Probe::new("fs::setxattr_readonly", |scene| set_xattr(scene.expand("{ro}/note"), "user.probe", b"x"))
        .word(),
    Probe::new("fs::setxattr_trusted", |scene| own_xattr(scene, "trusted.probe", b"x"))
        .needs(Needs::Root)
        .word(),
    Probe::new("fs::file_capability", |scene| own_xattr(scene, "security.capability", &CAPABILITY))
        .needs(Needs::Root)
        .word(),
    Probe::new("fs::setuid_bit", |scene| special_bit(scene, 0o4755)).word(),
    Probe::new("fs::setgid_bit", |scene| special_bit(scene, 0o2755)).word(),
    Probe::new("fs::setuid_created", setuid_created).word(),
    Probe::new("fs::immutable_flag", immutable_flag).needs(Needs::Root).word(),
];

/// `VFS_CAP_REVISION_2`, effective, `CAP_SYS_ADMIN`.
const CAPABILITY: [u8; 20] = [1, 0, 0, 2, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

fn set_xattr(path: impl AsRef<std::path::Path>, name: &str, value: &[u8]) -> Outcome {
    call!(setxattr, c(path).as_ptr(), c(name).as_ptr(), value.as_ptr().cast(), value.len(), 0)?;
    Ok("set".to_owned())
}

fn own_xattr(scene: &Scene, name: &str, value: &[u8]) -> Outcome {
    let own = scene.work("own")?;
    setup(fs::write(&own, ""))?;
    set_xattr(own, name, value)
}

fn chown_to_stranger(scene: &Scene) -> Outcome {
    let own = scene.work("own")?;
    setup(fs::write(&own, ""))?;
    call!(chown, c(own).as_ptr(), 12_345, 12_345)?;
    Ok("given away".to_owned())
}

/// A program with this bit, left in the granted folder, runs as whoever owns it when someone starts it later.
fn special_bit(scene: &Scene, mode: u32) -> Outcome {
    let own = scene.work("own")?;
    setup(fs::copy(std::env::current_exe()?, &own))?;
    fs::set_permissions(&own, Permissions::from_mode(mode))?;
    kept(&own)
}

fn setuid_created(scene: &Scene) -> Outcome {
    let own = scene.work("own")?;
    fs::OpenOptions::new().write(true).create_new(true).mode(0o6755).open(&own)?;
    kept(&own)
}

fn kept(path: &std::path::Path) -> Outcome {
    match setup(fs::metadata(path))?.mode() & 0o6000 {
        0 => confined("the bit was dropped"),
        bits => Ok(format!("mode {bits:o}")),
    }
}

fn immutable_flag(scene: &Scene) -> Outcome {
    const SET: libc::c_ulong = 0x4008_6602;
    let (immutable, nothing): (libc::c_int, libc::c_int) = (0x10, 0);
    let own = scene.work("own")?;
    let file = setup(fs::File::create(own))?;
    call!(ioctl, file.as_raw_fd(), SET, &raw const immutable)?;
    call!(ioctl, file.as_raw_fd(), SET, &raw const nothing)?;
    Ok("set, and cleared again".to_owned())
}
