//! A store in which a lot has happened: a hundred thousand calls of six weeks.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ringfence::{AuditEntry, AuditSink, Call, Clock, MemoryAudit, Registry, Run, tool};
use ringfence_store::{PostgresStore, SqliteStore};
use serde_json::{Value, json};

/// How many calls there are.
pub(crate) const CALLS: u64 = 100_000;
/// How long ago the first of them was, in milliseconds.
const SPAN: u64 = 42 * 24 * 60 * 60 * 1000;
/// How many calls a run has, and how many runs a session.
const RUN: u64 = 20;
const SESSION: u64 = 10;
/// The run of yesterday in which something was refused, and that of today in which nothing was.
pub(crate) const YESTERDAY: &str = "nightly-reconciliation-0417";
const TODAY: &str = "nightly-reconciliation-0418";
/// A session that somebody looks for.
pub(crate) const SOUGHT: &str = "session-acme-7731";

const TOOLS: [&str; 6] =
    ["look_up_invoice", "fetch_rates", "send_mail", "create_ticket", "read_ledger", "classify_text"];
const AGENTS: [&str; 4] = ["bookkeeper", "support-agent", "research-agent", "mail-agent"];

/// A clock that the history sets.
#[derive(Default)]
struct SetClock(AtomicU64);

impl Clock for SetClock {
    fn now(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// Fills a store: a file, or a database of PostgreSQL by its URL.
pub(crate) fn fill(store: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        if store.starts_with("postgres") {
            write(&PostgresStore::connect(store).await.unwrap()).await;
        } else {
            write(&SqliteStore::open(Path::new(store)).unwrap()).await;
        }
    });
}

async fn write(store: &dyn AuditSink) {
    let (audit, clock) = (Arc::new(MemoryAudit::default()), Arc::new(SetClock::default()));
    let registry = Registry::builder()
        .audit(Arc::clone(&audit) as _)
        .clock(Arc::clone(&clock) as Arc<dyn Clock>)
        .build();
    for name in TOOLS {
        let schema = json!({ "type": "object", "properties": { "number": { "type": "integer" } }, "required": ["number"] });
        let made = tool(name).input_schema(schema).output_schema(json!({ "type": "integer" }));
        let made = made.run(|input: Value, _| async move {
            // A failed call is tried again, which takes its time.
            if input["number"].as_u64().is_some_and(|number| number % 1_997 == 3) {
                Err(std::io::Error::other("the upstream is away").into())
            } else {
                Ok(input["number"].clone())
            }
        });
        registry.register(made.unwrap()).unwrap();
    }
    let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let begin = now - SPAN - 60_000;
    let yesterday = (SPAN - 30 * 60 * 60 * 1000) * CALLS / SPAN / RUN;
    let mut waiting = Vec::new();
    for number in 0..CALLS {
        clock.0.store(begin + number * SPAN / CALLS, Ordering::SeqCst);
        let run = number / RUN;
        let is_today = run == CALLS / RUN - 2;
        let name = match run {
            _ if run == yesterday => YESTERDAY.to_owned(),
            _ if is_today => TODAY.to_owned(),
            _ => format!(
                "{}-{run:05}",
                ["batch", "mail", "ledger", "report"][usize::try_from(run % 4).unwrap()]
            ),
        };
        let session = match run / SESSION {
            77 => SOUGHT.to_owned(),
            session => format!("session-{session:04}"),
        };
        let agent = AGENTS[usize::try_from(run / 7 % 4).unwrap()];
        let started = Run::builder(name, session).proposed_by(agent).start();
        // More is refused lately than before.
        let is_late = number > CALLS - CALLS / 14;
        let (tool, arguments) = match number {
            _ if is_today => ("read_ledger", json!({ "number": 1 })),
            _ if number % 41 == 7 || is_late && number % 9 == 1 => {
                ("delete_account", json!({ "number": number }))
            }
            _ if number % 17 == 5 => ("send_mail", json!({ "to": "ada@example.com" })),
            _ => (TOOLS[usize::try_from(number * 7 % 11 % 6).unwrap()], json!({ "number": number })),
        };
        registry.call(&started, Call::new(tool, arguments)).await;
        waiting.extend(audit.take());
        if waiting.len() >= 2_000 || number + 1 == CALLS {
            let entries: Vec<AuditEntry<'_>> =
                waiting.iter().map(|record| AuditEntry::Call { record, raw: None }).collect();
            store.append(&entries).await.unwrap();
            waiting.clear();
        }
    }
}
