//! `ringfence install`: real packages, from the registries, inside the fence.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bench::{Bench, command};

/// How long one install may take.
const PATIENCE: Duration = Duration::from_secs(280);

/// Installs with a cache of the bench and returns what would run, or what was said.
fn install(bench: &Bench, arguments: &[&str]) -> Result<Value, String> {
    install_beside(bench, "", arguments)
}

/// The same, with one more folder of programs.
fn install_beside(bench: &Bench, programs: &str, arguments: &[&str]) -> Result<Value, String> {
    let mut started = command(&bench.path());
    started.args(["install", "--json"]).args(arguments).env("XDG_CACHE_HOME", bench.path().join("cache"));
    let path = format!("/usr/local/bin:/usr/bin:/bin:{programs}");
    started.env("HOME", bench.path().join("home")).env("PATH", path);
    for name in ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "PIP_CERT"] {
        started.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    let output = bounded(started);
    let said = String::from_utf8_lossy(&output.1).into_owned();
    if output.0 != Some(0) {
        return Err(said);
    }
    Ok(serde_json::from_slice(&output.2).unwrap())
}

/// Runs a command, and ends it when it takes too long.
fn bounded(mut command: Command) -> (Option<i32>, Vec<u8>, Vec<u8>) {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    let waiting = std::thread::spawn(move || child.wait_with_output().unwrap());
    let start = Instant::now();
    while !waiting.is_finished() {
        if start.elapsed() > PATIENCE {
            let _ended = rustix::process::kill_process(id, rustix::process::Signal::KILL);
            panic!("the install took too long");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = waiting.join().unwrap();
    (output.status.code(), output.stderr, output.stdout)
}

fn bench() -> Bench {
    Bench::new().file("home/.keep", "").file("cache/.keep", "")
}

/// What is in the folder of installs, without locks.
fn installs(bench: &Bench) -> Vec<PathBuf> {
    let folder = bench.path().join("cache/.ringfence/installs");
    let listed = std::fs::read_dir(folder).unwrap().map(|one| one.unwrap().path());
    listed.filter(|path| path.extension().is_none_or(|end| end != "lock")).collect()
}

/// Starts what was installed with something that makes it end at once, and returns what it says.
fn started(done: &Value, more: &[&str]) -> String {
    let mut started = Command::new(done["program"].as_str().unwrap());
    started.args(done["arguments"].as_array().unwrap().iter().map(|word| word.as_str().unwrap())).args(more);
    let (_, said, out) = bounded(started);
    String::from_utf8_lossy(&[out, said].concat()).into_owned()
}

#[test]
fn a_package_of_npm() {
    let bench = bench();
    let line = ["--", "npx", "-y", "@modelcontextprotocol/server-everything", "stdio"];
    let done = install(&bench, &line).unwrap();
    let root = PathBuf::from(done["root"].as_str().unwrap());
    assert!(root.join("node_modules/@modelcontextprotocol/server-everything/package.json").is_file());
    assert!(root.join("ringfence-install.json").is_file());
    assert!(done["integrity"].as_str().unwrap().starts_with("sha512-"), "{done}");
    assert!(Path::new(done["arguments"][0].as_str().unwrap()).starts_with(&root), "{done}");
    assert_eq!(done["arguments"][1], "stdio");
    assert!(started(&done, &[]).contains("Starting"), "{}", started(&done, &[]));
    assert_eq!(installs(&bench), std::slice::from_ref(&root), "nothing is left beside it");
    // It is found again, and a half install is not.
    let made = |name: &str| {
        let found = std::fs::metadata(root.join(name)).unwrap();
        (found.ino(), found.modified().unwrap())
    };
    let before = ["", "ringfence-install.json", "node_modules"].map(made);
    assert_eq!(install(&bench, &line).unwrap(), done);
    assert_eq!(["", "ringfence-install.json", "node_modules"].map(made), before, "nothing is made again");
    std::fs::remove_file(root.join("ringfence-install.json")).unwrap();
    let refused = install(&bench, &[&["--name", "nowhere", "--policy", "fence.toml"], &line[..]].concat());
    assert!(refused.unwrap_err().contains("cannot read `fence.toml`"));
    let bench =
        bench.file("fence.toml", "[[server]]\nname = \"nowhere\"\nregistry = [\"registry.invalid\"]\n");
    let refused = install(&bench, &[&["--name", "nowhere", "--policy", "fence.toml"], &line[..]].concat());
    assert!(refused.unwrap_err().contains("the install of `@modelcontextprotocol/server-everything` failed"));
    assert_eq!(installs(&bench), [root], "what fails leaves nothing");
}

#[test]
fn no_script_of_a_package_runs() {
    let bench = bench();
    // The install script of this package puts a native program in the place of its own script.
    let done = install(&bench, &["--", "npx", "-y", "esbuild@0.25.12", "--version"]).unwrap();
    let root = PathBuf::from(done["root"].as_str().unwrap());
    let program = std::fs::read(root.join("node_modules/esbuild/bin/esbuild")).unwrap();
    assert!(program.starts_with(b"#!"), "the install script has run");
    assert!(started(&done, &[]).contains("0.25.12"), "{}", started(&done, &[]));
}

#[test]
fn a_package_of_python() {
    let bench = bench();
    let line = ["--", "uvx", "mcp-server-time", "--help"];
    let done = install(&bench, &line).unwrap();
    let root = PathBuf::from(done["root"].as_str().unwrap());
    assert_eq!(Path::new(done["program"].as_str().unwrap()), root.join("bin/python3"));
    assert!(done["integrity"].as_str().unwrap().starts_with("sha256:"), "{done}");
    assert!(started(&done, &[]).contains("--local-timezone"), "{}", started(&done, &[]));
    assert_eq!(installs(&bench), [root]);
    // The second install finds `pip` unpacked, unless this machine has `uv`.
    let unpacked = || {
        let listed = std::fs::read_dir(bench.path().join("cache/.ringfence/pip")).into_iter().flatten();
        let folders = listed.map(Result::unwrap).filter(|one| one.path().is_dir());
        folders.map(|one| one.metadata().unwrap().ino()).collect::<Vec<_>>()
    };
    let before = unpacked();
    let done =
        install(&bench, &["--", "uvx", "--with", "mcp<2", "mcp-server-time@2025.7.1", "--help"]).unwrap();
    assert_eq!(done["version"], "2025.7.1");
    assert!(started(&done, &[]).contains("--local-timezone"), "{}", started(&done, &[]));
    assert_eq!(unpacked(), before, "nothing is unpacked twice");
}

#[test]
fn python_packages_are_installed_with_uv_where_it_is_found() {
    let bench = bench();
    let uv = install(&bench, &["--", "uvx", "uv", "--version"]).unwrap();
    let programs = PathBuf::from(uv["root"].as_str().unwrap()).join("bin");
    // No program is taken from a folder of ours.
    let own = bench.path().join("home/bin");
    std::fs::create_dir(&own).unwrap();
    std::fs::copy(programs.join("uv"), own.join("uv")).unwrap();
    let line = ["--", "uvx", "mcp-server-time", "--help"];
    let done = install_beside(&bench, own.to_str().unwrap(), &line).unwrap();
    let root = PathBuf::from(done["root"].as_str().unwrap());
    let has = ["pylock.toml", ".home"].map(|name| root.join(name).exists());
    assert_eq!(has, [true, false], "`uv` has resolved it, and nothing else is left");
    assert!(done["integrity"].as_str().unwrap().starts_with("sha256:"), "{done}");
    assert!(started(&done, &[]).contains("--local-timezone"), "{}", started(&done, &[]));
}

#[test]
fn what_the_fence_refuses_ends_with_the_command_that_explains_it() {
    let bench = bench();
    let mut refused = command(&bench.path());
    refused.args(["install", "--", "uvx", "mcp-server-time"]).env("PATH", "/usr/local/bin:/usr/bin:/bin");
    refused.env("XDG_CACHE_HOME", bench.path().join("cache")).env("HOME", bench.path().join("home"));
    // A file that no sandbox can be given: each has a `/proc` of its own.
    refused.env("SSL_CERT_FILE", "/proc/version");
    let (code, said, _) = bounded(refused);
    let said = String::from_utf8_lossy(&said);
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains(" was refused: ") && said.ends_with("\n  why: ringfence explain PATH_NOT_REACHABLE\n"),
        "{said}"
    );
}

#[test]
fn what_is_refused_before_anything_is_installed() {
    let bench = bench();
    #[rustfmt::skip]
    let cases = [
        (&["--", "npx", "-y", "./x"][..],               "`./x` is not a package of a registry"),
        (&["--", "npx", "--registry=x", "y"],           "`npx` is given the option `--registry`"),
        (&["--", "pnpm", "dlx", "y"],                   "`pnpm dlx` installs what it runs"),
        (&["--", "no-such-program-anywhere"],           "no program is named `no-such-program-anywhere`"),
    ];
    for (line, message) in cases {
        let error = install(&bench, line).unwrap_err();
        assert!(error.contains(message), "{line:?}: {error}");
    }
    assert!(!bench.path().join("cache/.ringfence/installs").exists());
}
