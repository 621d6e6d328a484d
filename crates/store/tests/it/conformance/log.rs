//! The audit log: what goes in comes out, is found, signed, verified and proven.

use std::sync::Arc;
use std::time::Duration;

use ringfence::AuditEntry;
use ringfence::audit::{Progress, ProofFile};
use ringfence_store::{Database, Filter};

use super::on_each_database;
use crate::it::sample::{ORIGIN, append, call, key, log, step};

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[tokio::test]
async fn keeps_a_call_with_its_outputs() {
    on_each_database(async |database| {
        assert_eq!(database.size().await.unwrap(), 0);
        assert!(!database.describe().is_empty());
        call(Arc::clone(database) as _).await;
        append(&**database, "run-2", 0..3).await;
        assert_eq!(database.size().await.unwrap(), 5);
        let all = database.entries(&Filter::default(), 0, 100).await.unwrap();
        let kinds: Vec<_> = all.iter().map(|stored| stored.kind.as_str()).collect();
        assert_eq!(kinds, ["policy", "call", "approval", "approval", "approval"]);
        let done = &all[1];
        assert_eq!((done.index, done.tool.as_deref(), done.run.as_deref()), (1, Some("echo"), Some("run-1")));
        assert!(done.raw.is_some() && done.clean.is_some() && done.raw != done.clean, "{done:?}");
        assert_eq!(database.entry(1).await.unwrap().as_ref(), Some(done));
        for index in [5, u64::MAX] {
            assert_eq!(database.entry(index).await.unwrap(), None);
        }
    })
    .await;
}

#[tokio::test]
async fn finds_what_is_asked_for() {
    on_each_database(async |database| {
        append(&**database, "a", 0..4).await;
        append(&**database, "b", 0..4).await;
        let all = Filter::default();
        #[rustfmt::skip]
        let cases = [
            // filter                                                            from      most first     newest
            (all.clone(),                                                        0,        100, vec![0, 1, 2, 3, 4, 5, 6, 7], vec![0, 1, 2, 3, 4, 5, 6, 7]),
            (all.clone(),                                                        2,        3,   vec![2, 3, 4], vec![5, 6, 7]),
            (all.clone(),                                                        8,        3,   vec![],        vec![5, 6, 7]),
            (all.clone(),                                                        u64::MAX, 3,   vec![],        vec![5, 6, 7]),
            (all.clone(),                                                        0,        0,   vec![],        vec![]),
            (Filter { run: text("b"), ..all.clone() },                           0,        2,   vec![4, 5],    vec![6, 7]),
            (Filter { run: text("a"), ..all.clone() },                           2,        100, vec![2, 3],    vec![0, 1, 2, 3]),
            (Filter { run: text("' OR 1 --"), ..all.clone() },                   0,        100, vec![],        vec![]),
            (Filter { kind: text("call"), ..all.clone() },                       0,        100, vec![],        vec![]),
            (Filter { tool: text("pay"), run: text("a"), ..all.clone() },        3,        1,   vec![3],       vec![3]),
            (Filter { code: text("FORBIDDEN"), ..all.clone() },                  0,        100, vec![],        vec![]),
            (Filter { since_ms: Some(1_003), ..all.clone() },                    0,        100, vec![3, 7],    vec![3, 7]),
            (Filter { since_ms: Some(1_001), until_ms: Some(1_002), ..all.clone() }, 0,    1,   vec![1],       vec![5]),
            (Filter { until_ms: Some(u64::MAX), ..all },                         6,        2,   vec![6, 7],    vec![6, 7]),
        ];
        for (filter, from, most, first, newest) in cases {
            let found = database.entries(&filter, from, most).await.unwrap();
            assert_eq!(found.iter().map(|stored| stored.index).collect::<Vec<_>>(), first, "{filter:?} {from}");
            let found = database.newest(&filter, most).await.unwrap();
            assert_eq!(found.iter().map(|stored| stored.index).collect::<Vec<_>>(), newest, "{filter:?} {most}");
        }
    })
    .await;
}

#[tokio::test]
async fn signs_verifies_and_proves() {
    on_each_database(async |database| {
        let mut notes = Vec::new();
        for size in 1..=9 {
            append(&**database, "run", size - 1..size).await;
            notes.push(database.sign(&key(), ORIGIN, None).await.unwrap());
        }
        // The same checkpoint is kept once.
        database.sign(&key(), ORIGIN, None).await.unwrap();
        let kept: Vec<_> = (1..).zip(notes.iter().map(ToString::to_string)).collect();
        assert_eq!(database.checkpoints().await.unwrap(), kept);

        let verified = database.verify(&log(), 0, None, &Progress::default()).await.unwrap();
        assert!(verified.is_intact(), "{verified:?}");
        assert_eq!((verified.records, verified.proven, verified.agreeing), (9, 9, 9));
        append(&**database, "run", 9..10).await;
        let trusted = log().open(&notes[4]).unwrap();
        assert!(database.verify(&log(), 1, Some(&trusted), &Progress::default()).await.unwrap().is_intact());
        let uncovered = database.verify(&log(), 0, None, &Progress::default()).await.unwrap();
        assert_eq!(uncovered.findings[0].word(), "unsigned");

        for (size, note) in (1..).zip(&notes) {
            for index in 0..10 {
                let proof = database.prove(index, note, &log()).await;
                assert_eq!(proof.is_ok(), index < size, "{index} of {size}");
                let Ok(proof) = proof else { continue };
                let proof: ProofFile = proof.to_string().parse().unwrap();
                let stored = database.entry(index).await.unwrap().unwrap();
                assert_eq!(proof.verify(&log()).unwrap().record, stored.record.as_bytes());
            }
        }
    })
    .await;
}

#[tokio::test]
async fn appends_all_or_nothing_of_a_batch() {
    on_each_database(async |database| {
        let steps = [step("run", 0), step("run", 1), step("run", 2)];
        let batch: Vec<_> = steps.iter().map(AuditEntry::Approval).collect();
        database.append(&batch).await.unwrap();
        database.append(&[]).await.unwrap();
        let records = database.entries(&Filter::default(), 0, 10).await.unwrap();
        let calls: Vec<_> = records.iter().map(|stored| stored.at).collect();
        assert_eq!(calls, [1_000, 1_001, 1_002]);
    })
    .await;
}

#[tokio::test]
async fn many_callers_keep_their_order() {
    on_each_database(async |database| {
        let tasks: Vec<_> = (0..16)
            .map(|task| {
                let database = Arc::clone(database);
                tokio::spawn(async move { append(&*database, &format!("run-{task}"), 0..10).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        for task in 0..16 {
            let filter = Filter { run: Some(format!("run-{task}")), ..Filter::default() };
            let found = database.entries(&filter, 0, 100).await.unwrap();
            assert!(found.iter().map(|stored| stored.at).eq(1_000..1_010), "{found:?}");
        }
        database.sign(&key(), ORIGIN, None).await.unwrap();
        let verified = database.verify(&log(), 0, None, &Progress::default()).await.unwrap();
        assert!(verified.is_intact() && verified.records == 160, "{verified:?}");
    })
    .await;
}

#[tokio::test]
async fn forgets_raw_outputs_and_nothing_else() {
    on_each_database(async |database| {
        call(Arc::clone(database) as _).await;
        let before = database.entry(1).await.unwrap().unwrap();
        let at = Duration::from_millis(before.at);
        assert_eq!(database.forget_raw(at).await.unwrap(), 0);
        assert_eq!(database.forget_raw(at + Duration::from_millis(1)).await.unwrap(), 1);
        assert_eq!(database.forget_raw(Duration::MAX).await.unwrap(), 0);
        let after = database.entry(1).await.unwrap().unwrap();
        assert_eq!(after, ringfence_store::Stored { raw: None, ..before });
        database.sign(&key(), ORIGIN, None).await.unwrap();
        assert!(database.verify(&log(), 0, None, &Progress::default()).await.unwrap().is_intact());
    })
    .await;
}

#[tokio::test]
async fn a_sound_database_has_nothing_to_say() {
    on_each_database(async |database: &Arc<dyn Database>| {
        assert_eq!(database.check().await.unwrap(), [""; 0]);
        append(&**database, "run", 0..9).await;
        database.set("a", "kéy", "value", None).await.unwrap();
        database.set("b", "key", "value", Some(Duration::from_secs(1))).await.unwrap();
        assert_eq!(database.check().await.unwrap(), [""; 0]);
    })
    .await;
}
