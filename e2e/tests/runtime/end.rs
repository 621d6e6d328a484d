//! A call that is given up ends, and leaves nothing behind; so does the death of whoever made it.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ringfence::Run;
use serde_json::json;

use crate::runtime::kind::{Kind, engine};
use crate::runtime::stage::{Came, PATIENCE, Stage, toolbox, wait_until};

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

fn gone(word: &str, but: &[u32]) -> Result<(), Vec<String>> {
    let end = Instant::now() + PATIENCE;
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
        let stage = Stage::new(kind, "wall = \"600s\"");
        let (run, word) =
            (Run::new("run", "session"), format!("marker-{}-{}", kind.name(), std::process::id()));
        let work = stage.begin(&run, json!({"act": "spin", "word": word}));
        wait_until(&format!("{} starts", kind.name()), || {
            !kind.has_processes() || !alive(&word, &[std::process::id()]).is_empty()
        });
        std::thread::sleep(Duration::from_millis(300));
        // Containers of somebody who used the engine before are not ours to count.
        let own = format!("/{}/", std::process::id());
        assert!(kind != Kind::Container || containers().contains(&own), "{}", containers());
        run.cancel();
        // By itself it would end only after 10 minutes.
        let came = stage.wait(work).unwrap();
        assert!(
            matches!(&came, Came::Ended { code, .. } if code == "CANCELLED"),
            "{}: {came:?}",
            kind.name()
        );
        gone(&word, &[std::process::id()]).unwrap_or_else(|left| panic!("{}: {left:?}", kind.name()));
        match kind {
            Kind::Wasm => wait_until("it uses no processor any more", || {
                let before = processor_time();
                std::thread::sleep(Duration::from_millis(500));
                processor_time() - before < Duration::from_millis(250)
            }),
            Kind::Container => wait_until("its container is gone", || !containers().contains(&own)),
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
        fs::write(&policy, toolbox(kind, stage.folder.path(), "wall = \"600s\"", "")).unwrap();
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
        let own = [std::process::id(), gateway.id()];
        wait_until(&format!("{} starts", kind.name()), || {
            assert!(gateway.try_wait().unwrap().is_none(), "{}: it ended", kind.name());
            !kind.has_processes() || !alive(&word, &own).is_empty()
        });
        gateway.kill().unwrap();
        gateway.wait().unwrap();
        if kind == Kind::Container {
            // The engine is another program: what is left is removed by the next one that starts.
            let act = json!({"act": "read", "path": stage.path("in/known.txt")}).to_string();
            let next = call(&json!({"json": act}).to_string()).output().unwrap();
            assert!(next.status.success(), "{}", String::from_utf8_lossy(&next.stderr));
            wait_until("no container is left", || containers() == "[]");
        }
        gone(&word, &[std::process::id()]).unwrap_or_else(|left| panic!("{}: {left:?}", kind.name()));
    }
}
