//! The canary: a process of the host that holds the secret in every place a probe may look for it.
//!
//! It gets the secret from its environment, so that it is never in an argument, prints where everything is, and lives
//! until its standard input ends.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::{fs, io, thread};

use crate::probe::{Stop, setup};
use crate::scene::Scene;
use crate::sys::c;

/// The value of the canary's semaphore.
pub(crate) const SEMAPHORE: i32 = 3107;

/// Holds the secret until standard input ends. Needs `secret` (a file), `granted` (a folder) and `name`.
pub fn serve(scene: &Scene) -> Result<(), Stop> {
    let token = std::env::var("RF_CANARY").map_err(|_| Stop::Broken("no secret".to_owned()))?;
    let name = scene.text("name")?;
    let mut found = Scene::default();

    let memory = token.clone().into_bytes();
    let scratch = [0_u8; 64];
    found.set("pid", std::process::id());
    found.set("address", memory.as_ptr() as usize);
    found.set("scratch", scratch.as_ptr() as usize);
    found.set("length", memory.len());
    let secret = setup(File::open(scene.text("secret")?))?;
    found.set("fd", secret.as_raw_fd());

    setup(sockets(scene, &token, name, &mut found))?;
    let queue = c(format!("/{name}"));
    setup(shared(&token, &queue, &mut found))?;
    found.set("mq", format!("/{name}"));
    found.set("key", setup(key(&token, name))?);

    setup(writeln!(io::stdout(), "{}", found.arguments().join(" ")))?;
    setup(io::stdin().read_to_end(&mut Vec::new()))?;

    setup(sys!(libc::SYS_shmctl, found.number::<i32>("shm")?, libc::IPC_RMID, 0))?;
    setup(sys!(libc::SYS_msgctl, found.number::<i32>("msg")?, libc::IPC_RMID, 0))?;
    setup(sys!(libc::SYS_semctl, found.number::<i32>("sem")?, 0, libc::IPC_RMID, 0))?;
    setup(call!(mq_unlink, queue.as_ptr()))?;
    setup(sys!(libc::SYS_keyctl, libc::KEYCTL_INVALIDATE, found.number::<i32>("key")?))?;
    Ok(())
}

/// Everything that can be connected to answers with the secret.
fn sockets(scene: &Scene, token: &str, name: &str, found: &mut Scene) -> io::Result<()> {
    for (key, address) in [("tcp", "127.0.0.1:0"), ("tcp6", "[::1]:0")] {
        // A host without IPv6 has no canary there, and the probe says so.
        let Ok(listener) = TcpListener::bind(address) else { continue };
        found.set(key, listener.local_addr()?.port());
        answering(listener, token, |listener| listener.accept().map(|(stream, _)| stream.into()));
    }
    let udp = UdpSocket::bind("127.0.0.1:0")?;
    found.set("udp", udp.local_addr()?.port());
    let answer = token.to_owned();
    thread::spawn(move || {
        while let Ok((_, from)) = udp.recv_from(&mut [0; 16]) {
            let _sent = udp.send_to(answer.as_bytes(), from);
        }
    });
    let granted = scene.text("granted").unwrap_or_default();
    let cwd = std::env::current_dir()?;
    for (key, path) in
        [("socket", cwd.join("canary.sock")), ("granted-socket", format!("{granted}/canary.sock").into())]
    {
        found.set(key, path.display());
        answering(UnixListener::bind(path)?, token, |listener| {
            listener.accept().map(|(stream, _)| stream.into())
        });
    }
    let path = cwd.join("datagram.sock");
    found.set("datagram", path.display());
    let datagram = UnixDatagram::bind(path)?;
    thread::spawn(move || while datagram.recv(&mut [0; 16]).is_ok() {});
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    found.set("abstract", name);
    answering(listener, token, |listener| listener.accept().map(|(stream, _)| stream.into()));
    Ok(())
}

fn answering<L: Send + 'static>(listener: L, token: &str, accept: fn(&L) -> io::Result<OwnedFd>) {
    let token = token.to_owned();
    thread::spawn(move || {
        while let Ok(stream) = accept(&listener) {
            let token = token.clone();
            thread::spawn(move || {
                let mut stream = File::from(stream);
                let _written = stream.write_all(token.as_bytes());
                let _ended = call!(shutdown, stream.as_raw_fd(), libc::SHUT_WR);
                // Closing with something unread would reset the connection before the answer is read.
                let _drained = stream.read_to_end(&mut Vec::new());
            });
        }
    });
}

/// System V and POSIX objects that are named by number or name, not by path.
fn shared(token: &str, queue: &std::ffi::CStr, found: &mut Scene) -> io::Result<()> {
    let shm = sys!(libc::SYS_shmget, libc::IPC_PRIVATE, 4096, 0o600)?;
    let at = sys!(libc::SYS_shmat, shm, 0, 0)? as *mut u8;
    // SAFETY: `copy_nonoverlapping` demands that both sides are valid for the length and apart: the segment is a fresh
    // page, the secret is shorter than that and lies in another allocation.
    unsafe { std::ptr::copy_nonoverlapping(token.as_ptr(), at, token.len()) };
    found.set("shm", shm);

    let msg = sys!(libc::SYS_msgget, libc::IPC_PRIVATE, 0o600)?;
    let message = [&1_i64.to_ne_bytes()[..], token.as_bytes()].concat();
    sys!(libc::SYS_msgsnd, msg, message.as_ptr(), token.len(), 0)?;
    found.set("msg", msg);

    let sem = sys!(libc::SYS_semget, libc::IPC_PRIVATE, 1, 0o600)?;
    sys!(libc::SYS_semctl, sem, 0, libc::SETVAL, SEMAPHORE)?;
    found.set("sem", sem);

    // SAFETY: `mq_open` demands a terminated name, and a mode and attributes when it creates; null takes the defaults.
    let mq = unsafe {
        libc::mq_open(queue.as_ptr(), libc::O_CREAT | libc::O_RDWR, 0o600, std::ptr::null::<libc::mq_attr>())
    };
    crate::sys::checked(i64::from(mq))?;
    call!(mq_send, mq, token.as_ptr().cast(), token.len(), 0)?;

    let file = format!("/dev/shm{}", queue.to_string_lossy());
    fs::write(&file, token)?;
    found.set("shm-file", file);
    Ok(())
}

/// A key in the user's keyring that any process of the user may read.
fn key(token: &str, name: &str) -> io::Result<i64> {
    let (kind, name) = (c"user", c(name));
    let key = sys!(
        libc::SYS_add_key,
        kind.as_ptr(),
        name.as_ptr(),
        token.as_ptr(),
        token.len(),
        libc::KEY_SPEC_USER_KEYRING
    )?;
    sys!(libc::SYS_keyctl, libc::KEYCTL_SETPERM, key, 0x3f3f_0000)?;
    Ok(key)
}
