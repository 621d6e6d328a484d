//! Several processes want the same keys at the same time, and each is paid once.

use crate::durable::payer::{Kind, Office, Said};

#[test]
fn rivals_on_one_key_pay_once() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let office = Office::new(kind);
        // Each in an order of its own, so that they meet at all stages of each other's calls.
        let seeds: Vec<String> = (0..6).map(|seed| format!("seed={seed}")).collect();
        let children: Vec<_> = seeds
            .iter()
            .map(|seed| office.start(&["keys=40", "tasks=4", "wait=20000", "pause=2", seed]))
            .collect();
        let all: Vec<Said> = children.into_iter().map(Said::of).collect();
        for said in &all {
            assert!(said.ended && said.refused.is_empty() && said.unknown.is_empty(), "{kind:?}: {said:?}");
            assert_eq!(said.done.len(), 40, "{kind:?}: everybody has an answer for every key");
            assert_eq!(said.done, all[0].done, "{kind:?}: and it is the same one");
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(office.audit(&all, &format!("{kind:?} rivals")));
        assert_eq!(office.payments().len(), 40);
    }
}

#[test]
fn who_does_not_wait_is_told_that_the_key_is_in_use() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let office = Office::new(kind);
        let children: Vec<_> = (0..4).map(|_| office.start(&["keys=1", "pause=300"])).collect();
        let all: Vec<Said> = children.into_iter().map(Said::of).collect();
        let refused: Vec<&String> = all.iter().flat_map(|said| &said.refused).collect();
        assert!(refused.iter().all(|line| line.contains("IDEMPOTENCY_CONFLICT")), "{kind:?}: {refused:?}");
        assert_eq!(office.payments().len(), 1, "{kind:?}");
    }
}
