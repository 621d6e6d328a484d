//! Memory of the kernel that a command makes it keep: page tables, and what waits in sockets.

use std::io::{ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use super::memory::{LIMIT, mapped, touch};
use super::shared::kept;
use crate::probe::{Outcome, Probe, Stop, confined, setup};
use crate::sys::{forked, waited};

pub(crate) const PROBES: &[Probe] = &[
    uncounted("resource::memory_page_tables", |_| page_tables()),
    uncounted("resource::memory_behind_a_slow_process", |_| behind_a_slow_process()),
    uncounted("resource::memory_without_a_leader", |_| without_a_leader()),
    uncounted("resource::memory_tcp_buffers", |_| tcp_buffers("127.0.0.1:0")),
    uncounted("resource::memory_tcp6_buffers", |_| tcp_buffers("[::1]:0")),
    uncounted("resource::memory_unix_buffers", |_| unix_buffers(Size::AsMade)),
    uncounted("resource::memory_unix_buffers_grown", |_| unix_buffers(Size::Grown)),
];

const fn uncounted(name: &'static str, call: fn(&crate::scene::Scene) -> Outcome) -> Probe {
    Probe::new(name, call).word().or_killed().flags(LIMIT)
}

/// What a probe takes at most, and what it must have kept to have got out: twice the limit.
const MOST: usize = 448 << 20;
const OUT: usize = 128 << 20;

fn judged(held: usize) -> Outcome {
    match held {
        OUT.. => kept(&format!("{} MiB", held >> 20)),
        _ => confined(format!("{} MiB", held >> 20)),
    }
}

/// One read in each 2 MiB makes a page of page tables, of which the process shows nothing.
fn page_tables() -> Outcome {
    let step = 2_usize << 20;
    let length = MOST / 4096 * step;
    let kind = libc::MAP_PRIVATE | libc::MAP_NORESERVE | libc::MAP_ANONYMOUS;
    let start = sys!(libc::SYS_mmap, 0, length, libc::PROT_READ, kind, -1, 0)?;
    // A huge page of zeros would need no table. Where there are none, there is nothing to ask for.
    let _small = sys!(libc::SYS_madvise, start, length, libc::MADV_NOHUGEPAGE);
    for offset in (0..length).step_by(step) {
        // SAFETY: `read_volatile` demands memory that may be read: the mapping was just made, of that length.
        unsafe { ((start as usize + offset) as *const u8).read_volatile() };
    }
    kept("448 MiB of page tables")
}

/// The first process takes long to look through and keeps changing; the memory is in those after it.
fn behind_a_slow_process() -> Outcome {
    let slow = forked(|| {
        let length = 4_usize << 30;
        let kind = libc::MAP_PRIVATE | libc::MAP_NORESERVE | libc::MAP_ANONYMOUS;
        let Ok(start) = sys!(libc::SYS_mmap, 0, length, libc::PROT_READ, kind, -1, 0) else { return 1 };
        let _small = sys!(libc::SYS_madvise, start, length, libc::MADV_NOHUGEPAGE);
        for offset in (0..length).step_by(4096) {
            // SAFETY: as in `page_tables`.
            unsafe { ((start as usize + offset) as *const u8).read_volatile() };
        }
        loop {
            for access in [libc::PROT_NONE, libc::PROT_READ] {
                if sys!(libc::SYS_mprotect, start, length, access).is_err() {
                    return 1;
                }
            }
        }
    })?;
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    let mut children = Vec::new();
    for _ in 0..8 {
        children.push(forked(|| {
            let length = 48 << 20;
            match mapped(libc::MAP_PRIVATE, libc::PROT_WRITE, length) {
                Ok(start) => touch(start, length),
                Err(_) => return 1,
            }
            std::thread::sleep(std::time::Duration::from_millis(1_500));
            0
        })?);
    }
    let mut alive = 0;
    for child in children {
        alive += usize::from(waited(child)? == 0);
    }
    // SAFETY: `kill` has no demands.
    unsafe { libc::kill(slow, libc::SIGKILL) };
    waited(slow)?;
    judged(alive * (48 << 20))
}

/// A process whose first thread has ended shows no memory, and has it.
fn without_a_leader() -> Outcome {
    let mut children = Vec::new();
    for _ in 0..8 {
        children.push(forked(|| {
            let filling = std::thread::Builder::new().spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(100));
                let length = 48 << 20;
                let code = match mapped(libc::MAP_PRIVATE, libc::PROT_WRITE, length) {
                    Ok(start) => {
                        touch(start, length);
                        std::thread::sleep(std::time::Duration::from_millis(1_500));
                        0
                    }
                    Err(_) => 1,
                };
                // SAFETY: `_exit` has no demands.
                unsafe { libc::_exit(code) }
            });
            let Ok(_filling) = filling else { return 1 };
            // Ends this thread only.
            let _ended = sys!(libc::SYS_exit, 0);
            1
        })?);
    }
    let mut alive = 0;
    for child in children {
        alive += usize::from(waited(child)? == 0);
    }
    judged(alive * (48 << 20))
}

/// Connections to ourselves that nobody reads.
fn tcp_buffers(address: &str) -> Outcome {
    let listener = setup(TcpListener::bind(address))?;
    let address = setup(listener.local_addr())?;
    let (mut held, mut ends) = (0, Vec::new());
    for _ in 0..200 {
        if held >= MOST {
            break;
        }
        let writer = setup(TcpStream::connect(address))?;
        let (reader, _) = setup(listener.accept())?;
        setup(writer.set_nonblocking(true))?;
        held += filled(&writer)?;
        // What arrives makes room for more.
        std::thread::sleep(std::time::Duration::from_millis(2));
        held += filled(&writer)?;
        ends.push((writer, reader));
    }
    judged(held)
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Size {
    AsMade,
    Grown,
}

/// Pairs of sockets that nobody reads, in as many processes as the descriptors need.
fn unix_buffers(size: Size) -> Outcome {
    let (own, theirs) = setup(UnixStream::pair())?;
    let mut children = Vec::new();
    for _ in 0..8 {
        children.push(forked(|| {
            let mut pairs = Vec::new();
            let mut held = 0_usize;
            while held < MOST / 8 {
                let Ok((one, other)) = UnixStream::pair() else { break };
                for end in [&one, &other] {
                    if size == Size::Grown {
                        grow(end.as_raw_fd());
                    }
                    let Ok(()) = end.set_nonblocking(true) else { return 1 };
                    let Ok(more) = filled(end) else { return 1 };
                    held += more;
                }
                pairs.push((one, other));
            }
            let told = (&theirs).write_all(&u64::try_from(held).unwrap_or(0).to_ne_bytes());
            std::thread::sleep(std::time::Duration::from_secs(1));
            i32::from(told.is_err())
        })?);
    }
    let mut held = 0;
    for _ in &children {
        let mut bytes = [0; 8];
        setup(std::io::Read::read_exact(&mut &own, &mut bytes))?;
        held += usize::try_from(u64::from_ne_bytes(bytes)).unwrap_or(0);
    }
    std::thread::sleep(std::time::Duration::from_millis(400));
    for child in children {
        waited(child)?;
    }
    judged(held)
}

fn grow(socket: i32) {
    let size = 64_i32 << 20;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_SNDBUF);
    // What is refused stays as it was.
    let _grown = sys!(libc::SYS_setsockopt, socket, level, option, &raw const size, size_of::<i32>());
}

/// Writes until there is no more room.
fn filled(mut to: impl Write) -> Result<usize, Stop> {
    let (block, mut held) = (vec![1; 64 << 10], 0);
    loop {
        match to.write(&block) {
            Ok(written) => held += written,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(held),
            Err(error) => return Err(error.into()),
        }
    }
}
