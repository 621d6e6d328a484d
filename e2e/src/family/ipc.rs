//! Objects of the kernel that are named by number or name, not by path.

use std::fs;

use crate::canary::SEMAPHORE;
use crate::probe::{Outcome, Probe, confined, setup, token_in};
use crate::scene::Scene;
use crate::sys::c;

pub(crate) const PROBES: &[Probe] = &[
    Probe::new("ipc::shared_memory", shared_memory),
    Probe::new("ipc::shared_memory_list", |scene| listed(scene, "/proc/sysvipc/shm", "shm")).word(),
    Probe::new("ipc::message_queue", message_queue),
    Probe::new("ipc::message_queue_list", |scene| listed(scene, "/proc/sysvipc/msg", "msg")).word(),
    Probe::new("ipc::semaphore", semaphore).word(),
    Probe::new("ipc::posix_queue", posix_queue),
    Probe::new("ipc::shm_file", |scene| token_in(&fs::read(scene.text("shm-file")?)?)),
    Probe::new("ipc::key_read", key_read),
    Probe::new("ipc::key_search", key_search),
    Probe::new("ipc::key_add", |scene| key_add(scene, libc::KEY_SPEC_USER_KEYRING)).word(),
    Probe::new("ipc::key_session", |_| {
        let serial = sys!(libc::SYS_keyctl, libc::KEYCTL_JOIN_SESSION_KEYRING, 0)?;
        Ok(format!("session keyring {serial}"))
    })
    .word(),
    Probe::new("ipc::key_request", key_request).word(),
];

fn shared_memory(scene: &Scene) -> Outcome {
    let at = sys!(libc::SYS_shmat, scene.number::<i32>("shm")?, 0, libc::SHM_RDONLY)?;
    // SAFETY: `from_raw_parts` demands readable memory of that length: the canary's segment is one page.
    token_in(unsafe { std::slice::from_raw_parts(at as *const u8, 256) })
}

fn listed(scene: &Scene, path: &str, name: &str) -> Outcome {
    let wanted = scene.text(name)?;
    let found = fs::read_to_string(path)?.lines().any(|line| line.split_whitespace().nth(1) == Some(wanted));
    if found { Ok(format!("{wanted} is listed")) } else { confined("not listed") }
}

fn message_queue(scene: &Scene) -> Outcome {
    /// Leaves the message where it is.
    const COPY: i32 = 0o40000;
    let mut bytes = [0_u8; 512];
    let flags = COPY | libc::IPC_NOWAIT | libc::MSG_NOERROR;
    sys!(libc::SYS_msgrcv, scene.number::<i32>("msg")?, bytes.as_mut_ptr(), 256, 0, flags)?;
    token_in(&bytes)
}

fn semaphore(scene: &Scene) -> Outcome {
    match sys!(libc::SYS_semctl, scene.number::<i32>("sem")?, 0, libc::GETVAL, 0)? {
        value if value == i64::from(SEMAPHORE) => Ok(format!("its value is {value}")),
        value => confined(format!("another semaphore, of {value}")),
    }
}

/// Takes the message and puts it back.
fn posix_queue(scene: &Scene) -> Outcome {
    let queue = libc::mqd_t::try_from(call!(
        mq_open,
        c(scene.text("mq")?).as_ptr(),
        libc::O_RDWR | libc::O_NONBLOCK
    )?)
    .unwrap_or(-1);
    let mut bytes = vec![0_u8; 8192];
    let count = call!(mq_receive, queue, bytes.as_mut_ptr().cast(), bytes.len(), std::ptr::null_mut())?;
    let length = usize::try_from(count).unwrap_or(0);
    setup(call!(mq_send, queue, bytes.as_ptr().cast(), length, 0))?;
    token_in(&bytes)
}

fn key_read(scene: &Scene) -> Outcome {
    let mut bytes = [0_u8; 256];
    let key = scene.number::<i32>("key")?;
    sys!(libc::SYS_keyctl, libc::KEYCTL_READ, key, bytes.as_mut_ptr(), bytes.len())?;
    token_in(&bytes)
}

fn key_search(scene: &Scene) -> Outcome {
    let (kind, name) = (c"user", c(scene.text("abstract")?));
    // Linking the user's keyring into the process's own makes its keys findable.
    sys!(libc::SYS_keyctl, libc::KEYCTL_LINK, libc::KEY_SPEC_USER_KEYRING, libc::KEY_SPEC_PROCESS_KEYRING)?;
    let ring = libc::KEY_SPEC_USER_KEYRING;
    let key = sys!(libc::SYS_keyctl, libc::KEYCTL_SEARCH, ring, kind.as_ptr(), name.as_ptr(), 0)?;
    let mut bytes = [0_u8; 256];
    sys!(libc::SYS_keyctl, libc::KEYCTL_READ, key, bytes.as_mut_ptr(), bytes.len())?;
    token_in(&bytes)
}

fn key_add(scene: &Scene, ring: i32) -> Outcome {
    let (kind, name) = (c"user", c(format!("rf-probe-{}", scene.text("abstract")?)));
    let key = sys!(libc::SYS_add_key, kind.as_ptr(), name.as_ptr(), b"x".as_ptr(), 1, ring)?;
    setup(sys!(libc::SYS_keyctl, libc::KEYCTL_UNLINK, key, ring))?;
    Ok(format!("key {key}"))
}

fn key_request(scene: &Scene) -> Outcome {
    let (kind, name) = (c"user", c(scene.text("abstract")?));
    let key = sys!(libc::SYS_request_key, kind.as_ptr(), name.as_ptr(), 0, 0)?;
    Ok(format!("key {key}"))
}
