//! An office: a toolbox whose payments people must agree to, over a store, and what it prints without what differs from
//! run to run.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bench::{Bench, command};

const TOOLBOX: &str = r#"
[personality]
id = "clerk"
fs_reach = { write = ["${workspace}/ledger"] }
process = { allow = ["sh", "sleep"] }
approvals = { expires = "1h", tools = { wire = "dual" } }

[[tool]]
name = "pay"
description = "Pay somebody"
class = "financial"
idempotency = { mode = "optional" }
command = ["sh", "-c", "echo \"$1 $2\" >> ${workspace}/ledger/paid && echo paid $2", "sh", "{to}", "{amount}"]
input = { type = "object", properties = { to = { type = "string" }, amount = { type = "integer", maximum = 100 } }, required = ["to", "amount"] }
output = { type = "string" }
capabilities = { fs_reach = { write = ["${workspace}/ledger"] }, process = { allowedBinaries = ["sh"] } }

[[tool]]
name = "wire"
description = "Wire money abroad"
class = "financial"
command = ["sh", "-c", "echo \"wire $1\" >> ${workspace}/ledger/paid && echo wired $1", "sh", "{amount}"]
input = { type = "object", properties = { amount = { type = "integer" } }, required = ["amount"] }
output = { type = "string" }
capabilities = { fs_reach = { write = ["${workspace}/ledger"] }, process = { allowedBinaries = ["sh"] } }

[[tool]]
name = "post"
description = "Post a letter, slowly"
class = "write"
idempotency = { mode = "required" }
command = ["sh", "-c", "echo \"letter $1\" >> ${workspace}/ledger/paid; n=0; while [ ! -e ${workspace}/ledger/quick ] && [ $n -lt 250 ]; do sleep 0.1; n=$((n+1)); done; echo posted", "sh", "{to}"]
input = { type = "object", properties = { to = { type = "string" } }, required = ["to"] }
output = { type = "string" }
capabilities = { fs_reach = { write = ["${workspace}/ledger"] }, process = { allowedBinaries = ["sh", "sleep"] } }
"#;

/// How long anything is waited for. Only a broken build waits that long.
const PATIENCE: Duration = Duration::from_secs(120);

/// A toolbox, a store, and the tokens of people.
pub(crate) struct Office {
    pub(crate) bench: Bench,
    /// What `RINGFENCE_STORE` says.
    store: String,
}

impl Office {
    /// Opens an office over a store.
    pub(crate) fn over(store: &str) -> Self {
        let bench = Bench::new().file("ringfence.toml", TOOLBOX).file("ledger/.keep", "");
        Self { bench, store: store.to_owned() }
    }

    /// Goes on in a folder that was prepared.
    pub(crate) fn at(bench: Bench, store: &str) -> Self {
        Self { bench, store: store.to_owned() }
    }

    /// Goes on over another store.
    pub(crate) fn move_to(&mut self, store: &str) {
        store.clone_into(&mut self.store);
    }

    /// Opens an office over a file.
    pub(crate) fn new() -> Self {
        Self::over("office.db")
    }

    /// Puts a file there, or another in its place.
    pub(crate) fn with(self, name: &str, content: &str) -> Self {
        Self { bench: self.bench.file(name, content), store: self.store }
    }

    /// Goes on over another store.
    pub(crate) fn moved(mut self, store: &str) -> Self {
        self.move_to(store);
        self
    }

    /// Adds somebody, and keeps their token in a file of their name.
    pub(crate) fn hire(&self, name: &str) {
        let said = self.raw(&["approver", "add", name]);
        let token = said.lines().next().unwrap_or_default();
        assert!(token.starts_with("rfa_"), "{said}");
        std::fs::write(self.bench.path().join(format!("{name}.token")), token).unwrap();
    }

    /// Runs a command over the store, and returns what it prints without what differs from run to run.
    pub(crate) fn ringfence(&self, arguments: &[&str]) -> String {
        tidy(&self.raw(arguments))
    }

    /// Runs a command over the store.
    pub(crate) fn raw(&self, arguments: &[&str]) -> String {
        self.bench.ringfence_in(&[("RINGFENCE_STORE", self.variable().as_str())], arguments)
    }

    /// Returns what the variable says: a URL, or the whole path of the file.
    pub(crate) fn variable(&self) -> String {
        if self.store.contains("://") {
            return self.store.clone();
        }
        self.bench.path().join(&self.store).display().to_string()
    }

    /// Starts a command over the store that will not end soon.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        let mut started = command(&self.bench.path());
        started.args(arguments).env("RINGFENCE_STORE", self.variable());
        started.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Returns the requests that wait, newest first.
    pub(crate) fn waiting(&self) -> Vec<Value> {
        self.raw(&["approvals", "list", "--json"])
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Returns the name of the one request that waits; waits for it.
    pub(crate) fn request(&self) -> String {
        let mut found = None;
        wait_until("a request", || {
            found = self.waiting().first().and_then(|one| one["id"].as_str().map(str::to_owned));
            found.is_some()
        });
        found.unwrap()
    }

    /// Decides the one request that waits.
    pub(crate) fn decide(&self, who: &str, words: &[&str]) -> String {
        let (id, token) = (self.request(), format!("{who}.token"));
        let (word, rest) = words.split_first().unwrap();
        self.ringfence(&[&["approvals", word, &id, "--token-file", &token], rest].concat())
    }

    /// Returns what was really paid.
    pub(crate) fn ledger(&self) -> String {
        self.bench.read("ledger/paid")
    }

    /// Waits until the ledger has a line.
    pub(crate) fn wait_for(&self, line: &str) {
        wait_until(line, || self.ledger().lines().any(|own| own == line));
    }
}

/// Waits until something is so.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Replaces names of requests, digests, tokens, process numbers and times.
fn tidy(text: &str) -> String {
    let is_hex = |word: &str| word.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase());
    let is_time = |word: &str| word.len() == 20 && word.ends_with('Z') && word.get(10..11) == Some("T");
    let tidy_word = |word: &str| match word {
        word if word.starts_with("rfa_") => "[TOKEN]".to_owned(),
        word if word.starts_with("cli-") => "[RUN]".to_owned(),
        word if word.len() == 64 && is_hex(word) => "[DIGEST]".to_owned(),
        word if word.len() == ID && is_hex(word) && word.bytes().any(|byte| byte.is_ascii_digit()) => {
            "[ID]".to_owned()
        }
        word if is_time(word) => "[TIME]".to_owned(),
        word => word.to_owned(),
    };
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':');
    let (mut tidied, mut word) = (String::new(), String::new());
    for c in text.chars().chain(['\n']) {
        if is_part(c) {
            word.push(c);
            continue;
        }
        // A colon or dash at the end is punctuation.
        let rest = word.trim_end_matches([':', '-']).len();
        let (name, punctuation) = word.split_at(rest);
        tidied.push_str(&tidy_word(name));
        tidied.push_str(punctuation);
        tidied.push(c);
        word.clear();
    }
    tidied.pop();
    tidied
}

/// How many characters the name of a request has.
const ID: usize = 12;
