//! What it takes to start `/bin/true` and see it end: plainly, in our sandbox, in bwrap, in firejail.
//!
//! The measuring process holds 64 MB and a few threads, as an agent's host does, and is an ordinary user: started by
//! root it first becomes one. The subjects take turns, so that a slow moment of the machine hits them all.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement starts programs and prints its table"
)]

use std::error::Error;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ringfence::sandbox::{Ending, Entry, Native, Plan, Sandbox, Spec, Streams};
use ringfence_bench::ratio::Ratio;

const ROUNDS: usize = 300;
const WARM_UP: usize = 10;
const SETTLE: Duration = Duration::from_millis(5);

type Act = Box<dyn FnMut() -> Result<(), Box<dyn Error>>>;

/// What is measured, and what is done before each time without being measured.
struct Subject {
    name: &'static str,
    before: Act,
    act: Act,
}

impl Subject {
    fn new(name: &'static str, act: impl FnMut() -> Result<(), Box<dyn Error>> + 'static) -> Self {
        Self { name, before: Box::new(|| Ok(())), act: Box::new(act) }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let own = std::env::current_exe()?;
    if rustix::process::geteuid().is_root() && std::env::var_os("RINGFENCE_BENCH_AS_ROOT").is_none() {
        return Err(as_ordinary_user(&own)?.into());
    }
    let ballast = ballast();
    let mut subjects = subjects(&own)?;
    let mut times: Vec<Vec<Duration>> = subjects.iter().map(|_| Vec::with_capacity(ROUNDS)).collect();
    for round in 0..ROUNDS + WARM_UP {
        for (subject, times) in subjects.iter_mut().zip(&mut times) {
            (subject.before)()?;
            // The kernel takes the namespaces of the subject before apart in its own time.
            std::thread::sleep(SETTLE);
            let begun = Instant::now();
            (subject.act)()?;
            if round >= WARM_UP {
                times.push(begun.elapsed());
            }
        }
    }
    std::hint::black_box(&ballast);
    let rows: Vec<(&str, f64, f64)> = subjects
        .iter()
        .zip(&mut times)
        .map(|(subject, times)| {
            times.sort_unstable();
            let at = |part: usize| {
                times.get(times.len() * part / 100).map_or(0.0, |time| time.as_secs_f64() * 1e6)
            };
            (subject.name, at(50), at(95))
        })
        .collect();
    let p50 = |wanted: &str| rows.iter().find(|(name, ..)| *name == wanted).map(|(_, p50, _)| *p50);
    println!("start to exit of /bin/true, uid {}, {ROUNDS} rounds", rustix::process::geteuid());
    println!("{:<28} {:>8} {:>8} {:>9} {:>8}", "", "p50 µs", "p95 µs", "× plain", "× bwrap");
    for (name, median, slow) in &rows {
        let over =
            |peer: &str| p50(peer).map_or_else(|| "-".to_owned(), |peer| format!("{:.2}", median / peer));
        println!("{name:<28} {median:>8.0} {slow:>8.0} {:>9} {:>8}", over(PLAIN), over(BWRAP));
    }
    for (name, peer, aim) in [
        (COLD, PLAIN, Some(3.5)),
        (COLD, BWRAP, Some(0.5)),
        (COLD, FIREJAIL, None),
        (READY, PLAIN, Some(2.2)),
        (READY, BWRAP, None),
        (COMMAND, PLAIN, None),
        (COMMAND, BWRAP, Some(1.0)),
    ] {
        if let (Some(own), Some(peer_time)) = (p50(name), p50(peer)) {
            let ratio = Ratio::lower(name, own / peer_time, peer);
            Ratio { aim, ..ratio }.say()?;
        }
    }
    memory()?;
    println!("aims: native ≤ 0.5 × bwrap and ≤ 3.5 × plain; ready ≤ 2.2 × plain; command ≤ 1.0 × bwrap");
    Ok(())
}

const PLAIN: &str = "plain posix_spawn";
const BWRAP: &str = "bwrap";
const FIREJAIL: &str = "firejail";
const COLD: &str = "native, from nothing";
const READY: &str = "native, from ready sets";
const COMMAND: &str = "command `ringfence run`";

fn subjects(own: &Path) -> Result<Vec<Subject>, Box<dyn Error>> {
    let mut subjects: Vec<Subject> = vec![Subject::new(PLAIN, || spawn(Command::new("/bin/true")))];
    let spec = Spec::new("/bin/true");
    let cold = Sandbox::new(Native::new());
    let plan = cold.plan(&spec)?;
    let ready = Sandbox::new(Native::new().keep_ready(2));
    let again = plan.clone();
    let first = plan.clone();
    subjects.push(Subject::new(COLD, move || confined(&cold, &first)));
    // Sets are made up for between calls, as they are when an agent thinks.
    let wait = || Native::new().wait_ready().map_err(Into::into);
    let act = move || confined(&ready, &again);
    subjects.push(Subject { before: Box::new(wait), ..Subject::new(READY, act) });
    let binary =
        std::env::var_os("RINGFENCE_BIN").map_or_else(|| own.with_file_name("ringfence"), PathBuf::from);
    if binary.exists() {
        let command = move || {
            let mut command = Command::new(&binary);
            command.args(["run", "--", "true"]);
            spawn(command)
        };
        subjects.push(Subject::new(COMMAND, command));
    } else {
        println!("(no `ringfence` beside this program: build it with `cargo build --profile dist`)");
    }
    if Path::new("/usr/bin/bwrap").exists() {
        subjects.push(Subject::new(BWRAP, move || spawn(bwrap(&plan))));
    }
    if Path::new("/usr/bin/firejail").exists() && spawn(firejail()).is_ok() {
        subjects.push(Subject::new(FIREJAIL, || spawn(firejail())));
    }
    Ok(subjects)
}

/// The same root, namespaces and environment with bwrap. It has no Landlock, no seccomp and no limits here.
fn bwrap(plan: &Plan) -> Command {
    let mut command = Command::new("/usr/bin/bwrap");
    command.args(["--unshare-all", "--new-session", "--die-with-parent", "--clearenv", "--cap-drop", "ALL"]);
    command.args(["--dev", "/dev"]);
    for entry in plan.base.iter().chain(&plan.root).filter(|entry| !entry.path().starts_with("/dev")) {
        let path = entry.path();
        match entry {
            Entry::Bind { access, .. } => {
                command.arg(if access.write { "--bind" } else { "--ro-bind" }).arg(path).arg(path);
            }
            Entry::Directory { .. } => {
                command.arg("--dir").arg(path);
            }
            Entry::Hidden { .. } => {
                command.args(["--ro-bind", "/dev/null"]).arg(path);
            }
            Entry::Link { to, .. } => {
                command.arg("--symlink").arg(to).arg(path);
            }
            Entry::Proc => {
                command.arg("--proc").arg(path);
            }
            Entry::Scratch { .. } => {
                command.arg("--tmpfs").arg(path);
            }
            Entry::Cover { .. } | Entry::Device { .. } | Entry::File { .. } => {}
        }
    }
    command.args(["--remount-ro", "/"]).arg("/bin/true");
    command
}

fn firejail() -> Command {
    let mut command = Command::new("/usr/bin/firejail");
    command.args([
        "--quiet",
        "--noprofile",
        "--net=none",
        "--private-dev",
        "--private-tmp",
        "--caps.drop=all",
    ]);
    command.args(["--nonewprivs", "--seccomp", "/bin/true"]);
    command
}

fn spawn(mut command: Command) -> Result<(), Box<dyn Error>> {
    let status =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).env_clear().status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}

fn confined(sandbox: &Sandbox, plan: &Plan) -> Result<(), Box<dyn Error>> {
    let report = sandbox.run_plan(plan, Streams::default())?;
    if report.ending == Ending::Exited(0) { Ok(()) } else { Err(format!("{:?}", report.ending).into()) }
}

/// What a running sandbox takes beside its command: in this process, and in process 1 of its namespaces.
fn memory() -> Result<(), Box<dyn Error>> {
    const AT_ONCE: u64 = 32;
    let sandbox = Sandbox::new(Native::new());
    let plan = sandbox.plan(&Spec::new("/usr/bin/sleep").arguments(["1"]))?;
    confined(&sandbox, &sandbox.plan(&Spec::new("/bin/true"))?)?;
    let before = resident("self")?;
    let (ours, theirs) = std::thread::scope(|scope| -> Result<(u64, u64), Box<dyn Error>> {
        for _ in 0..AT_ONCE {
            scope.spawn(|| sandbox.run_plan(&plan, Streams::default()).map(drop));
        }
        std::thread::sleep(Duration::from_millis(600));
        let mut first = 0;
        for task in std::fs::read_dir("/proc/self/task")?.flatten() {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            // A set that is kept ready still shares the memory of this process, and would be counted with it.
            let is_process_1 = |child: &&str| {
                let name = std::fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
                name.starts_with("memfd:")
            };
            first += children
                .split_whitespace()
                .filter(is_process_1)
                .filter_map(|child| resident(child).ok())
                .sum::<u64>();
        }
        Ok((resident("self")?.saturating_sub(before), first))
    })?;
    println!(
        "memory of a running sandbox beside its command: {} KiB here, {} KiB in its process 1 (aim: 1024)",
        ours / AT_ONCE / 1024,
        theirs / AT_ONCE / 1024
    );
    let each = (ours + theirs) as f64 / AT_ONCE as f64 / 1024.0;
    Ratio::within("memory of a running sandbox beside its command", each, 1024.0, "KiB").say()?;
    Ok(())
}

fn resident(process: &str) -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string(format!("/proc/{process}/statm"))?;
    let pages: u64 = text.split_whitespace().nth(1).unwrap_or_default().parse()?;
    Ok(pages * 4096)
}

/// Memory that is touched, and threads that sleep.
fn ballast() -> Vec<u8> {
    for _ in 0..4 {
        std::thread::spawn(|| {
            loop {
                std::thread::sleep(Duration::from_millis(100));
            }
        });
    }
    vec![1; 64 << 20]
}

/// Runs this program again as an ordinary user, from a place that user can read.
fn as_ordinary_user(own: &Path) -> Result<std::io::Error, Box<dyn Error>> {
    let folder = std::env::temp_dir().join("ringfence-bench");
    std::fs::create_dir_all(&folder)?;
    let copy = folder.join("start");
    std::fs::copy(own, &copy)?;
    let beside = own.with_file_name("ringfence");
    if beside.exists() {
        std::fs::copy(beside, folder.join("ringfence"))?;
    }
    let user = ordinary_user().unwrap_or(1990);
    Ok(Command::new(copy).uid(user).gid(user).current_dir("/").exec())
}

/// An ordinary user of this machine: firejail wants one with a name.
fn ordinary_user() -> Option<u32> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let mut ids = users.lines().filter_map(|line| line.split(':').nth(2)?.parse().ok());
    ids.find(|id| (1000..60000).contains(id))
}
