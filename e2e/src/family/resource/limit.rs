//! Processes, files, output and time beyond the limit.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::probe::{Outcome, Probe, Proof, confined, setup};
use crate::scene::Scene;
use crate::sys::{forked, waited};

pub(crate) const PROBES: &[Probe] = &[
    limit("resource::processes", |_| processes()).flags(&["--limit", "processes=32"]),
    limit("resource::threads", |_| threads()).flags(&["--limit", "processes=32"]),
    limit("resource::process_tree", |_| process_tree()).flags(&["--limit", "processes=32"]),
    limit("resource::file_size", |scene| file_of(&scene.work("big")?)).flags(&["--limit", "file-size=1M"]),
    limit("resource::file_size_truncate", |scene| {
        let file = setup(File::create(scene.work("big")?))?;
        file.set_len(8 << 20)?;
        Ok("a file of 8 MiB".to_owned())
    })
    .flags(&["--limit", "file-size=1M"]),
    limit("resource::file_size_allocate", |scene| {
        use std::os::fd::AsRawFd;
        let file = setup(File::create(scene.work("big")?))?;
        call!(posix_fallocate, file.as_raw_fd(), 0, 8 << 20)?;
        match setup(file.metadata())?.len() {
            0 => confined("nothing was allocated"),
            length => Ok(format!("{length} bytes")),
        }
    })
    .flags(&["--limit", "file-size=1M"]),
    limit("resource::scratch", |scene| scratch(Path::new(scene.text("tmp-folder")?)))
        .flags(&["--limit", "scratch=8M"]),
    limit("resource::scratch_elsewhere", |_| scratch_elsewhere()).flags(&["--limit", "scratch=8M"]),
    limit("resource::open_files", |_| open_files()).flags(&["--limit", "open-files=64"]),
    limit("resource::cpu", |_| burnt(Duration::from_secs(4)))
        .flags(&["--limit", "cpu=1s", "--limit", "wall=20s"]),
    limit("resource::cpu_of_children", |_| burnt_by_children())
        .flags(&["--limit", "cpu=1s", "--limit", "wall=20s"]),
    limit("resource::cpu_of_short_children", |_| burnt_by_zombies())
        .flags(&["--limit", "cpu=1s", "--limit", "wall=20s"]),
    limit("resource::cpu_of_forgotten_children", |_| burnt_by_forgotten())
        .flags(&["--limit", "cpu=1s", "--limit", "wall=20s"]),
    limit("resource::wall", |_| slept(4)).flags(&["--limit", "wall=1s"]),
    limit("resource::wall_ignoring", |_| {
        for signal in 1..32 {
            // SAFETY: `signal` demands a valid handler, which ignoring is.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
        slept(4)
    })
    .flags(&["--limit", "wall=1s"]),
    limit("resource::output", |_| flood(&mut std::io::stdout()))
        .proof(FLOOD)
        .flags(&["--limit", "output=64K"]),
    limit("resource::output_errors", |_| flood(&mut std::io::stderr()))
        .proof(FLOOD)
        .flags(&["--limit", "output=64K"]),
];

const FLOOD: Proof = Proof::Flood(256 << 10);

const fn limit(name: &'static str, call: fn(&Scene) -> Outcome) -> Probe {
    Probe::new(name, call).word().or_killed()
}

/// Forks until it is refused or has far too many, and ends them all.
fn processes() -> Outcome {
    let mut children = Vec::new();
    let stopped = loop {
        match forked(|| {
            thread::sleep(Duration::from_secs(20));
            0
        }) {
            Ok(child) if children.len() < 200 => children.push(child),
            Ok(child) => {
                children.push(child);
                break None;
            }
            Err(error) => break Some(error),
        }
    };
    for child in &children {
        // SAFETY: `kill` has no demands.
        unsafe { libc::kill(*child, libc::SIGKILL) };
    }
    for child in &children {
        waited(*child)?;
    }
    match stopped {
        Some(error) if children.len() <= 32 => confined(format!("{} children, then {error}", children.len())),
        _ => Ok(format!("{} children at once", children.len())),
    }
}

fn threads() -> Outcome {
    let mut count = 0;
    let error = loop {
        match thread::Builder::new().stack_size(64 << 10).spawn(|| thread::sleep(Duration::from_secs(20))) {
            Ok(_) if count < 200 => count += 1,
            Ok(_) => break None,
            Err(error) => break Some(error),
        }
    };
    match error {
        Some(error) if count <= 32 => confined(format!("{count} threads, then {error}")),
        _ => Ok(format!("{count} threads at once")),
    }
}

/// A chain of children, each of which starts the next: a limit per process would not see it.
fn process_tree() -> Outcome {
    let (mut reader, mut writer) = setup(std::io::pipe())?;
    let child = forked(|| {
        for _ in 0..150 {
            let _written = writer.write_all(b"x");
            match forked(|| 0) {
                // The child of `forked` ends at once, so the chain is made by hand.
                Ok(child) => drop(waited(child)),
                Err(_) => return 1,
            }
            // SAFETY: `fork` demands nothing more than in `forked`; the parent stays and sleeps.
            match unsafe { libc::fork() } {
                0 => {}
                -1 => return 1,
                _ => {
                    thread::sleep(Duration::from_secs(3));
                    return 0;
                }
            }
        }
        thread::sleep(Duration::from_secs(3));
        0
    })?;
    drop(writer);
    let mut made = Vec::new();
    setup(std::io::Read::read_to_end(&mut reader, &mut made))?;
    waited(child)?;
    match made.len() {
        count if count > 32 => Ok(format!("{count} processes in a chain")),
        count => confined(format!("a chain of {count}")),
    }
}

fn file_of(path: &Path) -> Outcome {
    let mut file = setup(File::create(path))?;
    // SAFETY: `signal` demands a valid handler, which ignoring is.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    file.write_all(&vec![0; 8 << 20])?;
    Ok("8 MiB in one file".to_owned())
}

/// Many files, each of them small.
fn scratch(folder: &Path) -> Outcome {
    let own = folder.join(format!("rf-scratch-{}", std::process::id()));
    fs::create_dir(&own)?;
    let filled = (0..64).try_for_each(|index| fs::write(own.join(index.to_string()), vec![1; 1 << 20]));
    let _removed = fs::remove_dir_all(&own);
    filled?;
    Ok(format!("64 MiB in {}", folder.display()))
}

/// Every other place that takes files, and is not the granted folder.
fn scratch_elsewhere() -> Outcome {
    let places = ["/dev/shm", "/run", "/var/tmp", "/dev", "/", "/home", "/root", "/run/user", "/etc", "/var"];
    let mut last = confined("no place");
    for place in places {
        last = scratch(Path::new(place));
        if last.is_ok() {
            break;
        }
    }
    last
}

fn open_files() -> Outcome {
    let mut open = Vec::new();
    for _ in 0..500 {
        open.push(File::open("/dev/null")?);
    }
    Ok(format!("{} files at once", open.len()))
}

fn used() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `clock_gettime` demands a place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut now) };
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

fn burnt(span: Duration) -> Outcome {
    // SAFETY: `signal` demands a valid handler, which ignoring is.
    unsafe { libc::signal(libc::SIGXCPU, libc::SIG_IGN) };
    while used() < span {
        std::hint::black_box((0..100_000).fold(0_u64, |sum, next| sum ^ next));
    }
    Ok(format!("{span:?} of CPU time"))
}

/// Each child stays below the limit; together they are far beyond.
fn burnt_by_children() -> Outcome {
    for _ in 0..8 {
        let child = forked(|| i32::from(burnt(Duration::from_millis(500)).is_err()))?;
        match waited(child)? {
            0 => {}
            code => return confined(format!("a child ended with {code}")),
        }
    }
    Ok("4 s of CPU time in eight children".to_owned())
}

/// Each child uses less than the kernel counts in, and nobody waits for it.
fn burnt_by_zombies() -> Outcome {
    let mut children = Vec::new();
    for _ in 0..248 {
        children.push(forked(|| i32::from(burnt(Duration::from_millis(6)).is_err()))?);
    }
    thread::sleep(Duration::from_millis(300));
    for child in children {
        waited(child)?;
    }
    Ok("1.5 s of CPU time in 248 children".to_owned())
}

/// A child that nobody may wait for leaves its time to nobody.
fn burnt_by_forgotten() -> Outcome {
    // SAFETY: `signal` demands a valid handler, which ignoring is.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    for _ in 0..400 {
        let child = forked(|| i32::from(burnt(Duration::from_millis(9)).is_err()))?;
        // There is nothing to wait for but its end.
        let _gone = waited(child);
    }
    Ok("3.6 s of CPU time in 400 children".to_owned())
}

fn slept(seconds: u64) -> Outcome {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(seconds) {
        thread::sleep(Duration::from_millis(100));
    }
    Ok(format!("{seconds} s"))
}

fn flood(out: &mut dyn Write) -> Outcome {
    let line = [b'x'; 1024];
    for _ in 0..1024 {
        out.write_all(&line)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok("1 MiB of output".to_owned())
}
