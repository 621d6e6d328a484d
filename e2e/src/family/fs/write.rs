//! Changing files outside the grant, and the grant itself.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;

use crate::probe::{Needs, Outcome, PAYLOAD, Probe, Proof, setup};
use crate::scene::Scene;
use crate::sys::c;

const OUTSIDE: Proof = Proof::Made("{outside}/mark");
const VICTIM: Proof = Proof::Holds("{outside}/victim");

pub(crate) const PROBES: &[Probe] = &[
    Probe::new("fs::write_outside", |scene| write(scene.outside("mark")?)).proof(OUTSIDE),
    Probe::new("fs::write_dotdot", |scene| write(scene.work("../outside/mark")?)).proof(OUTSIDE),
    Probe::new("fs::write_proc_self_root", |scene| write(scene.expand("/proc/self/root{outside}/mark")))
        .proof(OUTSIDE),
    Probe::new("fs::write_symlink_made", write_symlink_made).proof(OUTSIDE),
    Probe::new("fs::write_symlink_planted", |scene| write(scene.work("planted/mark")?)).proof(OUTSIDE),
    Probe::new("fs::append_outside", append_outside).proof(Proof::Holds("{outside}/victim")),
    Probe::new("fs::truncate_outside", |scene| {
        call!(truncate, c(scene.outside("victim")?).as_ptr(), 0)?;
        Ok("cut to nothing".to_owned())
    })
    .word(),
    Probe::new("fs::unlink_outside", |scene| {
        fs::remove_file(scene.outside("victim")?)?;
        Ok("removed".to_owned())
    })
    .proof(Proof::Gone("{outside}/victim")),
    Probe::new("fs::rename_from_outside", |scene| {
        fs::rename(scene.outside("victim")?, scene.work("taken")?)?;
        Ok("taken".to_owned())
    })
    .proof(Proof::Gone("{outside}/victim")),
    Probe::new("fs::rename_to_outside", rename_to_outside).proof(OUTSIDE),
    Probe::new("fs::link_to_outside", link_to_outside).proof(OUTSIDE),
    Probe::new("fs::shared_write", |scene| write(scene.work("shared")?)).proof(VICTIM),
    Probe::new("fs::shared_write_below", |scene| append(scene.work("sub/deep/shared")?)).proof(VICTIM),
    Probe::new("fs::shared_write_of_many", |scene| append(scene.work("many/victim")?)).proof(VICTIM),
    Probe::new("fs::shared_write_after_move", |scene| {
        fs::rename(scene.work("sub")?, scene.work("moved")?)?;
        append(scene.work("moved/deep/shared")?)
    })
    .proof(VICTIM),
    Probe::new("fs::shared_write_by_proc", |scene| {
        let file = fs::File::open(scene.work("shared")?)?;
        append(format!("/proc/self/fd/{}", file.as_raw_fd()))
    })
    .proof(VICTIM),
    Probe::new("fs::shared_write_by_new_link", |scene| {
        fs::hard_link(scene.work("shared")?, scene.work("alias")?)?;
        append(scene.work("alias")?)
    })
    .proof(VICTIM),
    Probe::new("fs::shared_truncate", |scene| {
        call!(truncate, c(scene.work("shared")?).as_ptr(), 0)?;
        Ok("cut to nothing".to_owned())
    })
    .word(),
    Probe::new("fs::shared_mode", |scene| {
        fs::set_permissions(scene.work("shared")?, Permissions::from_mode(0o777))?;
        Ok("changed".to_owned())
    })
    .word(),
    Probe::new("fs::mkdir_outside", |scene| {
        fs::create_dir(scene.outside("mark")?)?;
        Ok("made".to_owned())
    })
    .proof(OUTSIDE),
    Probe::new("fs::symlink_outside", |scene| {
        symlink("/", scene.outside("mark")?)?;
        Ok("made".to_owned())
    })
    .proof(OUTSIDE),
    Probe::new("fs::fifo_outside", |scene| {
        call!(mkfifo, c(scene.outside("mark")?).as_ptr(), 0o600)?;
        Ok("made".to_owned())
    })
    .proof(OUTSIDE),
    Probe::new("fs::socket_outside", |scene| {
        std::os::unix::net::UnixListener::bind(scene.outside("mark")?)?;
        Ok("bound".to_owned())
    })
    .proof(OUTSIDE),
    Probe::new("fs::write_readonly", |scene| write(scene.expand("{ro}/mark")))
        .proof(Proof::Made("{ro}/mark")),
    Probe::new("fs::edit_readonly", |scene| write(scene.expand("{ro}/note")))
        .proof(Proof::Holds("{ro}/note")),
    Probe::new("fs::unlink_readonly", |scene| {
        fs::remove_file(scene.expand("{ro}/note"))?;
        Ok("removed".to_owned())
    })
    .proof(Proof::Gone("{ro}/note")),
    Probe::new("fs::rename_root", rename_root).proof(Proof::Made("{outside}/../moved")),
    Probe::new("fs::replace_root", replace_root).proof(Proof::Made("{outside}/../moved")),
    Probe::new("fs::replace_command", replace_command).proof(Proof::Made("{command}.old")),
    Probe::new("fs::write_tmp", |scene| write(scene.text("tmp-mark")?)).proof(Proof::Holds("{tmp-mark}")),
    Probe::new("fs::write_shm", |scene| write(scene.text("shm-mark")?)).proof(Proof::Holds("{shm-mark}")),
    Probe::new("fs::write_var_tmp", |scene| write(scene.text("var-mark")?)).proof(Proof::Holds("{var-mark}")),
    Probe::new("fs::write_etc", |scene| write(scene.text("etc-mark")?))
        .proof(Proof::Holds("{etc-mark}"))
        .needs(Needs::Root),
    Probe::new("fs::write_usr", |scene| write(scene.text("usr-mark")?))
        .proof(Proof::Holds("{usr-mark}"))
        .needs(Needs::Root),
    Probe::new("fs::write_root", |scene| write(scene.text("root-mark")?))
        .proof(Proof::Holds("{root-mark}"))
        .needs(Needs::Root),
];

fn write(path: impl AsRef<Path>) -> Outcome {
    fs::write(path, PAYLOAD)?;
    Ok("written".to_owned())
}

fn append(path: impl AsRef<Path>) -> Outcome {
    OpenOptions::new().append(true).open(path)?.write_all(PAYLOAD.as_bytes())?;
    Ok("appended".to_owned())
}

fn write_symlink_made(scene: &Scene) -> Outcome {
    let link = scene.work("link")?;
    setup(symlink(scene.outside("mark")?, &link))?;
    write(link)
}

fn append_outside(scene: &Scene) -> Outcome {
    let mut file =
        OpenOptions::new().append(true).custom_flags(libc::O_NOFOLLOW).open(scene.outside("victim")?)?;
    file.write_all(PAYLOAD.as_bytes())?;
    Ok("appended".to_owned())
}

fn rename_to_outside(scene: &Scene) -> Outcome {
    let own = scene.work("own")?;
    setup(fs::write(&own, PAYLOAD))?;
    fs::rename(own, scene.outside("mark")?)?;
    Ok("moved".to_owned())
}

fn link_to_outside(scene: &Scene) -> Outcome {
    let own = scene.work("own")?;
    setup(fs::write(&own, PAYLOAD))?;
    fs::hard_link(own, scene.outside("mark")?)?;
    Ok("linked".to_owned())
}

/// Moves the granted folder itself away; the next run would be granted whatever takes its place.
fn rename_root(scene: &Scene) -> Outcome {
    fs::rename(scene.work("")?, scene.outside("../moved")?)?;
    Ok("moved".to_owned())
}

/// Puts a link to a foreign folder in the place of the granted one.
fn replace_root(scene: &Scene) -> Outcome {
    setup(std::env::set_current_dir("/"))?;
    fs::rename(scene.text("work")?, scene.outside("../moved")?)?;
    symlink(scene.text("outside")?, scene.text("work")?)?;
    Ok("replaced".to_owned())
}

/// Puts another program where the operator's command was.
fn replace_command(scene: &Scene) -> Outcome {
    let own = scene.work("own")?;
    setup(fs::write(&own, PAYLOAD))?;
    fs::rename(scene.text("command")?, scene.expand("{command}.old"))?;
    fs::rename(&own, scene.text("command")?)?;
    Ok("replaced".to_owned())
}
