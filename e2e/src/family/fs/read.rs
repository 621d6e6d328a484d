//! Reading, listing and noticing files outside the grant.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::probe::{Needs, Outcome, Probe, Stop, confined, setup, token_in};
use crate::scene::Scene;
use crate::sys::{c, owned};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new("fs::read_outside", |scene| read(scene.outside("secret")?)),
    Probe::new("fs::read_dotdot", |scene| read(scene.work("../outside/secret")?)),
    Probe::new("fs::read_cwd_parent", read_cwd_parent),
    Probe::new("fs::read_symlink_made", |scene| through_link(scene, "/", "secret")),
    Probe::new("fs::read_symlink_relative", read_symlink_relative),
    Probe::new("fs::read_symlink_planted", |scene| read(scene.expand("{ro}/planted"))),
    Probe::new("fs::read_symlink_proc", |scene| through_link(scene, "/proc/self/root", "secret")),
    Probe::new("fs::read_symlink_swapped", read_symlink_swapped),
    Probe::new("fs::read_hardlink", read_hardlink),
    Probe::new("fs::read_proc_self_root", |scene| read(scene.expand("/proc/self/root{outside}/secret"))),
    Probe::new("fs::read_proc_thread_root", |scene| {
        read(scene.expand("/proc/thread-self/root{outside}/secret"))
    }),
    Probe::new("fs::read_proc_init_root", |scene| read(scene.expand("/proc/{init}/root{outside}/secret"))),
    Probe::new("fs::read_proc_canary_root", |scene| read(scene.expand("/proc/{pid}/root{outside}/secret"))),
    Probe::new("fs::read_proc_canary_cwd", |scene| read(scene.expand("/proc/{pid}/cwd/secret"))),
    Probe::new("fs::read_proc_canary_fd", |scene| read(scene.expand("/proc/{pid}/fd/{fd}"))),
    Probe::new("fs::read_inherited_file", read_inherited_file),
    Probe::new("fs::read_inherited_directory", read_inherited_directory),
    Probe::new("fs::read_chroot_escape", read_chroot_escape).needs(Needs::Root),
    Probe::new("fs::read_tmp", |scene| read(scene.text("tmp-file")?)),
    Probe::new("fs::read_xattr", read_xattr),
    Probe::new("fs::readlink_outside", |scene| {
        token_in(fs::read_link(scene.outside("link")?)?.as_os_str().as_encoded_bytes())
    }),
    Probe::new("fs::list_outside", |scene| list(scene.outside("")?)),
    Probe::new("fs::list_parent", |scene| list(scene.work("..")?)),
    Probe::new("fs::list_tmp", |_| list("/tmp")),
    Probe::new("fs::stat_outside", |scene| {
        Ok(format!("{} bytes", fs::symlink_metadata(scene.outside("secret")?)?.len()))
    })
    .word(),
    Probe::new("fs::access_outside", |scene| {
        call!(access, c(scene.outside("secret")?).as_ptr(), libc::F_OK)?;
        Ok("it exists".to_owned())
    })
    .word(),
    Probe::new("fs::open_path_outside", |scene| {
        owned(call!(open, c(scene.outside("secret")?).as_ptr(), libc::O_PATH)?);
        Ok("a handle".to_owned())
    })
    .word(),
    Probe::new("fs::watch_outside", watch_outside).word(),
    Probe::new("fs::watch_mount_of_outside", watch_mount).needs(Needs::Root).word(),
];

fn read(path: impl AsRef<Path>) -> Outcome {
    token_in(&fs::read(path)?)
}

fn list(path: impl AsRef<Path>) -> Outcome {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.extend(entry?.file_name().as_encoded_bytes());
        names.push(b'\n');
    }
    token_in(&names)
}

fn read_cwd_parent(scene: &Scene) -> Outcome {
    setup(std::env::set_current_dir(scene.work("")?))?;
    read("../outside/secret")
}

fn through_link(scene: &Scene, root: &str, name: &str) -> Outcome {
    let link = scene.work("link")?;
    setup(symlink(format!("{root}{}", scene.text("outside")?), &link))?;
    read(link.join(name))
}

fn read_symlink_relative(scene: &Scene) -> Outcome {
    let link = scene.work("link")?;
    setup(symlink("../outside/secret", &link))?;
    read(link)
}

/// One thread swaps a folder for a link while the other reads: what resolves a path twice loses.
fn read_symlink_swapped(scene: &Scene) -> Outcome {
    let (place, real, link) = (scene.work("place")?, scene.work("real")?, scene.work("link")?);
    setup(fs::create_dir(&place))?;
    setup(fs::write(place.join("secret"), "nothing"))?;
    setup(symlink(scene.outside("")?, &link))?;
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let swap = |from: &Path, to: &Path| fs::rename(from, to);
                let _swapped = swap(&place, &real).and_then(|()| swap(&link, &place));
                let _back = swap(&place, &link).and_then(|()| swap(&real, &place));
            }
        });
        let mut last = confined("never won the race");
        for _ in 0..20_000 {
            last = read(place.join("secret"));
            if last.is_ok() {
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
        last
    })
}

fn read_hardlink(scene: &Scene) -> Outcome {
    let link = scene.work("hard")?;
    fs::hard_link(scene.outside("secret")?, &link)?;
    read(link)
}

fn inherited(scene: &Scene, name: &str) -> Result<File, Stop> {
    let number = scene.number::<i32>(name)?;
    Ok(File::from(owned(call!(fcntl, number, libc::F_DUPFD_CLOEXEC, 3)?)))
}

fn read_inherited_file(scene: &Scene) -> Outcome {
    let mut file = inherited(scene, "inherited-file")?;
    call!(lseek, std::os::fd::AsRawFd::as_raw_fd(&file), 0, libc::SEEK_SET)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    token_in(&bytes)
}

fn read_inherited_directory(scene: &Scene) -> Outcome {
    let folder = inherited(scene, "inherited-folder")?;
    let secret =
        call!(openat, std::os::fd::AsRawFd::as_raw_fd(&folder), c("secret").as_ptr(), libc::O_RDONLY)?;
    let mut bytes = Vec::new();
    File::from(owned(secret)).read_to_end(&mut bytes)?;
    token_in(&bytes)
}

/// The classic: a second root below the first leaves the working directory outside of it.
fn read_chroot_escape(scene: &Scene) -> Outcome {
    let inner = scene.work("inner")?;
    setup(std::env::set_current_dir(scene.work("")?))?;
    setup(fs::create_dir(&inner))?;
    call!(chroot, c(&inner).as_ptr())?;
    for _ in 0..64 {
        setup(std::env::set_current_dir(".."))?;
    }
    call!(chroot, c(".").as_ptr())?;
    read(scene.outside("secret")?)
}

fn read_xattr(scene: &Scene) -> Outcome {
    let mut value = [0_u8; 256];
    let name = c("user.canary");
    call!(
        getxattr,
        c(scene.outside("secret")?).as_ptr(),
        name.as_ptr(),
        value.as_mut_ptr().cast(),
        value.len()
    )
    .map(|_| token_in(&value))?
}

fn watch_outside(scene: &Scene) -> Outcome {
    let watch = owned(setup(call!(inotify_init1, libc::IN_CLOEXEC))?);
    let watch = std::os::fd::AsRawFd::as_raw_fd(&watch);
    let number = call!(inotify_add_watch, watch, c(scene.outside("")?).as_ptr(), libc::IN_ALL_EVENTS)?;
    Ok(format!("watch {number}"))
}

fn watch_mount(scene: &Scene) -> Outcome {
    let group = owned(sys!(libc::SYS_fanotify_init, libc::FAN_CLASS_NOTIF, libc::O_RDONLY)?);
    let group = std::os::fd::AsRawFd::as_raw_fd(&group);
    let path = c(scene.work("")?);
    let flags = libc::FAN_MARK_ADD | libc::FAN_MARK_FILESYSTEM;
    sys!(libc::SYS_fanotify_mark, group, flags, libc::FAN_OPEN, libc::AT_FDCWD, path.as_ptr())?;
    Ok("every open of the filesystem is seen".to_owned())
}
