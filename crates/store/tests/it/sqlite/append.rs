//! Entries go in, and come out as they went in.

use ringfence::audit::Progress;
use std::collections::BTreeMap;

use ringfence_store::{Filter, Stored};
use serde_json::Value;

use std::sync::Arc;

use super::*;

#[tokio::test]
async fn keeps_a_call_with_its_outputs() {
    let bench = Bench::new();
    let store = bench.open();
    call(Arc::new(store.clone())).await;
    append(&store, "run-2", 0..3).await;
    let note = store.sign(&key(), ORIGIN).unwrap();
    assert_eq!(store.checkpoints().unwrap(), [(5, note.to_string())]);
    // The same checkpoint is kept once.
    store.sign(&key(), ORIGIN).unwrap();
    assert_eq!(store.checkpoints().unwrap().len(), 1);

    let all = store.entries(&Filter::default(), 0, 100).unwrap();
    let kinds: Vec<_> = all.iter().map(|stored| stored.kind.as_str()).collect();
    assert_eq!(kinds, ["policy", "call", "approval", "approval", "approval"]);
    let done = &all[1];
    assert_eq!((done.index, done.tool.as_deref(), done.run.as_deref()), (1, Some("echo"), Some("run-1")));
    assert!(done.raw.is_some() && done.clean.is_some() && done.raw != done.clean, "{done:?}");
    assert_eq!(store.entry(1).unwrap().as_ref(), Some(done));
    assert_eq!(store.entry(5).unwrap(), None);
    assert_eq!(store.entry(u64::MAX).unwrap(), None);

    let verified = store.verify(&log(), 0, None, &Progress::default()).unwrap();
    assert!(verified.is_intact(), "{verified:?}");
    assert_eq!((verified.records, verified.proven, verified.agreeing), (5, 5, 1));

    let mut exported = Vec::new();
    let mut each = |stored: &Stored| {
        exported.push(stored.clone());
        Ok(())
    };
    let count = store.export(&mut each).unwrap();
    assert_eq!((count, exported), (5, all));
    let stopped = store.export(&mut |_| Err(std::io::ErrorKind::BrokenPipe.into()));
    assert_eq!(stopped.unwrap_err().to_string(), "the entries cannot be written out: broken pipe");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_callers_share_transactions_and_keep_their_order() {
    const TASKS: u64 = 64;
    const EACH: u64 = 20;
    let bench = Bench::new();
    let store = bench.open();
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let store = store.clone();
            tokio::spawn(async move { append(&store, &format!("run-{task}"), 0..EACH).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(store.size().unwrap(), TASKS * EACH);
    assert!(store.transactions() < TASKS * EACH / 2, "{} transactions", store.transactions());

    let mut seen = BTreeMap::<String, Vec<u64>>::new();
    for stored in store.entries(&Filter::default(), 0, usize::MAX).unwrap() {
        let record: Value = serde_json::from_str(&stored.record).unwrap();
        seen.entry(stored.run.unwrap()).or_default().push(record["call"].as_u64().unwrap());
    }
    assert_eq!(seen.len(), 64);
    assert!(seen.values().all(|calls| calls.iter().copied().eq(0..EACH)), "{seen:?}");
    store.sign(&key(), ORIGIN).unwrap();
    assert!(store.verify(&log(), 0, None, &Progress::default()).unwrap().is_intact());
}

#[tokio::test]
async fn goes_on_with_the_tree_after_reopening() {
    let bench = Bench::new();
    for round in 0..5 {
        let store = bench.open();
        assert_eq!(store.size().unwrap(), round * 7);
        append(&store, "run", 0..7).await;
        store.sign(&key(), ORIGIN).unwrap();
    }
    let verified = bench.read().verify(&log(), 0, None, &Progress::default()).unwrap();
    assert!(verified.is_intact(), "{verified:?}");
    assert_eq!((verified.records, verified.agreeing), (35, 5));
}

#[tokio::test]
async fn a_failed_transaction_keeps_nothing_and_the_next_goes_on() {
    let bench = Bench::new();
    let store = bench.open();
    append(&store, "run", 0..3).await;
    bench.sql(
        // The smallest number has no positive counterpart.
        "CREATE INDEX stop ON entry (CASE WHEN run = 'bad' THEN abs(-9223372036854775807 - 1) END)",
    );
    let (good, bad) = (step("good", 1), step("bad", 1));
    let batch = [AuditEntry::Approval(&good), AuditEntry::Approval(&bad)];
    let error = store.append(&batch).await.unwrap_err();
    assert!(error.ends_with("integer overflow"), "{error}");
    append(&store, "run", 3..6).await;
    bench.sql("DROP INDEX stop");
    store.sign(&key(), ORIGIN).unwrap();
    assert_eq!(store.size().unwrap(), 6);
    assert!(store.verify(&log(), 0, None, &Progress::default()).unwrap().is_intact());
}

#[tokio::test]
async fn one_that_fails_does_not_take_others_along() {
    let bench = Bench::new();
    let store = bench.open();
    bench.sql(
        // The smallest number has no positive counterpart.
        "CREATE INDEX stop ON entry (CASE WHEN run = 'bad' THEN abs(-9223372036854775807 - 1) END)",
    );
    for _ in 0..10 {
        let before = store.transactions();
        let tasks: Vec<_> = (0..20)
            .map(|task| {
                let (store, step) = (store.clone(), step(if task % 5 == 0 { "bad" } else { "good" }, task));
                tokio::spawn(async move { store.append(&[AuditEntry::Approval(&step)]).await.is_ok() })
            })
            .collect();
        for (task, done) in tasks.into_iter().enumerate() {
            assert_eq!(done.await.unwrap(), task % 5 != 0, "{task}");
        }
        assert!(store.transactions() - before <= 16);
    }
    assert_eq!(store.size().unwrap(), 160);
    bench.sql("DROP INDEX stop");
    store.sign(&key(), ORIGIN).unwrap();
    assert!(store.verify(&log(), 0, None, &Progress::default()).unwrap().is_intact());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_than_may_wait_gets_through_in_turn() {
    let bench = Bench::new();
    let store = bench.open();
    let reason = "x".repeat(4 << 20);
    let tasks: Vec<_> = (0..17)
        .map(|call| {
            let (store, step) =
                (store.clone(), ApprovalStep { reason: Some(reason.clone()), ..step("run", call) });
            tokio::spawn(async move { store.append(&[AuditEntry::Approval(&step)]).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(store.size().unwrap(), 17);
}
