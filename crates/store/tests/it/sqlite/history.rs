//! How far a store has come: what a process keeps in mind is right though others write.

use std::time::Duration;

use ringfence::{Claim, Fence, IdempotencyStore as _, Settled, Settlement};
use ringfence_store::SqliteError;

use super::flip::{claim, pay};
use super::version_4::mark;
use super::*;

pub(super) async fn granted(store: &SqliteStore, key: &str) -> Fence {
    match store.claim(&claim(key)).await.unwrap() {
        Claim::Granted(fence) => fence,
        other => panic!("{other:?}"),
    }
}

fn committed(output: &str) -> Settlement {
    Settlement::Committed { output: output.to_owned(), keep: Duration::from_hours(24) }
}

#[tokio::test]
async fn no_fence_is_handed_out_twice_by_those_who_share_a_store() {
    let bench = Bench::new();
    let stores = [bench.open(), bench.open()];
    let mut fences = Vec::new();
    for round in 0..30 {
        // One of them claims several times in a row, and the other one has not seen it.
        let store = &stores[usize::from(round % 5 > 2)];
        fences.push(granted(store, &format!("k{round}")).await.0);
        append(store, "run", round..round + 1).await;
    }
    assert_eq!(fences, (1..=30).collect::<Vec<u64>>());
}

#[tokio::test]
async fn a_claim_that_is_kept_in_mind_does_not_settle_another_row() {
    let bench = Bench::new();
    let (first, second) = (bench.open(), bench.open());
    let name = |key: &str| claim(key).name;
    // Another process settled it: the first answer stays.
    let fence = granted(&first, "k1").await;
    assert_eq!(second.settle(&name("k1"), fence, committed("1")).await.unwrap(), Settled::Kept);
    assert_eq!(first.settle(&name("k1"), fence, committed("2")).await.unwrap(), Settled::Stale);
    assert_eq!(second.claim(&claim("k1")).await.unwrap(), Claim::Replay("1".into()));
    // Another process gave it back, and somebody else has it now.
    let fence = granted(&first, "k2").await;
    assert_eq!(second.settle(&name("k2"), fence, Settlement::Failed).await.unwrap(), Settled::Kept);
    let newer = granted(&second, "k2").await;
    assert_eq!(first.settle(&name("k2"), fence, committed("old")).await.unwrap(), Settled::Stale);
    assert_eq!(second.settle(&name("k2"), newer, committed("new")).await.unwrap(), Settled::Kept);
    // A fence of another key.
    let fence = granted(&first, "k3").await;
    assert_eq!(first.settle(&name("k2"), fence, committed("wrong")).await.unwrap(), Settled::Stale);
    assert_eq!(first.settle(&name("k3"), fence, committed("3")).await.unwrap(), Settled::Kept);
    // In doubt first, and known later.
    let fence = granted(&first, "k4").await;
    assert_eq!(first.settle(&name("k4"), fence, Settlement::Unknown).await.unwrap(), Settled::Kept);
    assert_eq!(first.settle(&name("k4"), fence, committed("4")).await.unwrap(), Settled::Kept);
    drop((first, second));
    // Every row is counted.
    let store = bench.open();
    for (key, output) in [("k1", "1"), ("k2", "new"), ("k3", "3"), ("k4", "4")] {
        assert_eq!(store.claim(&claim(key)).await.unwrap(), Claim::Replay(output.into()), "{key}");
    }
    assert_eq!(store.check().unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_claim_that_is_kept_in_mind_does_not_mend_a_damaged_row() {
    let bench = Bench::new();
    let store = bench.open();
    let fence = granted(&store, "k1").await;
    bench.sql("UPDATE idempotency SET arguments = '{}'");
    // The damage is found by whoever reads the row: nobody is granted the key, and nobody is answered from it.
    let _settled = store.settle(&claim("k1").name, fence, committed("1")).await;
    assert!(store.claim(&claim("k1")).await.is_err());
    assert!(store.find(&claim("k1").name, "d1").await.is_err());
}

#[tokio::test]
async fn a_key_that_is_removed_behind_the_store_is_missed() {
    let bench = Bench::new();
    pay(&bench.open(), "k1").await.unwrap();
    bench.sql("DELETE FROM idempotency");
    let error = SqliteStore::open(&bench.path()).unwrap_err().to_string();
    assert!(error.contains("`idempotency` has 0 rows and 1 were written"), "{error}");
}

#[tokio::test]
async fn a_longer_fork_is_found_in_the_blocks_of_chains_too() {
    let (bench, other) = (Bench::new(), Bench::new());
    let store = bench.open();
    for key in 0..70 {
        pay(&store, &format!("a{key}")).await.unwrap();
    }
    drop(store);
    for suffix in ["", ".mark"] {
        std::fs::copy(
            format!("{}{suffix}", bench.path().display()),
            format!("{}{suffix}", other.path().display()),
        )
        .unwrap();
    }
    let seen = std::fs::read(mark(&bench.path())).unwrap();
    pay(&bench.open(), "PAY").await.unwrap();
    let store = other.open();
    for key in 0..70 {
        pay(&store, &format!("x{key}")).await.unwrap();
    }
    drop(store);
    std::fs::copy(other.path(), bench.path()).unwrap();
    assert!(matches!(SqliteStore::open(&bench.path()), Err(SqliteError::WentBack { .. })));
    // The mark from before the fork is of its past, two blocks ago.
    std::fs::write(mark(&bench.path()), seen).unwrap();
    pay(&bench.open(), "y").await.unwrap();
}
