//! The network of the host: its listeners, its interfaces, its Unix sockets.

pub(crate) mod family;

use std::fs;
use std::io::Read;
use std::net::{TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::time::Duration;

use crate::probe::{Needs, Outcome, Probe, confined, token_in};
use crate::scene::Scene;
use crate::sys::owned;

pub(crate) const PROBES: &[Probe] = &[
    Probe::new("net::tcp", |scene| answer(TcpStream::connect(("127.0.0.1", scene.number("tcp")?))?)),
    Probe::new("net::tcp_ipv6", |scene| answer(TcpStream::connect(("::1", scene.number("tcp6")?))?)),
    Probe::new("net::tcp_mapped", |scene| {
        answer(TcpStream::connect(("::ffff:127.0.0.1", scene.number("tcp")?))?)
    }),
    Probe::new("net::tcp_any_address", |scene| {
        answer(TcpStream::connect(("0.0.0.0", scene.number("tcp")?))?)
    }),
    Probe::new("net::tcp_fast_open", tcp_fast_open),
    Probe::new("net::multipath_tcp", |scene| dialled(scene, libc::IPPROTO_MPTCP)).needs(Needs::Kernel),
    Probe::new("net::udp", udp),
    Probe::new("net::unix_path", |scene| answer(UnixStream::connect(scene.text("socket")?)?)),
    Probe::new("net::unix_granted", |scene| answer(UnixStream::connect(scene.text("granted-socket")?)?))
        .flags(&["--write", "{granted}"]),
    Probe::new("net::unix_abstract", |scene| {
        let address = SocketAddr::from_abstract_name(scene.text("abstract")?)?;
        answer(UnixStream::connect_addr(&address)?)
    }),
    Probe::new("net::unix_datagram", |scene| {
        let sent = UnixDatagram::unbound()?.send_to(b"x", scene.text("datagram")?)?;
        Ok(format!("{sent} byte sent"))
    })
    .word(),
    Probe::new("net::unix_listen", |scene| {
        UnixListener::bind(scene.work("own.sock")?)?;
        Ok("listens in the granted folder".to_owned())
    })
    .word(),
    Probe::new("net::unix_listen_abstract", |scene| {
        let name = format!("{}-probe", scene.text("abstract")?);
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        Ok("listens on an abstract name".to_owned())
    })
    .word(),
    Probe::new("net::inherited_socket", inherited_socket),
    Probe::new("net::interfaces", interfaces).word(),
    Probe::new("net::proc_tcp", proc_tcp).word(),
    Probe::new("net::proc_unix", |scene| {
        let found = fs::read_to_string("/proc/net/unix")?.contains(scene.text("abstract")?);
        if found { Ok("the canary's socket is listed".to_owned()) } else { confined("not listed") }
    })
    .word(),
    Probe::new("net::proc_canary_tcp", |scene| {
        let table = fs::read_to_string(scene.expand("/proc/{pid}/net/tcp"))?;
        Ok(format!("{} connections", table.lines().count()))
    })
    .word(),
];

fn answer(mut stream: impl Read) -> Outcome {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    token_in(&bytes)
}

fn address(scene: &Scene) -> Result<libc::sockaddr_in, crate::probe::Stop> {
    Ok(libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: scene.number::<u16>("tcp")?.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([127, 0, 0, 1]) },
        sin_zero: [0; 8],
    })
}

fn dialled(scene: &Scene, protocol: i32) -> Outcome {
    let socket = owned(call!(socket, libc::AF_INET, libc::SOCK_STREAM, protocol)?);
    let address = address(scene)?;
    sys!(libc::SYS_connect, socket.as_raw_fd(), &raw const address, size_of_val(&address))?;
    answer(TcpStream::from(socket))
}

/// Connects without `connect`.
fn tcp_fast_open(scene: &Scene) -> Outcome {
    let socket = owned(call!(socket, libc::AF_INET, libc::SOCK_STREAM, 0)?);
    let address = address(scene)?;
    sys!(
        libc::SYS_sendto,
        socket.as_raw_fd(),
        b"x".as_ptr(),
        1,
        libc::MSG_FASTOPEN,
        &raw const address,
        size_of_val(&address)
    )?;
    answer(TcpStream::from(socket))
}

fn udp(scene: &Scene) -> Outcome {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    socket.send_to(b"x", ("127.0.0.1", scene.number("udp")?))?;
    let mut bytes = [0; 256];
    socket.recv(&mut bytes)?;
    token_in(&bytes)
}

/// A connection of the caller's, left open. What it holds is looked at and left there.
fn inherited_socket(scene: &Scene) -> Outcome {
    let number = scene.number::<i32>("inherited-socket")?;
    let mut bytes = [0_u8; 256];
    call!(recv, number, bytes.as_mut_ptr().cast(), bytes.len(), libc::MSG_PEEK | libc::MSG_DONTWAIT)?;
    token_in(&bytes)
}

fn interfaces(_: &Scene) -> Outcome {
    // SAFETY: `if_nameindex` has no demands; the list it returns ends with an index of 0 and is not freed.
    let names = unsafe {
        let mut entry = libc::if_nameindex();
        let mut names = Vec::new();
        while !entry.is_null() && (*entry).if_index != 0 {
            names.push(std::ffi::CStr::from_ptr((*entry).if_name).to_string_lossy().into_owned());
            entry = entry.add(1);
        }
        names
    };
    match names.iter().any(|name| name != "lo") {
        true => Ok(names.join(" ")),
        false => confined(format!("only {names:?}")),
    }
}

fn proc_tcp(scene: &Scene) -> Outcome {
    let port = format!(":{:04X} ", scene.number::<u16>("tcp")?);
    match fs::read_to_string("/proc/net/tcp")?.contains(&port) {
        true => Ok("the canary's listener is listed".to_owned()),
        false => confined("not listed"),
    }
}
