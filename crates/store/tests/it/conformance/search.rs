//! Entries are found by what they are filed under, in the order of the log, within bounds.

use std::sync::Arc;

use ringfence::audit::Progress;
use ringfence_store::{Database, Filter};

use super::on_each_database;
use crate::it::sample::{ORIGIN, append, call, key, log, variety};

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

async fn found(database: &dyn Database, filter: &Filter, most: usize) -> Vec<u64> {
    let newest = database.newest(filter, most).await.unwrap();
    let newest: Vec<_> = newest.iter().map(|stored| stored.index).collect();
    if newest.len() < most {
        let oldest = database.entries(filter, 0, most).await.unwrap();
        let oldest: Vec<_> = oldest.iter().map(|stored| stored.index).collect();
        assert_eq!(oldest, newest, "from both ends: {filter:?}");
    }
    newest
}

#[tokio::test]
async fn finds_by_class_host_and_principal() {
    on_each_database(async |database| {
        // 0 policy, 1 call; 2, 3, 4 server, 5, 6 console, 7 settlement, 8, 9 approver, 10, 11 approval.
        call(Arc::clone(database) as _).await;
        variety(&**database).await;
        let all = Filter::default();
        #[rustfmt::skip]
        let cases = [
            (Filter { class: text("read"), ..all.clone() },                              vec![1]),
            (Filter { class: text("write"), ..all.clone() },                             vec![]),
            (Filter { class: text("\0"), ..all.clone() },                                vec![]),
            (Filter { host: text("api.example"), ..all.clone() },                        vec![2]),
            (Filter { host: text("not.one"), ..all.clone() },                            vec![]),
            (Filter { host: text("x"), ..all.clone() },                                  vec![]),
            (Filter { principal: text("agent"), ..all.clone() },                         vec![1]),
            (Filter { principal: text("ada"), ..all.clone() },                           vec![5, 6, 8, 9]),
            (Filter { principal: text("bob"), ..all.clone() },                           vec![7, 10]),
            (Filter { principal: text("ada"), kind: text("console"), ..all.clone() },    vec![5, 6]),
            (Filter { principal: text("bob"), run: text("run-4"), ..all.clone() },       vec![10]),
            (Filter { principal: text("agent"), class: text("read"), ..all.clone() },    vec![1]),
            (Filter { principal: text("ada"), class: text("read"), ..all.clone() },      vec![]),
            (Filter { host: text("api.example"), run: text("run-2"), ..all.clone() },    vec![2]),
            (Filter { host: text("api.example"), class: text("read"), ..all.clone() },   vec![]),
            (Filter { kind: text("console"), ..all.clone() },                            vec![5, 6]),
            (Filter { kind: text("server"), ..all.clone() },                             vec![2, 3, 4]),
            (Filter { principal: text("ada"), since_ms: Some(1_994), until_ms: Some(1_997), ..all.clone() }, vec![6, 8]),
            (Filter { since_ms: Some(1_994), until_ms: Some(1_997), ..all.clone() },     vec![6, 7, 8]),
            (Filter { since_ms: Some(1_997), until_ms: Some(1_997), ..all.clone() },     vec![]),
            (Filter { principal: text("ada"), below: Some(8), ..all.clone() },           vec![5, 6]),
            (Filter { principal: text("ada"), from: Some(6), below: Some(9), ..all.clone() }, vec![6, 8]),
            (Filter { from: Some(9), ..all.clone() },                                    vec![9, 10, 11]),
            (Filter { from: Some(9), below: Some(9), ..all.clone() },                    vec![]),
            (Filter { below: Some(0), ..all.clone() },                                   vec![]),
            (Filter { from: Some(u64::MAX), ..all.clone() },                             vec![]),
            (Filter { from: Some(11), below: Some(u64::MAX), ..all.clone() },            vec![11]),
            (Filter { text: text("api.example"), ..all.clone() },                        vec![2]),
            (Filter { text: text("\"principal\":\"ada\""), from: Some(6), ..all.clone() }, vec![6]),
            (Filter { text: text("ADA"), ..all.clone() },                                vec![]),
            (Filter { text: text("%"), ..all.clone() },                                  vec![]),
            (Filter { text: text("' OR 1 --"), ..all.clone() },                          vec![]),
            (Filter { text: text(""), kind: text("server"), ..all.clone() },             vec![2, 3, 4]),
        ];
        for (filter, expected) in cases {
            assert_eq!(found(&**database, &filter, 100).await, expected, "{filter:?}");
            let last: Vec<_> = expected.last().copied().into_iter().collect();
            assert_eq!(found(&**database, &filter, 1).await, last, "{filter:?}");
        }
        let stored = database.entry(1).await.unwrap().unwrap();
        assert_eq!((stored.class.as_deref(), stored.principal.as_deref()), (Some("read"), Some("agent")));
        let stored = database.entry(2).await.unwrap().unwrap();
        assert_eq!((stored.host.as_deref(), stored.principal), (Some("api.example"), None));

        database.sign(&key(), ORIGIN, None).await.unwrap();
        let progress = Progress::default();
        assert!(database.verify(&log(), 0, None, &progress).await.unwrap().is_intact());
        assert_eq!((progress.done(), progress.total()), (12, 12));
    })
    .await;
}

#[tokio::test]
async fn finds_by_time_over_many_blocks_whatever_the_clock_did() {
    on_each_database(async |database| {
        // Times go from 1,000 to 2,999, then again from 1,000 to 1,499.
        append_many(&**database, "first", 2_000).await;
        append_many(&**database, "again", 500).await;
        let all = Filter::default();
        #[rustfmt::skip]
        let cases = [
            (Filter { since_ms: Some(2_998), ..all.clone() },                                     vec![1_998, 1_999]),
            (Filter { since_ms: Some(1_100), until_ms: Some(1_101), ..all.clone() },              vec![100, 2_100]),
            (Filter { since_ms: Some(1_100), until_ms: Some(1_101), run: text("again"), ..all.clone() }, vec![2_100]),
            (Filter { until_ms: Some(1_001), tool: text("pay"), ..all.clone() },                  vec![0, 2_000]),
            (Filter { since_ms: Some(3_000), ..all.clone() },                                     vec![]),
            (Filter { until_ms: Some(1_000), ..all.clone() },                                     vec![]),
        ];
        for (filter, expected) in cases {
            assert_eq!(found(&**database, &filter, 100).await, expected, "{filter:?}");
        }
    })
    .await;
}

/// Appends steps in one go.
async fn append_many(database: &dyn Database, run: &str, count: u64) {
    let steps: Vec<_> = (0..count).map(|call| crate::it::sample::step(run, call)).collect();
    let entries: Vec<_> = steps.iter().map(ringfence::AuditEntry::Approval).collect();
    database.append(&entries).await.unwrap();
}

#[tokio::test]
async fn a_verification_tells_how_far_it_is() {
    on_each_database(async |database| {
        append(&**database, "run", 0..5).await;
        let progress = Progress::default();
        assert_eq!((progress.done(), progress.total()), (0, 0));
        let watched = progress.clone();
        database.verify(&log(), 5, None, &progress).await.unwrap();
        assert_eq!((watched.done(), watched.total()), (5, 5));
    })
    .await;
}

#[tokio::test]
async fn a_list_is_not_given_what_is_large() {
    on_each_database(async |database| {
        for length in [10, Filter::LIGHT] {
            let about = serde_json::json!({ "text": "x".repeat(length) });
            let at = std::time::Duration::from_secs(1);
            let step =
                ringfence::audit::ConsoleStep { at, principal: "ada".to_owned(), action: "tried", about };
            database.append(&[ringfence::AuditEntry::Console(&step)]).await.unwrap();
        }
        call(Arc::clone(database) as _).await;
        let light = Filter { light: true, ..Filter::default() };
        let (whole, listed) = (
            database.newest(&Filter::default(), 10).await.unwrap(),
            database.newest(&light, 10).await.unwrap(),
        );
        assert_eq!(listed, database.entries(&light, 0, 10).await.unwrap());
        assert_eq!(listed.len(), whole.len());
        assert!(whole.iter().all(|stored| !stored.record.is_empty()));
        assert!(whole.iter().any(|stored| stored.clean.is_some()), "a call has an output");
        for (light, whole) in listed.iter().zip(&whole) {
            assert_eq!(
                (light.index, &light.kind, &light.principal),
                (whole.index, &whole.kind, &whole.principal)
            );
            assert_eq!((&light.raw, &light.clean), (&None, &None));
            let is_large = whole.record.len() > Filter::LIGHT;
            assert_eq!(light.record, if is_large { "" } else { whole.record.as_str() });
        }
        assert_eq!(listed.iter().filter(|stored| stored.record.is_empty()).count(), 1);
    })
    .await;
}
