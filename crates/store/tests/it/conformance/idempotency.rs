//! Calls by idempotency key.

use ringfence::audit::Progress;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ringfence::{
    Claim, Fence, IdempotencyStore, KeyClaim, KeyFilter, KeyFinding, KeyName, KeyState, Settled, Settlement,
};
use ringfence_store::Filter;

use super::{on_each, on_each_database, on_each_pair};
use crate::it::sample::{ORIGIN, key as signer, log};

const DAY: Duration = Duration::from_hours(24);

fn name(key: &str) -> KeyName {
    KeyName { scope: "role/pay".into(), key: key.into() }
}

fn claim(key: &str, digest: &str, owner: &str) -> KeyClaim {
    KeyClaim {
        name: name(key),
        digest: digest.into(),
        arguments: format!("{{\"digest\":\"{digest}\"}}"),
        run: "run-1".into(),
        owner: owner.into(),
    }
}

fn committed(output: &str) -> Settlement {
    Settlement::Committed { output: output.into(), keep: DAY }
}

fn finding(key: &str, fence: Fence, settlement: Settlement) -> KeyFinding {
    KeyFinding { name: name(key), fence, settlement, by: "ada".into(), reason: "it is in the ledger".into() }
}

async fn granted(keys: &dyn IdempotencyStore, claim: &KeyClaim) -> Fence {
    let found = keys.claim(claim).await.unwrap();
    let Claim::Granted(fence) = found else {
        assert_eq!(found, Claim::Granted(Fence(0)), "{claim:?}");
        return Fence(0);
    };
    fence
}

#[tokio::test]
async fn a_key_is_granted_once_and_then_replayed() {
    on_each(async |made| {
        let keys = made.keys();
        assert_eq!(keys.find(&name("k"), "a").await.unwrap(), None);
        let fence = granted(keys, &claim("k", "a", "one")).await;
        // The answer was lost, and the same call asks again.
        assert_eq!(granted(keys, &claim("k", "a", "one")).await, fence);
        for (digest, expected) in [("a", Claim::InFlight), ("b", Claim::Conflict)] {
            assert_eq!(keys.claim(&claim("k", digest, "two")).await.unwrap(), expected);
            assert_eq!(keys.find(&name("k"), digest).await.unwrap(), Some(expected));
        }
        assert_eq!(keys.settle(&name("k"), fence, committed("42")).await.unwrap(), Settled::Kept);
        for (digest, expected) in [("a", Claim::Replay("42".into())), ("b", Claim::Conflict)] {
            assert_eq!(keys.claim(&claim("k", digest, "two")).await.unwrap(), expected);
            assert_eq!(keys.find(&name("k"), digest).await.unwrap(), Some(expected));
        }
        for late in [committed("43"), Settlement::Failed, Settlement::Unknown] {
            assert_eq!(keys.settle(&name("k"), fence, late).await.unwrap(), Settled::Stale);
        }
        // Another scope is another key.
        let mut other = claim("k", "b", "two");
        other.name.scope = "other/pay".into();
        assert!(granted(keys, &other).await > fence);
        made.advance(DAY - Duration::from_millis(1)).await;
        assert_eq!(keys.claim(&claim("k", "a", "two")).await.unwrap(), Claim::Replay("42".into()));
        made.advance(Duration::from_millis(1)).await;
        assert_eq!(keys.find(&name("k"), "b").await.unwrap(), None);
        assert!(granted(keys, &claim("k", "b", "three")).await > fence);
    })
    .await;
}

#[tokio::test]
async fn a_call_without_effect_frees_its_key_for_any_arguments() {
    on_each(async |made| {
        let keys = made.keys();
        let first = granted(keys, &claim("k", "a", "one")).await;
        assert_eq!(keys.settle(&name("k"), first, Settlement::Failed).await.unwrap(), Settled::Kept);
        assert_eq!(keys.find(&name("k"), "b").await.unwrap(), None);
        let second = granted(keys, &claim("k", "b", "two")).await;
        assert!(second > first);
        // Whoever was given up for dead changes nothing any more.
        for settlement in [committed("1"), Settlement::Failed, Settlement::Unknown] {
            assert_eq!(keys.settle(&name("k"), first, settlement).await.unwrap(), Settled::Stale);
        }
        assert_eq!(keys.settle(&name("none"), second, committed("1")).await.unwrap(), Settled::Stale);
        assert_eq!(keys.claim(&claim("k", "b", "three")).await.unwrap(), Claim::InFlight);
    })
    .await;
}

#[tokio::test]
async fn a_call_in_doubt_is_never_granted_again_by_itself() {
    on_each(async |made| {
        let keys = made.keys();
        let fence = granted(keys, &claim("k", "a", "one")).await;
        let stale = keys.find_out(&finding("k", fence, Settlement::Failed)).await.unwrap();
        assert_eq!(stale, Settled::Stale, "it is running");
        assert_eq!(keys.settle(&name("k"), fence, Settlement::Unknown).await.unwrap(), Settled::Kept);
        made.advance(DAY * 1_000).await;
        for owner in ["one", "two"] {
            assert_eq!(keys.claim(&claim("k", "a", owner)).await.unwrap(), Claim::Unknown(fence));
        }
        assert_eq!(keys.claim(&claim("k", "b", "two")).await.unwrap(), Claim::Conflict);
        assert_eq!(keys.find(&name("k"), "a").await.unwrap(), Some(Claim::Unknown(fence)));
        // The one who ran the call knows better.
        assert_eq!(keys.settle(&name("k"), fence, committed("7")).await.unwrap(), Settled::Kept);
        assert_eq!(keys.claim(&claim("k", "a", "two")).await.unwrap(), Claim::Replay("7".into()));
    })
    .await;
}

#[tokio::test]
async fn a_person_settles_what_is_in_doubt_and_nothing_else() {
    on_each(async |made| {
        let keys = made.keys();
        let mut fences = Vec::new();
        for key in ["done", "undone"] {
            let fence = granted(keys, &claim(key, "a", key)).await;
            keys.settle(&name(key), fence, Settlement::Unknown).await.unwrap();
            fences.push(fence);
        }
        let (done, undone) = (fences[0], fences[1]);
        let wrong = finding("done", undone, committed("1"));
        assert_eq!(keys.find_out(&wrong).await.unwrap(), Settled::Stale);
        assert_eq!(keys.find_out(&finding("done", done, committed("1"))).await.unwrap(), Settled::Kept);
        assert_eq!(
            keys.find_out(&finding("undone", undone, Settlement::Failed)).await.unwrap(),
            Settled::Kept
        );
        for (key, fence) in [("done", done), ("undone", undone), ("none", done)] {
            let again = finding(key, fence, Settlement::Failed);
            assert_eq!(keys.find_out(&again).await.unwrap(), Settled::Stale, "{key}");
        }
        assert_eq!(keys.claim(&claim("done", "a", "two")).await.unwrap(), Claim::Replay("1".into()));
        assert!(granted(keys, &claim("undone", "b", "two")).await > undone);
    })
    .await;
}

#[tokio::test]
async fn what_a_person_found_out_is_in_the_audit() {
    on_each_database(async |database| {
        let fence = granted(&**database, &claim("k", "a", "one")).await;
        database.find_out(&finding("k", fence, Settlement::Failed)).await.unwrap();
        assert_eq!(database.size().await.unwrap(), 0, "a settlement that was not kept is not told");
        database.settle(&name("k"), fence, Settlement::Unknown).await.unwrap();
        database.find_out(&finding("k", fence, committed("1"))).await.unwrap();
        let told = database.entries(&Filter::default(), 0, 10).await.unwrap();
        assert_eq!(told.len(), 1);
        let record: serde_json::Value = serde_json::from_str(&told[0].record).unwrap();
        assert_eq!((told[0].kind.as_str(), told[0].run.as_deref()), ("settlement", Some("run-1")));
        assert_eq!(
            (&record["key"], &record["settled"], &record["by"], &record["reason"]),
            (&"k".into(), &"committed".into(), &"ada".into(), &"it is in the ledger".into())
        );
        database.sign(&signer(), ORIGIN, None).await.unwrap();
        assert!(database.verify(&log(), 0, None, &Progress::default()).await.unwrap().is_intact());
    })
    .await;
}

#[tokio::test]
async fn lists_keys_newest_first() {
    on_each(async |made| {
        let keys = made.keys();
        for (key, settlement) in [
            ("a", Some(committed("1"))),
            ("b", Some(Settlement::Failed)),
            ("c", Some(Settlement::Unknown)),
            ("d", None),
        ] {
            made.advance(Duration::from_millis(10)).await;
            let fence = granted(keys, &claim(key, "x", key)).await;
            if let Some(settlement) = settlement {
                keys.settle(&name(key), fence, settlement).await.unwrap();
            }
        }
        let all = KeyFilter::default();
        let of = |state| KeyFilter { state: Some(state), ..KeyFilter::default() };
        #[rustfmt::skip]
        let cases = [
            (all.clone(),                                          vec!["d", "c", "b", "a"]),
            (KeyFilter { most: 2, ..all.clone() },                 vec!["d", "c"]),
            (KeyFilter { key: Some("b".into()), ..all.clone() },   vec!["b"]),
            (KeyFilter { key: Some("e".into()), ..all.clone() },   vec![]),
            (of(KeyState::Committed),                              vec!["a"]),
            (of(KeyState::Failed),                                 vec!["b"]),
            (of(KeyState::Unknown),                                vec!["c"]),
            (of(KeyState::Executing),                              vec!["d"]),
        ];
        for (filter, expected) in cases {
            let found = keys.keys(&filter).await.unwrap();
            let found: Vec<_> = found.iter().map(|entry| entry.name.key.as_str()).collect();
            assert_eq!(found, expected, "{filter:?}");
        }
        let entry = keys.keys(&of(KeyState::Unknown)).await.unwrap().remove(0);
        assert_eq!((entry.name, entry.digest.as_str(), entry.run.as_str()), (name("c"), "x", "run-1"));
        assert_eq!(
            (entry.arguments.as_str(), entry.claimed),
            ("{\"digest\":\"x\"}", Duration::from_millis(30))
        );
        made.advance(DAY).await;
        let kept = keys.keys(&of(KeyState::Committed)).await.unwrap();
        assert!(kept.is_empty(), "its time is up");
        assert_eq!(keys.keys(&of(KeyState::Unknown)).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_claims_one_is_granted() {
    on_each(async |made| {
        for round in 0..5 {
            let tasks: Vec<_> = (0..32)
                .map(|task| {
                    let (keys, claim) =
                        (Arc::clone(&made.keys), claim(&round.to_string(), "a", &task.to_string()));
                    tokio::spawn(async move { keys.claim(&claim).await.unwrap() })
                })
                .collect();
            let mut fences = BTreeSet::new();
            for task in tasks {
                match task.await.unwrap() {
                    Claim::Granted(fence) => assert!(fences.insert(fence)),
                    other => assert_eq!(other, Claim::InFlight),
                }
            }
            assert_eq!(fences.len(), 1);
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_process_leaves_behind_is_in_doubt_at_once() {
    on_each_pair(async |made, database, second| {
        let fence = granted(&*second, &claim("k", "a", "one")).await;
        assert_eq!(database.claim(&claim("k", "a", "two")).await.unwrap(), Claim::InFlight);
        assert_eq!(database.find(&name("k"), "a").await.unwrap(), Some(Claim::InFlight));
        let executing = KeyFilter { state: Some(KeyState::Executing), ..KeyFilter::default() };
        let unknown = KeyFilter { state: Some(KeyState::Unknown), ..KeyFilter::default() };
        assert_eq!(database.keys(&executing).await.unwrap().len(), 1);
        let running = finding("k", fence, Settlement::Failed);
        assert_eq!(database.find_out(&running).await.unwrap(), Settled::Stale);

        made.end(second).await;
        assert_eq!(database.claim(&claim("k", "a", "two")).await.unwrap(), Claim::Unknown(fence));
        assert_eq!(database.claim(&claim("k", "a", "one")).await.unwrap(), Claim::Unknown(fence));
        assert_eq!(database.claim(&claim("k", "b", "two")).await.unwrap(), Claim::Conflict);
        assert_eq!(database.find(&name("k"), "a").await.unwrap(), Some(Claim::Unknown(fence)));
        assert_eq!(database.keys(&executing).await.unwrap().len(), 0);
        assert_eq!(database.keys(&unknown).await.unwrap()[0].fence, fence);
        assert_eq!(database.find_out(&running).await.unwrap(), Settled::Kept);
        assert!(granted(&**database, &claim("k", "b", "three")).await > fence);
    })
    .await;
}
