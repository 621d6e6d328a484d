//! `ringfence store accept`: what a refused store has lost is shown, and a person goes on without it.

use std::path::{Path, PathBuf};

use ringfence::audit::Hash;
use serde_json::{Value, json};

use crate::office::Office;

const PAY: [&str; 5] = ["call", "--idempotency-key", "k2", "post", r#"{"to": "ada"}"#];

/// An office whose store was put back to before a call with a key, while its mark was not.
fn went_back() -> Office {
    let office = Office::new().with("ledger/quick", "");
    office.hire("ada");
    assert!(office.raw(&["call", "--idempotency-key", "k1", "post", r#"{"to": "ada"}"#]).ends_with("exit 0"));
    let early = copy(&office, &office.bench.path().join("early"));
    assert!(office.raw(&PAY).ends_with("exit 0"));
    office.hire("bob");
    for name in ["office.db", "office.db-wal", "office.db-shm"] {
        std::fs::copy(early.join(name), office.bench.path().join(name)).unwrap();
    }
    office
}

fn copy(office: &Office, to: &Path) -> PathBuf {
    std::fs::create_dir(to).unwrap();
    for name in ["office.db", "office.db-wal", "office.db-shm", "office.db.mark"] {
        std::fs::copy(office.bench.path().join(name), to.join(name)).unwrap();
    }
    to.to_owned()
}

fn bytes(office: &Office) -> [Vec<u8>; 2] {
    ["office.db", "office.db.mark"].map(|name| std::fs::read(office.bench.path().join(name)).unwrap())
}

fn accept(office: &Office, arguments: &[&str]) -> String {
    office.raw(&[&["store", "accept"], arguments].concat())
}

const BY: [&str; 4] = ["--by", "grace", "--reason", "the letter is settled by hand"];

#[test]
fn a_store_that_went_back_is_refused_until_a_person_accepts_it() {
    let office = went_back();
    let before = bytes(&office);
    for refused in [&PAY[..], &["approver", "add", "dan"], &["audit", "forget-raw", "--older-than", "1d"]] {
        let said = office.raw(refused);
        assert!(
            said.contains("lost ") && said.contains("store accept") && said.ends_with("exit 1"),
            "{said}"
        );
    }
    let said = accept(&office, &[]);
    let lines: Vec<&str> = said.lines().collect();
    let [why, transactions, records, keys, exit] = lines[..] else { panic!("{said}") };
    let lost = transactions.strip_prefix("  acknowledged transactions missing: ").unwrap();
    assert!(lost.parse::<u64>().unwrap() >= 3, "{said}");
    assert_eq!(
        why,
        format!(
            "the database `[W]/office.db` lost {lost} acknowledged transactions: restore it, or run `ringfence store accept`"
        )
    );
    // The policy and the call, and the person who came.
    assert_eq!(
        (records, keys, exit),
        ("  audit records missing: 3", "  idempotency keys missing, at most: 1", "exit 4")
    );
    let told: Value = serde_json::from_str(accept(&office, &["--json"]).lines().next().unwrap()).unwrap();
    assert_eq!((&told["accepted"], &told["missing"]["keys"]), (&json!(false), &json!(1)), "{told}");
    assert!(told["missing"]["acknowledged_ms"].as_u64().is_some_and(|at| at > 1_700_000_000_000), "{told}");
    // Both name and reason, and neither is empty.
    for half in [
        &["--by", "grace"][..],
        &["--reason", "x"],
        &["--by", "", "--reason", "x"],
        &["--by", "x", "--reason", ""],
    ] {
        let said = accept(&office, half);
        assert!(said.ends_with("exit 2"), "{half:?}: {said}");
    }
    assert_eq!(bytes(&office), before, "a refused store is not changed");

    let said = accept(&office, &BY);
    assert!(
        said.starts_with(&format!("{why}\n{transactions}\n"))
            && said.ends_with("accepted: the audit says so\nexit 0"),
        "{said}"
    );
    assert_eq!(accept(&office, &[]), "nothing is missing: [W]/office.db\nexit 0");
    let kept = office.raw(&["audit", "search", "--kind", "console"]);
    let kept: Value = serde_json::from_str(kept.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&kept["principal"], &kept["action"], &kept["about"]["reason"], &kept["about"]["keys"]),
        (&json!("grace"), &json!("accepted_store"), &json!("the letter is settled by hand"), &json!(1))
    );
    assert!(office.raw(&["store", "check"]).starts_with("nothing found: "));
    // What was there is, and a call whose key is missing runs again.
    assert!(office.raw(&["call", "--idempotency-key", "k1", "post", r#"{"to": "ada"}"#]).ends_with("exit 0"));
    assert_eq!(office.ledger(), "letter ada\nletter ada\n");
    assert!(office.raw(&PAY).ends_with("exit 0"));
    assert_eq!(office.ledger(), "letter ada\nletter ada\nletter ada\n");
    // What is gone once is not taken for the present again.
    let early = office.bench.path().join("early");
    for name in ["office.db", "office.db-wal", "office.db-shm"] {
        std::fs::copy(early.join(name), office.bench.path().join(name)).unwrap();
    }
    assert!(office.raw(&PAY).ends_with("exit 1"));
}

#[test]
fn without_a_mark_nobody_knows_what_is_missing() {
    let office = went_back();
    std::fs::remove_file(office.bench.path().join("office.db.mark")).unwrap();
    let said = office.raw(&PAY);
    assert!(said.contains("mark") && said.ends_with("exit 1"), "{said}");
    let said = accept(&office, &[]);
    for line in [
        "  acknowledged transactions missing: unknown\n",
        "  audit records missing: unknown\n",
        "  idempotency keys missing, at most: unknown\nexit 4",
    ] {
        assert!(said.contains(line), "{said}");
    }
    let told: Value = serde_json::from_str(accept(&office, &["--json"]).lines().next().unwrap()).unwrap();
    for number in ["transactions", "records", "keys", "acknowledged_ms"] {
        assert_eq!(told["missing"][number], Value::Null, "{told}");
    }
    assert!(accept(&office, &BY).ends_with("accepted: the audit says so\nexit 0"));
    assert!(office.raw(&PAY).ends_with("exit 0"));
    assert!(office.bench.path().join("office.db.mark").exists());
}

/// Has the store say which fence was handed out last, with the digest of that row if asked for.
fn set_last_fence(office: &Office, fence: i64, has_digest: bool) {
    let connection = rusqlite::Connection::open(office.bench.path().join("office.db")).unwrap();
    let (store, sequence, chain, mut digest) = connection
        .query_row("SELECT store, sequence, chain, digest FROM frontier", [], |row| {
            Ok((
                row.get::<_, Vec<u8>>(0)?,
                row.get::<_, i64>(1)?,
                row.get::<_, Vec<u8>>(2)?,
                row.get::<_, i64>(3)?,
            ))
        })
        .unwrap();
    if has_digest {
        let mut bytes = Vec::new();
        let (sequence, fence) = (sequence.to_le_bytes(), fence.to_le_bytes());
        for (kind, column) in [(1, &b"history"[..]), (3, &store), (2, &sequence), (3, &chain), (2, &fence)] {
            bytes.push(kind);
            bytes.extend_from_slice(&(column.len() as u64).to_le_bytes());
            bytes.extend_from_slice(column);
        }
        digest = i64::from_le_bytes(*Hash::of(&bytes).as_bytes().first_chunk().unwrap());
    }
    let changed = connection.execute("UPDATE frontier SET fence = ?1, digest = ?2", (fence, digest)).unwrap();
    assert_eq!(changed, 1);
}

#[test]
fn numbers_that_cannot_be_true_are_refused_and_not_gone_on_with() {
    let office = Office::new().with("ledger/quick", "");
    assert!(office.raw(&PAY).ends_with("exit 0"));
    for (key, has_digest, why) in [
        ("k3", true, "no store has handed out so many idempotency keys"),
        ("k4", false, "the row that says how far the store has come does not have its digest"),
    ] {
        set_last_fence(&office, i64::MAX, has_digest);
        let again = ["call", "--idempotency-key", key, "post", r#"{"to": "bob"}"#];
        let said = office.raw(&again);
        assert!(said.contains("is damaged") && said.contains(why) && said.ends_with("exit 1"), "{said}");
        let said = accept(&office, &[]);
        assert!(said.contains(why) && said.ends_with("exit 4"), "{said}");
        assert!(accept(&office, &BY).ends_with("exit 0"));
        assert!(office.raw(&again).ends_with("exit 0"));
        let kept = office.raw(&["audit", "search", "--kind", "call", "-n", "1"]);
        let kept: Value = serde_json::from_str(kept.lines().next().unwrap()).unwrap();
        assert!(kept["fence"].as_u64().is_some_and(|fence| fence < 100), "{kept}");
    }
    let again = ["call", "--idempotency-key", "k5", "post", r#"{"to": "bob"}"#];

    // A mark of noise is no mark: nobody knows what is missing.
    std::fs::write(office.bench.path().join("office.db.mark"), vec![0xff; 4096]).unwrap();
    assert!(office.raw(&again).ends_with("exit 1"));
    let said = accept(&office, &[]);
    assert!(said.contains("  idempotency keys missing, at most: unknown\nexit 4"), "{said}");
}

#[test]
fn a_store_with_a_second_name_or_in_use_is_not_accepted() {
    let office = went_back();
    let path = office.bench.path();
    for name in ["office.db", "office.db.mark"] {
        std::fs::hard_link(path.join(name), path.join("second")).unwrap();
        for arguments in [&[][..], &BY] {
            let said = accept(&office, arguments);
            assert!(said.contains(&format!("{name}`")) && said.ends_with("exit 1"), "{said}");
        }
        std::fs::remove_file(path.join("second")).unwrap();
    }
    assert!(accept(&office, &BY).ends_with("exit 0"));
    let open = ringfence_store::SqliteStore::open(&path.join("office.db")).unwrap();
    let said = accept(&office, &BY);
    assert!(said.starts_with("error: ") && said.ends_with("exit 1"), "{said}");
    drop(open);
    assert!(accept(&office, &[]).starts_with("nothing is missing: "));

    // Neither a database on a server nor a store that is not there.
    let said = office.bench.ringfence(&["store", "accept", "--store", "postgres://u@db/x"]);
    assert!(said.contains("SQLite only") && said.ends_with("exit 2"), "{said}");
    let said = office.bench.ringfence(&["store", "accept", "--store", "none.db"]);
    assert!(
        said.starts_with("error: the file `[W]/none.db` is not there\n") && said.ends_with("exit 1"),
        "{said}"
    );
    assert!(!path.join("none.db").exists());
}
