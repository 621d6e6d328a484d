//! What the lint takes on a program of 120 packages (`bench/lint`), beside plain `cargo check` and beside peers.
//!
//! Processor time counts, not the clock, because both use every core and the machine is shared. `--peers` installs `cargo acl` and
//! `cargo capsec` below the target folder first; where they do not build, the table says so.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement starts programs and prints its table"
)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ringfence_bench::ratio::Ratio;

/// What one command took.
#[derive(Clone, Copy)]
struct Took {
    wall: Duration,
    /// Processor time of it and of everything it started.
    processor: f64,
    success: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let own = std::env::current_exe()?;
    let lint = own.with_file_name("ringfence-lint");
    if !lint.is_file() {
        return Err("build it first: cargo build --profile dist -p ringfence-lint".into());
    }
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("lint");
    let scratch = own.with_file_name("lint-bench");
    let _gone = std::fs::remove_dir_all(&scratch);
    std::fs::create_dir_all(&scratch)?;
    let host = host()?;
    took(
        Command::new("cargo").args(["fetch", "--locked", "--manifest-path"]).arg(project.join("Cargo.toml")),
    )?;

    let check = || {
        let mut command = Command::new("cargo");
        command.args(["check", "--quiet", "--locked", "--offline", "--target", &host]).current_dir(&project);
        command.env("CARGO_TARGET_DIR", scratch.join("plain")).env("CARGO_INCREMENTAL", "0");
        command
    };
    let linted = |engine: &str| {
        let mut command = Command::new(&lint);
        command.arg(&project).args(["--engine", engine, "--inventory", "--json"]);
        command.env("XDG_CACHE_HOME", scratch.join("cache")).stdout(std::process::Stdio::null());
        command
    };
    std::fs::create_dir_all(scratch.join("cache"))?;

    let plain = took(&mut check())?;
    let cold = took(&mut linted("mir"))?;
    let plain_again = took(&mut check())?;
    let again = (0..3).map(|_| took(&mut linted("mir"))).collect::<Result<Vec<_>, _>>()?;
    let again = again.into_iter().min_by_key(|took| took.wall).ok_or("nothing was measured")?;
    let source = (0..3).map(|_| took(&mut linted("source"))).collect::<Result<Vec<_>, _>>()?;
    let source = source
        .into_iter()
        .min_by(|one, other| one.processor.total_cmp(&other.processor))
        .ok_or("nothing was measured")?;

    println!("{:<34} {:>9} {:>9} {:>9}", "120 packages", "CPU s", "wall s", "× plain");
    let row = |name: &str, took: Took| {
        let failed = if took.success { "" } else { "  FAILED" };
        let ratio = took.processor / plain.processor;
        println!("{name:<34} {:>9.2} {:>9.2} {ratio:>9.2}{failed}", took.processor, took.wall.as_secs_f64());
    };
    row("cargo check, cold", plain);
    row("cargo check, nothing changed", plain_again);
    row("lint --engine mir, cold", cold);
    row("lint --engine mir, nothing changed", again);
    row("lint --engine source", source);
    if ![plain, cold, again, source].iter().all(|took| took.success) {
        return Err("a command that is measured failed".into());
    }
    let floor = "cargo check, cold, processor time";
    Ratio::lower("lint --engine mir, cold", cold.processor / plain.processor, floor).aim(1.5).say()?;
    Ratio::lower("lint --engine source", source.processor / plain.processor, floor).say()?;
    let seconds = again.wall.as_secs_f64();
    Ratio::within("lint --engine mir, nothing changed", seconds, 2.0, "s").say()?;
    Ratio::within("lint --engine source", source.processor, 10.0, "s of processor time").say()?;
    // Peers write into the folder they look at.
    let copy = scratch.join("project");
    std::fs::create_dir_all(copy.join("src"))?;
    for file in ["Cargo.toml", "Cargo.lock", "src/lib.rs"] {
        std::fs::copy(project.join(file), copy.join(file))?;
    }
    for (name, arguments) in
        [("cargo-acl", &["acl", "-n"][..]), ("cargo-capsec", &["capsec", "audit", "--include-deps"])]
    {
        match peer(name, &scratch)? {
            Some(program) => {
                let mut command = Command::new(program);
                command.args(arguments).current_dir(&copy).env("CARGO_TARGET_DIR", scratch.join(name));
                command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
                let (said, took) = (arguments.join(" "), took(&mut command)?);
                row(&said, took);
                if took.success {
                    let ratio = source.processor / took.processor;
                    Ratio::lower("lint --engine source", ratio, format!("cargo {said}")).say()?;
                }
            }
            None => println!("{name:<34} is not installed; `--peers` installs it where it builds"),
        }
    }
    println!("aims: mir cold ≤ 1.5 × plain, nothing changed ≤ 2 s, source ≤ 10 s CPU");
    std::fs::remove_dir_all(&scratch)?;
    Ok(())
}

fn host() -> Result<String, Box<dyn Error>> {
    let said = String::from_utf8(Command::new("rustc").arg("-vV").output()?.stdout)?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc names no host")?.to_owned())
}

/// Finds a peer on the path or below our folder, and installs it there when asked to.
fn peer(name: &str, scratch: &Path) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let root = scratch.with_file_name("peers");
    let own = root.join("bin").join(name);
    if !own.is_file() && std::env::args().any(|word| word == "--peers") {
        Command::new("cargo").args(["install", "--locked", "--quiet", name, "--root"]).arg(&root).status()?;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(name)).chain([own]);
    Ok(found.find(|program| program.is_file()))
}

/// Runs a command and asks the kernel what its whole family used.
fn took(command: &mut Command) -> Result<Took, Box<dyn Error>> {
    let before = children()?;
    let begun = Instant::now();
    let status = command.status()?;
    // The lint ends with 4 when it found something, and that is its work.
    let success = status.success() || status.code() == Some(4);
    Ok(Took { wall: begun.elapsed(), processor: children()? - before, success })
}

/// Returns the processor seconds of the children that have ended.
fn children() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name, in parentheses, may hold anything; after it the first field is the third.
    let (_, rest) = stat.rsplit_once(')').ok_or("no name")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |number: usize| -> Result<f64, Box<dyn Error>> {
        Ok(fields.get(number).ok_or("too short")?.parse()?)
    };
    let per_second = rustix::param::clock_ticks_per_second();
    #[expect(clippy::cast_precision_loss, reason = "ticks per second are a hundred or so")]
    Ok((ticks(13)? + ticks(14)?) / per_second as f64)
}
