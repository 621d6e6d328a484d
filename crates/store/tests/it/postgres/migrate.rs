//! A database of an older version is brought up to date, and its older writers are kept out.

use ringfence::audit::Progress;
use ringfence::{ApprovalStore as _, ApproverToken, RequestFilter, Role};
use ringfence_store::Filter;

use super::*;
use crate::it::conformance::request;
use crate::it::sample::{ORIGIN, append, call, key, log, variety};

/// Turns the tables into those of version 2, with everything that they hold.
const BACK_TO_2: &str = "DROP FUNCTION key_sealed, request_sealed, approver_sealed, value_sealed CASCADE;
    DROP FUNCTION key_seal, request_seal, approver_seal, value_seal;
    ALTER TABLE key DROP seal;
    ALTER TABLE value DROP seal;
    ALTER TABLE request DROP seal;
    ALTER TABLE approver DROP seal;
    ALTER TABLE frontier DROP store, DROP sequence, DROP chain;
    DROP TABLE span;
    ALTER TABLE entry DROP class, DROP host, DROP principal, DROP filing;
    CREATE INDEX entry_at ON entry USING brin (at_ms);
    ALTER TABLE approver DROP role;
    ALTER TABLE request DROP tool;
    DELETE FROM ringfence_version WHERE version > 2";

#[tokio::test]
async fn files_old_entries_under_what_they_are_found_by_today() {
    let bench = Bench::new().await;
    let store = bench.open().await;
    call(std::sync::Arc::new(store.clone())).await;
    variety(&store).await;
    append(&store, "run", 0..1_100).await;
    let token = ApproverToken::new("ada").hash();
    store.add_approver(&"ada".parse().unwrap(), token, Role::Approver).await.unwrap();
    let asked = request(serde_json::json!(1), ringfence::policy::Decision::Ask);
    store.file(&asked, Duration::from_hours(1)).await.unwrap();
    store.sign(&key(), ORIGIN).await.unwrap();
    let all = store.entries(&Filter::default(), 0, usize::MAX).await.unwrap();
    drop(store);
    bench.sql(BACK_TO_2).await;

    let store = bench.open().await;
    assert_eq!(store.entries(&Filter::default(), 0, usize::MAX).await.unwrap(), all);
    let verified = store.verify(&log(), 0, None, &Progress::default()).await.unwrap();
    assert!(verified.is_intact() && verified.records == 1_113, "{verified:?}");
    assert_eq!(store.check().await.unwrap(), [""; 0]);
    let people = store.approvers().await.unwrap();
    assert_eq!((people.len(), people[0].role), (1, Role::Approver));
    let of_tool = RequestFilter { tool: Some("pay".into()), ..RequestFilter::default() };
    assert_eq!(store.requests(&of_tool).await.unwrap().len(), 1);
    let text = |text: &str| Some(text.to_owned());
    #[rustfmt::skip]
    let cases = [
        (Filter { class: text("read"), ..Filter::default() },                             vec![1]),
        (Filter { host: text("api.example"), ..Filter::default() },                       vec![2]),
        (Filter { principal: text("bob"), ..Filter::default() },                          vec![7, 10]),
        (Filter { since_ms: Some(1_994), until_ms: Some(1_995), ..Filter::default() },    vec![8, 1_006]),
    ];
    for (filter, expected) in cases {
        let found = store.newest(&filter, 100).await.unwrap();
        assert_eq!(found.iter().map(|stored| stored.index).collect::<Vec<_>>(), expected, "{filter:?}");
    }
}

#[tokio::test]
async fn a_writer_that_does_not_know_the_columns_appends_nothing() {
    let bench = Bench::new().await;
    let store = bench.open().await;
    // What version 2 did; it would not be found by its time.
    let old = "INSERT INTO ringfence.entry (position, at_ms, kind, run, tool, code, leaf, record, raw, clean)
        VALUES (0, 1, 'policy', NULL, NULL, NULL, '', '', NULL, NULL)";
    let error = run(&bench.plain_url(), old).await.unwrap_err();
    assert!(format!("{error:?}").contains("\"filing\""), "{error:?}");
    assert_eq!(store.size().await.unwrap(), 0);
}

#[tokio::test]
async fn every_question_is_answered_in_the_order_of_an_index() {
    let bench = Bench::new().await;
    let store = bench.open().await;
    append(&store, "run", 0..3).await;
    bench.sql("ANALYZE").await;
    // With few rows a server reads them all. It is told not to, so that it shows which index would do.
    let conditions = [
        ("class = 'read'", "entry_class"),
        ("host IS NOT NULL AND sha256(host) = sha256('x')", "entry_host"),
        ("principal IS NOT NULL AND sha256(principal) = sha256('x')", "entry_principal"),
        ("run IS NOT NULL AND sha256(run) = sha256('x')", "entry_run"),
        ("tool IS NOT NULL AND sha256(tool) = sha256('x')", "entry_tool"),
        ("code = 'x'", "entry_code"),
        ("true", "entry_pkey"),
    ];
    let (client, connection) = tokio_postgres::connect(&bench.plain_url(), NoTls).await.unwrap();
    let driver = tokio::spawn(connection);
    client
        .batch_execute("SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off")
        .await
        .unwrap();
    for (condition, index) in conditions {
        let sql = format!(
            "EXPLAIN SELECT record FROM ringfence.entry
             WHERE {condition} AND position >= 0 AND position <= 1000000 ORDER BY position DESC LIMIT 100"
        );
        let rows = client.query(&sql, &[]).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        let plan = plan.join("; ");
        assert!(plan.contains(index) && plan.contains("(\"position\" >= 0)"), "{condition}: {plan}");
        assert!(!plan.contains("Sort") && !plan.contains("Seq Scan"), "{condition}: {plan}");
    }
    driver.abort();
}
