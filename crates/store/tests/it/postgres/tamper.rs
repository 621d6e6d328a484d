//! Whoever changes the database is found out.

use ringfence::audit::{Finding, Progress};

use ringfence::policy::Decision;
use ringfence::{ApprovalStore as _, RequestFilter, RequestState};

use super::*;
use crate::it::conformance::request;
use crate::it::sample::{ORIGIN, append, call, key, log};

#[tokio::test]
async fn finds_every_change() {
    const SWAP: &str = "UPDATE entry SET position = -1 WHERE position = 3;
        UPDATE entry SET position = 3 WHERE position = 4; UPDATE entry SET position = 4 WHERE position = -1;";
    let rehash = "UPDATE entry SET record = (SELECT record FROM entry WHERE position = 2),
        leaf = (SELECT leaf FROM entry WHERE position = 2) WHERE position = 5";
    let exchange = "CREATE TEMP TABLE old AS SELECT position, record FROM entry;
        UPDATE entry SET record = (SELECT record FROM old WHERE old.position = 7 - entry.position)
        WHERE position IN (3, 4)";
    let buy = "UPDATE entry SET record = replace(convert_from(record, 'UTF8'), 'pay', 'buy')::bytea WHERE position = 3";
    let lag = "UPDATE checkpoint SET note = replace(convert_from(note, 'UTF8'), 'log', 'lag')::bytea";
    #[rustfmt::skip]
    let cases = [
        // change                                                             first word
        ("SELECT 1",                                                          None),
        ("UPDATE entry SET raw = NULL",                                       None), // its time is up
        (buy,                                                                 Some("edited")),
        ("UPDATE entry SET record = '\\xff' WHERE position = 3",              Some("edited")),
        ("UPDATE entry SET leaf = '\\x00' WHERE position = 3",                Some("edited")),
        ("UPDATE entry SET class = 'write' WHERE position = 1",               Some("edited")),
        ("UPDATE entry SET principal = NULL WHERE position = 1",              Some("edited")),
        ("UPDATE entry SET host = '\\x00' WHERE position = 1",                Some("edited")),
        ("UPDATE span SET first_ms = 1001",                                   Some("edited")),
        ("UPDATE span SET last_ms = last_ms - 1",                             Some("edited")),
        ("DELETE FROM span",                                                  Some("edited")),
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
        (lag,                                                                 Some("unsigned")),
        ("UPDATE checkpoint SET note = '\\xff'",                              Some("unsigned")),
        ("DELETE FROM checkpoint",                                            Some("unsigned")),
    ];
    for (sql, expected) in cases {
        let bench = Bench::new().await;
        let store = bench.open().await;
        call(std::sync::Arc::new(store.clone())).await;
        append(&store, "run", 0..8).await;
        store.sign(&key(), ORIGIN).await.unwrap();
        bench.sql(sql).await;
        let verified = store.verify(&log(), 0, None, &Progress::default()).await.unwrap();
        let found: Vec<_> = verified.findings.iter().map(Finding::word).collect();
        assert_eq!(found.first().copied(), expected, "{sql}: {found:?}");
    }
}

#[tokio::test]
async fn names_the_records_of_what_was_changed_once() {
    #[rustfmt::skip]
    let cases = [
        ("UPDATE entry SET run = 'other' WHERE position = 3",                          "record 3 is filed under another run than it has"),
        ("UPDATE entry SET at_ms = -1 WHERE position = 3",                             "record 3 is filed under another time than it has"),
        ("UPDATE entry SET host = 'a' WHERE position = 3",                             "record 3 is filed under another host than it has"),
        ("UPDATE span SET first_ms = 1001",                                            "record 0 is filed under another time than it has"),
        ("UPDATE node SET hash = '\\x00' WHERE level = 1 AND position = 2",          "the stored hash over the records 4 to 5 is not theirs"),
        ("DELETE FROM node WHERE level = 1 AND position = 2",                          "the stored hash over the records 4 to 5 is not theirs"),
        ("INSERT INTO node VALUES (1, 5, '\\x00')",                                  "the stored hash over the records 10 to 11 is not theirs"),
    ];
    for (sql, sentence) in cases {
        let bench = Bench::new().await;
        let store = bench.open().await;
        append(&store, "run", 0..10).await;
        store.sign(&key(), ORIGIN).await.unwrap();
        bench.sql(sql).await;
        let verified = store.verify(&log(), 0, None, &Progress::default()).await.unwrap();
        let found: Vec<_> = verified.findings.iter().map(ToString::to_string).collect();
        assert_eq!(found, [sentence], "{sql}");
    }
}

#[tokio::test]
async fn a_rewritten_log_is_not_signed() {
    let bench = Bench::new().await;
    let store = bench.open().await;
    append(&store, "run", 0..6).await;
    store.sign(&key(), ORIGIN).await.unwrap();
    append(&store, "run", 6..9).await;
    store.sign(&key(), ORIGIN).await.unwrap();
    drop(store);
    bench.sql("DELETE FROM entry; DELETE FROM node; UPDATE frontier SET bytes = '\\x0000000000000000'").await;
    let store = bench.open().await;
    append(&store, "other", 0..12).await;
    let error = store.sign(&key(), ORIGIN).await.unwrap_err();
    assert!(matches!(error, crate::PostgresError::Diverged { signed: 9, .. }), "{error}");
}

#[tokio::test]
async fn a_log_that_is_rewritten_under_a_store_is_not_gone_on_with() {
    use ringfence::{AuditEntry, AuditSink as _};

    let bench = Bench::new().await;
    let (store, other) = (bench.open().await, bench.open().await);
    append(&store, "run", 0..5).await;
    append(&other, "run", 5..8).await;
    // A shorter log whose parts fit each other, as somebody might restore it.
    bench.sql("DELETE FROM entry; DELETE FROM node; UPDATE frontier SET bytes = '\\x0000000000000000'").await;
    for store in [store, other] {
        let error =
            store.append(&[AuditEntry::Approval(&crate::it::sample::step("run", 9))]).await.unwrap_err();
        assert!(error.contains("its log does not go on from the "), "{error}");
    }
    bench.open().await;
}

#[tokio::test]
async fn does_not_go_on_with_a_tree_that_does_not_fit() {
    #[rustfmt::skip]
    let cases = [
        ("DELETE FROM entry WHERE position > 3",               "its tree is over 6 entries and it has 4"),
        ("UPDATE frontier SET bytes = '\\x0000000000000000'",  "its tree is over 0 entries and it has 6"),
        ("UPDATE frontier SET bytes = '\\x00'",                "1 bytes are no frontier"),
        ("DELETE FROM frontier",                               "it has no frontier"),
        ("UPDATE node SET hash = '\\x00' WHERE level = 2",     "node 0 of level 2 is not in its tree"),
        ("DELETE FROM node",                                   "node 0 of level 2 is not in its tree"),
    ];
    for (sql, why) in cases {
        let bench = Bench::new().await;
        let store = bench.open().await;
        append(&store, "run", 0..6).await;
        drop(store);
        bench.sql(sql).await;
        let error = PostgresStore::connect(&bench.url()).await.unwrap_err().to_string();
        assert!(error.contains("is damaged: ") && error.ends_with(why), "{sql}: {error}");
    }
}

#[tokio::test]
async fn nothing_is_proven_from_a_changed_database() {
    let bench = Bench::new().await;
    let store = bench.open().await;
    append(&store, "run", 0..6).await;
    let note = store.sign(&key(), ORIGIN).await.unwrap();
    store.prove(2, &note, &log()).await.unwrap();
    for sql in ["UPDATE node SET hash = '\\x00'", "DELETE FROM node", "DELETE FROM entry WHERE position = 2"]
    {
        bench.sql(sql).await;
        assert!(store.prove(2, &note, &log()).await.is_err(), "{sql}");
    }
}

#[tokio::test]
async fn says_what_does_not_fit() {
    #[rustfmt::skip]
    let cases = [
        ("UPDATE space SET keys = 7",                          "1 namespaces do not hold what is counted for them"),
        ("UPDATE value SET content = 'longer'",                "1 values do not have the length that is counted for them"),
        ("UPDATE space SET name = 'other'",                    "1 namespaces do not have the hash that they are filed under"),
        ("DELETE FROM entry WHERE position = 1",               "1 entries are missing from the log"),
        ("DELETE FROM node",                                   "node 0 of level 2 is not in its tree"),
    ];
    for (sql, sentence) in cases {
        let bench = Bench::new().await;
        let store = bench.open().await;
        append(&store, "run", 0..6).await;
        ringfence::Store::set(&store, "space", "key", "value", None).await.unwrap();
        bench.sql(sql).await;
        assert_eq!(store.check().await.unwrap(), [sentence], "{sql}");
    }
}

#[tokio::test]
async fn a_damaged_request_does_not_hide_the_others() {
    let bench = Bench::new().await;
    let store = bench.open().await;
    let hour = std::time::Duration::from_hours(1);
    let mut ids = Vec::new();
    for number in 0..3 {
        let request = request(serde_json::json!(number), Decision::Ask);
        ids.push(store.file(&request, hour).await.unwrap());
    }
    let open = RequestFilter { state: Some(RequestState::Open), ..RequestFilter::default() };
    bench.sql(&format!("UPDATE request SET document = '{{' WHERE id = '{}'", ids[1])).await;
    let listed = store.list_requests(&open).await.unwrap();
    let readable: Vec<_> = listed.requests.iter().map(|filed| filed.id.clone()).collect();
    assert_eq!(readable, [ids[2].clone(), ids[0].clone()]);
    let damaged: Vec<_> = listed.damaged.iter().map(|damaged| damaged.id.clone()).collect();
    assert_eq!(damaged, [ids[1].clone()]);
    store.requests(&open).await.unwrap_err();
}
