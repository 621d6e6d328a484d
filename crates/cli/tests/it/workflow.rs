//! `examples/ci/ringfence.yml`: every line of it runs, in order, in a repository made for it; and each rule is broken once.

use std::path::Path;
use std::process::Command;

use crate::bench::Bench;

const TOOLBOX: &str = r#"[personality]
id = "ci"
network = { allow = ["api.github.com:443"] }
process = { allow = ["curl"] }

[[tool]]
name = "zen"
description = "Say a sentence of GitHub's"
command = ["curl", "--silent", "https://api.github.com/zen"]
input = { type = "object", additionalProperties = false }
output = { type = "string" }
capabilities = { network = { allowedHosts = ["api.github.com:443"] }, process = { allowedBinaries = ["curl"] } }
"#;
const MANIFEST: &str = r#"[package]
name = "tools"
version = "0.1.0"
edition = "2024"

[[package.metadata.ringfence.tool]]
name = "count"
entry = "count"
capabilities = {}
"#;
const LOCK: &str = "version = 4\n\n[[package]]\nname = \"tools\"\nversion = \"0.1.0\"\n";
const CODE: &str = "pub fn count(text: &str) -> usize { text.split_whitespace().count() }\n";

/// The commands of the workflow, each of which must be one line.
fn commands() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ci/ringfence.yml");
    let text = std::fs::read_to_string(path).unwrap();
    let steps = text.lines().map(|line| line.trim().trim_start_matches("- "));
    let commands: Vec<String> =
        steps.filter_map(|line| line.strip_prefix("run: ")).map(str::to_owned).collect();
    assert_eq!(text.matches("run:").count(), commands.len(), "a command has more than one line");
    commands
}

/// A repository whose `main` is at its origin too.
fn repository() -> Bench {
    let bench = Bench::new()
        .file("work/ringfence.toml", TOOLBOX)
        .file("work/Cargo.toml", MANIFEST)
        .file("work/Cargo.lock", LOCK)
        .file("work/src/lib.rs", CODE)
        .file("work/.gitignore", "/target\n")
        .file("cache/keep", "");
    shell(&bench, "ringfence manifest && git init -q -b main . && git add -A && git commit -q -m first")
        .unwrap();
    shell(
        &bench,
        "git init -q --bare ../origin.git && git remote add origin ../origin.git && git push -q origin main",
    )
    .unwrap();
    shell(&bench, "git fetch -q origin && git checkout -q -b change").unwrap();
    bench
}

/// Runs a line as the service does; what it printed is the error.
fn shell(bench: &Bench, line: &str) -> Result<(), String> {
    let programs = Path::new(env!("CARGO_BIN_EXE_ringfence")).parent().unwrap();
    assert!(
        programs.join("ringfence-lint").is_file(),
        "there is no `ringfence-lint` beside `ringfence`: build it with `cargo build --workspace --bins`"
    );
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("bash");
    command
        .args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", line])
        .current_dir(bench.path().join("work"));
    command.env("PATH", path).env("XDG_CACHE_HOME", bench.path().join("cache"));
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("GITHUB_STEP_SUMMARY").env_remove("CARGO_TARGET_DIR");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "ci").env(format!("GIT_{who}_EMAIL"), "ci@localhost");
    }
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{line}\n{}{}{}", text(&output.stdout), text(&output.stderr), output.status))
    }
}

/// Runs the whole workflow up to the first command that fails, and returns that one.
fn first_failure(bench: &Bench) -> Option<String> {
    commands().into_iter().find(|line| {
        let ran = shell(bench, line);
        if let Err(said) = &ran {
            println!("{said}");
        }
        ran.is_err()
    })
}

fn change(bench: &Bench, file: &str, from: &str, to: &str) {
    let path = bench.path().join("work").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(path, text.replace(from, to)).unwrap();
}

#[test]
fn every_line_runs_and_every_rule_can_be_broken() {
    let bench = repository();
    assert_eq!(commands().len(), 5);
    assert_eq!(first_failure(&bench), None, "nothing was changed");

    // A toolbox that asks for more than its personality permits.
    change(
        &bench,
        "ringfence.toml",
        r#"allowedHosts = ["api.github.com:443"]"#,
        r#"allowedHosts = ["evil.example"]"#,
    );
    assert_eq!(first_failure(&bench).as_deref(), Some("ringfence check"));
    shell(&bench, "git checkout -q .").unwrap();

    // Wider, with the manifest as it was; and with the manifest written anew in the same change.
    change(&bench, "ringfence.toml", "api.github.com:443", "*.github.com");
    assert_eq!(first_failure(&bench).as_deref(), Some("ringfence manifest --check"));
    shell(&bench, "ringfence manifest accept --yes && git commit -q -a -m wider").unwrap();
    assert_eq!(
        first_failure(&bench).as_deref(),
        Some("ringfence manifest verify --against origin/main --format github")
    );
    shell(&bench, "git reset -q --hard origin/main").unwrap();

    // Code that uses what the tool does not declare.
    change(&bench, "src/lib.rs", "text.split", "std::fs::read_to_string(text).unwrap_or_default().split");
    assert_eq!(first_failure(&bench).as_deref(), Some("ringfence lint --format github"));
}
