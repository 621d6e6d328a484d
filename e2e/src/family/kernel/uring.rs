//! `io_uring`: system calls that no filter sees.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::probe::{Outcome, Probe, Stop, token_in};
use crate::scene::Scene;
use crate::sys::{c, owned};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new("kernel::uring_setup", |_| {
        Ring::new()?;
        Ok("a ring".to_owned())
    })
    .word(),
    Probe::new("kernel::uring_open", uring_open),
    Probe::new("kernel::uring_connect", uring_connect),
];

const OPENAT: u8 = 18;
const CONNECT: u8 = 16;
const SOCKET: u8 = 45;

fn uring_open(scene: &Scene) -> Outcome {
    let mut ring = Ring::new()?;
    let path = c(scene.outside("secret")?);
    let file = ring.one(OPENAT, libc::AT_FDCWD, 0, path.as_ptr() as u64, 0)?;
    read(&owned(file))
}

fn uring_connect(scene: &Scene) -> Outcome {
    let mut ring = Ring::new()?;
    // For this operation the offset is the type and the length the protocol.
    let stream = u64::try_from(libc::SOCK_STREAM).unwrap_or(1);
    let socket = owned(ring.one(SOCKET, libc::AF_INET, stream, 0, 0)?);
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: scene.number::<u16>("tcp")?.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([127, 0, 0, 1]) },
        sin_zero: [0; 8],
    };
    ring.one(CONNECT, socket.as_raw_fd(), 16, (&raw const address) as u64, 0)?;
    read(&socket)
}

fn read(file: &OwnedFd) -> Outcome {
    let mut bytes = [0_u8; 256];
    call!(read, file.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len())?;
    token_in(&bytes)
}

/// A ring that does one thing at a time.
struct Ring {
    descriptor: OwnedFd,
    rings: usize,
    entries: usize,
    /// The kernel's description: 10 words, then the offsets of the submission and the completion ring.
    layout: [u32; 30],
}

impl Ring {
    fn new() -> Result<Self, Stop> {
        let mut layout = [0_u32; 30];
        let descriptor = owned(sys!(libc::SYS_io_uring_setup, 4, layout.as_mut_ptr())?);
        let map = |length: usize, offset: i64| {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            sys!(libc::SYS_mmap, 0, length, access, libc::MAP_SHARED, descriptor.as_raw_fd(), offset)
        };
        // Both rings are one mapping on every kernel that has the operations used here.
        let rings = map(4096, 0)?;
        let entries = map(4096, 0x1000_0000)?;
        let place = |at: i64| usize::try_from(at).unwrap_or(0);
        Ok(Self { rings: place(rings), entries: place(entries), layout, descriptor })
    }

    fn word(&self, index: usize) -> &AtomicU32 {
        let offset = self.layout.get(index).copied().unwrap_or(0);
        // SAFETY: `from_ptr` demands an aligned word that lives as long as the result and is only used atomically: the
        // mapping is never undone, and the kernel gave the offset.
        unsafe { AtomicU32::from_ptr((self.rings + offset as usize) as *mut u32) }
    }

    /// Does one operation and returns its result.
    fn one(&mut self, operation: u8, file: i32, offset: u64, address: u64, length: u32) -> Result<i64, Stop> {
        let mut entry = [0_u8; 64];
        entry[0] = operation;
        entry[4..8].copy_from_slice(&file.to_ne_bytes());
        entry[8..16].copy_from_slice(&offset.to_ne_bytes());
        entry[16..24].copy_from_slice(&address.to_ne_bytes());
        entry[24..28].copy_from_slice(&length.to_ne_bytes());
        // SAFETY: `copy_nonoverlapping` demands 64 bytes on both sides: the first entry of the mapping, which the
        // kernel does not look at before the tail moves.
        unsafe { std::ptr::copy_nonoverlapping(entry.as_ptr(), self.entries as *mut u8, 64) };

        // Submission offsets start at word 10: head, tail, mask, entries, flags, dropped, array.
        let (tail, mask) = (self.word(11), self.word(12).load(Ordering::Relaxed));
        let at = tail.load(Ordering::Relaxed);
        let array = self.layout.get(16).copied().unwrap_or(0) as usize + 4 * (at & mask) as usize;
        // SAFETY: as in `word`.
        unsafe { AtomicU32::from_ptr((self.rings + array) as *mut u32) }.store(0, Ordering::Relaxed);
        tail.store(at + 1, Ordering::Release);
        sys!(libc::SYS_io_uring_enter, self.descriptor.as_raw_fd(), 1, 1, 1, 0, 0)?;

        // Completion offsets start at word 20: head, tail, mask, entries, overflow, cqes.
        let (head, mask) = (self.word(20), self.word(22).load(Ordering::Relaxed));
        let at = head.load(Ordering::Acquire);
        let place = self.layout.get(25).copied().unwrap_or(0) as usize + 16 * (at & mask) as usize + 8;
        // SAFETY: as in `word`.
        let result =
            unsafe { AtomicU32::from_ptr((self.rings + place) as *mut u32) }.load(Ordering::Acquire) as i32;
        head.store(at + 1, Ordering::Release);
        if result < 0 {
            Err(std::io::Error::from_raw_os_error(-result).into())
        } else {
            Ok(i64::from(result))
        }
    }
}
