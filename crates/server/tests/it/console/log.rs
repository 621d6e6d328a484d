//! A log in memory that is written and read like the real ones.

use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use ringfence::audit::{
    AuditLine, Checkpoint, Columns, Filter, Frontier, Hash, InclusionProof, Note, Progress, ProofFile,
    SignerKey, Stored, StoredRecord, TrustedLog, Verified, verify_log,
};
use ringfence::{AuditEntry, AuditSink};
use ringfence_server::console::{AuditLog, Reading};
use serde_json::Value;

/// A log in memory.
#[derive(Default)]
pub(crate) struct TestLog {
    entries: Mutex<Vec<Stored>>,
    notes: Mutex<Vec<(u64, String)>>,
    /// Why nothing is kept, where nothing is.
    pub(crate) broken: Mutex<Option<String>>,
    /// What does not fit together.
    pub(crate) faults: Mutex<Vec<String>>,
}

impl TestLog {
    /// Adds a record with everything that it is found by, and returns its index.
    pub(crate) fn put(&self, record: &Value) -> u64 {
        self.put_with(record, None, None)
    }

    /// Adds a record and its outputs.
    pub(crate) fn put_with(&self, record: &Value, raw: Option<&Value>, clean: Option<&Value>) -> u64 {
        let text = record.to_string();
        let columns = Columns::read(text.as_bytes()).unwrap_or_else(|| panic!("no record: {text}"));
        let own = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(str::to_owned);
        let mut entries = self.entries();
        let index = entries.len() as u64;
        entries.push(Stored {
            index,
            at: columns.at,
            kind: columns.kind.to_string(),
            run: own(&columns.run),
            tool: own(&columns.tool),
            code: own(&columns.code),
            class: own(&columns.class),
            host: own(&columns.host),
            principal: own(&columns.principal),
            record: text.clone(),
            raw: raw.map(Value::to_string),
            clean: clean.map(Value::to_string),
        });
        index
    }

    /// Returns every record so far.
    pub(crate) fn records(&self) -> Vec<Value> {
        self.entries().iter().map(|stored| serde_json::from_str(&stored.record).unwrap()).collect()
    }

    /// Returns what people did in the console, by action.
    pub(crate) fn actions(&self) -> Vec<String> {
        let steps = self.records().into_iter().filter(|record| record["kind"] == "console");
        steps.map(|record| record["action"].as_str().unwrap().to_owned()).collect()
    }

    /// Signs the log as it is.
    pub(crate) fn sign(&self, origin: &str, key: &SignerKey) -> Note {
        let mut frontier = Frontier::new();
        self.entries().iter().for_each(|stored| drop(frontier.append(Hash::leaf(stored.record.as_bytes()))));
        let note = Checkpoint::new(origin, &frontier).unwrap().sign(key).unwrap();
        self.notes.lock().unwrap().push((frontier.size(), note.to_string()));
        note
    }

    /// Keeps a checkpoint that nobody has looked at.
    pub(crate) fn put_note(&self, size: u64, note: &str) {
        self.notes.lock().unwrap().push((size, note.to_owned()));
    }

    /// Changes a record behind everybody's back.
    pub(crate) fn forge(&self, index: usize, record: &str) {
        self.entries()[index].record = record.to_owned();
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Stored>> {
        self.entries.lock().unwrap()
    }
}

impl AuditSink for TestLog {
    fn append<'a>(&'a self, entries: &'a [AuditEntry<'a>]) -> BoxFuture<'a, Result<(), String>> {
        if let Some(why) = self.broken.lock().unwrap().clone() {
            return ready(Err(why)).boxed();
        }
        for entry in entries {
            let AuditLine { record, raw, clean, .. } = entry.line().unwrap();
            let parsed =
                |text: Option<String>| text.map(|text| serde_json::from_str::<Value>(&text).unwrap());
            let (raw, clean) = (parsed(raw), parsed(clean));
            self.put_with(&serde_json::from_str(&record).unwrap(), raw.as_ref(), clean.as_ref());
        }
        ready(Ok(())).boxed()
    }
}

/// Says whether an entry fits everything that is given, in other words than the console does.
fn fits(filter: &Filter, stored: &Stored) -> bool {
    let texts = [
        (&filter.kind, Some(&stored.kind)),
        (&filter.run, stored.run.as_ref()),
        (&filter.tool, stored.tool.as_ref()),
        (&filter.code, stored.code.as_ref()),
        (&filter.class, stored.class.as_ref()),
        (&filter.host, stored.host.as_ref()),
        (&filter.principal, stored.principal.as_ref()),
    ];
    texts.iter().all(|(wanted, own)| wanted.is_none() || wanted.as_ref() == *own)
        && (filter.since_ms.unwrap_or(0)..filter.until_ms.unwrap_or(u64::MAX)).contains(&stored.at)
        && (filter.from.unwrap_or(0)..filter.below.unwrap_or(u64::MAX)).contains(&stored.index)
        && stored.record.contains(filter.text.as_deref().unwrap_or(""))
}

fn answer<T: Send + 'static>(value: T) -> Reading<'static, T> {
    ready(Ok(value)).boxed()
}

impl AuditLog for TestLog {
    fn describe(&self) -> String {
        "a log in memory".to_owned()
    }

    fn size(&self) -> Reading<'_, u64> {
        answer(self.entries().len() as u64)
    }

    fn entries<'a>(&'a self, filter: &'a Filter, from: u64, most: usize) -> Reading<'a, Vec<Stored>> {
        let entries = self.entries();
        let found = entries.iter().filter(|stored| stored.index >= from && fits(filter, stored));
        answer(found.take(most).cloned().collect())
    }

    fn newest<'a>(&'a self, filter: &'a Filter, most: usize) -> Reading<'a, Vec<Stored>> {
        let entries = self.entries();
        let mut found: Vec<Stored> =
            entries.iter().rev().filter(|stored| fits(filter, stored)).take(most).cloned().collect();
        found.reverse();
        answer(found)
    }

    fn entry(&self, index: u64) -> Reading<'_, Option<Stored>> {
        answer(self.entries().iter().find(|stored| stored.index == index).cloned())
    }

    fn checkpoints(&self) -> Reading<'_, Vec<(u64, String)>> {
        answer(self.notes.lock().unwrap().clone())
    }

    fn verify<'a>(&'a self, log: &'a TrustedLog, tail: u64, progress: &'a Progress) -> Reading<'a, Verified> {
        let entries = self.entries().clone();
        let notes = self.notes.lock().unwrap().clone();
        progress.begin(entries.len() as u64);
        let records = entries.iter().map(|stored| {
            progress.reach(stored.index + 1);
            StoredRecord { index: stored.index, bytes: stored.record.as_bytes(), leaf: None }
        });
        answer(verify_log(log, tail, records, notes.iter().map(|(_, note)| note), None))
    }

    fn prove<'a>(&'a self, index: u64, note: &'a Note, log: &'a TrustedLog) -> Reading<'a, ProofFile> {
        let unreachable = |why: String| ringfence::StoreError::Unreachable(why);
        let prove = || {
            let size = log.open(note).map_err(|error| unreachable(error.to_string()))?.size();
            let entries = self.entries();
            let mut nodes = Vec::new();
            let mut frontier = Frontier::new();
            for stored in entries.iter().take(usize::try_from(size).unwrap()) {
                nodes.extend(frontier.append(Hash::leaf(stored.record.as_bytes())));
            }
            let find = |id: ringfence::audit::NodeId| match id.level() {
                0 => {
                    let leaf = entries.get(usize::try_from(id.index()).unwrap());
                    leaf.map(|stored| Hash::leaf(stored.record.as_bytes()))
                }
                _ => nodes.iter().find(|node| node.id == id).map(|node| node.hash),
            };
            let proof = InclusionProof::assemble(index, size, find)
                .map_err(|error| unreachable(error.to_string()))?;
            let record = entries[usize::try_from(index).unwrap()].record.clone();
            Ok(ProofFile::new(record.into_bytes(), proof, note.clone()))
        };
        ready(prove()).boxed()
    }

    fn check(&self) -> Reading<'_, Vec<String>> {
        answer(self.faults.lock().unwrap().clone())
    }
}

/// Holds one log twice: as where entries go and as where they are read.
pub(crate) fn both(log: &Arc<TestLog>) -> (Arc<dyn AuditSink>, Arc<dyn AuditLog>) {
    (Arc::clone(log) as _, Arc::clone(log) as _)
}
