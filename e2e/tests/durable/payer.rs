//! Running the program that pays, and holding its ledger against what it said.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringfence::audit::{Progress, SignerKey, TrustedLog};
use ringfence::{KeyFilter, KeyState};
use ringfence_store::{Database, SqliteStore};
use tempfile::TempDir;

use crate::durable::postgres;

/// How long one run of the program may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Which database.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Postgres,
    Sqlite,
}

/// A ledger, and the store beside it.
pub(crate) struct Office {
    pub(crate) directory: TempDir,
    pub(crate) store: String,
    /// The personality, which keeps the keys of offices that share a database apart.
    pub(crate) scope: String,
    arguments: Vec<String>,
}

/// What one run of the program said.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) done: BTreeMap<String, String>,
    pub(crate) unknown: BTreeSet<String>,
    pub(crate) refused: Vec<String>,
    /// The receipts of calls that another process had left waiting.
    pub(crate) resumed: Vec<String>,
    pub(crate) ended: bool,
}

impl Office {
    pub(crate) fn new(kind: Kind) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (store, arguments) = match kind {
            Kind::Postgres => (postgres::url(), vec!["lease=1000".to_owned()]),
            Kind::Sqlite => (directory.path().join("ringfence.db").display().to_string(), Vec::new()),
        };
        let scope =
            directory.path().file_name().unwrap().to_string_lossy().trim_start_matches('.').to_owned();
        Self { directory, store, scope, arguments }
    }

    /// An office whose store is somewhere else.
    pub(crate) fn with_store(store: String, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Self { store, arguments, ..Self::new(Kind::Sqlite) }
    }

    fn ledger(&self) -> PathBuf {
        self.path("ledger")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_payer"))
            .arg(format!("store={}", self.store))
            .arg(format!("ledger={}", self.ledger().display()))
            .arg(format!("scope={}", self.scope))
            .args(&self.arguments)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.start(arguments))
    }

    /// Returns the payments: the key, and the receipts that were given for it.
    pub(crate) fn payments(&self) -> BTreeMap<String, Vec<String>> {
        let text = std::fs::read_to_string(self.ledger()).unwrap_or_default();
        let mut payments: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in text.lines() {
            let (key, receipt) = line.split_once(' ').unwrap();
            payments.entry(key.to_owned()).or_default().push(receipt.to_owned());
        }
        payments
    }

    pub(crate) async fn open(&self) -> Arc<dyn Database> {
        if self.store.starts_with("postgres") {
            return Arc::new(ringfence_store::PostgresStore::connect(&self.store).await.unwrap());
        }
        Arc::new(SqliteStore::open(self.store.as_ref()).unwrap())
    }

    /// Holds the ledger, the keys and the audit against everything that was said.
    pub(crate) async fn audit(&self, all: &[Said], case: &str) {
        let payments = self.payments();
        for (key, receipts) in &payments {
            assert_eq!(receipts.len(), 1, "{case}: {key} was paid more than once: {receipts:?}");
        }
        let mut answers: BTreeMap<&str, &str> = BTreeMap::new();
        for (key, receipt) in all.iter().flat_map(|said| &said.done) {
            assert_eq!(
                payments.get(key).map(Vec::as_slice),
                Some([receipt.clone()].as_slice()),
                "{case}: {key} was acknowledged with another receipt than it was paid with"
            );
            let other = answers.insert(key, receipt);
            assert!(other.is_none_or(|other| other == receipt), "{case}: {key} has two receipts");
        }
        let store = self.open().await;
        let listed = store.keys(&KeyFilter::default()).await.unwrap();
        let mine = |name: &ringfence::KeyName| name.scope == format!("{}/pay", self.scope);
        let listed: BTreeMap<String, KeyState> =
            listed.into_iter().filter(|key| mine(&key.name)).map(|key| (key.name.key, key.state)).collect();
        for key in payments.keys() {
            // A payment that nobody was told of must be in doubt or done; never free, never forgotten.
            assert!(
                matches!(listed.get(key), Some(KeyState::Committed | KeyState::Unknown)),
                "{case}: {key} was paid and its key is {:?}",
                listed.get(key)
            );
        }
        for key in answers.keys() {
            assert_eq!(listed.get(*key), Some(&KeyState::Committed), "{case}: {key} was acknowledged");
        }
        let last = all.last().unwrap();
        for (key, state) in &listed {
            if *state == KeyState::Unknown {
                assert!(last.unknown.contains(key), "{case}: {key} is in doubt and the caller was not told");
            }
        }
        let key = SignerKey::from_seed("durable.example/log", &[9; 32]).unwrap();
        store.sign(&key, "durable.example/log", None).await.unwrap();
        let log = TrustedLog::new("durable.example/log", [key.verifier().clone()]).unwrap();
        // Others append to a shared log meanwhile.
        let verified = store.verify(&log, 100_000, None, &Progress::default()).await.unwrap();
        assert!(verified.is_intact(), "{case}: {:?}", verified.findings);
        self.check_records(&*store, &answers, case).await;
    }

    /// Every answer that was given is in the audit.
    async fn check_records(&self, store: &dyn Database, answers: &BTreeMap<&str, &str>, case: &str) {
        for key in answers.keys() {
            let run = Some(format!("{}-{key}", self.scope));
            let filter = ringfence_store::Filter { run, ..Default::default() };
            let entries = store.newest(&filter, 1_000).await.unwrap();
            let done = entries.iter().any(|entry| {
                let record: serde_json::Value = serde_json::from_str(&entry.record).unwrap();
                record["outcome"] == "done"
            });
            assert!(done, "{case}: {key} was acknowledged and no record says so");
        }
    }
}

impl Said {
    /// Reads what a child says until it ends.
    pub(crate) fn of(child: Child) -> Self {
        Self::heard(child, || {})
    }

    /// Does the same, and says when the program is ready.
    pub(crate) fn heard(mut child: Child, mut ready: impl FnMut()) -> Self {
        let lines = BufReader::new(child.stdout.take().unwrap()).split(b'\n').map_while(Result::ok);
        let mut said = Self::default();
        for line in lines {
            if line == b"ready" {
                ready();
            }
            said.hear(&String::from_utf8_lossy(&line));
        }
        let end = Instant::now() + PATIENCE;
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > end {
                child.kill().unwrap();
                panic!("the program does not end");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        said
    }

    pub(crate) fn hear(&mut self, line: &str) {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        match words[..] {
            [_, "resumed", ..] if line.starts_with("done") => self.resumed.push(line.to_owned()),
            ["done", key, receipt] => {
                self.done.insert(key.to_owned(), receipt.to_owned());
            }
            ["unknown" | "refused", "resumed", ..] => {}
            ["unknown", key] => {
                self.unknown.insert(key.to_owned());
            }
            ["refused", ..] => self.refused.push(line.to_owned()),
            ["end"] => self.ended = true,
            _ => {}
        }
    }
}
