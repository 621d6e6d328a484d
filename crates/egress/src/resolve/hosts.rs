//! The system's file of hosts, which its own resolver does not look into for absolute names.

use std::fs::File;
use std::io::Read;
use std::net::IpAddr;

use ringfence_policy::HostName;
use tokio::sync::{Semaphore, oneshot};

/// Where the file is.
const HOSTS: &str = "/etc/hosts";

/// No more of the file than this is read: lists of millions of blocked names are not for here.
const LONGEST: u64 = 32 << 20;

/// A file up to this length is read where it is asked for; a longer one on a thread, one at a time.
const SHORT: u64 = 256 << 10;

static LONG_READ: Semaphore = Semaphore::const_new(1);

/// Returns the addresses that the file has for a name; none where it cannot be read.
pub(super) async fn addresses(name: &HostName) -> Vec<IpAddr> {
    let Some(file) = open() else { return Vec::new() };
    if file.metadata().is_ok_and(|found| found.len() <= SHORT) {
        return find(&read(&file, SHORT), name.as_str());
    }
    let Ok(turn) = LONG_READ.acquire().await else { return Vec::new() };
    let (sender, found) = oneshot::channel();
    let name = name.clone();
    let read = std::thread::Builder::new().name("ringfence-hosts".into()).spawn(move || {
        // Whoever asked may have given up.
        let _sent = sender.send(find(&read(&file, LONGEST), name.as_str()));
        drop(turn);
    });
    match read {
        Ok(_) => found.await.unwrap_or_default(),
        Err(_) => Vec::new(),
    }
}

#[expect(clippy::disallowed_methods, reason = "the file is part of how the system looks up names")]
fn open() -> Option<File> {
    File::open(HOSTS).ok()
}

fn read(file: &File, most: u64) -> Vec<u8> {
    let mut text = Vec::new();
    // What was read before an error still counts.
    let _read = file.take(most).read_to_end(&mut text);
    text
}

fn find(text: &[u8], name: &str) -> Vec<IpAddr> {
    let mut found = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        let line = line.split(|byte| *byte == b'#').next().unwrap_or_default();
        let Ok(line) = std::str::from_utf8(line) else { continue };
        let mut words = line.split_ascii_whitespace();
        let Some(Ok(address)) = words.next().map(str::parse::<IpAddr>) else { continue };
        let is_named = words.any(|word| word.strip_suffix('.').unwrap_or(word).eq_ignore_ascii_case(name));
        if is_named && !found.contains(&address) {
            found.push(address);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_system_reads() {
        let text = b"127.0.0.1 localhost\n# 10.0.0.9 one.acme.io\n10.0.0.1\tone.acme.io one # two.acme.io\n\xff\n\
            ::1 localhost ip6-localhost\n10.0.0.2 ONE.acme.io.\n10.0.0.2 one.acme.io\nfe80::1%lo0 three\n10.0.0.3";
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(find(text, "one.acme.io"), [ip("10.0.0.1"), ip("10.0.0.2")]);
        assert_eq!(find(text, "localhost"), [ip("127.0.0.1"), ip("::1")]);
        assert_eq!(find(text, "one"), [ip("10.0.0.1")]);
        for name in ["two.acme.io", "acme.io", "three", ""] {
            assert!(find(text, name).is_empty(), "{name}");
        }
    }
}
