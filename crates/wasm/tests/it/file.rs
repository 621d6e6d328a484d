//! Files: what is granted, and the ways around it.

use std::os::unix::fs::symlink;
use std::path::Path;

use ringfence_wasm::Package;
use serde_json::{Value, json};

use crate::it::bench::{Bench, declaration, guest, host};

fn den() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in ["read", "write", "outside"] {
        std::fs::create_dir(root.join(name)).unwrap();
        std::fs::write(root.join(name).join("file"), name).unwrap();
    }
    symlink(root.join("outside/file"), root.join("read/out")).unwrap();
    symlink("../outside", root.join("read/up")).unwrap();
    symlink("file", root.join("read/in")).unwrap();
    symlink(root.join("outside"), root.join("write/away")).unwrap();
    let bench = Bench::new(json!({
        "fs_reach": { "read": [root.join("read"), root.join("write")], "write": [root.join("write")] },
    }));
    (folder, bench)
}

fn at(folder: &Path, name: &str) -> Value {
    json!(folder.join(name))
}

#[tokio::test]
async fn what_is_granted_works() {
    let (folder, bench) = den();
    let root = folder.path();
    let act =
        |act: &str, name: &str| json!({ "act": act, "path": at(root, name), "text": "new", "bytes": 2 });
    assert_eq!(bench.act(act("read", "read/file")).await, json!({ "ok": "read" }));
    assert_eq!(bench.act(act("read", "read/in")).await, json!({ "ok": "read" }));
    let listed = bench.act(act("list", "read")).await;
    assert!(listed["ok"].to_string().contains("file"), "{listed}");
    assert!(bench.act(act("stat", "read/file")).await["error"].is_null());
    for (what, name) in [("write", "write/new"), ("append", "write/new"), ("set_length", "write/new")] {
        let came = bench.act(act(what, name)).await;
        assert!(came["error"].is_null(), "{what}: {came}");
    }
    assert_eq!(std::fs::read_to_string(root.join("write/new")).unwrap(), "ne");
    let renamed = bench
        .act(json!({ "act": "rename", "path": at(root, "write/new"), "to": at(root, "write/other") }))
        .await;
    assert!(renamed["error"].is_null(), "{renamed}");
    assert!(bench.act(act("make_folder", "write/a/b")).await["error"].is_null());
    assert!(bench.act(act("remove_folder", "write/a")).await["error"].is_null());
    assert!(bench.act(act("remove", "write/other")).await["error"].is_null());
    assert!(!root.join("write/other").exists() && !root.join("write/a").exists());
}

#[tokio::test]
async fn what_is_not_granted_is_refused_and_untouched() {
    let (folder, bench) = den();
    let root = folder.path();
    #[rustfmt::skip]
    let acts = [
        ("read",          "outside/file"),      ("read",          "read/out"),
        ("read",          "read/up/file"),      ("read",          "read/../outside/file"),
        ("read",          "write/away/file"),   ("list",          "outside"),
        ("list",          "read/up"),           ("stat",          "outside/file"),
        ("stat",          "read/out"),          ("write",         "read/file"),
        ("write",         "read/new"),          ("write",         "outside/new"),
        ("write",         "write/away/new"),    ("write",         "write/../outside/new"),
        ("append",        "read/file"),         ("set_length",    "read/file"),
        ("remove",        "read/file"),         ("remove",        "outside/file"),
        ("remove",        "write/away/file"),   ("make_folder",   "outside/new"),
        ("remove_folder", "outside"),           ("remove_folder", "read"),
    ];
    for (act, name) in acts {
        let came = bench.act(json!({ "act": act, "path": at(root, name), "text": "x", "bytes": 0 })).await;
        assert!(came["error"].is_string(), "{act} {name}: {came}");
    }
    for act in ["hard_link", "rename", "copy"] {
        for (from, to) in [("outside/file", "write/taken"), ("write/file", "outside/taken")] {
            let came = bench.act(json!({ "act": act, "path": at(root, from), "to": at(root, to) })).await;
            assert!(came["error"].is_string(), "{act} {from} {to}: {came}");
        }
    }
    for path in ["/proc/self/environ", "/proc/self/root/etc/passwd", "/etc/passwd", "/"] {
        let came = bench.act(json!({ "act": "read", "path": path })).await;
        assert!(came["error"].is_string(), "{path}: {came}");
    }
    for name in ["read", "write", "outside"] {
        assert_eq!(std::fs::read_to_string(root.join(name).join("file")).unwrap(), name);
        assert!(!root.join(name).join("new").exists() && !root.join(name).join("taken").exists(), "{name}");
    }
}

#[tokio::test]
async fn a_path_that_no_library_tidied_up_leads_nowhere_either() {
    let (folder, bench) = den();
    let root = folder.path();
    let outside = root.join("outside/file");
    for path in
        ["../outside/file", "file/../../outside/file", "./../outside/file", "up/file", "out", "/etc/passwd"]
    {
        for follow in [true, false] {
            let came = bench.act(json!({ "act": "raw_read", "path": path, "follow": follow })).await;
            assert!(came["error"].is_string(), "{path} {follow}: {came}");
        }
    }
    let came = bench.act(json!({ "act": "raw_read", "path": outside, "follow": true })).await;
    assert!(came["error"].is_string(), "{came}");
    let nested = bench.act(json!({ "act": "raw_nested", "folder": "up", "path": "file" })).await;
    assert!(nested["error"].is_string(), "{nested}");
    let linked = bench.act(json!({ "act": "raw_read_link", "path": "out" })).await;
    assert!(linked["error"].is_string(), "{linked}");
    // A link is not followed where the guest says so, and is where it says that.
    let link = |follow: bool| json!({ "act": "raw_read", "path": "in", "follow": follow });
    assert!(bench.act(link(false)).await["error"].is_string());
    assert!(bench.act(link(true)).await["error"].is_null());
}

#[tokio::test]
async fn open_files_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "x").unwrap();
    let bench =
        Bench::limited(json!({ "fs_reach": { "read": [folder.path()] } }), json!({ "open_files": 8 }));
    let open =
        |count: usize| json!({ "act": "open_many", "path": at(folder.path(), "file"), "count": count });
    let few = bench.act(open(8)).await;
    assert!(few["error"].is_null(), "{few}");
    let many = bench.act(open(9)).await;
    assert!(many["error"].is_string(), "{many}");
}

#[tokio::test]
async fn a_glob_grants_what_it_names_and_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    std::fs::create_dir(root.join("deep")).unwrap();
    for name in ["a.txt", "a.key", "deep/b.txt"] {
        std::fs::write(root.join(name), name).unwrap();
    }
    symlink("a.key", root.join("link.txt")).unwrap();
    let bench = Bench::new(json!({ "fs_reach": { "read": [root.join("**/*.txt")] } }));
    let read = |name: &str| json!({ "act": "read", "path": at(root, name) });
    for name in ["a.txt", "deep/b.txt"] {
        assert_eq!(bench.act(read(name)).await, json!({ "ok": name }));
    }
    for name in ["a.key", "link.txt", "deep/none.key"] {
        let came = bench.act(read(name)).await;
        assert!(came["error"].is_string(), "{name}: {came}");
    }
    let came = bench.act(json!({ "act": "write", "path": at(root, "a.txt"), "text": "x" })).await;
    assert!(came["error"].is_string(), "{came}");
    assert_eq!(std::fs::read_to_string(root.join("a.txt")).unwrap(), "a.txt");
}

#[tokio::test]
async fn a_jail_is_all_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in ["jail", "beside"] {
        std::fs::create_dir(root.join(name)).unwrap();
        std::fs::write(root.join(name).join("file"), name).unwrap();
    }
    symlink("../beside/file", root.join("jail/out")).unwrap();
    let package = Package::read(guest("probe")).unwrap();
    let mut declared = declaration(&package);
    let reach = json!({ "read": "from-personality", "write": "from-personality", "jail": root.join("jail") });
    declared.capabilities = Some(
        serde_json::from_value(json!({
            "network": { "allowedHosts": ["*"] }, "secrets": ["PROBE_SECRET"],
            "storage": { "scope": "tool-private", "kind": "kv" }, "fs_reach": reach,
        }))
        .unwrap(),
    );
    let tool = host().tool(&package, declared).unwrap();
    // The personality permits more than the jail holds.
    let bench = Bench::of(&tool, json!({ "fs_reach": { "read": [root], "write": [root] } }));
    let act = |act: &str, path: &str| json!({ "act": act, "path": at(root, path), "text": "new" });
    assert_eq!(bench.act(act("read", "jail/file")).await, json!({ "ok": "jail" }));
    assert!(bench.act(act("write", "jail/new")).await["error"].is_null());
    for (what, path) in [
        ("read", "beside/file"),
        ("read", "jail/out"),
        ("read", "jail/../beside/file"),
        ("write", "beside/new"),
    ] {
        let came = bench.act(act(what, path)).await;
        assert!(came["error"].is_string(), "{what} {path}: {came}");
    }
    for path in ["../beside/file", "out", "/etc/passwd"] {
        let came = bench.act(json!({ "act": "raw_read", "path": path, "follow": true })).await;
        assert!(came["error"].is_string(), "{path}: {came}");
    }
    assert_eq!(std::fs::read_to_string(root.join("jail/new")).unwrap(), "new");
    assert!(!root.join("beside/new").exists());
}
