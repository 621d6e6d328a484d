//! The path cases of `tests/corpora`, each on a fresh tree.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ringfence::{FsError, HostFiles, ScopedFs};
use ringfence_policy::{FsCeiling, FsGrant, FsReach, Jail, PathPattern, PathReach, PathSet};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use super::den::hosts;

const STEPS: [&str; 8] = ["fifo", "file", "file_b64", "hardlink", "mkdir", "socket", "symlink", "unlink"];

#[test]
fn path_cases_agree() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpora/paths.jsonl");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("`{}`: {error}", file.display()));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (base, cases) = lines.split_first().unwrap();
    for (opener, host) in hosts() {
        let mut ran = 0;
        for case in cases {
            match skipped(case) {
                Some(reason) => println!("skipped {}: {reason}", case["id"]),
                None => {
                    run(&host, base, case, opener);
                    ran += 1;
                }
            }
        }
        println!("{opener}: {ran} cases ran");
        assert!(ran > 30, "{opener}: only {ran} cases ran");
    }
}

fn skipped(case: &Value) -> Option<String> {
    if case["platform"] == "macos" {
        return Some("macOS only".to_owned());
    }
    let op = case["op"].as_str().unwrap_or_default();
    let known = ["read", "write", "list", "exists", "delete", "rmtree", "copy-from"];
    if !known.contains(&op) {
        return Some(format!("no operation `{op}` here"));
    }
    let lists = [&case["setup"], &case["after_register"]];
    let mut steps = lists.into_iter().filter_map(Value::as_array).flatten();
    let unknown = steps.find(|step| !STEPS.contains(&step["op"].as_str().unwrap_or_default()))?;
    Some(format!("no setup step {} here", unknown["op"]))
}

fn run(host: &HostFiles, base: &Value, case: &Value, opener: &str) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let fill = |text: &str| text.replace("{R}", root.to_str().unwrap());
    let set = |key: &str| -> PathSet {
        let texts = case[key].as_array().into_iter().flatten();
        texts.map(|text| fill(text.as_str().unwrap()).parse::<PathPattern>().unwrap()).collect()
    };
    build(&root, &base["base_setup"]);
    build(&root, &case["setup"]);
    let (read, write) = (set("allow_read"), set("allow_write"));
    let reach = FsReach {
        read: Some(PathReach::Listed(read.clone())),
        write: Some(PathReach::Listed(write.clone())),
        jail: if case["mode"] == "jail" { Jail::SoleRoot } else { Jail::None },
    };
    let grant = FsGrant::meet(&reach, &FsCeiling { read, write }).unwrap();
    host.pin(&grant);
    build(&root, &case["after_register"]);
    let files = ScopedFs::new(host, grant, case["cwd"].as_str().map(|cwd| fill(cwd).into()));
    let asked = path_of(case, &root);
    let done = perform(&files, case["op"].as_str().unwrap(), &asked);
    let id = format!("{opener} {} ({})", case["id"], case["why"]);
    // Where either answer is defensible, only the outside is watched.
    if case["either"] != true {
        assert_eq!(done.is_ok(), case["expect"] == "allow", "{id}: {done:?}");
    }
    if let Ok(content) = &done {
        assert!(!content.contains("CANARY"), "{id}");
    }
    for canary in ["out/secret.txt", "jail-evil/x.txt", "jailx"] {
        assert!(fs::read_to_string(root.join(canary)).unwrap().starts_with("CANARY"), "{id}: {canary}");
    }
    assert_eq!(fs::read_dir(root.join("out")).unwrap().count(), 1, "{id}");
}

fn perform(files: &ScopedFs, op: &str, path: &Path) -> Result<String, FsError> {
    match op {
        "copy-from" => {
            let copy = Path::new("copied-here");
            files.copy(path, copy)?;
            return files.read(copy);
        }
        "delete" => files.remove(path)?,
        "exists" => drop(files.exists(path)?),
        "list" => drop(files.list(path)?),
        "read" => return files.read(path),
        "rmtree" => files.remove_all(path)?,
        _ => files.write(path, "written")?,
    }
    Ok(String::new())
}

fn build(root: &Path, steps: &Value) {
    for step in steps.as_array().into_iter().flatten() {
        let path = root.join(path_of(step, root));
        match step["op"].as_str().unwrap() {
            "fifo" => mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap(),
            "socket" => mknodat(CWD, &path, FileType::Socket, Mode::from_raw_mode(0o600), 0).unwrap(),
            "file" | "file_b64" => fs::write(&path, step["content"].as_str().unwrap_or_default()).unwrap(),
            "hardlink" => {
                fs::hard_link(root.join(fill(step["target"].as_str().unwrap(), root)), &path).unwrap();
            }
            "mkdir" => fs::create_dir_all(&path).unwrap(),
            "symlink" => symlink(fill(step["target"].as_str().unwrap(), root), &path).unwrap(),
            "unlink" => fs::remove_file(&path).unwrap(),
            other => assert_eq!(other, "", "an unknown step"),
        }
    }
}

fn path_of(step: &Value, root: &Path) -> PathBuf {
    match (step["path"].as_str(), step["path_b64"].as_str()) {
        (Some(path), _) => fill(path, root).into(),
        (None, Some(encoded)) => {
            let bytes = decode(encoded);
            match bytes.strip_prefix(b"{R}") {
                Some(rest) => OsStr::from_bytes(&[root.as_os_str().as_bytes(), rest].concat()).into(),
                None => OsStr::from_bytes(&bytes).into(),
            }
        }
        (None, None) => PathBuf::new(),
    }
}

fn fill(text: &str, root: &Path) -> String {
    text.replace("{R}", root.to_str().unwrap())
}

/// Base64, as the cases use it for names that are not text.
fn decode(text: &str) -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut held, mut bytes) = (0_u32, 0, Vec::new());
    for character in text.bytes().take_while(|byte| *byte != b'=') {
        let value = alphabet.iter().position(|byte| *byte == character).unwrap();
        bits = (bits << 6) | u32::try_from(value).unwrap();
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).unwrap());
        }
    }
    bytes
}
