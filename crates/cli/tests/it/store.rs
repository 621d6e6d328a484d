//! `ringfence store`: made, checked, backed up; and files that are not stores.

use std::os::unix::fs::PermissionsExt;

use crate::bench::Bench;

#[test]
fn a_store_is_made_checked_and_backed_up() {
    let bench = Bench::new();
    let store = |arguments: &[&str]| bench.ringfence(&[&["store", "--store", "log.db"], arguments].concat());
    insta::assert_snapshot!(store(&["check"]), @"
    error: the file `[W]/log.db` cannot be used: entity not found
      hint: name the store with --store STORE or in the variable RINGFENCE_STORE
    exit 1
    ");
    insta::assert_snapshot!(store(&["migrate"]), @"
    up to date: [W]/log.db, 0 records
    exit 0
    ");
    insta::assert_snapshot!(store(&["migrate"]), @"
    up to date: [W]/log.db, 0 records
    exit 0
    ");
    insta::assert_snapshot!(store(&["check"]), @"
    nothing found: [W]/log.db, 0 records
    exit 0
    ");
    insta::assert_snapshot!(store(&["backup", "copy.db"]), @"
    copied: [W]/log.db to copy.db
    exit 0
    ");
    insta::assert_snapshot!(store(&["backup", "copy.db"]), @"
    error: the file `[W]/copy.db` exists already
    exit 1
    ");
    insta::assert_snapshot!(bench.ringfence(&["store", "--store", "copy.db", "check"]), @"
    nothing found: [W]/copy.db, 0 records
    exit 0
    ");
    let mode = std::fs::metadata(bench.path().join("copy.db")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    insta::assert_snapshot!(bench.ringfence(&["store", "--store", "postgres://u:hunter2@db/x", "backup", "b.db"]), @"
    error: this works on a file of SQLite only
      hint: a PostgreSQL database is copied with its own tools, such as `pg_dump`
    exit 2
    ");
}

#[test]
fn a_damaged_store_has_findings() {
    let bench = Bench::new();
    assert!(bench.ringfence(&["approver", "add", "ada", "--store", "log.db"]).contains("rfa_"));
    assert!(bench.ringfence(&["approver", "add", "bob", "--store", "log.db"]).contains("rfa_"));
    sqlite_in(&bench, "log.db", "DELETE FROM entry WHERE position = 1");
    insta::assert_snapshot!(bench.ringfence(&["store", "--store", "log.db", "check"]), @"
    its tree is over 2 entries and it has 1
    exit 4
    ");
}

#[test]
fn what_is_not_our_store_is_refused() {
    let bench = Bench::new().file("text.db", "not a database, but long enough to look like one would");
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(bench.path().join("text.db"), private).unwrap();
    assert!(bench.ringfence(&["store", "migrate", "--store", "newer.db"]).ends_with("exit 0"));
    sqlite_in(&bench, "newer.db", "PRAGMA user_version = 99");
    let mut all = String::new();
    for name in ["text.db", "newer.db", "none.db"] {
        for command in
            [&["store", "check"][..], &["audit", "tail"], &["approvals", "list"], &["idempotency", "list"]]
        {
            all.push_str(&bench.ringfence(&[command, &["--store", name]].concat()));
            all.push('\n');
        }
    }
    for known in 1..20 {
        all = all.replace(&format!("up to {known}\n"), "up to [KNOWN]\n");
    }
    insta::assert_snapshot!(all, @"
    error: the file `[W]/text.db` is not a database of ringfence
    exit 1
    error: the file `[W]/text.db` is not a database of ringfence
    exit 1
    error: the file `[W]/text.db` is not a database of ringfence
    exit 1
    error: the file `[W]/text.db` is not a database of ringfence
    exit 1
    error: the database `[W]/newer.db` has version 99, and this program knows versions up to [KNOWN]
    exit 1
    error: the database `[W]/newer.db` has version 99, and this program knows versions up to [KNOWN]
    exit 1
    error: the database `[W]/newer.db` has version 99, and this program knows versions up to [KNOWN]
    exit 1
    error: the database `[W]/newer.db` has version 99, and this program knows versions up to [KNOWN]
    exit 1
    error: the file `[W]/none.db` cannot be used: entity not found
      hint: name the store with --store STORE or in the variable RINGFENCE_STORE
    exit 1
    error: the file `[W]/none.db` cannot be used: entity not found
      hint: name the store with --store STORE or in the variable RINGFENCE_STORE
    exit 1
    error: the file `[W]/none.db` cannot be used: entity not found
      hint: name the store with --store STORE or in the variable RINGFENCE_STORE
    exit 1
    error: the file `[W]/none.db` cannot be used: entity not found
      hint: name the store with --store STORE or in the variable RINGFENCE_STORE
    exit 1
    ");
}

/// Changes the file behind ringfence's back.
fn sqlite_in(bench: &Bench, name: &str, statement: &str) {
    let connection = rusqlite::Connection::open(bench.path().join(name)).unwrap();
    connection.execute_batch(statement).unwrap();
}
