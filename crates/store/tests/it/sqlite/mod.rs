//! The database from outside.

mod append;
mod crash;
mod open;
mod proof;
mod tamper;
mod value;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ringfence::audit::{ApprovalStep, SignerKey, TrustedLog};
use ringfence::{AuditEntry, AuditSink as _, Call, Registry, Run, tool};
use ringfence_store::SqliteStore;
use serde_json::json;
use tempfile::TempDir;

const ORIGIN: &str = "audit.example/log";

/// A directory of its own, and the database in it.
struct Bench {
    directory: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("ringfence.db")
    }

    fn open(&self) -> SqliteStore {
        SqliteStore::open(&self.path()).unwrap()
    }

    fn read(&self) -> SqliteStore {
        SqliteStore::open_read_only(&self.path()).unwrap()
    }

    /// Changes the file behind the store's back.
    fn sql(&self, sql: &str) {
        rusqlite::Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }
}

fn key() -> SignerKey {
    SignerKey::from_seed(ORIGIN, &[7; 32]).unwrap()
}

fn log() -> TrustedLog {
    TrustedLog::new(ORIGIN, [key().verifier().clone()]).unwrap()
}

fn step(run: &str, call: u64) -> ApprovalStep {
    ApprovalStep {
        at: Duration::from_millis(1_000 + call),
        call: Some(call),
        run: run.into(),
        tool: "pay".into(),
        digest: "00".into(),
        step: "asked",
        by: Vec::new(),
        reason: None,
    }
}

async fn append(store: &SqliteStore, run: &str, calls: std::ops::Range<u64>) {
    for call in calls {
        store.append(&[AuditEntry::Approval(&step(run, call))]).await.unwrap();
    }
}

/// Has a real call recorded, whose output is changed by cleaning: a policy and a call, in this order.
async fn call(store: &SqliteStore) {
    let registry = Registry::builder().audit(Arc::new(store.clone())).build();
    let echo = tool("echo")
        .description("Says it again")
        .input::<String>()
        .output::<String>()
        .run(|text, _| async move { Ok(text) })
        .unwrap();
    registry.register(echo).unwrap();
    let run = Run::new("run-1", "session-1");
    let report = registry.call(&run, Call::new("echo", json!("red \u{1b}[31mpaint\u{200b}"))).await;
    assert_eq!(report.outcome.code(), None, "{:?}", report.outcome);
}
