//! Compiled code that is kept on disk.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ringfence_wasm::Host;

use crate::it::bench::tool_of;

/// Returns the compiled code in a folder: its files, without the notes beside them on how often each was used.
fn compiled(folder: &Path) -> BTreeMap<PathBuf, (u64, i64)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(compiled(&path));
        } else if path.extension().is_none() {
            let metadata = path.metadata().unwrap();
            found.insert(path, (metadata.ino(), metadata.mtime_nsec()));
        }
    }
    found
}

#[test]
fn a_second_engine_compiles_nothing_again() {
    let folder = tempfile::tempdir().unwrap();
    let load = |name: &str| {
        let host = Host::builder().cache(folder.path().to_owned()).instances(2).build().unwrap();
        tool_of(&host, name).map(drop).unwrap();
    };
    load("slug");
    let first = compiled(folder.path());
    assert!(!first.is_empty(), "nothing was kept");
    load("slug");
    // Code that is compiled again is written again, as another file.
    assert_eq!(compiled(folder.path()), first);
    load("notes");
    assert!(compiled(folder.path()).len() > first.len(), "another component is other code");
}
