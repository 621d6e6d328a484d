//! A process that is killed while it appends loses nothing that was acknowledged.

use ringfence::audit::Progress;
use std::io::{BufRead as _, BufReader, Write as _};

use super::*;

/// Not a test: what the killed process runs. It appends for ever, and prints each entry that was acknowledged.
#[test]
#[ignore = "run by the test below as a process of its own"]
fn appends_until_it_is_killed() {
    let Some(path) = child::path() else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(&path).unwrap();
        let tasks = (0..8).map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                let run = format!("task-{task}");
                for call in 0.. {
                    append(&store, &run, call..call + 1).await;
                    writeln!(std::io::stdout().lock(), "acknowledged {run} {call}").unwrap();
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
    });
}

#[test]
fn nothing_acknowledged_is_lost() {
    for lines in [1, 40, 300] {
        let bench = Bench::new();
        let mut child = child::spawn("it::sqlite::crash::appends_until_it_is_killed", &bench.path());
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let words = |line: String| line.split_once("acknowledged ").map(|(_, entry)| entry.to_owned());
        let mut acknowledged: Vec<String> = output.by_ref().filter_map(words).take(lines).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        // The last line may be cut.
        acknowledged.extend(output.filter_map(words));
        assert!(acknowledged.len() >= lines);

        let store = bench.open();
        let mut kept = std::collections::BTreeSet::new();
        store
            .export(&mut |stored| {
                let record: serde_json::Value = serde_json::from_str(&stored.record)?;
                kept.insert(format!("{} {}", stored.run.as_deref().unwrap(), record["call"]));
                Ok(())
            })
            .unwrap();
        let lost: Vec<_> = acknowledged.iter().filter(|entry| !kept.contains(*entry)).collect();
        assert!(lost.is_empty(), "{lost:?}");
        store.sign(&key(), ORIGIN).unwrap();
        assert!(store.verify(&log(), 0, None, &Progress::default()).unwrap().is_intact());
    }
}
