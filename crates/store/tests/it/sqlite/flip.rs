//! A bit that flips anywhere in the files of a store, after a crash or at rest, is an error or nothing: no key takes effect
//! a second time, and no answer is another one.
#![expect(clippy::disallowed_methods, reason = "a test reads which tier it runs in")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

use ringfence::{
    ApprovalStore as _, ApproverToken, Claim, IdempotencyStore as _, KeyClaim, KeyFilter, KeyName, Proof,
    RequestFilter, Role, Settlement, Store as _,
};

use super::*;

const KEYS: usize = 24;

pub(super) fn claim(key: &str) -> KeyClaim {
    KeyClaim {
        name: KeyName { scope: "clerk/pay".into(), key: key.into() },
        digest: "d1".into(),
        arguments: format!("{{\"invoice\":\"{key}\"}}"),
        run: "run".into(),
        owner: format!("owner-{key}"),
    }
}

/// Has a key take effect, and be acknowledged.
pub(super) async fn pay(store: &SqliteStore, key: &str) -> Result<(), String> {
    let claim = claim(key);
    let fence = match store.claim(&claim).await {
        Ok(Claim::Granted(fence)) => fence,
        Ok(other) => return Err(format!("{other:?}")),
        Err(error) => return Err(error.to_string()),
    };
    let settlement =
        Settlement::Committed { output: format!("\"receipt of {key}\""), keep: Duration::from_hours(24) };
    store.settle(&claim.name, fence, settlement).await.map(drop).map_err(|error| error.to_string())
}

async fn fill(store: &SqliteStore, keys: std::ops::Range<usize>) {
    for key in keys {
        pay(store, &format!("inv-{key}")).await.unwrap();
        store.set("notes", &format!("note-{key}"), &format!("text {key}"), None).await.unwrap();
        append(store, "run", key as u64..key as u64 + 1).await;
    }
}

async fn template(path: &Path) -> SqliteStore {
    let store = SqliteStore::open(path).unwrap();
    let token = ApproverToken::new("ada").hash();
    store.add_approver(&"ada".parse().unwrap(), token, Role::Approver).await.unwrap();
    let asked = crate::it::conformance::request(serde_json::json!(1), ringfence::policy::Decision::Ask);
    store.file(&asked, Duration::from_hours(1_000)).await.unwrap();
    fill(&store, 0..KEYS / 2).await;
    drop(store);
    let store = SqliteStore::open(path).unwrap();
    fill(&store, KEYS / 2..KEYS).await;
    store
}

/// Not a test: what is killed. It says when everything is acknowledged.
#[test]
#[ignore = "run by the test below as a process of its own"]
fn fills_until_it_is_killed() {
    let Some(path) = child::path() else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let store = runtime.block_on(template(&path));
    writeln!(std::io::stdout().lock(), "acknowledged").unwrap();
    std::thread::sleep(Duration::from_secs(600));
    drop(store);
}

/// Everything that the store answers; an error is no answer.
async fn answers(store: &SqliteStore) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    let mut add = |what: String, answer: Option<String>| found.push((what, answer));
    for key in 0..KEYS {
        let claim = claim(&format!("inv-{key}"));
        let seen = store.find(&claim.name, &claim.digest).await.ok().map(|seen| format!("{seen:?}"));
        add(format!("find {key}"), seen);
        let note = store.get("notes", &format!("note-{key}")).await.ok().map(|note| format!("{note:?}"));
        add(format!("note {key}"), note);
    }
    add("notes".into(), store.list("notes", "").await.ok().map(|notes| format!("{notes:?}")));
    let keys = KeyFilter { most: 0, ..KeyFilter::default() };
    add("keys".into(), store.keys(&keys).await.ok().map(|keys| format!("{keys:?}")));
    let requests = store.requests(&RequestFilter::default()).await;
    add("requests".into(), requests.ok().map(|requests| format!("{requests:?}")));
    add("people".into(), store.approvers().await.ok().map(|people| format!("{people:?}")));
    let proof = Proof::Token(ApproverToken::new("ada").hash());
    add("person".into(), store.principal(&proof).await.ok().map(|person| format!("{person:?}")));
    for key in 0..KEYS {
        let claimed = store.claim(&claim(&format!("inv-{key}"))).await;
        add(format!("claim {key}"), claimed.ok().map(|claimed| format!("{claimed:?}")));
    }
    found
}

/// Copies the files of a store, but for those that only a living process has.
fn copy(from: &Bench, to: &Bench) {
    for file in std::fs::read_dir(from.directory.path()).unwrap() {
        let name = file.unwrap().file_name();
        if !name.to_str().unwrap().ends_with(".live") {
            std::fs::copy(from.directory.path().join(&name), to.directory.path().join(&name)).unwrap();
        }
    }
}

fn flip(path: &Path, bit: u64) {
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, bit / 8).unwrap();
    file.write_all_at(&[byte[0] ^ (1 << (bit % 8))], bit / 8).unwrap();
}

/// Numbers that look random, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Returns a bit of a row of a key, or none where the file holds no row.
fn bit_of_a_key(path: &Path, numbers: &mut Numbers) -> Option<u64> {
    let bytes = std::fs::read(path).unwrap();
    let needle = b"receipt of inv-";
    let places: Vec<usize> =
        (0..bytes.len().saturating_sub(needle.len())).filter(|at| bytes[*at..].starts_with(needle)).collect();
    if places.is_empty() {
        return None;
    }
    let place = places[usize::try_from(numbers.below(places.len() as u64)).unwrap()] as u64;
    // A row before its output: the key, the arguments, the state.
    Some((place.saturating_sub(120) + numbers.below(160)) * 8 + numbers.below(8))
}

fn flips() -> u64 {
    match std::env::var("RINGFENCE_TEST_TIER").as_deref() {
        Ok("all") => 500,
        Ok("fast") => 24,
        _ => 72,
    }
}

#[test]
fn no_flipped_bit_makes_a_key_forget_or_an_answer_another() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let (crashed, rested) = (Bench::new(), Bench::new());
    let mut child = child::spawn("it::sqlite::flip::fills_until_it_is_killed", &crashed.path());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("acknowledged")));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(std::fs::metadata(crashed.directory.path().join("ringfence.db-wal")).unwrap().len() > 100_000);
    drop(runtime.block_on(template(&rested.path())));

    let expected = [&crashed, &rested].map(|template| {
        let bench = Bench::new();
        copy(template, &bench);
        let answers = runtime.block_on(answers(&bench.open()));
        assert!(answers.iter().all(|(_, answer)| answer.is_some()), "{answers:?}");
        assert!(
            answers
                .iter()
                .filter(|(what, _)| what.starts_with("claim"))
                .all(|(_, answer)| { answer.as_deref().is_some_and(|answer| answer.starts_with("Replay")) })
        );
        answers
    });

    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut refused, mut errors, mut wrong) = (0, 0, Vec::new());
    for number in 0..flips() {
        let which = usize::from(number % 2 == 1);
        let bench = Bench::new();
        copy([&crashed, &rested][which], &bench);
        let name = match (number / 2) % 4 {
            0 | 3 if which == 0 => "ringfence.db-wal",
            1 => "ringfence.db.mark",
            _ => "ringfence.db",
        };
        let file = bench.directory.path().join(name);
        let anywhere = |numbers: &mut Numbers| {
            let size = std::fs::metadata(&file).unwrap().len();
            // Of a mark that is mostly empty, the slots.
            let place = if name.ends_with("mark") {
                numbers.below(2) * 4_096 + numbers.below(176)
            } else {
                numbers.below(size)
            };
            place * 8 + numbers.below(8)
        };
        let bit = match (number / 2) % 4 {
            3 => bit_of_a_key(&file, &mut numbers).unwrap_or_else(|| anywhere(&mut numbers)),
            _ => anywhere(&mut numbers),
        };
        flip(&file, bit);
        let Ok(store) = SqliteStore::open(&bench.path()) else {
            refused += 1;
            continue;
        };
        let found = runtime.block_on(answers(&store));
        errors += usize::from(found.iter().any(|(_, answer)| answer.is_none()));
        for ((what, answer), (_, expected)) in found.into_iter().zip(&expected[which]) {
            if answer.is_some() && answer != *expected {
                wrong.push(format!("bit {bit} of {name} ({which}): {what}: {answer:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}: {:#?}", wrong.len(), flips(), &wrong[..wrong.len().min(8)]);
    // Otherwise nothing was hit.
    assert!(refused > flips() / 8 && refused + errors as u64 > flips() / 6, "{refused} {errors}");
}

/// Each table whose rows are trusted, changed behind the store's back.
#[tokio::test]
async fn a_row_that_does_not_have_its_digest_is_an_error() {
    #[rustfmt::skip]
    let cases = [
        // change                                                                    what it must not be answered from
        ("UPDATE idempotency SET output = replace(output, 'receipt', 'recaipt')",    "find 3"),
        ("UPDATE idempotency SET state = 'failed', output = NULL",                   "find 3"),
        ("UPDATE idempotency SET until_us = 1",                                      "claim 3"),
        ("UPDATE idempotency SET arguments = '{}'",                                  "keys"),
        ("UPDATE value SET value = 'other!'",                                        "note 3"),
        ("UPDATE value SET until_us = 1",                                            "notes"),
        ("UPDATE request SET state = 'approved'",                                    "requests"),
        ("UPDATE request SET decided = '[]  '",                                      "requests"),
        ("UPDATE approver SET role = 'admin'",                                       "person"),
        ("UPDATE approver SET added_us = 1",                                         "people"),
    ];
    for (sql, what) in cases {
        let bench = Bench::new();
        drop(template(&bench.path()).await);
        bench.sql(sql);
        let found = answers(&bench.open()).await;
        let answer = found.into_iter().find(|(name, _)| name == what).unwrap().1;
        assert_eq!(answer, None, "{sql}");
    }
}

#[tokio::test]
async fn a_row_that_is_gone_is_found_when_the_store_is_opened() {
    for table in ["idempotency", "request", "approver", "value"] {
        let bench = Bench::new();
        drop(template(&bench.path()).await);
        // The count is put back, whoever counts what is removed.
        bench.sql(&format!("CREATE TEMP TABLE before AS SELECT {table}_rows AS count FROM frontier; DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} LIMIT 1); UPDATE frontier SET {table}_rows = (SELECT count FROM before)")
            .replace("WHERE rowid IN (SELECT rowid FROM approver LIMIT 1)", ""));
        let error = SqliteStore::open(&bench.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("`{table}` has ")), "{error}");
        assert!(bench.read().keys(&KeyFilter::default()).await.is_ok() != (table == "idempotency"));
        // A person goes on with it, and that is in the audit.
        let before = bench.read().size().unwrap();
        SqliteStore::accept_gap(&bench.path(), "ada", "the row is on paper").unwrap().unwrap();
        let store = bench.open();
        assert_eq!(store.size().unwrap(), before + 1);
        let entry = store.entry(before).unwrap().unwrap();
        assert!(entry.record.contains("accepted_store") && entry.record.contains("the row is on paper"));
    }
}

#[tokio::test]
async fn a_log_that_ends_early_is_refused_until_a_person_accepts_it() {
    let bench = Bench::new();
    let store = template(&bench.path()).await;
    let crashed = Bench::new();
    copy(&bench, &crashed);
    drop(store);
    let log = crashed.directory.path().join("ringfence.db-wal");
    let size = std::fs::metadata(&log).unwrap().len();
    flip(&log, size / 2 * 8);
    let damaged = std::fs::read(&log).unwrap();
    for _ in 0..2 {
        let error = SqliteStore::open(&crashed.path()).unwrap_err();
        assert!(matches!(error, ringfence_store::SqliteError::WentBack { missing: 1.., .. }), "{error}");
    }
    // What is left of the log stays for whoever can read more of it.
    assert_eq!(std::fs::read(&log).unwrap(), damaged);
    let gap = SqliteStore::find_gap(&crashed.path()).unwrap().unwrap();
    assert!(gap.transactions > 0 && gap.records > 0 && gap.keys > 0 && gap.acknowledged.is_some(), "{gap:?}");
    let accepted = SqliteStore::accept_gap(&crashed.path(), "ada", "looked at the bank").unwrap().unwrap();
    assert_eq!((accepted.transactions, accepted.keys), (gap.transactions, gap.keys));
    assert!(SqliteStore::find_gap(&crashed.path()).unwrap().is_none());
    // A fence that was handed out before is not handed out again.
    let store = crashed.open();
    let Claim::Granted(fence) = store.claim(&claim("new")).await.unwrap() else { panic!("not granted") };
    assert!(fence.0 > KEYS as u64, "{fence:?}");
}

#[tokio::test]
async fn a_mark_that_is_gone_does_not_reset_what_it_protects() {
    for (change, accepted) in [("remove", true), ("empty", true), ("database", true), ("neither", false)] {
        let bench = Bench::new();
        drop(template(&bench.path()).await);
        let mark = bench.directory.path().join("ringfence.db.mark");
        match change {
            "remove" => std::fs::remove_file(&mark).unwrap(),
            "empty" => std::fs::File::create(&mark).unwrap().set_len(8_192).unwrap(),
            "database" => std::fs::remove_file(bench.path()).unwrap(),
            _ => {}
        }
        assert_eq!(SqliteStore::open(&bench.path()).is_err(), accepted, "{change}");
        assert_eq!(
            SqliteStore::accept_gap(&bench.path(), "ada", "x").unwrap().is_some(),
            accepted,
            "{change}"
        );
        bench.open();
    }
}
