//! cargo and a compiler, offline, with everything it writes in the granted folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::matrix::check::Check;
use crate::matrix::process::{Ended, finished};
use crate::matrix::stage::{PATH, Work};
use crate::matrix::user::User;

pub(crate) const CHECKS: &[Check] = &[
    Check::call("cargo::build", |work| {
        hello(work, "");
        cargo(work, &["--exec", "cc"], "build")?.must(0, "")?;
        run_built(work)
    }),
    Check::call("cargo::build_with_any_program", |work| {
        hello(work, "");
        cargo(work, &["--exec", "*"], "build")?.must(0, "")?;
        run_built(work)
    }),
    Check::call("cargo::build_script", |work| {
        hello(work, "fn main() { println!(\"cargo:rustc-env=BUILT=yes\"); }");
        fs::create_dir(work.path("target")).unwrap();
        work.stage.own(&work.folder);
        let target = work.path("target").display().to_string();
        cargo(work, &["--exec", "cc", "--exec", &target], "build")?.must(0, "")?;
        run_built(work)
    }),
    Check::call("cargo::metadata", |work| {
        hello(work, "");
        cargo(work, &[], "metadata")?.must(0, "\"name\":\"hello\"")
    }),
];

fn hello(work: &Work<'_>, script: &str) {
    fs::create_dir(work.path("src")).unwrap();
    let manifest = "[package]\nname = \"hello\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    fs::write(work.path("Cargo.toml"), manifest).unwrap();
    fs::write(work.path("src/main.rs"), "fn main() { println!(\"hello from inside\"); }\n").unwrap();
    if !script.is_empty() {
        fs::write(work.path("build.rs"), script).unwrap();
    }
    work.stage.own(&work.folder);
}

fn cargo(work: &Work<'_>, flags: &[&str], subcommand: &str) -> Result<Ended, String> {
    let folder = match work.stage.user {
        User::Root => proxies()?,
        User::Ordinary => toolchain(work)?,
    };
    let home = format!("CARGO_HOME={}", work.path(".cargo-home").display());
    let usual = ["--env", &home, "--limit", "wall=50s", "--limit", "cpu=50s"];
    let flags: Vec<&str> = flags.iter().copied().chain(usual).collect();
    let mut command = work.ringfence(&flags, &["cargo", subcommand, "--offline"]);
    command.env("PATH", format!("{}:{PATH}", folder.display()));
    Ok(finished(command.stdin(std::process::Stdio::null())))
}

/// The folder of the `cargo` on whoever's path runs the tests, most often rustup's.
fn proxies() -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).find(|folder| folder.join("cargo").exists());
    found.ok_or_else(|| "there is no cargo on the path".to_owned())
}

/// The toolchain itself, where the ordinary user can read it: linked, not copied.
pub(crate) fn toolchain(work: &Work<'_>) -> Result<PathBuf, String> {
    let rustc = PathBuf::from(env!("CARGO")).with_file_name("rustc");
    let output =
        Command::new(rustc).args(["--print", "sysroot"]).output().map_err(|error| error.to_string())?;
    let from = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let to = work.stage.path().join(format!("toolchain-{}", work.folder.file_name().unwrap().display()));
    for part in ["bin", "lib"] {
        link(&from.join(part), &to.join(part))?;
    }
    Ok(to.join("bin"))
}

fn link(from: &Path, to: &Path) -> Result<(), String> {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    let output = Command::new("cp").args(["-rlL"]).args([from, to]).output().unwrap();
    if output.status.success() {
        return Ok(());
    }
    let copied = Command::new("cp").args(["-rL"]).args([from, to]).output().unwrap();
    if copied.status.success() { Ok(()) } else { Err(format!("{copied:?}")) }
}

/// What was built is a program: on the host, since inside it would be another thing to allow.
fn run_built(work: &Work<'_>) -> Result<(), String> {
    finished(&mut work.stage.host(work.path("target/debug/hello").to_str().unwrap()))
        .must(0, "hello from inside")
}
