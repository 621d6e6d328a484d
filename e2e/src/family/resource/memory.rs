//! Memory beyond the limit, of each kind the kernel accounts in another way.

use std::fs::File;
use std::io::Write;
use std::time::Duration;

use crate::probe::{Outcome, Probe, confined, setup};
use crate::scene::Scene;
use crate::sys::{forked, owned, waited};

pub(crate) const PROBES: &[Probe] = &[
    memory("resource::memory", |_| touched(libc::MAP_PRIVATE, libc::PROT_WRITE)),
    memory("resource::memory_shared", |_| touched(libc::MAP_SHARED, libc::PROT_WRITE)),
    memory("resource::memory_stacks", |_| stacks()),
    memory("resource::memory_program_break", |_| program_break()),
    memory("resource::memory_memfd", |_| memfd()),
    memory("resource::memory_system_v", |_| system_v()),
    memory("resource::memory_of_children", |_| children()),
];

pub(super) const LIMIT: &[&str] =
    &["--limit", "memory=64M", "--limit", "file-size=1G", "--limit", "scratch=16M"];
const SIZE: usize = 512 << 20;

const fn memory(name: &'static str, call: fn(&Scene) -> Outcome) -> Probe {
    Probe::new(name, call).word().or_killed().flags(LIMIT)
}

/// Writes to each page.
pub(super) fn touch(start: i64, length: usize) {
    for offset in (0..length).step_by(4096) {
        // SAFETY: `write_volatile` demands memory that may be written: the mapping was just made, of that length.
        unsafe { ((start as usize + offset) as *mut u8).write_volatile(1) };
    }
}

pub(super) fn mapped(kind: i32, access: i32, length: usize) -> std::io::Result<i64> {
    sys!(libc::SYS_mmap, 0, length, access | libc::PROT_READ, kind | libc::MAP_ANONYMOUS, -1, 0)
}

fn touched(kind: i32, access: i32) -> Outcome {
    touch(mapped(kind, access, SIZE)?, SIZE);
    Ok("512 MiB".to_owned())
}

/// Mappings that grow downwards are counted as stacks, not as data.
fn stacks() -> Outcome {
    let piece = 4 << 20;
    for _ in 0..SIZE / piece {
        touch(mapped(libc::MAP_PRIVATE | libc::MAP_GROWSDOWN, libc::PROT_WRITE, piece)?, piece);
    }
    Ok("512 MiB of stacks".to_owned())
}

fn program_break() -> Outcome {
    let start = setup(sys!(libc::SYS_brk, 0))?;
    let length = i64::try_from(SIZE).unwrap_or(0);
    if sys!(libc::SYS_brk, start + length)? < start + length {
        return confined("the break does not move");
    }
    touch(start, SIZE);
    Ok("512 MiB".to_owned())
}

fn memfd() -> Outcome {
    let mut file = File::from(owned(sys!(libc::SYS_memfd_create, c"rf".as_ptr(), 0)?));
    let block = vec![1; 1 << 20];
    for _ in 0..SIZE >> 20 {
        file.write_all(&block)?;
    }
    Ok("512 MiB in a file without a name".to_owned())
}

fn system_v() -> Outcome {
    let segment = sys!(libc::SYS_shmget, libc::IPC_PRIVATE, SIZE, 0o600)?;
    let start = sys!(libc::SYS_shmat, segment, 0, 0);
    let removed = sys!(libc::SYS_shmctl, segment, libc::IPC_RMID, 0);
    touch(start?, SIZE);
    setup(removed)?;
    Ok("512 MiB in a shared segment".to_owned())
}

/// Each child stays below the limit; together they are far beyond.
fn children() -> Outcome {
    let mut children = Vec::new();
    for _ in 0..10 {
        children.push(forked(|| {
            let length = 48 << 20;
            match mapped(libc::MAP_PRIVATE, libc::PROT_WRITE, length) {
                Ok(start) => touch(start, length),
                Err(_) => return 1,
            }
            std::thread::sleep(Duration::from_secs(1));
            0
        })?);
    }
    let mut alive = 0;
    for child in children {
        alive += usize::from(waited(child)? == 0);
    }
    match alive {
        3.. => Ok(format!("{alive} children with 48 MiB each")),
        _ => confined(format!("{alive} children lived")),
    }
}
