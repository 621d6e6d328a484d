//! Who is alive: keys of processes that are not are in doubt, and what they waited for is adopted.

use ringfence::audit::Progress;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt as _;
use ringfence::policy::{Decision, SafetyClass};
use ringfence::{
    ApprovalRequest, ApprovalStore as _, Claim, Fence, IdempotencyStore as _, KeyClaim, KeyFilter,
    KeyFinding, KeyName, KeyState, Settled, Settlement, WaitingCall,
};
use ringfence_store::Filter;
use serde_json::json;

use super::*;
use crate::it::sample::{ORIGIN, key, log};
use crate::it::wait::wait_for;

/// How often a test tries what a busy machine can spoil, and a broken build spoils each time.
const ATTEMPTS: usize = 6;

pub(super) fn claim(key: &str, owner: &str) -> KeyClaim {
    KeyClaim {
        name: KeyName { scope: "role/pay".into(), key: key.into() },
        digest: "digest".into(),
        arguments: "{}".into(),
        run: "run-1".into(),
        owner: owner.into(),
    }
}

/// Makes every process look dead but for those that come later.
async fn forget_all(bench: &Bench) {
    bench.sql("UPDATE instance SET until = clock_timestamp() - interval '1 second'").await;
}

async fn open_for(bench: &Bench, lease: Duration) -> PostgresStore {
    let options = PostgresOptions { lease, ..PostgresOptions::default() };
    PostgresStore::connect_with(&bench.url(), options).await.unwrap()
}

#[tokio::test]
async fn the_key_of_a_dead_process_is_in_doubt_until_a_person_says() {
    let bench = Bench::new().await;
    let (first, second) = (bench.open().await, bench.open().await);
    let (mine, theirs) = (claim("one", "a"), claim("one", "b"));
    assert_eq!(first.claim(&mine).await, Ok(Claim::Granted(Fence(1))));
    assert_eq!(second.claim(&theirs).await, Ok(Claim::InFlight));
    forget_all(&bench).await;

    let name = mine.name.clone();
    assert_eq!(second.find(&name, "digest").await, Ok(Some(Claim::Unknown(Fence(1)))));
    let listed = second.keys(&KeyFilter::default()).await.unwrap();
    assert_eq!((listed.len(), listed[0].state), (1, KeyState::Unknown));
    // Its own process is in doubt too, once others may have been told so.
    let third = bench.open().await;
    assert_eq!(third.claim(&theirs).await, Ok(Claim::Unknown(Fence(1))));
    assert_eq!(third.claim(&mine).await, Ok(Claim::Unknown(Fence(1))));

    let settlement = Settlement::Failed;
    let (by, reason) = ("ada".to_owned(), "asked the bank".to_owned());
    let finding = KeyFinding { name: name.clone(), fence: Fence(1), settlement, by, reason };
    let stale = KeyFinding { fence: Fence(7), ..finding.clone() };
    assert_eq!(third.find_out(&stale).await, Ok(Settled::Stale));
    assert_eq!(third.size().await.unwrap(), 0);
    assert_eq!(third.find_out(&finding).await, Ok(Settled::Kept));
    assert_eq!(third.find_out(&finding).await, Ok(Settled::Stale));
    let filter = Filter { kind: Some("settlement".into()), ..Filter::default() };
    let entries = third.entries(&filter, 0, 10).await.unwrap();
    assert!(entries.len() == 1 && entries[0].record.contains("asked the bank"), "{entries:?}");
    assert_eq!(third.claim(&theirs).await, Ok(Claim::Granted(Fence(2))));
    // What the first still has to say comes too late.
    assert_eq!(first.settle(&name, Fence(1), Settlement::Unknown).await, Ok(Settled::Stale));
    third.sign(&key(), ORIGIN).await.unwrap();
    assert!(third.verify(&log(), 0, None, &Progress::default()).await.unwrap().is_intact());
}

#[tokio::test]
async fn the_one_who_ran_a_call_knows_better() {
    let bench = Bench::new().await;
    let (first, second) = (bench.open().await, bench.open().await);
    let mine = claim("one", "a");
    assert_eq!(first.claim(&mine).await, Ok(Claim::Granted(Fence(1))));
    forget_all(&bench).await;
    assert_eq!(second.find(&mine.name, "digest").await, Ok(Some(Claim::Unknown(Fence(1)))));
    let done = Settlement::Committed { output: "1".into(), keep: Duration::from_secs(60) };
    assert_eq!(first.settle(&mine.name, Fence(1), done).await, Ok(Settled::Kept));
    assert_eq!(second.claim(&claim("one", "b")).await, Ok(Claim::Replay("1".into())));
}

#[tokio::test]
async fn a_lease_is_renewed_while_the_process_lives() {
    let bench = Bench::new().await;
    let second = bench.open().await;
    // A machine that stands still for longer than the lease loses it rightly. Without renewal every attempt would.
    for attempt in 0..ATTEMPTS {
        let first = open_for(&bench, Duration::from_millis(900)).await;
        let key = format!("key-{attempt}");
        assert!(matches!(first.claim(&claim(&key, "a")).await, Ok(Claim::Granted(_))));
        let mut lost = first.lost();
        let started = Instant::now();
        let mut holds = true;
        while holds && started.elapsed() < Duration::from_secs(3) {
            holds = second.claim(&claim(&key, "b")).await == Ok(Claim::InFlight)
                && (&mut lost).now_or_never().is_none();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        if holds {
            return;
        }
    }
    panic!("the lease ended each time");
}

#[tokio::test]
async fn a_process_learns_that_it_is_taken_for_dead_and_begins_again() {
    let bench = Bench::new().await;
    let first = open_for(&bench, Duration::from_millis(900)).await;
    assert_eq!(first.claim(&claim("one", "a")).await, Ok(Claim::Granted(Fence(1))));
    forget_all(&bench).await;
    let started = Instant::now();
    tokio::time::timeout(PATIENCE, first.lost()).await.unwrap();
    let at_once = first.claim(&claim("two", "a")).await.ok();
    // It is nobody for a second, which a slow machine may miss.
    assert!(at_once.is_none() || started.elapsed() >= Duration::from_secs(1), "{at_once:?}");
    // It is somebody else from now on.
    let granted = match at_once {
        Some(found) => found,
        None => wait_for("it begins again", async || first.claim(&claim("two", "a")).await.ok()).await,
    };
    assert_eq!(granted, Claim::Granted(Fence(2)));
    assert_eq!(first.claim(&claim("one", "a")).await, Ok(Claim::Unknown(Fence(1))));
    assert!(first.lost().now_or_never().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_without_its_server_counts_itself_dead_before_others_do() {
    let server = Server::start();
    let bench = Bench::on(server.restart()).await;
    let store = open_for(&bench, Duration::from_secs(2)).await;
    let mut server = Some(server);
    let mut fastest = Duration::MAX;
    // A busy machine may be late to kill the server or to notice, so the best of several attempts counts.
    for attempt in 0..ATTEMPTS {
        let key = format!("key-{attempt}");
        let claimed =
            wait_for("the server answers", async || store.claim(&claim(&key, "a")).await.ok()).await;
        assert!(matches!(claimed, Claim::Granted(_)), "{claimed:?}");
        let running = server.take().unwrap();
        let started = Instant::now();
        let killed = tokio::task::spawn_blocking(move || {
            running.kill();
            running
        })
        .await
        .unwrap();
        tokio::time::timeout(PATIENCE, store.lost()).await.unwrap();
        fastest = fastest.min(started.elapsed());
        let again = tokio::task::spawn_blocking(move || {
            killed.restart();
            killed
        });
        server = Some(again.await.unwrap());
        if fastest < Duration::from_secs(4) {
            break;
        }
    }
    assert!(fastest < Duration::from_secs(4), "{fastest:?}");
    wait_for("the server answers", async || store.claim(&claim("last", "a")).await.ok()).await;
    drop(bench);
    drop(server);
}

#[tokio::test]
async fn closing_a_store_ends_its_lease() {
    let bench = Bench::new().await;
    let (first, second) = (bench.open().await, bench.open().await);
    assert_eq!(first.claim(&claim("one", "a")).await, Ok(Claim::Granted(Fence(1))));
    drop(first);
    // The lease itself would last for an hour.
    wait_for("the key is in doubt", async || {
        (second.claim(&claim("one", "b")).await == Ok(Claim::Unknown(Fence(1)))).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_many_gets_a_key() {
    let bench = Bench::new().await;
    let stores = [bench.open().await, bench.open().await, bench.open().await];
    for round in 0..10 {
        let tasks: Vec<_> = (0..12)
            .zip(stores.iter().cycle())
            .map(|(owner, store)| {
                let store = store.clone();
                let claim = claim(&format!("key-{round}"), &format!("owner-{owner}"));
                tokio::spawn(async move { store.claim(&claim).await.unwrap() })
            })
            .collect();
        let mut granted = 0;
        for task in tasks {
            match task.await.unwrap() {
                Claim::Granted(_) => granted += 1,
                other => assert_eq!(other, Claim::InFlight),
            }
        }
        assert_eq!(granted, 1);
    }
}

pub(super) fn request(number: u64, personality: Option<&str>, call: bool) -> ApprovalRequest {
    let call =
        call.then(|| WaitingCall { personality: personality.map(Into::into), ..WaitingCall::default() });
    ApprovalRequest {
        digest: String::new(),
        tool: "pay".parse().unwrap(),
        tool_digest: "tool".into(),
        class: SafetyClass::Financial,
        arguments: Arc::new(json!(null)),
        run: "run".into(),
        session: "session".into(),
        proposer: "eve".into(),
        needed: Decision::Ask,
        call,
    }
    .with_arguments(json!(number))
    .unwrap()
}

#[tokio::test]
async fn what_a_dead_process_waited_for_is_adopted_once() {
    let hour = Duration::from_hours(1);
    let bench = Bench::new().await;
    let (first, second) = (bench.open().await, bench.open().await);
    let mut ids = Vec::new();
    for (number, personality, call) in [
        (0, Some("role"), true),
        (1, Some("role"), true),
        (2, None, true),
        (3, None, false),
        (4, Some("role"), true),
    ] {
        ids.push(first.file(&request(number, personality, call), hour).await.unwrap());
    }
    // Filing it again finds it, and from then on the second waits for it.
    assert_eq!(second.file(&request(1, Some("role"), true), hour).await.unwrap(), ids[1]);
    first.leave(&ids[4]).await.unwrap();
    // Only whoever waits can leave.
    first.leave(&ids[1]).await.unwrap();
    assert!(second.adopt(Some("role"), 10).await.unwrap().is_empty());
    drop(first);
    let adopted = wait_for("it is adopted", async || {
        let adopted = second.adopt(Some("role"), 10).await.unwrap();
        (!adopted.is_empty()).then_some(adopted)
    })
    .await;
    assert_eq!(adopted.iter().map(|filed| &filed.id).collect::<Vec<_>>(), [&ids[0]]);
    assert!(second.adopt(Some("role"), 10).await.unwrap().is_empty());
    assert!(second.adopt(None, 0).await.unwrap().is_empty());
    assert_eq!(second.adopt(None, 10).await.unwrap().len(), 1);

    let third = bench.open().await;
    drop(second);
    let mut found = 0;
    wait_for("both are adopted", async || {
        found += third.adopt(Some("role"), 1).await.unwrap().len();
        (found >= 2).then_some(())
    })
    .await;
}
