//! Rows that are not what was written, and a database that has gone back.

use std::time::Duration;

use ringfence::{
    ApprovalStore as _, ApproverToken, Claim, IdempotencyStore as _, KeyClaim, KeyFilter, KeyName, Proof,
    RequestFilter, Role, Settlement, Store as _,
};

use super::*;
use crate::it::conformance::request;

fn claim(key: &str) -> KeyClaim {
    KeyClaim {
        name: KeyName { scope: "clerk/pay".into(), key: key.into() },
        digest: "d1".into(),
        arguments: "{}".into(),
        run: "run".into(),
        owner: format!("owner-{key}"),
    }
}

async fn pay(store: &PostgresStore, key: &str) {
    let claim = claim(key);
    let Claim::Granted(fence) = store.claim(&claim).await.unwrap() else { panic!("`{key}` was not granted") };
    let settlement = Settlement::Committed { output: "\"receipt\"".into(), keep: Duration::from_hours(1) };
    store.settle(&claim.name, fence, settlement).await.unwrap();
}

/// A bit that flips on the disk of the server asks no trigger.
#[tokio::test]
async fn a_row_that_does_not_have_its_digest_is_an_error_and_stays() {
    #[rustfmt::skip]
    let cases = [
        ("key",      "output = '\"recaipt\"'"),
        ("key",      "until_us = 1"),
        ("key",      "state = 3, output = NULL, until_us = NULL"),
        ("key",      "digest = 'd2'"),
        ("value",    "content = 'other'"),
        ("value",    "until = clock_timestamp() - interval '1 hour'"),
        ("request",  "state = 'approved'"),
        ("request",  "decided = '[ ]'"),
        ("approver", "role = 'admin'"),
        ("approver", "added_us = 1"),
    ];
    for (table, change) in cases {
        let bench = Bench::new().await;
        let store = bench.open().await;
        pay(&store, "one").await;
        store.set("notes", "one", "text", None).await.unwrap();
        let token = ApproverToken::new("ada").hash();
        store.add_approver(&"ada".parse().unwrap(), token, Role::Approver).await.unwrap();
        let asked = request(serde_json::json!(1), ringfence::policy::Decision::Ask);
        store.file(&asked, Duration::from_hours(1)).await.unwrap();
        bench
            .sql(&format!(
                "ALTER TABLE {table} DISABLE TRIGGER USER; UPDATE {table} SET {change};
                 ALTER TABLE {table} ENABLE TRIGGER USER"
            ))
            .await;
        let one = claim("one");
        let is_refused = match table {
            "key" => {
                let settled = store.settle(&one.name, ringfence::Fence(1), Settlement::Failed).await;
                store.claim(&one).await.is_err()
                    && store.find(&one.name, &one.digest).await.is_err()
                    && (change.contains("until") || store.keys(&KeyFilter::default()).await.is_err())
                    && settled.is_err()
            }
            "value" => change.contains("until") || store.get("notes", "one").await.is_err(),
            "request" => store.requests(&RequestFilter::default()).await.is_err(),
            _ => store.principal(&Proof::Token(token)).await.is_err() && store.approvers().await.is_err(),
        };
        assert!(is_refused, "{table} {change}");
        // Another key is not in its way, and nobody removes what may not be over.
        pay(&store, "two").await;
        assert_eq!(
            bench.number(&format!("SELECT count(*) FROM ringfence.{table}")).await,
            if table == "key" { 2 } else { 1 }
        );
    }
}

#[tokio::test]
async fn a_database_that_has_gone_back_is_refused_by_whoever_knew_it() {
    #[rustfmt::skip]
    let cases = [
        // what is restored                                                                        refused
        ("SELECT 1",                                                                               false),
        ("DELETE FROM key; UPDATE frontier SET sequence = old.sequence, chain = old.chain FROM old", true),
        ("UPDATE frontier SET sequence = sequence - 1",                                            true),
        ("UPDATE frontier SET chain = sha256(chain)",                                              true),
        ("UPDATE frontier SET store = sha256(store)",                                              true),
        ("UPDATE frontier SET sequence = sequence + 5, chain = sha256(chain)",                     false), // others wrote
    ];
    for (sql, refused) in cases {
        let bench = Bench::new().await;
        let store = bench.open().await;
        pay(&store, "one").await;
        bench.sql("CREATE TABLE old AS SELECT * FROM frontier").await;
        pay(&store, "two").await;
        bench.sql(sql).await;
        for key in ["one", "two", "three"] {
            let found = store.claim(&claim(key)).await;
            assert_eq!(found.is_err(), refused, "{sql}: {key}: {found:?}");
            if let Err(error) = found {
                assert!(error.to_string().contains("lost acknowledged transactions"), "{error}");
            }
        }
    }
}
