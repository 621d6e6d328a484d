//! A gateway in small, made to be killed: it pays invoices through the whole pipeline, each with its own idempotency key, and
//! every payment is a line in a ledger.
//!
//! Arguments are `name=value`: `store` (a file or a PostgreSQL URL), `ledger`, `keys` (how many), `first` (the first), `tasks`
//! (how many at once), `seed`, `scope` (the personality), `kill` (`point:nth`), `jump` (the clock jumps), `lease` (milliseconds),
//! `class`, `wait` (milliseconds for people and for calls in flight), `resume` (go on with what a dead process left),
//! `until` (and do so until there is this file). It prints one line for each call: what became of which key.

#![expect(clippy::print_stdout, reason = "the lines are what the tests read")]

use std::collections::HashMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ringfence::policy::{IdempotencyMode, Personality, SafetyClass};
use ringfence::{
    Call, Clock, Code, Outcome, Registry, Report, Run, StoreApprover, SystemClock, ToolError, fail_point,
    tool,
};
use ringfence_store::{Database, PostgresOptions, PostgresStore, SqliteStore};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let arguments: HashMap<String, String> = std::env::args()
        .skip(1)
        .filter_map(|argument| {
            argument.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
        })
        .collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(pay(Arguments(arguments)))
}

struct Arguments(HashMap<String, String>);

impl Arguments {
    fn text(&self, name: &str) -> Result<&str, Failure> {
        self.0.get(name).map(String::as_str).ok_or_else(|| format!("`{name}=` is missing").into())
    }

    fn number(&self, name: &str, default: u64) -> u64 {
        self.0.get(name).and_then(|value| value.parse().ok()).unwrap_or(default)
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// Kills this process at the `nth` time it passes a point.
struct Kill {
    point: String,
    left: AtomicU64,
}

static KILL: OnceLock<Kill> = OnceLock::new();

fn kill_at(point: &'static str) {
    let Some(kill) = KILL.get().filter(|kill| kill.point == point) else { return };
    if kill.left.fetch_sub(1, Ordering::SeqCst) == 1 {
        let _killed = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        // Nothing after this point may happen, however long the signal takes.
        loop {
            std::thread::park();
        }
    }
}

/// A clock that jumps by up to a day, back and forth, each time somebody looks.
#[derive(Default)]
struct Jumping(AtomicU64);

impl Clock for Jumping {
    fn now(&self) -> Duration {
        let day = 86_400_000;
        let mixed = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::SeqCst);
        let jump = Duration::from_millis((mixed >> 20) % (2 * day));
        (SystemClock.now() + jump).saturating_sub(Duration::from_millis(day))
    }
}

async fn pay(arguments: Arguments) -> Result<(), Failure> {
    if let Some((point, nth)) = arguments.0.get("kill").and_then(|kill| kill.split_once(':')) {
        let _first = KILL.set(Kill { point: point.to_owned(), left: AtomicU64::new(nth.parse()?) });
        fail_point::set(kill_at);
    }
    let store = open(&arguments).await?;
    let registry = Arc::new(registry(&arguments, &store)?);
    println!("ready");
    let first = arguments.number("first", 0);
    let mut keys: Vec<u64> = (first..first + arguments.number("keys", 1)).collect();
    shuffle(&mut keys, arguments.number("seed", 0));
    let tasks = usize::try_from(arguments.number("tasks", 1))?.max(1);
    let wait = Duration::from_millis(arguments.number("wait", 0));
    let scope = arguments.text("scope")?;
    let mut running = Vec::new();
    for task in 0..tasks {
        let keys: Vec<u64> = keys.iter().copied().skip(task).step_by(tasks).collect();
        let (registry, scope) = (Arc::clone(&registry), scope.to_owned());
        running.push(tokio::spawn(async move {
            for key in keys {
                // The run is part of what people agree to, so that a retry names the same.
                let run = Run::builder(format!("{scope}-key-{key}"), "session").proposed_by("payer").start();
                let call = Call::new("pay", json!({ "invoice": key })).wait_in_flight(wait);
                let report = registry.call(&run, call.idempotency_key(format!("key-{key}"))).await;
                told(&format!("key-{key}"), &report);
            }
        }));
    }
    let stop = arguments.0.get("until").map(PathBuf::from);
    while arguments.has("resume") {
        for report in registry.resume().await? {
            told("resumed", &report);
        }
        if stop.as_ref().is_none_or(|stop| stop.exists()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for task in running {
        task.await?;
    }
    println!("end");
    Ok(())
}

async fn open(arguments: &Arguments) -> Result<Arc<dyn Database>, Failure> {
    let text = arguments.text("store")?;
    if text.starts_with("postgres") {
        let lease = Duration::from_millis(arguments.number("lease", 15_000));
        let options = PostgresOptions { lease, ..PostgresOptions::default() };
        return Ok(Arc::new(PostgresStore::connect_with(text, options).await?));
    }
    let clock: Arc<dyn Clock> =
        if arguments.has("jump") { Arc::new(Jumping::default()) } else { Arc::new(SystemClock) };
    Ok(Arc::new(SqliteStore::builder(text).clock(clock).open()?))
}

fn registry(arguments: &Arguments, store: &Arc<dyn Database>) -> Result<Registry, Failure> {
    let class: SafetyClass =
        serde_json::from_value(json!(arguments.0.get("class").map_or("write", String::as_str)))?;
    let personality: Personality = serde_json::from_value(json!({ "id": arguments.text("scope")? }))?;
    let wait = Duration::from_millis(arguments.number("wait", 0));
    let approver = StoreApprover::new(Arc::clone(store) as Arc<_>).wait(wait);
    let registry = Registry::builder()
        .personality(personality)
        .audit(Arc::clone(store) as Arc<_>)
        .idempotency(Arc::clone(store) as Arc<_>)
        .approver(Arc::new(approver))
        .build();
    let ledger = PathBuf::from(arguments.text("ledger")?);
    let pause = Duration::from_millis(arguments.number("pause", 0));
    let pay = tool("pay")
        .class(class)
        .idempotency(IdempotencyMode::Required)
        .input_schema(json!({ "type": "object", "properties": { "invoice": { "type": "integer" } } }))
        .output::<String>()
        .run(move |_: Value, context| {
            let ledger = ledger.clone();
            async move {
                let (key, fence) = context.idempotency_key().ok_or_else(|| ToolError::new("no key"))?;
                tokio::time::sleep(pause).await;
                fail_point::hit("before the effect");
                let receipt = format!("{}-{fence}", std::process::id());
                enter(&ledger, &format!("{key} {receipt}\n"))?;
                fail_point::hit("after the effect");
                Ok(receipt)
            }
        })?;
    registry.register(pay)?;
    Ok(registry)
}

/// Writes one line of the ledger, all at once and to the disk.
fn enter(ledger: &std::path::Path, line: &str) -> std::io::Result<()> {
    let mut file = std::fs::File::options().create(true).append(true).open(ledger)?;
    file.write_all(line.as_bytes())?;
    file.sync_data()
}

/// Tells what became of a call, in one line that is written all at once.
fn told(key: &str, report: &Report) {
    let line = match &report.outcome {
        Outcome::Done(output) => format!("done {key} {}\n", output.text()),
        other if other.code() == Some(Code::OutcomeUnknown) => format!("unknown {key}\n"),
        other => {
            let error = other.error().unwrap_or_default();
            format!("refused {key} {} {error}\n", other.code().map_or("", Code::as_str))
        }
    };
    let _told = std::io::stdout().lock().write_all(line.as_bytes());
}

/// Puts keys in an order that depends on the seed.
fn shuffle(keys: &mut [u64], seed: u64) {
    let mut state = seed.wrapping_mul(2) | 1;
    for end in (1..keys.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = usize::try_from(state >> 33).unwrap_or_default() % (end + 1);
        keys.swap(end, other);
    }
}
