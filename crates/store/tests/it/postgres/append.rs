//! Several gateways append to one log.

use ringfence::audit::Progress;
use std::collections::BTreeMap;

use ringfence::{AuditEntry, AuditSink as _, Store as _};
use ringfence_store::Filter;
use serde_json::Value;

use super::*;
use crate::it::sample::{ORIGIN, append, key, log, step};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gateways_append_to_one_log_in_turn() {
    const TASKS: u64 = 48;
    const EACH: u64 = 20;
    let bench = Bench::new().await;
    let gateways = [bench.open().await, bench.open().await, bench.open().await];
    let mut tasks = Vec::new();
    for task in 0..TASKS {
        let store = gateways[usize::try_from(task).unwrap() % 3].clone();
        tasks.push(tokio::spawn(async move { append(&store, &format!("run-{task}"), 0..EACH).await }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let [first, second, third] = &gateways;
    assert_eq!(first.size().await.unwrap(), TASKS * EACH);
    let transactions = first.transactions() + second.transactions() + third.transactions();
    assert!(transactions < TASKS * EACH / 2, "{transactions} transactions");
    assert!(second.transactions() > 5 && third.transactions() > 5);

    let mut seen = BTreeMap::<String, Vec<u64>>::new();
    for stored in third.entries(&Filter::default(), 0, usize::MAX).await.unwrap() {
        let record: Value = serde_json::from_str(&stored.record).unwrap();
        seen.entry(stored.run.unwrap()).or_default().push(record["call"].as_u64().unwrap());
    }
    assert_eq!(seen.len(), 48);
    assert!(seen.values().all(|calls| calls.iter().copied().eq(0..EACH)), "{seen:?}");
    second.sign(&key(), ORIGIN).await.unwrap();
    let verified = first.verify(&log(), 0, None, &Progress::default()).await.unwrap();
    assert!(verified.is_intact() && verified.agreeing == 1, "{verified:?}");
}

#[tokio::test]
async fn a_failed_transaction_keeps_nothing_and_the_next_goes_on() {
    let bench = Bench::new().await;
    let store = bench.open().await;
    append(&store, "run", 0..3).await;
    bench
        .sql(
            "CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN IF new.run = 'bad' THEN RAISE 'stopped'; END IF; RETURN new; END $$;
             CREATE TRIGGER stop BEFORE INSERT ON entry FOR EACH ROW EXECUTE FUNCTION stop()",
        )
        .await;
    let (good, bad) = (step("good", 1), step("bad", 1));
    let batch = [AuditEntry::Approval(&good), AuditEntry::Approval(&bad)];
    let error = store.append(&batch).await.unwrap_err();
    assert!(error.ends_with("failed: stopped"), "{error}");
    append(&store, "run", 3..6).await;
    // Nothing is signed beside a trigger that is not ours.
    bench.sql("DROP TRIGGER stop ON entry; DROP FUNCTION stop").await;
    store.sign(&key(), ORIGIN).await.unwrap();
    assert_eq!(store.size().await.unwrap(), 6);
    assert!(store.verify(&log(), 0, None, &Progress::default()).await.unwrap().is_intact());
}

#[tokio::test]
async fn keeps_every_byte() {
    let bench = Bench::new().await;
    let store = bench.open().await;
    let long = "n\u{10ffff}\0".repeat(5_000);
    store.set(&long, "kéy", "a\0b\u{feff}\u{10ffff}", None).await.unwrap();
    assert_eq!(store.get(&long, "kéy").await.unwrap().as_deref(), Some("a\0b\u{feff}\u{10ffff}"));
    assert_eq!(store.list(&long, "k").await.unwrap(), ["kéy"]);
    append(&store, &long, 0..1).await;
    let filter = Filter { run: Some(long.clone()), ..Filter::default() };
    let found = store.entries(&filter, 0, 10).await.unwrap();
    assert_eq!(found[0].run.as_ref(), Some(&long));
    let filter = Filter { kind: Some("call\0".into()), code: Some("\0".into()), ..Filter::default() };
    assert!(store.newest(&filter, 10).await.unwrap().is_empty());
    store.clear(&long).await.unwrap();
    assert_eq!(store.check().await.unwrap(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_than_may_wait_gets_through_in_turn() {
    let bench = Bench::new().await;
    let store = bench.open().await;
    let reason = "x".repeat(4 << 20);
    let tasks: Vec<_> = (0..17)
        .map(|call| {
            let step = ringfence::audit::ApprovalStep { reason: Some(reason.clone()), ..step("run", call) };
            let store = store.clone();
            tokio::spawn(async move { store.append(&[AuditEntry::Approval(&step)]).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(store.size().await.unwrap(), 17);
}

#[tokio::test]
async fn sweeps_what_has_expired_and_keeps_count() {
    let bench = Bench::new().await;
    let store = bench.open().await;
    bench.set_clock(Duration::ZERO).await;
    for key in 0..30 {
        let ttl = (key % 3 != 0).then_some(Duration::from_secs(key % 3));
        store.set("space", &key.to_string(), "value", ttl).await.unwrap();
    }
    let sweep = "SELECT value_apply('{4}', '{\"\"}', '{\"\"}', '{\"\"}', '{NULL}', 0, 0)";
    for (seconds, left) in [(0, 30), (1, 20), (1, 20), (2, 10)] {
        bench.set_clock(Duration::from_secs(seconds)).await;
        bench.sql(sweep).await;
        assert_eq!(bench.number("SELECT count(*) FROM ringfence.value").await, left);
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    }
}
