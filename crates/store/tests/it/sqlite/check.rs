//! What does not fit together is said.

use ringfence::Store as _;

use super::*;

#[tokio::test]
async fn says_what_does_not_fit() {
    let request = "INSERT INTO request (id, digest, run, body, state, asked_us, expires_us, decided)";
    let other_digest = format!("{request} VALUES ('a', 'x', '', '{{\"digest\":\"y\"}}', 'open', 0, 0, '[]')");
    let no_body = format!("{request} VALUES ('a', 'x', '', 'no', 'open', 0, 0, '[]')");
    let no_decisions = format!("{request} VALUES ('a', 'x', '', '{{\"digest\":\"x\"}}', 'open', 0, 0, 'no')");
    #[rustfmt::skip]
    let cases = [
        ("SELECT 1",                                              None),
        ("UPDATE space SET keys = keys + 1 WHERE name = 'a'",     Some("1 namespaces do not hold what is counted for them")),
        ("UPDATE space SET bytes = 0",                            Some("2 namespaces do not hold what is counted for them")),
        ("INSERT INTO space VALUES ('none', 1, 1)",               Some("1 namespaces do not hold what is counted for them")),
        ("UPDATE value SET bytes = bytes + 1 WHERE space = 'a'",  Some("1 namespaces do not hold what is counted for them")),
        ("UPDATE value SET value = 'longer' WHERE space = 'a'",   Some("1 values do not have the length that is counted for them")),
        ("DELETE FROM entry WHERE position = 5",                  Some("its tree is over 6 entries and it has 5")),
        ("DELETE FROM node WHERE level = 2",                      Some("node 0 of level 2 is not in its tree")),
        ("PRAGMA foreign_keys = OFF; INSERT INTO notice VALUES (9, 'hook', 0, 0, 0)", Some("a row of `notice` has none in `request`")),
        (&other_digest,                                           Some("1 requests for approval cannot be read")),
        (&no_body,                                                Some("1 requests for approval cannot be read")),
        (&no_decisions,                                           Some("1 requests for approval cannot be read")),
    ];
    for (sql, expected) in cases {
        let bench = Bench::new();
        let store = bench.open();
        append(&store, "run", 0..6).await;
        store.set("a", "kéy", "value", None).await.unwrap();
        store.set("b", "key", "value", None).await.unwrap();
        drop(store);
        bench.sql(sql);
        let found = bench.read().check().unwrap();
        assert_eq!(found.first().map(String::as_str), expected, "{sql}: {found:?}");
    }
}

#[tokio::test]
async fn says_when_an_index_does_not_fit_its_table() {
    let bench = Bench::new();
    let store = bench.open();
    append(&store, "run", 0..6).await;
    drop(store);
    // The index is told to be over another column, and is then wrong about every row.
    bench.sql(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = 'CREATE INDEX entry_kind ON entry (record)' WHERE name = 'entry_kind';",
    );
    let found = bench.read().check().unwrap();
    assert!(found.iter().any(|line| line.contains("entry_kind")), "{found:?}");
}
