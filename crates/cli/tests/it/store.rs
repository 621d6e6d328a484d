//! `ringfence store`: made, checked, backed up; and files that are not stores.

use std::os::unix::fs::PermissionsExt;

use crate::bench::Bench;

#[test]
fn a_store_is_made_checked_and_backed_up() {
    let bench = Bench::new();
    let store = |arguments: &[&str]| bench.ringfence(&[&["store", "--store", "log.db"], arguments].concat());
    insta::assert_snapshot!(store(&["check"]), @"
    error: the file `[W]/log.db` is not there
      hint: nothing has made this store yet: `ringfence approver add`, `ringfence call --store` or `ringfence store migrate` makes one; another is named with --store STORE or in the variable RINGFENCE_STORE
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
      hint: name a file that is not there yet
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
      hint: name the store with --store STORE; this file is something else
    exit 1
    error: the file `[W]/text.db` is not a database of ringfence
      hint: name the store with --store STORE; this file is something else
    exit 1
    error: the file `[W]/text.db` is not a database of ringfence
      hint: name the store with --store STORE; this file is something else
    exit 1
    error: the file `[W]/text.db` is not a database of ringfence
      hint: name the store with --store STORE; this file is something else
    exit 1
    error: the database `[W]/newer.db` has version 99, and this program knows versions up to [KNOWN]
      hint: a newer ringfence made it: use that one
    exit 1
    error: the database `[W]/newer.db` has version 99, and this program knows versions up to [KNOWN]
      hint: a newer ringfence made it: use that one
    exit 1
    error: the database `[W]/newer.db` has version 99, and this program knows versions up to [KNOWN]
      hint: a newer ringfence made it: use that one
    exit 1
    error: the database `[W]/newer.db` has version 99, and this program knows versions up to [KNOWN]
      hint: a newer ringfence made it: use that one
    exit 1
    error: the file `[W]/none.db` is not there
      hint: nothing has made this store yet: `ringfence approver add`, `ringfence call --store` or `ringfence store migrate` makes one; another is named with --store STORE or in the variable RINGFENCE_STORE
    exit 1
    error: the file `[W]/none.db` is not there
      hint: nothing has made this store yet: `ringfence approver add`, `ringfence call --store` or `ringfence store migrate` makes one; another is named with --store STORE or in the variable RINGFENCE_STORE
    exit 1
    error: the file `[W]/none.db` is not there
      hint: nothing has made this store yet: `ringfence approver add`, `ringfence call --store` or `ringfence store migrate` makes one; another is named with --store STORE or in the variable RINGFENCE_STORE
    exit 1
    error: the file `[W]/none.db` is not there
      hint: nothing has made this store yet: `ringfence approver add`, `ringfence call --store` or `ringfence store migrate` makes one; another is named with --store STORE or in the variable RINGFENCE_STORE
    exit 1
    ");
}

#[test]
fn no_tool_runs_over_a_store_that_a_tool_may_write() {
    let toolbox = |reach: &str, tool: &str| {
        format!(
            "[personality]\nfs_reach = {{ {reach} }}\n[[tool]]\nname = \"{tool}\"\ndescription = \"x\"\nbuiltin = \"{tool}\"\ncapabilities = {{ fs_reach = {{ {reach} }} }}\n"
        )
    };
    let writes = r#"write = ["${workspace}"]"#;
    let reads = r#"read = ["${workspace}"]"#;
    let bench = Bench::new()
        .file("ringfence.toml", toolbox(writes, "write_file"))
        .file("reads.toml", toolbox(reads, "read_file"))
        .file("notes.txt", "Thursday")
        .file(".ringfence/.keep", "")
        .file("real/.keep", "");
    std::os::unix::fs::symlink(bench.path().join("real"), bench.path().join("link")).unwrap();
    let call = |store: &str| {
        bench.ringfence(&["call", "--store", store, "write_file", r#"{"path": "a.txt", "content": "a"}"#])
    };
    let other = Bench::new();
    let outside = other.path().join("log.db");
    let outside = outside.to_str().unwrap();
    let mut all = String::new();
    for store in ["log.db", "./real/../log.db", "link/log.db", ".ringfence/log.db", outside] {
        all.push_str(&call(store));
        all.push('\n');
    }
    all.push_str(&bench.ringfence(&["approvals", "resume", "--store", "log.db"]));
    all.push('\n');
    let read = ["-p", "reads.toml", "call", "--store", "log.db", "read_file", r#"{"path": "notes.txt"}"#];
    all.push_str(&bench.ringfence(&read));
    insta::assert_snapshot!(all, @r#"
    error: tool `write_file` may write the store `log.db`
      hint: keep it outside of what tools may write, or in a folder named `.ringfence`, which none may touch
    exit 2
    error: tool `write_file` may write the store `./real/../log.db`
      hint: keep it outside of what tools may write, or in a folder named `.ringfence`, which none may touch
    exit 2
    error: tool `write_file` may write the store `link/log.db`
      hint: keep it outside of what tools may write, or in a folder named `.ringfence`, which none may touch
    exit 2
    {"ok":true,"value":"wrote 1 bytes"}
    exit 0
    {"ok":true,"value":"wrote 1 bytes"}
    exit 0
    error: tool `write_file` may write the store `log.db`
      hint: keep it outside of what tools may write, or in a folder named `.ringfence`, which none may touch
    exit 2
    {"ok":true,"value":"Thursday"}
    warning: tool `read_file` may read the store `log.db`, and with it what other tools returned
    exit 0
    "#);
}

/// Calls a tool that may write `out`, over a store in another folder.
fn write_beside_store(bench: &Bench, other: &Bench) -> String {
    let reach = r#"fs_reach = { write = ["${workspace}/out"] }"#;
    let tool = "name = \"write_file\"\ndescription = \"x\"\nbuiltin = \"write_file\"";
    let toolbox = format!("[personality]\n{reach}\n[[tool]]\n{tool}\ncapabilities = {{ {reach} }}\n");
    std::fs::write(bench.path().join("ringfence.toml"), toolbox).unwrap();
    let store = other.path().join("log.db").display().to_string();
    bench.ringfence(&["call", "--store", &store, "write_file", r#"{"path": "out/a.txt", "content": "a"}"#])
}

#[test]
fn a_store_that_a_tool_reaches_through_a_link_is_one_that_it_may_write() {
    let (bench, other) = (Bench::new(), Bench::new());
    std::os::unix::fs::symlink(other.path(), bench.path().join("out")).unwrap();
    let said = write_beside_store(&bench, &other);
    assert!(said.contains("tool `write_file` may write the store"), "{said}");
    assert!(!other.path().join("a.txt").exists());
}

#[test]
fn a_store_that_a_tool_reaches_through_a_second_mount_is_one_that_it_may_write() {
    let (bench, other) = (Bench::new(), Bench::new());
    let point = bench.path().join("out");
    std::fs::create_dir(&point).unwrap();
    let mut mount = std::process::Command::new("mount");
    let mounted = mount.arg("--bind").arg(other.path()).arg(&point).stderr(std::process::Stdio::null());
    // Only root may.
    if !mounted.status().is_ok_and(|status| status.success()) {
        return;
    }
    let said = write_beside_store(&bench, &other);
    assert!(std::process::Command::new("umount").arg(&point).status().unwrap().success());
    assert!(said.contains("tool `write_file` may write the store"), "{said}");
    assert!(!other.path().join("a.txt").exists());
}

/// Tries to lock every file of a folder, as a reader may.
const LOCKING: &str = r#"
import fcntl, glob
for name in sorted(glob.glob("*")):
    try:
        with open(name) as file:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        print(name, "locked")
    except OSError as error:
        print(name, type(error).__name__)
"#;

/// A policy with one tool that tries it.
fn locking_policy() -> String {
    format!(
        r#"[personality]
fs_reach = {{ read = ["${{workspace}}"] }}

[[tool]]
name = "lock"
description = "Lock files"
command = ["python3", "-c", '''{LOCKING}''']
input = {{ type = "object" }}
output = {{ type = "string" }}
capabilities = {{ fs_reach = {{ read = ["${{workspace}}"] }}, process = {{ allowedBinaries = ["python3"] }} }}
"#
    )
}

#[test]
fn no_command_locks_the_store_or_the_pins_that_are_in_use() {
    let bench = Bench::new().file("clerk.toml", locking_policy());
    let bench = bench.file("clerk.pins.lock", "").file("notes.txt", "x");
    let said = bench.ringfence(&["-p", "clerk.toml", "call", "--store", "log.db", "lock", "{}"]);
    for name in ["log.db", "log.db-shm", "log.db-wal", "log.db.lock", "log.db.mark", "clerk.pins.lock"] {
        assert!(said.contains(&format!("{name} PermissionError")), "{name}: {said}");
    }
    assert!(said.contains("notes.txt locked"), "{said}");
}

#[test]
fn a_command_of_another_process_locks_no_store_that_can_be_known() {
    let bench = Bench::new().file("clerk.toml", locking_policy()).file("ringfence.pins.lock", "");
    // Those that have their usual names, and the one that the variable names.
    for name in ["ringfence.db", "own.db", "log.db"] {
        let made = bench.ringfence(&["-p", "clerk.toml", "call", "--store", name, "lock", "{}"]);
        assert!(made.contains("exit 0"), "{made}");
    }
    let own = bench.path().join("own.db").display().to_string();
    let run = ["run", "--read", ".", "--cwd", ".", "--", "python3", "-c", LOCKING];
    let said = bench.ringfence_in(&[("RINGFENCE_STORE", &own)], &run);
    // Nobody has them open, and their logs are hidden all the same.
    let files = ["", "-wal", "-shm", ".lock", ".mark"];
    let files =
        ["ringfence.db", "own.db"].into_iter().flat_map(|store| files.map(|file| format!("{store}{file}")));
    for name in files.chain(["ringfence.pins.lock".to_owned()]) {
        assert!(said.contains(&format!("{name} PermissionError")), "{name}: {said}");
    }
    // Granted with its folder, since this process knows nothing of it; said so in the threat model.
    assert!(said.contains("log.db locked"), "{said}");
}

/// Changes the file behind ringfence's back.
fn sqlite_in(bench: &Bench, name: &str, statement: &str) {
    let connection = rusqlite::Connection::open(bench.path().join(name)).unwrap();
    connection.execute_batch(statement).unwrap();
}
