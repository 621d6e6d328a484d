//! How many calls with a key one store takes, for whoever compares two versions: run it by name, and read what it prints.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::flip::pay;
use super::*;

#[test]
#[ignore = "a measurement, run by hand"]
fn keyed_calls_in_a_second() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let bench = Bench::new();
    let store = bench.open();
    for callers in [1, 8, 64] {
        let (count, end) = (Arc::new(AtomicU64::new(0)), Instant::now() + Duration::from_secs(4));
        runtime.block_on(async {
            let tasks = (0..callers).map(|caller| {
                let (store, count) = (store.clone(), Arc::clone(&count));
                tokio::spawn(async move {
                    for call in 0.. {
                        if Instant::now() >= end {
                            return;
                        }
                        pay(&store, &format!("{callers}-{caller}-{call}")).await.unwrap();
                        append(&store, "run", call..call + 1).await;
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                })
            });
            for task in tasks.collect::<Vec<_>>() {
                task.await.unwrap();
            }
        });
        eprintln!("{callers} callers: {} calls a second", count.load(Ordering::Relaxed) / 4);
    }
}
