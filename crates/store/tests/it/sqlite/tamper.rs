//! Whoever changes the file is found out.

use ringfence::audit::Progress;
use std::sync::Arc;

use ringfence::policy::Decision;
use ringfence::{ApprovalStore as _, RequestFilter, RequestState};

use super::*;
use crate::Database;
use crate::it::conformance::request;

/// The words of what a verification finds.
fn words(bench: &Bench, tail: u64) -> Vec<&'static str> {
    let verified = bench.read().verify(&log(), tail, None, &Progress::default()).unwrap();
    verified.findings.iter().map(ringfence::audit::Finding::word).collect()
}

#[tokio::test]
async fn finds_every_change() {
    const SWAP: &str = "UPDATE entry SET position = -1 WHERE position = 3;
        UPDATE entry SET position = 3 WHERE position = 4; UPDATE entry SET position = 4 WHERE position = -1;";
    let rehash = "UPDATE entry SET record = (SELECT record FROM entry WHERE position = 2),
        leaf = (SELECT leaf FROM entry WHERE position = 2) WHERE position = 5";
    let exchange = "CREATE TEMP TABLE old AS SELECT position, record FROM entry;
        UPDATE entry SET record = (SELECT record FROM old WHERE old.position = 7 - entry.position)
        WHERE position IN (3, 4)";
    #[rustfmt::skip]
    let cases = [
        // change                                                             first word
        ("SELECT 1",                                                          None),
        ("UPDATE entry SET raw = NULL",                                       None), // its time is up
        ("UPDATE entry SET record = replace(record, 'pay', 'buy') WHERE position = 3", Some("edited")),
        ("UPDATE entry SET record = CAST(x'ff' AS TEXT) WHERE position = 3",  Some("edited")),
        ("UPDATE entry SET leaf = x'00' WHERE position = 3",                  Some("edited")),
        ("UPDATE entry SET at_ms = at_ms + 1 WHERE position = 3",             Some("edited")),
        ("UPDATE entry SET kind = 'policy' WHERE position = 3",               Some("edited")),
        ("UPDATE entry SET run = 'other' WHERE position = 3",                 Some("edited")),
        ("UPDATE entry SET run = NULL WHERE position = 3",                    Some("edited")),
        ("UPDATE entry SET tool = 'other' WHERE position = 1",                Some("edited")),
        ("UPDATE entry SET code = 'FORBIDDEN' WHERE position = 1",            Some("edited")),
        ("UPDATE entry SET class = 'write' WHERE position = 1",               Some("edited")),
        ("UPDATE entry SET principal = NULL WHERE position = 1",              Some("edited")),
        ("UPDATE entry SET host = 'x' WHERE position = 1",                    Some("edited")),
        ("UPDATE span SET first_ms = 1001",                                   Some("edited")),
        ("UPDATE span SET last_ms = last_ms - 1",                             Some("edited")),
        ("UPDATE span SET block = 1",                                         Some("edited")),
        ("DELETE FROM span",                                                  Some("edited")),
        ("UPDATE entry SET tool = 'x' WHERE position = 0",                    Some("edited")),
        ("UPDATE node SET hash = zeroblob(32) WHERE level = 1 AND position = 2", Some("edited")),
        ("UPDATE node SET hash = x'00' WHERE level = 3",                      Some("edited")),
        ("DELETE FROM node WHERE level = 2 AND position = 0",                 Some("edited")),
        ("INSERT INTO node VALUES (1, 5, zeroblob(32))",                      Some("edited")),
        ("INSERT INTO node VALUES (9, 0, zeroblob(32))",                      Some("edited")),
        ("INSERT INTO node VALUES (2, -1, zeroblob(32))",                     Some("edited")),
        ("DELETE FROM entry WHERE position = 3",                              Some("missing")),
        ("DELETE FROM entry WHERE position = 0",                              Some("missing")),
        ("DELETE FROM entry WHERE position > 6",                              Some("truncated")),
        ("DELETE FROM entry",                                                 Some("truncated")),
        ("UPDATE entry SET raw = clean, clean = raw WHERE position = 1",      Some("swapped")),
        ("UPDATE entry SET clean = '\"x\"' WHERE position = 1",               Some("swapped")),
        ("UPDATE entry SET clean = '\"x\"' WHERE position = 4",               Some("swapped")),
        ("UPDATE entry SET clean = NULL",                                     Some("swapped")),
        (SWAP,                                                                Some("forked")),
        (rehash,                                                              Some("forked")),
        ("UPDATE entry SET position = -5 WHERE position = 3",                 Some("missing")),
        (exchange,                                                            Some("reordered")),
        ("UPDATE checkpoint SET note = replace(note, 'log', 'lag')",          Some("unsigned")),
        ("UPDATE checkpoint SET note = CAST(x'ff' AS TEXT)",                  Some("unsigned")),
        ("DELETE FROM checkpoint",                                            Some("unsigned")),
    ];
    for (sql, expected) in cases {
        let bench = Bench::new();
        let store = bench.open();
        call(Arc::new(store.clone())).await;
        append(&store, "run", 0..8).await;
        store.sign(&key(), ORIGIN).unwrap();
        drop(store);
        bench.sql(sql);
        let found = words(&bench, 0);
        assert_eq!(found.first().copied(), expected, "{sql}: {found:?}");
    }
}

#[tokio::test]
async fn names_the_records_of_what_was_changed_once() {
    #[rustfmt::skip]
    let cases = [
        ("UPDATE entry SET record = replace(record, 'pay', 'buy') WHERE position = 3", "record 3 does not have its stored hash"),
        ("UPDATE entry SET run = 'other' WHERE position = 3",                          "record 3 is filed under another run than it has"),
        ("UPDATE entry SET at_ms = -1 WHERE position = 3",                             "record 3 is filed under another time than it has"),
        ("UPDATE node SET hash = zeroblob(32) WHERE level = 1 AND position = 2",       "the stored hash over the records 4 to 5 is not theirs"),
        ("INSERT INTO node VALUES (1, 5, zeroblob(32))",                               "the stored hash over the records 10 to 11 is not theirs"),
    ];
    for (sql, sentence) in cases {
        let bench = Bench::new();
        let store = bench.open();
        append(&store, "run", 0..10).await;
        store.sign(&key(), ORIGIN).unwrap();
        drop(store);
        bench.sql(sql);
        let verified = bench.read().verify(&log(), 0, None, &Progress::default()).unwrap();
        let found: Vec<_> = verified.findings.iter().map(ToString::to_string).collect();
        assert_eq!(found, [sentence], "{sql}");
    }
}

#[tokio::test]
async fn a_cut_that_hides_its_traces_shows_against_a_checkpoint_kept_elsewhere() {
    let bench = Bench::new();
    let store = bench.open();
    append(&store, "run", 0..4).await;
    store.sign(&key(), ORIGIN).unwrap();
    drop(store);
    let early = std::fs::read(bench.path()).unwrap();
    let store = bench.open();
    append(&store, "run", 4..9).await;
    let kept = log().open(&store.sign(&key(), ORIGIN).unwrap()).unwrap();
    drop(store);

    std::fs::write(bench.path(), early).unwrap();
    assert!(words(&bench, 0).is_empty());
    let verified = bench.read().verify(&log(), 0, Some(&kept), &Progress::default()).unwrap();
    assert_eq!(verified.findings[0].word(), "truncated");
}

#[tokio::test]
async fn a_rewritten_log_is_not_signed() {
    for (size, run) in [(3, "run"), (6, "other"), (9, "other"), (3, "other")] {
        let (bench, other) = (Bench::new(), Bench::new());
        let store = bench.open();
        append(&store, "run", 0..6).await;
        store.sign(&key(), ORIGIN).unwrap();
        drop(store);
        let store = other.open();
        append(&store, run, 0..size).await;
        drop(store);
        // Whoever can write the file puts another log in the place of this one, whose parts fit each other.
        let mut sql = format!("ATTACH '{}' AS other;", other.path().display());
        for table in ["entry", "node", "span"] {
            sql.push_str(&format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM other.{table};"));
        }
        sql.push_str("UPDATE frontier SET bytes = (SELECT bytes FROM other.frontier);");
        bench.sql(&sql);
        let store = bench.open();
        let error = store.sign(&key(), ORIGIN).unwrap_err();
        assert!(matches!(error, crate::SqliteError::Diverged { signed: 6, .. }), "{size} {run}: {error}");
        // The commands ask for it by the other face.
        let error = Database::sign(&store, &key(), ORIGIN, None).await.unwrap_err().to_string();
        assert!(error.contains("refusing to sign"), "{size} {run}: {error}");
        assert_eq!(store.checkpoints().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn does_not_go_on_with_a_tree_that_does_not_fit() {
    #[rustfmt::skip]
    let cases = [
        ("DELETE FROM entry WHERE position > 3",               "its tree is over 6 entries and it has 4"),
        ("UPDATE frontier SET bytes = x'0000000000000000'",    "its tree is over 0 entries and it has 6"),
        ("UPDATE frontier SET bytes = x'00'",                  "1 bytes are no frontier"),
        ("DELETE FROM frontier",                               "Query returned no rows"),
        ("UPDATE node SET hash = zeroblob(32) WHERE level = 2", "node 0 of level 2 is not in its tree"),
        ("DELETE FROM node",                                   "node 0 of level 2 is not in its tree"),
    ];
    for (sql, why) in cases {
        let bench = Bench::new();
        let store = bench.open();
        append(&store, "run", 0..6).await;
        drop(store);
        bench.sql(sql);
        let error = SqliteStore::open(&bench.path()).unwrap_err().to_string();
        assert!(error.contains("is damaged: ") && error.ends_with(why), "{sql}: {error}");
    }
}

#[tokio::test]
async fn a_damaged_request_does_not_hide_the_others() {
    let bench = Bench::new();
    let store = bench.open();
    let hour = std::time::Duration::from_hours(1);
    let mut ids = Vec::new();
    for number in 0..4 {
        let request = request(serde_json::json!(number), Decision::Ask);
        ids.push(store.file(&request, hour).await.unwrap());
    }
    let open = RequestFilter { state: Some(RequestState::Open), ..RequestFilter::default() };
    assert_eq!(store.list_requests(&open).await.unwrap().damaged, []);
    bench.sql(
        "UPDATE request SET body = '{' WHERE ordinal = 1; UPDATE request SET digest = 'x' WHERE ordinal = 3",
    );
    let listed = store.list_requests(&open).await.unwrap();
    let readable: Vec<_> = listed.requests.iter().map(|filed| filed.id.clone()).collect();
    assert_eq!(readable, [ids[3].clone(), ids[1].clone()]);
    let damaged: Vec<_> = listed.damaged.iter().map(|damaged| damaged.id.clone()).collect();
    assert_eq!(damaged, [ids[2].clone(), ids[0].clone()]);
    assert!(listed.damaged.iter().all(|damaged| !damaged.why.is_empty()));
    store.requests(&open).await.unwrap_err();
    store.request(&ids[0]).await.unwrap_err();
}
