//! A call that is given up ends, and leaves nothing behind; so does the death of whoever made it.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ringfence::Run;
use serde_json::json;

use crate::kind::{Kind, engine};
use crate::stage::{Came, Stage, toolbox};

/// Says whether some process of this machine has this word among its arguments, other than those named.
fn alive(word: &str, but: &[u32]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(said) = fs::read(entry.path().join("cmdline")) else { continue };
        let said = String::from_utf8_lossy(&said).replace('\0', " ");
        if !but.contains(&pid) && said.contains(word) {
            found.push(said);
        }
    }
    found
}

fn gone(word: &str, but: &[u32], within: Duration) -> Result<(), Vec<String>> {
    let end = Instant::now() + within;
    loop {
        let left = alive(word, but);
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() > end {
            return Err(left);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The containers that the engine has, of this image.
fn containers() -> String {
    let (address, _) = engine();
    let socket = address.strip_prefix("unix://").unwrap().to_owned();
    let listed = Command::new("curl")
        .args(["--silent", "--unix-socket", &socket, "http://engine/containers/json?all=1"])
        .output()
        .unwrap();
    String::from_utf8_lossy(&listed.stdout).trim().to_owned()
}

fn processor_time() -> Duration {
    let said = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = said.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

#[test]
fn a_run_that_is_cancelled_ends_what_it_started() {
    for kind in Kind::asked() {
        let stage = Stage::new(kind, "wall = \"30s\"");
        let (run, word) =
            (Run::new("run", "session"), format!("marker-{}-{}", kind.name(), std::process::id()));
        let work = stage.begin(&run, json!({"act": "spin", "word": word}));
        let begun = Instant::now();
        while kind.has_processes() && alive(&word, &[std::process::id()]).is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{}: it never started", kind.name());
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(300));
        // Containers of somebody who used the engine before are not ours to count.
        let own = format!("/{}/", std::process::id());
        assert!(kind != Kind::Container || containers().contains(&own), "{}", containers());
        run.cancel();
        let cancelled = Instant::now();
        let came = stage.wait(work).unwrap();
        assert!(
            matches!(&came, Came::Ended { code, .. } if code == "CANCELLED"),
            "{}: {came:?}",
            kind.name()
        );
        assert!(cancelled.elapsed() < Duration::from_secs(3), "{}: {:?}", kind.name(), cancelled.elapsed());
        gone(&word, &[std::process::id()], Duration::from_secs(5))
            .unwrap_or_else(|left| panic!("{}: {left:?}", kind.name()));
        match kind {
            Kind::Wasm => {
                let before = processor_time();
                std::thread::sleep(Duration::from_millis(500));
                let spent = processor_time() - before;
                assert!(spent < Duration::from_millis(250), "it goes on: {spent:?}");
            }
            Kind::Container => {
                let end = Instant::now() + Duration::from_secs(5);
                while containers().contains(&own) {
                    assert!(Instant::now() < end, "{}", containers());
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
            _ => {}
        }
        assert!(stage.on("read", "in/known.txt").did(), "{}: the next call works", kind.name());
    }
}

#[test]
fn nothing_outlives_a_gateway_that_is_killed() {
    for kind in Kind::asked().into_iter().filter(|kind| *kind != Kind::Bwrap && *kind != Kind::Firejail) {
        let stage = Stage::new(kind, "");
        let word = format!("killed-{}-{}", kind.name(), std::process::id());
        let policy = stage.path("ringfence.toml");
        fs::write(&policy, toolbox(kind, stage.folder.path(), "wall = \"60s\"", "")).unwrap();
        let act = json!({"act": "spin", "word": word});
        let arguments = if kind == Kind::Wasm { act } else { json!({"json": act.to_string()}) };
        let call = |arguments: &str| {
            let mut command = Command::new(ringfence_e2e::ringfence());
            command
                .arg("--policy")
                .arg(&policy)
                .args(["call", "probe", arguments])
                .current_dir(stage.folder.path());
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command
        };
        let mut gateway = call(&arguments.to_string()).spawn().unwrap();
        let begun = Instant::now();
        let own = [std::process::id(), gateway.id()];
        while kind.has_processes() && alive(&word, &own).is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(30), "{}: it never started", kind.name());
            assert!(gateway.try_wait().unwrap().is_none(), "{}: it ended", kind.name());
            std::thread::sleep(Duration::from_millis(20));
        }
        gateway.kill().unwrap();
        gateway.wait().unwrap();
        if kind == Kind::Container {
            // The engine is another program: what is left is removed by the next one that starts.
            let act = json!({"act": "read", "path": stage.path("in/known.txt")}).to_string();
            let next = call(&json!({"json": act}).to_string()).output().unwrap();
            assert!(next.status.success(), "{}", String::from_utf8_lossy(&next.stderr));
            let end = Instant::now() + Duration::from_secs(10);
            while containers() != "[]" {
                assert!(Instant::now() < end, "{}", containers());
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        gone(&word, &[std::process::id()], Duration::from_secs(5))
            .unwrap_or_else(|left| panic!("{}: {left:?}", kind.name()));
    }
}
