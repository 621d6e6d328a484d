//! Moving from a SQLite file to PostgreSQL.

use ringfence::audit::Progress;
use ringfence::{
    ApprovalStore as _, ApproverToken, Claim, IdempotencyStore as _, KeyClaim, KeyFilter, KeyName,
    PersonDecision, Proof, RequestFilter, Role, Settlement, Standing, Store as _, StoreError, Word,
};
use ringfence_store::{Copied, DatabaseError, Filter, PostgresError, SqliteStore, copy};

use super::lease::request;
use super::*;
use crate::it::sample::{ORIGIN, append, call, key, log};

fn claim(key: &str, owner: &str) -> KeyClaim {
    KeyClaim {
        name: KeyName { scope: "role/pay".into(), key: key.into() },
        digest: "digest".into(),
        arguments: "{}".into(),
        run: "run".into(),
        owner: owner.into(),
    }
}

#[tokio::test]
async fn everything_comes_along() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ringfence.db");
    let from = SqliteStore::open(&path).unwrap();
    call(std::sync::Arc::new(from.clone())).await;
    append(&from, "run\0", 0..2_500).await;
    let note = from.sign(&key(), ORIGIN).unwrap();
    from.set("space", "forever", "a\0", None).await.unwrap();
    from.set("space", "ever", "b", Some(Duration::MAX)).await.unwrap();
    from.set("space", "hour", "c", Some(Duration::from_hours(1))).await.unwrap();
    from.set("other", "gone", "d", Some(Duration::ZERO)).await.unwrap();
    let done = Settlement::Committed { output: "1".into(), keep: Duration::from_hours(1) };
    for key in ["running", "done", "failed", "unknown"] {
        let Claim::Granted(fence) = from.claim(&claim(key, "a")).await.unwrap() else { panic!("{key}") };
        let settlement = match key {
            "done" => done.clone(),
            "failed" => Settlement::Failed,
            "unknown" => Settlement::Unknown,
            _ => continue,
        };
        from.settle(&claim(key, "a").name, fence, settlement).await.unwrap();
    }
    let (ada, bob) = (ApproverToken::generate().unwrap().hash(), ApproverToken::generate().unwrap().hash());
    from.add_approver(&"ada".parse().unwrap(), ada, Role::Approver).await.unwrap();
    from.add_approver(&"bob".parse().unwrap(), bob, Role::Approver).await.unwrap();
    from.revoke_approver(&"bob".parse().unwrap()).await.unwrap();
    let hour = Duration::from_hours(1);
    let open = from.file(&request(1, None, false), hour).await.unwrap();
    let waiting = from.file(&request(2, Some("role"), true), hour).await.unwrap();
    let decision = |id: &str| PersonDecision {
        id: id.into(),
        by: Proof::Token(ada),
        word: Word::Approve,
        changed: None,
        reason: "fine".into(),
    };
    from.decide(&decision(&waiting)).await.unwrap();
    assert_eq!(from.notices("hook", Duration::from_secs(60), 9).await.unwrap().len(), 1);
    from.told("hook", &open).await.unwrap();

    let bench = Bench::new().await;
    let to = bench.open().await;
    let copied = copy(&from, &to).await.unwrap();
    let size = from.size().unwrap();
    let expected = Copied { entries: size, checkpoints: 1, values: 4, keys: 4, approvers: 2, requests: 2 };
    assert_eq!(copied, expected);
    assert_eq!(to.check().await.unwrap(), [""; 0]);

    // The log is the same, and goes on.
    let all = Filter::default();
    assert_eq!(to.entries(&all, 0, usize::MAX).await.unwrap(), from.entries(&all, 0, usize::MAX).unwrap());
    let trusted = log().open(&note).unwrap();
    append(&to, "run", 0..3).await;
    to.sign(&key(), ORIGIN).await.unwrap();
    let verified = to.verify(&log(), 0, Some(&trusted), &Progress::default()).await.unwrap();
    assert!(verified.is_intact() && verified.records == size + 3, "{verified:?}");
    to.prove(7, &note, &log()).await.unwrap().verify(&log()).unwrap();

    for (key, value) in [("forever", Some("a\0")), ("ever", Some("b")), ("hour", Some("c")), ("gone", None)] {
        assert_eq!(to.get("space", key).await.unwrap().as_deref(), value, "{key}");
    }
    assert_eq!(to.get("other", "gone").await, Ok(None));

    // What was running is in doubt here, whoever asks, and new fences are larger than all old ones.
    let highest = from.keys(&KeyFilter::default()).await.unwrap()[0].fence;
    for (key, owner) in [("running", "a"), ("running", "b"), ("unknown", "b")] {
        let found = to.claim(&claim(key, owner)).await.unwrap();
        assert!(matches!(found, Claim::Unknown(_)), "{key}: {found:?}");
    }
    assert_eq!(to.claim(&claim("done", "b")).await, Ok(Claim::Replay("1".into())));
    let Ok(Claim::Granted(fence)) = to.claim(&claim("failed", "b")).await else { panic!("it is free") };
    assert!(fence > highest);

    // People and requests are the same.
    let show = |filed: Vec<ringfence::FiledRequest>| format!("{filed:?}");
    let filter = RequestFilter::default();
    let (ours, theirs) = (from.requests(&filter).await.unwrap(), to.requests(&filter).await.unwrap());
    assert_eq!(show(theirs), show(ours));
    let people = format!("{:?}", from.approvers().await.unwrap());
    assert_eq!(format!("{:?}", to.approvers().await.unwrap()), people);
    assert!(to.notices("hook", Duration::from_secs(60), 9).await.unwrap().is_empty());
    assert_eq!(to.adopt(Some("role"), 9).await.unwrap()[0].id, waiting);
    to.decide(&decision(&open)).await.unwrap();
    for id in [open, waiting] {
        assert!(matches!(to.take(&id).await, Ok(Standing::Approved(_))), "{id}");
    }
}

#[tokio::test]
async fn only_an_empty_database_is_copied_to() {
    let directory = tempfile::tempdir().unwrap();
    let from = SqliteStore::open(&directory.path().join("ringfence.db")).unwrap();
    append(&from, "run", 0..5).await;
    let bench = Bench::new().await;
    let to = bench.open().await;
    to.set("space", "key", "value", None).await.unwrap();
    let error = copy(&from, &to).await.unwrap_err();
    assert!(matches!(error, DatabaseError::Postgres(PostgresError::Occupied { .. })), "{error}");
    to.clear("space").await.unwrap();
    assert_eq!(copy(&from, &to).await.unwrap().entries, 5);
    assert!(copy(&from, &to).await.is_err());
    assert_eq!(to.size().await.unwrap(), 5);
}

#[tokio::test]
async fn a_file_that_was_changed_is_not_copied() {
    #[rustfmt::skip]
    let changes = [
        "UPDATE entry SET record = replace(record, 'pay', 'buy') WHERE position = 3",
        "DELETE FROM entry WHERE position = 3",
        "UPDATE node SET hash = zeroblob(32)",
        "UPDATE entry SET position = position + 1 WHERE position > 3",
    ];
    for sql in changes {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ringfence.db");
        let from = SqliteStore::open(&path).unwrap();
        append(&from, "run", 0..5).await;
        from.set("space", "key", "value", None).await.unwrap();
        rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let bench = Bench::new().await;
        let to = bench.open().await;
        copy(&from, &to).await.unwrap_err();
        // Nothing of it is there.
        assert_eq!(
            (to.size().await.unwrap(), to.get("space", "key").await),
            (0, Ok::<_, StoreError>(None)),
            "{sql}"
        );
        append(&to, "run", 0..1).await;
    }
}
