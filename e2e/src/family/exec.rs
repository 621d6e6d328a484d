//! Starting what was not declared.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::probe::{Outcome, PAYLOAD, Probe, Stop, confined, setup};
use crate::scene::Scene;
use crate::sys::{forked, owned, waited};

pub(crate) const PROBES: &[Probe] = &[
    program("exec::undeclared", |_| said(&mut Command::new("/usr/bin/id"), "uid=")),
    program("exec::undeclared_shell", |_| said(Command::new("/bin/sh").args(["-c", "echo uid="]), "uid=")),
    program("exec::undeclared_by_path", |_| {
        said(Command::new("id").env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"), "uid=")
    }),
    program("exec::undeclared_proc_root", |_| said(&mut Command::new("/proc/self/root/usr/bin/id"), "uid=")),
    program("exec::undeclared_symlink", |scene| {
        let link = scene.work("id")?;
        setup(symlink("/usr/bin/id", &link))?;
        said(&mut Command::new(link), "uid=")
    }),
    program("exec::shell_starts_undeclared", |_| {
        said(Command::new("/bin/sh").args(["-c", "/usr/bin/id"]), "uid=")
    })
    .flags(&["--exec", "/bin/sh"]),
    program("exec::shell_starts_dropped", |scene| {
        let copy = dropped(&scene.work("copy")?)?;
        said(Command::new("/bin/sh").args(["-c", "\"$0\" say"]).arg(copy), PAYLOAD)
    })
    .flags(&["--exec", "/bin/sh"]),
    program("exec::dropped_copy", |scene| {
        said(Command::new(dropped(&scene.work("copy")?)?).arg("say"), PAYLOAD)
    }),
    program("exec::dropped_in_tmp", |scene| {
        said(Command::new(dropped(Path::new(scene.text("tmp-program")?))?).arg("say"), PAYLOAD)
    }),
    program("exec::dropped_in_shm", |scene| {
        said(Command::new(dropped(Path::new(scene.text("shm-program")?))?).arg("say"), PAYLOAD)
    }),
    program("exec::dropped_by_descriptor", dropped_by_descriptor),
    program("exec::dropped_by_proc_fd", |scene| {
        let file = setup(File::open(dropped(&scene.work("copy")?)?))?;
        said(Command::new(format!("/proc/self/fd/{}", kept(&file)?)).arg("say"), PAYLOAD)
    }),
    program("exec::dropped_script", |scene| script(scene, "#!/bin/sh\necho uid=\n")),
    program("exec::dropped_script_perl", |scene| script(scene, "#!/usr/bin/perl\nprint 'uid='\n")),
    program("exec::dropped_script_loader", |scene| {
        let copy = dropped(&scene.work("copy")?)?;
        script(scene, &format!("#!{} {}\n", loader()?, copy.display()))
    }),
    program("exec::loader_dropped", |scene| {
        said(Command::new(loader()?).arg(dropped(&scene.work("copy")?)?).arg("say"), PAYLOAD)
    }),
    program("exec::loader_dropped_in_tmp", |scene| {
        let copy = dropped(Path::new(scene.text("tmp-program")?))?;
        said(Command::new(loader()?).arg(copy).arg("say"), PAYLOAD)
    }),
    program("exec::loader_undeclared", |_| said(Command::new(loader()?).arg("/usr/bin/id"), "uid=")),
    program("exec::loader_readable", |scene| {
        said(Command::new(loader()?).arg(scene.expand("{ro}/id")), "uid=")
    }),
    program("exec::readable", |scene| said(&mut Command::new(scene.expand("{ro}/id")), "uid=")),
    program("exec::memfd", |_| by_descriptor(&memfd(0)?)),
    program("exec::memfd_exec_flag", |_| by_descriptor(&memfd(0x10)?)),
    program("exec::memfd_by_proc_fd", |_| {
        let file = File::from(memfd(0)?);
        said(Command::new(format!("/proc/self/fd/{}", kept(&file)?)).arg("say"), PAYLOAD)
    }),
    program("exec::memfd_loader", |_| {
        let file = File::from(memfd(0)?);
        said(Command::new(loader()?).arg(format!("/proc/self/fd/{}", kept(&file)?)).arg("say"), PAYLOAD)
    }),
    program("exec::inherited_program", |scene| {
        let number = scene.number::<i32>("inherited-program")?;
        by_descriptor(&owned(call!(fcntl, number, libc::F_DUPFD_CLOEXEC, 3)?))
    }),
    program("exec::overwrite_declared", overwrite_declared)
        .flags(&["--exec", "{work}/bin/tool"])
        .or_refused(),
    program("exec::map_dropped", map_dropped),
];

const fn program(name: &'static str, call: fn(&Scene) -> Outcome) -> Probe {
    Probe::new(name, call).word()
}

/// Starts it and looks for a word it prints.
fn said(command: &mut Command, word: &str) -> Outcome {
    let output = command.stdin(Stdio::null()).output()?;
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    match String::from_utf8_lossy(&output.stdout).contains(word) {
        true => Ok(format!("it ran and said {word}")),
        false => confined(format!("{}: {}", output.status, text.trim())),
    }
}

/// A copy of this program, which is allowed, under a name that is not.
fn dropped(path: &Path) -> Result<PathBuf, Stop> {
    let own = setup(fs::read(setup(std::env::current_exe())?))?;
    // Where there is no such folder there is nothing to drop into.
    fs::write(path, own)?;
    setup(fs::set_permissions(path, Permissions::from_mode(0o755)))?;
    Ok(path.to_owned())
}

fn script(scene: &Scene, text: &str) -> Outcome {
    let path = scene.work("script")?;
    setup(fs::write(&path, text))?;
    setup(fs::set_permissions(&path, Permissions::from_mode(0o755)))?;
    let word = if text.contains("uid=") { "uid=" } else { "broken" };
    said(&mut Command::new(path), word)
}

fn loader() -> Result<&'static str, Stop> {
    let known = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    known
        .into_iter()
        .find(|path| Path::new(path).exists())
        .ok_or_else(|| Stop::Confined("no loader by name".to_owned()))
}

/// A descriptor that survives exec.
fn kept(file: &File) -> Result<i32, Stop> {
    let number = setup(call!(fcntl, file.as_raw_fd(), libc::F_DUPFD, 3))?;
    i32::try_from(number).map_err(|_| Stop::Broken("a descriptor beyond counting".to_owned()))
}

fn memfd(flags: libc::c_uint) -> Result<OwnedFd, Stop> {
    let file = owned(sys!(libc::SYS_memfd_create, c"rf".as_ptr(), flags)?);
    let mut file = File::from(file);
    let own = setup(fs::read(setup(std::env::current_exe())?))?;
    file.write_all(&own)?;
    Ok(file.into())
}

fn dropped_by_descriptor(scene: &Scene) -> Outcome {
    by_descriptor(&setup(File::open(dropped(&scene.work("copy")?)?))?.into())
}

/// `execveat` of the descriptor itself, with no path.
fn by_descriptor(file: &OwnedFd) -> Outcome {
    let (mut reader, writer) = setup(std::io::pipe())?;
    let child = forked(|| {
        let (name, argument, empty) = (c"probe", c"say", c"");
        let arguments = [name.as_ptr(), argument.as_ptr(), std::ptr::null()];
        let environment = [std::ptr::null::<libc::c_char>()];
        let moved = call!(dup2, writer.as_raw_fd(), 1);
        let started = sys!(
            libc::SYS_execveat,
            file.as_raw_fd(),
            empty.as_ptr(),
            arguments.as_ptr(),
            environment.as_ptr(),
            libc::AT_EMPTY_PATH
        );
        moved.and(started).err().and_then(|error| error.raw_os_error()).unwrap_or(255)
    })?;
    drop(writer);
    let mut text = String::new();
    setup(std::io::Read::read_to_string(&mut reader, &mut text))?;
    match waited(child)? {
        0 if text.contains(PAYLOAD) || text.contains("say") => Ok(format!("it ran and said {}", text.trim())),
        code => confined(std::io::Error::from_raw_os_error(code).to_string()),
    }
}

/// The declared program lies in the writable grant.
fn overwrite_declared(scene: &Scene) -> Outcome {
    let tool = scene.work("bin/tool")?;
    let before = said(Command::new(&tool).arg("say"), PAYLOAD);
    if before.is_ok() {
        return Err(Stop::Broken("the declared program already says so".to_owned()));
    }
    // Writing over it will do as well.
    let _removed = fs::remove_file(&tool);
    dropped(&tool)?;
    said(Command::new(tool).arg("say"), PAYLOAD)
}

/// What `dlopen` of a dropped library does: code from a file that was not declared.
fn map_dropped(scene: &Scene) -> Outcome {
    let file = setup(File::open(dropped(&scene.work("copy")?)?))?;
    let access = libc::PROT_READ | libc::PROT_EXEC;
    sys!(libc::SYS_mmap, 0, 4096, access, libc::MAP_PRIVATE, file.as_raw_fd(), 0)?;
    Ok("its code is in memory".to_owned())
}
