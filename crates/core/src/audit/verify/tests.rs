//! Every kind of tampering is found and has its word, and nothing is found in an intact log.

use proptest::prelude::*;

use super::*;
use crate::audit::{NoteError, SignerKey};

const ORIGIN: &str = "audit.example/log";

type Row = StoredRecord<Vec<u8>>;

fn key() -> SignerKey {
    SignerKey::from_seed(ORIGIN, &[7; 32]).unwrap()
}

fn log() -> TrustedLog {
    TrustedLog::new(ORIGIN, [key().verifier().clone()]).unwrap()
}

fn rows(size: u64) -> Vec<Row> {
    rows_of(size, "record")
}

fn rows_of(size: u64, what: &str) -> Vec<Row> {
    let row = |index| {
        let bytes = format!("{what} {index}").into_bytes();
        StoredRecord { index, leaf: Some(Hash::leaf(&bytes)), bytes }
    };
    (0..size).map(row).collect()
}

fn frontier(rows: &[Row], size: usize) -> Frontier {
    let mut frontier = Frontier::new();
    for row in &rows[..size] {
        frontier.append(Hash::leaf(&row.bytes));
    }
    frontier
}

fn note(rows: &[Row], size: usize) -> String {
    Checkpoint::new(ORIGIN, &frontier(rows, size)).unwrap().sign(&key()).unwrap().to_string()
}

fn edit(row: &mut Row) {
    row.bytes[0] ^= 1;
}

fn edit_with_hash(row: &mut Row) {
    edit(row);
    row.leaf = Some(Hash::leaf(&row.bytes));
}

/// Verifies a log of 20 records with checkpoints at 5, 10, 15 and 20 after `tamper` had its way with both.
fn after(tamper: impl FnOnce(&mut Vec<Row>, &mut Vec<String>)) -> Verified {
    let mut stored = rows(20);
    let mut notes = [5, 10, 15, 20].map(|size| note(&stored, size)).to_vec();
    tamper(&mut stored, &mut notes);
    verify_log(&log(), 0, stored, notes, None)
}

#[test]
fn finds_nothing_in_an_intact_log() {
    let verified = after(|_, _| ());
    assert!(verified.is_intact(), "{verified:?}");
    assert_eq!((verified.records, verified.proven, verified.agreeing), (20, 20, 4));
    assert_eq!(verified.root, Some(frontier(&rows(20), 20).root()));
    let doubled = after(|_, notes| notes.insert(1, notes[1].clone()));
    assert_eq!(doubled, verified);
    let without_hashes = after(|rows, _| rows.iter_mut().for_each(|row| row.leaf = None));
    assert_eq!(without_hashes, verified);
    let empty = verify_log(&log(), 0, Vec::<Row>::new(), [note(&[], 0)], None);
    assert!(empty.is_intact() && empty.root == Some(Hash::empty_root()));
}

#[test]
fn finds_each_kind_of_tampering() {
    type Tamper = fn(&mut Vec<Row>, &mut Vec<String>);
    let forked = |since, size| Finding::Forked { since, size, by: Promise::Checkpoint };
    let truncated = |records, promised| Finding::Truncated { records, promised, by: Promise::Checkpoint };
    let edited = |index| Finding::Edited { index };
    let reordered = |index| Finding::Reordered { index };
    let missing = |first, last| Finding::Missing { first, last };
    let cases: Vec<(&str, Tamper, Vec<Finding>, u64)> = vec![
        ("a record", |rows, _| edit(&mut rows[7]), vec![edited(7)], 20),
        ("two records", |rows, _| rows[7..9].iter_mut().for_each(edit), vec![edited(7), edited(8)], 20),
        ("a hash", |rows, _| rows[7].leaf = Some(Hash::of(b"")), vec![edited(7)], 20),
        ("a record and its hash", |rows, _| edit_with_hash(&mut rows[7]), vec![forked(5, 10)], 5),
        (
            "a record without a hash",
            |rows, _| {
                rows[7].leaf = None;
                edit(&mut rows[7]);
            },
            vec![forked(5, 10)],
            5,
        ),
        ("one gone", |rows, _| drop(rows.remove(7)), vec![missing(7, 7)], 5),
        ("the first gone", |rows, _| drop(rows.drain(..3)), vec![missing(0, 2)], 0),
        (
            "two gaps",
            |rows, _| drop((rows.remove(11), rows.drain(7..9))),
            vec![missing(7, 8), missing(11, 11)],
            5,
        ),
        ("many gone, past several checkpoints", |rows, _| drop(rows.drain(3..17)), vec![missing(3, 16)], 0),
        (
            "one of many gone comes back late",
            |rows, _| {
                let late = rows[8].clone();
                rows.drain(6..11);
                rows.push(late);
            },
            vec![missing(6, 7), reordered(8), missing(9, 10)],
            5,
        ),
        (
            "a gap before a row that stands twice",
            |rows, _| {
                rows.push(rows[12].clone());
                rows.drain(6..8);
            },
            vec![missing(6, 7), reordered(12)],
            5,
        ),
        ("the end gone", |rows, _| rows.truncate(17), vec![truncated(17, 20)], 15),
        ("all gone", |rows, _| rows.clear(), vec![truncated(0, 20)], 0),
        (
            "the end gone with its checkpoint",
            |rows, notes| {
                rows.truncate(17);
                notes.pop();
            },
            vec![Finding::Uncovered { first: 15, last: 16 }],
            15,
        ),
        (
            "one gone and the rest renumbered",
            |rows, _| {
                rows.remove(7);
                (0..).zip(rows).for_each(|(index, row)| row.index = index);
            },
            vec![forked(5, 10), truncated(19, 20)],
            5,
        ),
        ("order of rows", |rows, _| rows.swap(7, 8), vec![reordered(7)], 5),
        ("a row twice", |rows, _| rows.insert(9, rows[7].clone()), vec![reordered(7)], 20),
        (
            "an absurd index",
            |rows, _| rows[19].index = u64::MAX,
            vec![truncated(19, 20), reordered(u64::MAX)],
            15,
        ),
        (
            "two contents exchanged",
            |rows, _| {
                let bytes = rows[7].bytes.clone();
                rows[7].bytes = std::mem::replace(&mut rows[12].bytes, bytes);
            },
            vec![reordered(7), reordered(12)],
            20,
        ),
        (
            "two contents exchanged with their hashes",
            |rows, _| {
                rows.swap(7, 8);
                (rows[7].index, rows[8].index) = (7, 8);
            },
            vec![forked(5, 10)],
            5,
        ),
        (
            "no checkpoint at all",
            |_, notes| notes.clear(),
            vec![Finding::Uncovered { first: 0, last: 19 }],
            0,
        ),
        (
            "checkpoints out of order",
            |_, notes| notes.swap(1, 2),
            vec![Finding::Late { size: 10, seen: 14 }],
            20,
        ),
        (
            "a damaged checkpoint",
            |_, notes| notes[1] = notes[1].replace("\n10\n", "\n11\n"),
            vec![Finding::Unsigned { ordinal: 1, why: NoteError::Forged { name: ORIGIN.into() } }],
            20,
        ),
        (
            "a checkpoint by another key",
            |rows, notes| {
                let stranger = SignerKey::from_seed(ORIGIN, &[8; 32]).unwrap();
                let forged = Checkpoint::new(ORIGIN, &frontier(rows, 20)).unwrap();
                notes[3] = forged.sign(&stranger).unwrap().to_string();
            },
            vec![
                Finding::Uncovered { first: 15, last: 19 },
                Finding::Unsigned { ordinal: 3, why: NoteError::Unknown },
            ],
            15,
        ),
        (
            "two checkpoints of one size",
            |_, notes| notes.insert(2, note(&rows_of(20, "other"), 10)),
            vec![forked(10, 10), Finding::Split { size: 10 }],
            20,
        ),
        (
            "two checkpoints of one size, the false one first",
            |_, notes| notes.insert(1, note(&rows_of(20, "other"), 10)),
            vec![forked(5, 10), Finding::Split { size: 10 }],
            20,
        ),
        (
            "two checkpoints of another history, with a true one between",
            |_, notes| {
                let other = rows_of(20, "other");
                (notes[1], notes[3]) = (note(&other, 10), note(&other, 20));
            },
            vec![forked(5, 10), forked(15, 20)],
            15,
        ),
        (
            "a checkpoint of another history",
            |_, notes| notes[1] = note(&rows_of(20, "other"), 10),
            vec![forked(5, 10)],
            20,
        ),
    ];
    for (name, tamper, findings, proven) in cases {
        let verified = after(tamper);
        assert_eq!(verified.findings, findings, "{name}");
        assert_eq!((verified.proven, verified.left_out), (proven, 0), "{name}");
    }
}

#[test]
fn finds_a_rewritten_history_by_a_checkpoint_from_elsewhere() {
    let open = |note: &str| log().open(&note.parse().unwrap()).unwrap();
    let original = rows(20);
    let trusted = open(&note(&original, 8));

    let grown = verify_log(&log(), 0, original.clone(), [note(&original, 20)], Some(&trusted));
    assert_eq!((grown.findings, grown.agreeing), (vec![], 2));

    let later = open(&note(&original, 20));
    let behind = verify_log(&log(), 0, original.clone(), [note(&original, 10)], Some(&later));
    assert!(behind.is_intact() && behind.proven == 20);

    // The thief of the signing key rewrites everything and signs it anew.
    let mut rewritten = original.clone();
    edit_with_hash(&mut rewritten[3]);
    let forked = verify_log(&log(), 0, rewritten.clone(), [note(&rewritten, 20)], Some(&trusted));
    assert_eq!(forked.findings, [Finding::Forked { since: 0, size: 8, by: Promise::Trusted }]);

    let cut = verify_log(&log(), 0, original[..6].to_vec(), [note(&original, 6)], Some(&trusted));
    assert_eq!(cut.findings, [Finding::Truncated { records: 6, promised: 8, by: Promise::Trusted }]);
}

#[test]
fn finds_a_cut_tail_by_the_stored_frontier() {
    let stored = rows(20);
    let (log, note) = (log(), note(&stored, 10));
    let verify = |rows: &[Row]| {
        let mut verification = Verification::new(&log, 10);
        verification.frontier(&frontier(&stored, 20));
        verification.checkpoint(&note);
        for row in rows {
            verification.record(row.index, &row.bytes, row.leaf);
        }
        verification.finish().findings
    };
    assert_eq!(verify(&stored), []);
    let by = Promise::Frontier;
    assert_eq!(verify(&stored[..15]), [Finding::Truncated { records: 15, promised: 20, by }]);
    let mut edited = stored.clone();
    edit_with_hash(&mut edited[12]);
    assert_eq!(verify(&edited), [Finding::Forked { since: 10, size: 20, by }]);

    // A changed frontier is no second checkpoint.
    let mut verification = Verification::new(&log, 10);
    verification.checkpoint(&note);
    verification.frontier(&frontier(&edited[..].iter().rev().cloned().collect::<Vec<_>>(), 10));
    for row in &stored {
        verification.record(row.index, &row.bytes, row.leaf);
    }
    assert_eq!(verification.finish().findings, [Finding::Forked { since: 10, size: 10, by }]);
}

#[test]
fn allows_only_the_tail_that_it_was_told() {
    let stored = rows(20);
    for (tail, intact) in [(0, false), (4, false), (5, true), (u64::MAX, true)] {
        let verified = verify_log(&log(), tail, stored.clone(), [note(&stored, 15)], None);
        assert_eq!(verified.is_intact(), intact, "{tail}");
    }
}

#[test]
fn finds_swapped_outputs() {
    let record = br#"{"outputs": {}}"#;
    let log = log();
    let mut verification = Verification::new(&log, u64::MAX);
    verification.record(0, record, None);
    verification.outputs(0, record, None, None);
    verification.outputs(0, record, Some(b"raw"), None);
    let verified = verification.finish();
    assert_eq!(verified.findings.len(), 1);
    assert_eq!(
        serde_json::to_value(&verified.findings[0]).unwrap(),
        serde_json::json!({
            "finding": "swapped", "first": 0, "last": 0,
            "message": "record 0: the raw output is not the one that was recorded",
        })
    );
}

#[test]
fn lists_a_bounded_number_and_counts_the_rest() {
    let mut stored = rows(5000);
    stored.iter_mut().for_each(edit);
    let notes: Vec<String> = (0..1500).map(|_| "junk".to_owned()).collect();
    let verified = verify_log(&log(), u64::MAX, stored, notes, None);
    assert_eq!(verified.findings.len(), 1000);
    assert_eq!(verified.left_out, 5500);
    assert!(!verified.is_intact());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever bit of whatever record under a checkpoint is changed, and whatever else is done to its hash.
    #[test]
    fn any_edit_breaks_the_log(
        size in 1_u64..40, at in any::<prop::sample::Index>(), bit in 0_usize..40, hash in 0..3,
    ) {
        let mut stored = rows(size);
        let notes = [note(&stored, usize::try_from(size).unwrap())];
        let row = &mut stored[at.index(usize::try_from(size).unwrap())];
        let bit = bit % (row.bytes.len() * 8);
        row.bytes[bit / 8] ^= 1 << (bit % 8);
        match hash {
            0 => {}
            1 => row.leaf = None,
            _ => row.leaf = Some(Hash::leaf(&row.bytes)),
        }
        prop_assert!(!verify_log(&log(), 0, stored, notes, None).is_intact());
    }

    /// Any other sequence of the same rows is found out.
    #[test]
    fn any_other_sequence_breaks_the_log(picks in prop::collection::vec(0_usize..8, 0..12)) {
        let stored = rows(8);
        let notes = [note(&stored, 8)];
        let other: Vec<Row> = picks.iter().map(|&at| stored[at].clone()).collect();
        let same = picks == (0..8).collect::<Vec<_>>();
        prop_assert_eq!(verify_log(&log(), 0, other, notes, None).is_intact(), same);
    }
}
