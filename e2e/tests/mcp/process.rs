//! The processes of the machine, found by a word of their command lines.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::mcp::client::PATIENCE;

/// A word that no other process has.
pub(crate) fn token() -> String {
    format!(
        "token-{}-{}",
        std::process::id(),
        std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos()
    )
}

/// The command lines of every process with that word, sandboxed ones included; a zombie has none.
pub(crate) fn alive(token: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(|digit: char| digit.is_ascii_digit()) {
            continue;
        }
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(token) {
            found.push(format!("{} {line}", entry.file_name().to_string_lossy()));
        }
    }
    found
}

/// Waits until nobody is left. Whoever is left lives for an hour.
pub(crate) fn gone(token: &str) {
    let begun = Instant::now();
    loop {
        let left = alive(token);
        if left.is_empty() {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "still there after {PATIENCE:?}: {left:?}");
        thread::sleep(Duration::from_millis(10));
    }
}
