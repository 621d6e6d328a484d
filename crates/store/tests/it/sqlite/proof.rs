//! Proofs that verify without the log.

use ringfence::audit::{ProofError, ProofFile};
use ringfence_store::SqliteError;

use super::*;

#[tokio::test]
async fn every_entry_can_be_proven_under_every_checkpoint_that_covers_it() {
    let bench = Bench::new();
    let store = bench.open();
    let mut notes = Vec::new();
    for size in 1..=13 {
        append(&store, "run", size - 1..size).await;
        notes.push(store.sign(&key(), ORIGIN).unwrap());
    }
    for (size, note) in (1..).zip(&notes) {
        for index in 0..13 {
            let proof = store.prove(index, note, &log());
            if index >= size {
                assert!(
                    matches!(proof, Err(SqliteError::Proof(ProofError::Range { .. }))),
                    "{index} of {size}"
                );
                continue;
            }
            let file: ProofFile = proof.unwrap().to_string().parse().unwrap();
            let proven = file.verify(&log()).unwrap();
            let stored = store.entry(index).unwrap().unwrap();
            assert_eq!((proven.index, proven.record), (index, stored.record.as_bytes()));
        }
    }
}

#[tokio::test]
async fn a_changed_proof_proves_nothing() {
    let bench = Bench::new();
    let store = bench.open();
    append(&store, "run", 0..6).await;
    let note = store.sign(&key(), ORIGIN).unwrap();
    let text = store.prove(2, &note, &log()).unwrap().to_string();
    for (from, to) in [("pay", "buy"), ("\"index\": 2", "\"index\": 3"), ("\\n6\\n", "\\n7\\n")] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text);
        let proven = changed.parse::<ProofFile>().and_then(|file| file.verify(&log()).map(drop));
        assert!(proven.is_err(), "{from}");
    }
}

#[tokio::test]
async fn nothing_is_proven_from_a_changed_file() {
    for sql in [
        "UPDATE entry SET record = replace(record, 'pay', 'buy') WHERE position = 2",
        "UPDATE node SET hash = zeroblob(32)",
        "UPDATE entry SET leaf = x'00'",
        "DELETE FROM entry WHERE position = 2",
        "DELETE FROM node",
    ] {
        let bench = Bench::new();
        let store = bench.open();
        append(&store, "run", 0..6).await;
        let note = store.sign(&key(), ORIGIN).unwrap();
        drop(store);
        bench.sql(sql);
        assert!(bench.read().prove(2, &note, &log()).is_err(), "{sql}");
    }
}
