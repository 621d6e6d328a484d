//! Servers are killed and connections cut under load: nothing acknowledged is lost, and nothing is there twice.

use ringfence::audit::Progress;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use ringfence::{
    AuditEntry, AuditSink as _, Claim, IdempotencyStore as _, KeyClaim, KeyFilter, KeyName, KeyState,
    Settled, Settlement, Store as _,
};
use ringfence_store::Filter;

use super::*;
use crate::it::sample::{ORIGIN, key, log, step};
use crate::it::wait::wait_for;

/// What one task has sent, and what was said of it where it was not acknowledged.
type Sent = BTreeMap<u64, Result<(), String>>;

/// How the load is doing.
#[derive(Default)]
struct Load {
    stop: AtomicBool,
    acknowledged: AtomicU64,
}

impl Load {
    /// Waits until some more was acknowledged.
    fn wait(&self, more: u64) {
        let (before, started) = (self.acknowledged.load(Ordering::SeqCst), Instant::now());
        while self.acknowledged.load(Ordering::SeqCst) < before + more {
            assert!(started.elapsed() < PATIENCE, "nothing is acknowledged any more");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Appends with several tasks until it is stopped, and returns what each has sent.
async fn load(stores: [PostgresStore; 2], load: Arc<Load>) -> Vec<Sent> {
    let handles: Vec<_> = (0..8)
        .zip(stores.iter().cycle())
        .map(|(task, store)| {
            let (store, load) = (store.clone(), Arc::clone(&load));
            tokio::spawn(async move {
                let mut sent = Sent::new();
                for call in 0.. {
                    if load.stop.load(Ordering::SeqCst) {
                        break;
                    }
                    let step = step(&format!("task-{task}"), call);
                    let kept = store.append(&[AuditEntry::Approval(&step)]).await;
                    load.acknowledged.fetch_add(u64::from(kept.is_ok()), Ordering::SeqCst);
                    sent.insert(call, kept);
                }
                sent
            })
        })
        .collect();
    let mut all = Vec::new();
    for handle in handles {
        all.push(tokio::time::timeout(PATIENCE, handle).await.unwrap().unwrap());
    }
    all
}

/// Returns what was said of all that was not acknowledged.
fn refused(sent: &[Sent]) -> Vec<&String> {
    sent.iter().flat_map(Sent::values).filter_map(|kept| kept.as_ref().err()).collect()
}

/// Checks that what was acknowledged is there once, and that the log verifies.
async fn check(store: &PostgresStore, sent: &[Sent]) {
    for (task, sent) in sent.iter().enumerate() {
        let filter = Filter { run: Some(format!("task-{task}")), ..Filter::default() };
        let mut kept = BTreeMap::<u64, u32>::new();
        for stored in store.entries(&filter, 0, usize::MAX).await.unwrap() {
            *kept.entry(stored.at - 1_000).or_default() += 1;
        }
        let twice: Vec<_> = kept.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "task {task} has {twice:?}");
        let lost: Vec<_> =
            sent.iter().filter(|(call, said)| said.is_ok() && !kept.contains_key(call)).collect();
        assert!(lost.is_empty(), "task {task} has lost {lost:?}");
    }
    store.sign(&key(), ORIGIN).await.unwrap();
    let verified = store.verify(&log(), 0, None, &Progress::default()).await.unwrap();
    assert!(verified.is_intact(), "{verified:?}");
    assert_eq!(store.check().await.unwrap(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_loses_nothing_and_is_found_again() {
    let server = Server::start();
    let bench = Bench::on(server.restart()).await;
    let stores = [bench.open().await, bench.open().await];
    let running = Arc::new(Load::default());
    let work = tokio::spawn(load(stores.clone(), Arc::clone(&running)));
    let watched = Arc::clone(&running);
    let server = tokio::task::spawn_blocking(move || {
        for _ in 0..5 {
            watched.wait(40);
            server.kill();
            server.restart();
        }
        watched.wait(40);
        server
    })
    .await
    .unwrap();
    running.stop.store(true, Ordering::SeqCst);
    let sent = work.await.unwrap();
    // The server was back long before anybody's patience ended.
    assert_eq!(refused(&sent), [""; 0]);
    check(&stores[1], &sent).await;
    drop(bench);
    drop(server);
}

/// Claims the same keys in the same order as everybody else, and counts what it was granted.
async fn claimant(
    store: PostgresStore,
    owner: usize,
    effects: Arc<Mutex<BTreeMap<u64, u32>>>,
    load: Arc<Load>,
) {
    let keep = Duration::from_secs(600);
    for key in 0.. {
        if load.stop.load(Ordering::SeqCst) {
            break;
        }
        let claim = KeyClaim {
            name: KeyName { scope: "role/pay".into(), key: key.to_string() },
            digest: "digest".into(),
            arguments: "{}".into(),
            run: "run".into(),
            owner: format!("{owner}-{key}"),
        };
        let Ok(Claim::Granted(fence)) = store.claim(&claim).await else { continue };
        *effects.lock().unwrap().entry(key).or_default() += 1;
        let done = Settlement::Committed { output: owner.to_string(), keep };
        if store.settle(&claim.name, fence, done).await == Ok(Settled::Kept) {
            load.acknowledged.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_granted_once_whatever_happens_to_the_server() {
    let server = Server::start();
    let bench = Bench::on(server.restart()).await;
    let stores = [bench.open().await, bench.open().await];
    let effects = Arc::new(Mutex::new(BTreeMap::new()));
    let running = Arc::new(Load::default());
    let tasks: Vec<_> = (0..6)
        .zip(stores.iter().cycle())
        .map(|(owner, store)| {
            tokio::spawn(claimant(store.clone(), owner, Arc::clone(&effects), Arc::clone(&running)))
        })
        .collect();
    let watched = Arc::clone(&running);
    let _server = tokio::task::spawn_blocking(move || {
        for _ in 0..4 {
            watched.wait(20);
            server.kill();
            server.restart();
        }
        watched.wait(20);
        server
    })
    .await
    .unwrap();
    running.stop.store(true, Ordering::SeqCst);
    for task in tasks {
        tokio::time::timeout(PATIENCE, task).await.unwrap().unwrap();
    }
    let effects = effects.lock().unwrap().clone();
    let twice: Vec<_> = effects.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    // What was acknowledged is kept.
    let committed = KeyFilter { state: Some(KeyState::Committed), ..KeyFilter::default() };
    let kept = stores[0].keys(&committed).await.unwrap().len() as u64;
    assert!(kept >= running.acknowledged.load(Ordering::SeqCst), "{kept}");
    drop(bench);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_connections_lose_nothing() {
    let bench = Bench::new().await;
    let stores = [bench.open().await, bench.open().await];
    let running = Arc::new(Load::default());
    let work = tokio::spawn(load(stores.clone(), Arc::clone(&running)));
    let started = Instant::now();
    let mut cuts = 0;
    // On a busy machine it takes longer until there is so much to cut.
    while started.elapsed() < Duration::from_secs(3) || (cuts <= 20 && started.elapsed() < PATIENCE) {
        cuts += bench
            .number(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                 WHERE datname = current_database() AND pid <> pg_backend_pid()",
            )
            .await;
        tokio::time::sleep(Duration::from_millis(37)).await;
    }
    running.stop.store(true, Ordering::SeqCst);
    let sent = work.await.unwrap();
    assert!(cuts > 20, "only {cuts} connections were cut");
    assert_eq!(refused(&sent), [""; 0]);
    check(&stores[0], &sent).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stays_away_is_an_error_and_then_forgotten() {
    let server = Server::start();
    let bench = Bench::on(server.restart()).await;
    let options = PostgresOptions { patience: Duration::from_millis(300), ..PostgresOptions::default() };
    let store = PostgresStore::connect_with(&bench.url(), options).await.unwrap();
    crate::it::sample::append(&store, "run", 0..2).await;
    server.kill();
    let error = store.append(&[AuditEntry::Approval(&step("run", 2))]).await.unwrap_err();
    assert!(error.contains("cannot be reached: ") || error.contains("it is not known"), "{error}");
    assert!(store.size().await.is_err());
    server.restart();
    // On a slow machine the short patience may end once more before the connections are new.
    wait_for("the store answers again", async || {
        let set = store.set("space", "key", "value", None).await;
        set.ok().and(store.size().await.ok())
    })
    .await;
    crate::it::sample::append(&store, "run", 3..5).await;
    assert_eq!(store.size().await.unwrap(), 4);
    drop(bench);
}
