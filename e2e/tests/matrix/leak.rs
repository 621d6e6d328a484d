//! Many starts leave nothing behind: no process, mount, descriptor, thread, control group or file.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ringfence_e2e::Tier;

use crate::matrix::escape::{alone, asked, wanted};
use crate::matrix::place;
use crate::matrix::process::{collected, drained, waited};
use crate::matrix::stage::{Stage, Work};
use crate::matrix::sys;
use crate::matrix::user::User;

#[test]
fn native_as_root() {
    column("native", User::Root);
}

#[test]
fn native_as_user() {
    column("native", User::Ordinary);
}

#[test]
fn bwrap_as_root() {
    column("bwrap", User::Root);
}

#[test]
fn bwrap_as_user() {
    column("bwrap", User::Ordinary);
}

#[test]
fn firejail_as_root() {
    column("firejail", User::Root);
}

#[test]
fn firejail_as_user() {
    column("firejail", User::Ordinary);
}

fn column(backend: &'static str, user: User) {
    if !asked(backend) || !wanted("leak") {
        println!("leaks of `{backend}` are not asked for");
        return;
    }
    let _alone = alone();
    let Some(stage) = Stage::new(backend, user) else {
        println!("{backend}: these tests do not run as root, so nothing runs as root");
        return;
    };
    let work = stage.folder("work");
    let programs = stage.folder("bin");
    for (name, from) in [
        ("rf-true", Path::new("/usr/bin/true")),
        ("rf-sleep", Path::new("/usr/bin/sleep")),
        ("starts", Path::new(env!("CARGO_BIN_EXE_starts"))),
    ] {
        fs::copy(from, programs.path(name)).unwrap();
    }
    let before = Machine::seen(&stage);

    let mut pids = vec![from_one_process(&stage, &programs)];
    pids.extend(by_the_command(&work, &programs));
    // Whoever kills the command with SIGKILL leaves a control group, which the next one removes once everything in it has
    // ended; with firejail, the command itself lives on.
    if backend != "firejail" {
        pids.extend(killed(&work, &programs));
        let begun = Instant::now();
        loop {
            work.run(&[], &[programs.path("rf-true").to_str().unwrap()]).must(0, "").unwrap();
            if groups(|owner| pids.contains(&owner)).is_empty() || begun.elapsed() > PATIENCE {
                break;
            }
        }
    }

    let left: Vec<PathBuf> = fs::read_dir(&work.folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "files in the granted folder: {left:?}");
    before.settles(&stage, &pids);
}

/// In a row and at once from one process, which looks at itself.
fn from_one_process(stage: &Stage, programs: &Work<'_>) -> u32 {
    // The others start programs of their own for each: a fiftieth of a second with bwrap, a sixth with firejail.
    let row = match stage.backend {
        "native" => Tier::current().pick(50, 200, 1_000),
        "bwrap" => Tier::current().pick(20, 50, 200),
        _ => Tier::current().pick(5, 20, 50),
    };
    let mut starts = stage.host(programs.path("starts").to_str().unwrap());
    starts.args([
        format!("backend={}", stage.backend),
        format!("program={}", programs.path("rf-true").display()),
        format!("inner={}", place::ringfence().display()),
        format!("row={row}"),
        "once=64".to_owned(),
    ]);
    let mut child = starts.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let output = drained(child.stdout.take().unwrap());
    let code = waited(&mut child);
    let output = collected(output);
    println!("leaks-{}: {}", stage.title(), output.trim().replace('\n', ", "));
    assert_eq!(code, Some(0), "{output}");
    pid
}

/// In a row and at once, each by a command of its own.
fn by_the_command(work: &Work<'_>, programs: &Work<'_>) -> Vec<u32> {
    let program = programs.path("rf-true").display().to_string();
    let mut pids = Vec::new();
    for at_once in [1, 1, 1, 1, 1, 1, 1, 1, 64] {
        let spawn = |_| {
            let mut command = work.ringfence(&[], &[&program]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let children: Vec<Child> = (0..at_once).map(spawn).collect();
        for mut child in children {
            pids.push(child.id());
            assert_eq!(waited(&mut child), Some(0), "one of {at_once} at once");
        }
    }
    pids
}

/// Commands that are killed while what they started begins or runs.
fn killed(work: &Work<'_>, programs: &Work<'_>) -> Vec<u32> {
    let program = programs.path("rf-sleep").display().to_string();
    let spawn = |_| {
        let mut command = work.ringfence(&["--limit", "wall=600s"], &[&program, "600"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut pids = Vec::new();
    // Each is killed at another moment of its start, the last when what it started runs for long.
    for moment in [0, 5, 10, 15, 20, 30, 40, 60, 80, 120, 160, 400] {
        let mut children: Vec<Child> = (0..2).map(spawn).collect();
        thread::sleep(Duration::from_millis(moment));
        for child in &mut children {
            sys::kill(child.id());
            child.wait().unwrap();
            pids.push(child.id());
        }
    }
    pids
}

/// What the machine held before.
struct Machine {
    mounts: usize,
    files: BTreeSet<PathBuf>,
    /// Groups that somebody else left, whose number may come again.
    groups: BTreeSet<String>,
}

/// How long is waited for what is on its way out. Only what stays takes that long.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where a sandbox could leave files.
const FOLDERS: &[&str] = &["/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", "/run/lock", "/opt/rf-e2e"];

impl Machine {
    fn seen(stage: &Stage) -> Self {
        Self { mounts: mounts(stage), files: files(stage), groups: groups(|_| true).into_iter().collect() }
    }

    /// Waits a little for what is on its way out, and fails with what stays.
    fn settles(&self, stage: &Stage, pids: &[u32]) {
        let begun = Instant::now();
        loop {
            let mut left: Vec<String> =
                files(stage).difference(&self.files).map(|path| format!("{path:?}")).collect();
            left.extend(processes(stage));
            let groups = groups(|owner| pids.contains(&owner));
            left.extend(groups.into_iter().filter(|group| !self.groups.contains(group)));
            if mounts(stage) > self.mounts {
                left.push(format!("{} mounts, not {}", mounts(stage), self.mounts));
            }
            if left.is_empty() {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{} left behind: {left:#?}", left.len());
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Mounts of the machine that have to do with us.
fn mounts(stage: &Stage) -> usize {
    let own = stage.path().to_str().unwrap();
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap();
    text.lines().filter(|line| [own, "ringfence", "firejail"].iter().any(|word| line.contains(word))).count()
}

/// Files that are the user's, or named after one of us.
fn files(stage: &Stage) -> BTreeSet<PathBuf> {
    let (uid, _) = stage.user.ids().unwrap();
    let entries = FOLDERS.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let ours = entries.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Other tests of this machine have temporary folders too.
        let named = ["ringfence", "bwrap", "firejail"].iter().any(|word| name.contains(word));
        // The container engine of the tests starts when it is ready, beside everything else.
        let named = named && !name.starts_with("ringfence-engine-");
        named || (uid != 0 && entry.metadata().is_ok_and(|metadata| metadata.uid() == uid))
    });
    ours.map(|entry| entry.path()).collect()
}

/// Processes whose program or arguments are in our folder.
fn processes(stage: &Stage) -> Vec<String> {
    let own = stage.path().to_str().unwrap().to_owned();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| {
        let arguments = String::from_utf8_lossy(&fs::read(entry.path().join("cmdline")).ok()?).into_owned();
        let program = fs::read_link(entry.path().join("exe")).unwrap_or_default();
        let ours = arguments.contains(&own) || program.starts_with(&own);
        ours.then(|| format!("process {}: {}", entry.file_name().display(), arguments.replace('\0', " ")))
    });
    lines.collect()
}

/// Control groups that were made by one of these processes.
fn groups(wanted: impl Fn(u32) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = rest.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let name = entry.file_name().to_string_lossy().into_owned();
                let owner =
                    name.strip_prefix("ringfence-").and_then(|rest| rest.split('-').next()?.parse().ok());
                if owner.is_some_and(&wanted) {
                    found.push(entry.path().display().to_string());
                }
                rest.push(entry.path());
            }
        }
    }
    found
}
