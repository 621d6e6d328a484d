//! Several processes on one file.

use ringfence::audit::Progress;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ringfence::{Claim, IdempotencyStore as _, KeyClaim, KeyName};
use ringfence_store::Filter;

use super::*;
use crate::it::wait::PATIENCE;

/// How long the processes append at least.
const TIME: Duration = Duration::from_secs(3);

/// How much each of them must have appended while the others go on.
const FED: u64 = 50;

/// Not a test: appends with many tasks at once, and prints how many were acknowledged.
#[test]
#[ignore = "run by the tests below as a process of its own"]
fn appends_hard() {
    appends(64);
}

/// Not a test: appends one after another, and prints how many were acknowledged.
#[test]
#[ignore = "run by the tests below as a process of its own"]
fn appends_softly() {
    appends(1);
}

fn appends(tasks: u64) {
    let Some(path) = child::path() else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(&path).unwrap();
        let start = Instant::now();
        // Nobody stops before all are fed; a test that failed meanwhile never says so.
        let stop = stop(&path);
        let goes_on = move || start.elapsed() < TIME || (!stop.exists() && start.elapsed() < PATIENCE * 2);
        let all = Arc::new(AtomicU64::new(0));
        let tasks = (0..tasks).map(|task| {
            let (store, goes_on, all) = (store.clone(), goes_on.clone(), Arc::clone(&all));
            tokio::spawn(async move {
                let run = format!("{}-{task}", std::process::id());
                let mut call = 0;
                while goes_on() {
                    append(&store, &run, call..call + 1).await;
                    call += 1;
                    if all.fetch_add(1, Ordering::SeqCst) + 1 == FED {
                        say("fed");
                    }
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        say(&format!("appended {}", all.load(Ordering::SeqCst)));
    });
}

/// Returns the file that tells the processes of a database to stop.
fn stop(path: &Path) -> PathBuf {
    path.with_extension("stop")
}

/// Says something to the process that started this one, on a line of its own.
fn say(what: &str) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "\n{what}").and_then(|()| output.flush()).unwrap();
}

/// Waits for the end of a child, and returns what it printed after this word.
fn end(mut child: Child, word: &str) -> String {
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    assert!(child.wait().unwrap().success(), "{output}");
    output.lines().find_map(|line| line.strip_prefix(word)).unwrap().to_owned()
}

#[test]
fn nobody_starves_and_the_log_verifies() {
    for tests in [["appends_hard", "appends_hard"], ["appends_hard", "appends_softly"]] {
        let bench = Bench::new();
        let children = tests.map(|test| child::spawn(&format!("it::sqlite::process::{test}"), &bench.path()));
        let (fed, all_fed) = std::sync::mpsc::channel();
        let ends = children.map(|mut child| {
            let fed = fed.clone();
            std::thread::spawn(move || {
                let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
                let mut count = 0;
                for line in lines {
                    if line == "fed" {
                        fed.send(()).unwrap();
                    }
                    count = line.strip_prefix("appended ").map_or(count, |text| text.parse::<u64>().unwrap());
                }
                assert!(child.wait().unwrap().success());
                count
            })
        });
        for _ in tests {
            assert_eq!(all_fed.recv_timeout(PATIENCE), Ok(()), "{tests:?}: somebody starves");
        }
        std::fs::write(stop(&bench.path()), "").unwrap();
        let counts = ends.map(|end| end.join().unwrap());
        say(&format!("{tests:?}: {counts:?}"));

        let store = bench.open();
        assert_eq!(store.size().unwrap(), counts.iter().sum::<u64>());
        store.sign(&key(), ORIGIN).unwrap();
        assert!(store.verify(&log(), 0, None, &Progress::default()).unwrap().is_intact());
        assert_eq!(store.check().unwrap(), [""; 0]);
    }
}

/// Not a test: makes a database, or opens the one that another is making, and appends one entry.
#[test]
#[ignore = "run by the test below as a process of its own"]
fn makes_and_appends() {
    let Some(path) = child::path() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        append(&SqliteStore::open(&path).unwrap(), "run", 0..1).await;
    });
    say("made it");
}

#[test]
fn many_make_one_database() {
    for _ in 0..5 {
        let bench = Bench::new();
        let children: Vec<_> =
            (0..6).map(|_| child::spawn("it::sqlite::process::makes_and_appends", &bench.path())).collect();
        for child in children {
            end(child, "made it");
        }
        let store = bench.open();
        assert_eq!(store.entries(&Filter::default(), 0, 10).unwrap().len(), 6);
        assert_eq!(store.check().unwrap(), [""; 0]);
    }
}

/// Not a test: says under which id it lives, and waits to be killed.
#[test]
#[ignore = "run by the test below as a process of its own"]
fn lives_until_it_is_killed() {
    let Some(path) = child::path() else { return };
    let store = SqliteStore::open(&path).unwrap();
    say(&format!("lives {}", store.instance().unwrap()));
    std::thread::sleep(PATIENCE * 2);
}

#[test]
fn a_killed_process_is_dead_at_once() {
    let bench = Bench::new();
    let store = bench.open();
    let mut child = child::spawn("it::sqlite::process::lives_until_it_is_killed", &bench.path());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let id = lines.find_map(|line| line.strip_prefix("lives ").map(str::to_owned)).unwrap();
    assert!(store.lives(&id).unwrap());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!store.lives(&id).unwrap());

    let left = || {
        let folder = format!("{}.live", bench.path().display());
        let names = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().contains(&id)).count()
    };
    assert_eq!(left(), 1);
    drop(bench.open());
    assert_eq!(left(), 0);
    assert!(!store.lives(&id).unwrap());
    assert!(store.lives(store.instance().unwrap()).unwrap());
}

fn claim(key: &str, owner: &str) -> KeyClaim {
    KeyClaim {
        name: KeyName { scope: "role/pay".into(), key: key.into() },
        digest: "00".into(),
        arguments: "{}".into(),
        run: "run".into(),
        owner: owner.into(),
    }
}

/// How many keys the processes fight for.
const KEYS: u64 = 200;

/// Not a test: claims every key, prints which it was granted, and settles none of them.
#[test]
#[ignore = "run by the test below as a process of its own"]
fn claims_every_key() {
    let Some(path) = child::path() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(&path).unwrap();
        for key in 0..KEYS {
            let claim = claim(&key.to_string(), &std::process::id().to_string());
            match store.claim(&claim).await.unwrap() {
                Claim::Granted(fence) => say(&format!("granted {key} {fence}")),
                // Those that were granted before may have ended meanwhile, and their keys are then in doubt.
                found => assert!(matches!(found, Claim::InFlight | Claim::Unknown(_)), "{found:?}"),
            }
        }
        say("ended");
    });
}

#[test]
fn of_several_processes_one_gets_the_key() {
    let bench = Bench::new();
    let children: Vec<_> =
        (0..4).map(|_| child::spawn("it::sqlite::process::claims_every_key", &bench.path())).collect();
    let mut granted = std::collections::BTreeMap::<String, Vec<String>>::new();
    for mut child in children {
        let mut output = String::new();
        child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        assert!(child.wait().unwrap().success() && output.contains("\nended"), "{output}");
        for line in output.lines().filter_map(|line| line.strip_prefix("granted ")) {
            let (key, fence) = line.split_once(' ').unwrap();
            granted.entry(key.to_owned()).or_default().push(fence.to_owned());
        }
    }
    assert_eq!(granted.len() as u64, KEYS);
    assert!(granted.values().all(|fences| fences.len() == 1), "{granted:?}");
    let mut fences: Vec<_> = granted.values().flatten().collect();
    fences.sort_unstable();
    fences.dedup();
    assert_eq!(fences.len() as u64, KEYS, "each claim has a fence of its own");

    // All of them have ended, so that nobody knows what became of the calls.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = bench.open();
        for key in 0..KEYS {
            let found = store.claim(&claim(&key.to_string(), "parent")).await.unwrap();
            assert!(matches!(found, Claim::Unknown(_)), "{found:?}");
        }
    });
}

/// Not a test: claims one key, says so, and waits to be killed.
#[test]
#[ignore = "run by the test below as a process of its own"]
fn claims_until_it_is_killed() {
    let Some(path) = child::path() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(&path).unwrap();
        assert!(matches!(store.claim(&claim("k", "child")).await.unwrap(), Claim::Granted(_)));
        say("claimed");
        std::thread::sleep(PATIENCE * 2);
    });
}

#[test]
fn the_key_of_a_killed_process_is_in_doubt_at_once() {
    let bench = Bench::new();
    let store = bench.open();
    let mut child = child::spawn("it::sqlite::process::claims_until_it_is_killed", &bench.path());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "claimed"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let claimed = || runtime.block_on(store.claim(&claim("k", "parent"))).unwrap();
    assert_eq!(claimed(), Claim::InFlight);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(matches!(claimed(), Claim::Unknown(_)));
}
