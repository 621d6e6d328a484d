//! Durable state: audit records and idempotent calls per second, beside a naive loop and beside pgbench, and a log of a million records.
//!
//! ```text
//! cargo run --profile dist -p ringfence-bench --bin store                      SQLite, and PostgreSQL by script/postgres
//! cargo run --profile dist -p ringfence-bench --bin store -- sqlite            only SQLite
//! cargo run --profile dist -p ringfence-bench --bin store -- durability        only what durability costs on SQLite
//! cargo run --profile dist -p ringfence-bench --bin store -- log               only the log of a million records
//! ```
//! The store lies in the current directory, whose disk is what is measured.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement starts programs and prints its table"
)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ringfence::audit::{Progress, SignerKey, TrustedLog};
use ringfence::policy::IdempotencyMode;
use ringfence::{AuditEntry, Call, MemoryAudit, Record, Registry, Run, tool};
use ringfence_bench::durability;
use ringfence_bench::ratio::Ratio;
use ringfence_store::{Database, PostgresStore, SqliteStore};
use rusqlite::Connection;
use serde_json::json;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How long each measurement runs.
const TIME: Duration = Duration::from_secs(4);
/// How many callers there are at once.
const CALLERS: [usize; 3] = [1, 8, 64];
/// How many records the large log has.
const LOG: u64 = 1_000_000;
const ORIGIN: &str = "bench.example/log";

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match words.as_slice() {
        [] => {
            runtime.block_on(sqlite())?;
            runtime.block_on(durability())?;
            runtime.block_on(postgres())?;
            log()
        }
        ["sqlite"] => runtime.block_on(sqlite()),
        ["durability"] => runtime.block_on(durability()),
        ["postgres"] => runtime.block_on(postgres()),
        ["log"] => log(),
        ["log-in", "fill", path] => runtime.block_on(fill(path.as_ref())),
        ["log-in", "verify", path] => runtime.block_on(verify(path.as_ref())),
        _ => Err("usage: store [sqlite | durability | postgres | log]".into()),
    }
}

/// A folder in the current directory, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Self> {
        let path = std::env::current_dir()?.join(format!("bench-store-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _removed = std::fs::remove_dir_all(&self.0);
    }
}

/// What one measurement came to.
#[derive(Clone, Copy)]
struct Rate {
    per_second: f64,
    p99: Duration,
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:>9.0}/s  p99 {:>7.2} ms", self.per_second, self.p99.as_secs_f64() * 1e3)
    }
}

/// The record of a real call, of about 700 bytes.
async fn record() -> Result<Record, Failure> {
    let audit = Arc::new(MemoryAudit::default());
    let registry = Registry::builder().audit(Arc::clone(&audit) as Arc<_>).build();
    registry.register(
        tool("look_up_invoice")
            .input_schema(json!({ "type": "object" }))
            .output_schema(json!({ "type": "object" }))
            .run(
                |input: serde_json::Value, _| async move { Ok(json!({ "invoice": input, "state": "open" })) },
            )?,
    )?;
    let arguments =
        json!({ "invoice": 4711, "customer": "acme", "note": "delivered in two parts, the second one late" });
    let call = Call::new("look_up_invoice", arguments);
    registry.call(&Run::new("run-17", "session-3"), call).await;
    Ok(audit.take().pop().ok_or("no record was left")?)
}

/// Has `callers` tasks do something for a while.
async fn measured<F, Fut>(callers: usize, work: F) -> Result<Rate, Failure>
where
    F: Fn(u64) -> Fut + Clone + Send + 'static,
    Fut: Future<Output = Result<(), Failure>> + Send,
{
    let (numbers, end) = (Arc::new(AtomicU64::new(0)), Instant::now() + TIME);
    let started = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let (numbers, work) = (Arc::clone(&numbers), work.clone());
            tokio::spawn(async move {
                let mut times = Vec::new();
                while Instant::now() < end {
                    let begun = Instant::now();
                    work(numbers.fetch_add(1, Ordering::Relaxed)).await?;
                    times.push(begun.elapsed());
                }
                Ok::<_, Failure>(times)
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await??);
    }
    let seconds = started.elapsed().as_secs_f64();
    times.sort_unstable();
    let p99 = times.get(times.len() * 99 / 100).copied().unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
    Ok(Rate { per_second: times.len() as f64 / seconds, p99 })
}

async fn appends(store: &Arc<dyn Database>, callers: usize) -> Result<Rate, Failure> {
    let (store, record) = (Arc::clone(store), Arc::new(record().await?));
    measured(callers, move |_| {
        let (store, record) = (Arc::clone(&store), Arc::clone(&record));
        async move { Ok(store.append(&[AuditEntry::Call { record: &record, raw: None }]).await?) }
    })
    .await
}

/// Whole calls with a key: claimed, run, settled and recorded.
async fn calls(store: &Arc<dyn Database>, callers: usize) -> Result<Rate, Failure> {
    let registry = Registry::builder()
        .audit(Arc::clone(store) as Arc<_>)
        .idempotency(Arc::clone(store) as Arc<_>)
        .build();
    registry.register(
        tool("pay")
            .idempotency(IdempotencyMode::Required)
            .input_schema(json!({ "type": "object" }))
            .output::<String>()
            .run(|_: serde_json::Value, _| async { Ok("receipt".to_owned()) })?,
    )?;
    let (registry, name) = (Arc::new(registry), format!("{callers}-{}", std::process::id()));
    measured(callers, move |number| {
        let (registry, key) = (Arc::clone(&registry), format!("{name}-{number}"));
        async move {
            let call = Call::new("pay", json!({ "invoice": number })).idempotency_key(key);
            let report = registry.call(&Run::new("bench", "bench"), call).await;
            if report.outcome.is_done() { Ok(()) } else { Err(format!("{:?}", report.outcome).into()) }
        }
    })
    .await
}

/// One transaction for each record, as a program without a group commit writes them.
fn naive(folder: &Path, record: &Record) -> Result<Rate, Failure> {
    let connection = Connection::open(folder.join("naive.db"))?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE entry (position INTEGER PRIMARY KEY, record TEXT NOT NULL, clean TEXT);",
    )?;
    let (started, mut times) = (Instant::now(), Vec::new());
    while started.elapsed() < TIME {
        let begun = Instant::now();
        let line = AuditEntry::Call { record, raw: None }.line()?;
        connection
            .prepare_cached("INSERT INTO entry (record, clean) VALUES (?1, ?2)")?
            .execute([Some(line.record), line.clean])?;
        times.push(begun.elapsed());
    }
    let seconds = started.elapsed().as_secs_f64();
    times.sort_unstable();
    let p99 = times.get(times.len() * 99 / 100).copied().unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
    Ok(Rate { per_second: times.len() as f64 / seconds, p99 })
}

/// What a disk takes to keep a page, in the median.
fn fsync(folder: &Path) -> Result<Duration, Failure> {
    let mut file = std::fs::File::create(folder.join("page"))?;
    let mut times = Vec::new();
    for _ in 0..200 {
        let begun = Instant::now();
        file.write_all(&[0; 4096])?;
        file.sync_data()?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok(times.get(100).copied().unwrap_or_default())
}

async fn sqlite() -> Result<(), Failure> {
    let folder = Folder::new()?;
    let floor = naive(&folder.0, &record().await?)?;
    println!("SQLite; an fsync takes {:.0} µs here", fsync(&folder.0)?.as_secs_f64() * 1e6);
    println!("  one transaction for each record       1 caller   {floor}");
    let store: Arc<dyn Database> = Arc::new(SqliteStore::open(&folder.0.join("ringfence.db"))?);
    measure(&store, "SQLite", "naive loop", floor, 10.0).await
}

/// Keys that are claimed and settled, beside the same rows without what proves them.
async fn durability() -> Result<(), Failure> {
    let folder = Folder::new()?;
    println!(
        "SQLite, the cost of durability: keys claimed and settled, beside plain rows in the same tables"
    );
    for callers in CALLERS {
        let cost = durability::measure(&folder.0, callers).await?;
        let [below, ratio, above] = cost.ratio;
        Ratio::higher(format!("durable keys on SQLite, {callers} callers"), ratio, "plain rows").say()?;
        println!(
            "  keys                             {callers:>6} callers  {:>9.0}/s  plain {:>9.0}/s   {ratio:>6.2} × plain rows (quartiles {below:.2} and {above:.2})",
            cost.durable, cost.plain
        );
    }
    Ok(())
}

async fn measure(
    store: &Arc<dyn Database>,
    kind: &str,
    floor_name: &str,
    floor: Rate,
    aim: f64,
) -> Result<(), Failure> {
    for callers in CALLERS {
        let rate = appends(store, callers).await?;
        let ratio = rate.per_second / floor.per_second;
        let aim = (callers == 64).then_some(aim);
        let said = Ratio::higher(format!("audit records on {kind}, {callers} callers"), ratio, floor_name);
        Ratio { aim, ..said }.say()?;
        let aim = aim.map(|aim| format!(" (aim {aim})")).unwrap_or_default();
        println!(
            "  audit records, durable           {callers:>6} callers  {rate}   {ratio:>6.2} × {floor_name}{aim}"
        );
    }
    for callers in CALLERS {
        let rate = calls(store, callers).await?;
        let ratio = rate.per_second / floor.per_second;
        Ratio::higher(format!("idempotent calls on {kind}, {callers} callers"), ratio, floor_name).say()?;
        println!(
            "  idempotent calls                 {callers:>6} callers  {rate}   {ratio:>6.2} × {floor_name}"
        );
    }
    Ok(())
}

async fn postgres() -> Result<(), Failure> {
    let server = std::env::var("RINGFENCE_BENCH_POSTGRES").or_else(|_| script())?;
    let database = format!("bench_{}", std::process::id());
    psql(&server, &format!("CREATE DATABASE {database}"))?;
    let url = server.replacen("/postgres?", &format!("/{database}?"), 1);
    let floor = pgbench(&url, &record().await?)?;
    println!("PostgreSQL");
    println!("  pgbench, one insert a transaction    64 clients  {floor}");
    let store: Arc<dyn Database> = Arc::new(PostgresStore::connect(&url).await?);
    let measured = measure(&store, "PostgreSQL", "pgbench", floor, 0.5).await;
    drop(store);
    psql(&server, &format!("DROP DATABASE {database} WITH (FORCE)"))?;
    measured
}

fn script() -> Result<String, Failure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no workspace")?;
    let output = Command::new(root.join("script/postgres")).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().last().ok_or("script/postgres did not start a server")?.to_owned())
}

fn psql(url: &str, sql: &str) -> Result<(), Failure> {
    let done = Command::new("psql").args([url, "-qAtX", "-c", sql]).stdout(Stdio::null()).status()?;
    if done.success() { Ok(()) } else { Err(format!("`{sql}` failed").into()) }
}

/// PostgreSQL's own measure: 64 clients that insert the same record, each in its own transaction.
fn pgbench(url: &str, record: &Record) -> Result<Rate, Failure> {
    let folder = Folder::new()?;
    psql(url, "CREATE TABLE entry (position bigserial PRIMARY KEY, record text NOT NULL, clean text)")?;
    let line = AuditEntry::Call { record, raw: None }.line()?;
    let script = folder.0.join("insert.sql");
    // A colon would begin one of pgbench's variables.
    let literal = |text: &str| {
        let text = text.replace('\\', "\\\\").replace('\'', "''").replace(':', "\\x3A");
        format!("E'{text}'")
    };
    let (record, clean) = (literal(&line.record), literal(&line.clean.unwrap_or_default()));
    std::fs::write(&script, format!("INSERT INTO entry (record, clean) VALUES ({record}, {clean});\n"))?;
    let log = folder.0.join("log");
    let output = Command::new("pgbench")
        .args(["-n", "-c", "64", "-j", "2", "-M", "prepared", "-T", &TIME.as_secs().to_string()])
        .args(["-l", "--log-prefix"])
        .arg(&log)
        .arg("-f")
        .arg(&script)
        .arg(url)
        .stderr(Stdio::inherit())
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let rate = text.lines().find_map(|line| line.strip_prefix("tps = ")).ok_or("pgbench said nothing")?;
    let per_second = rate.split(' ').next().unwrap_or_default().parse()?;
    let mut times = Vec::new();
    for entry in std::fs::read_dir(&folder.0)? {
        let path = entry?.path();
        if path == script {
            continue;
        }
        let text = std::fs::read_to_string(path)?;
        times.extend(text.lines().filter_map(|line| line.split(' ').nth(2)?.parse::<u64>().ok()));
    }
    times.sort_unstable();
    let p99 = Duration::from_micros(times.get(times.len() * 99 / 100).copied().unwrap_or_default());
    Ok(Rate { per_second, p99 })
}

/// Fills a log, and verifies it in a process of its own, whose memory is looked at.
fn log() -> Result<(), Failure> {
    let folder = Folder::new()?;
    let path = folder.0.join("log.db");
    println!("a log of {LOG} records");
    for step in ["fill", "verify"] {
        let done = Command::new(std::env::current_exe()?).args(["log-in", step]).arg(&path).status()?;
        if !done.success() {
            return Err(format!("`{step}` failed").into());
        }
    }
    Ok(())
}

fn key() -> Result<SignerKey, Failure> {
    Ok(SignerKey::from_seed(ORIGIN, &[3; 32])?)
}

async fn fill(path: &Path) -> Result<(), Failure> {
    let store: Arc<dyn Database> = Arc::new(SqliteStore::open(path)?);
    let (record, started) = (record().await?, Instant::now());
    for first in (0..LOG).step_by(1_000) {
        let many = vec![
            AuditEntry::Call { record: &record, raw: None };
            usize::try_from(LOG.min(first + 1_000) - first)?
        ];
        store.append(&many).await?;
    }
    store.sign(&key()?, ORIGIN, None).await?;
    println!(
        "  filled in {:.1} s, {} MB",
        started.elapsed().as_secs_f64(),
        std::fs::metadata(path)?.len() >> 20
    );
    Ok(())
}

async fn verify(path: &Path) -> Result<(), Failure> {
    let store: Arc<dyn Database> = Arc::new(SqliteStore::open_read_only(path)?);
    let log = TrustedLog::new(ORIGIN, [key()?.verifier().clone()])?;
    let note = store.checkpoints().await?.pop().ok_or("there is no checkpoint")?.1.parse()?;
    let mut times = Vec::new();
    for index in (0..LOG).step_by(10_007) {
        let begun = Instant::now();
        store.prove(index, &note, &log).await?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    let (median, worst) = (times.get(times.len() / 2), times.last());
    let (median, worst) = (median.ok_or("none")?, worst.ok_or("none")?);
    println!("  proof: median {median:.2?}, worst {worst:.2?} (aim 5 ms)");
    let milliseconds = worst.as_secs_f64() * 1e3;
    Ratio::within("the slowest proof out of a log of a million", milliseconds, 5.0, "ms").say()?;
    let before = peak()?;
    let started = Instant::now();
    let verified = store.verify(&log, 0, None, &Progress::default()).await?;
    let seconds = started.elapsed().as_secs_f64();
    if !verified.is_intact() || verified.records != LOG {
        return Err(format!("{:?}", verified.findings).into());
    }
    #[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
    let rate = LOG as f64 / seconds;
    println!(
        "  verify: {rate:.0} records/s (aim 200,000); peak memory {} MB, {} MB before",
        peak()? >> 10,
        before >> 10
    );
    Ratio::reaching("verifying a log", rate, 200_000.0, "records/s").say()?;
    #[expect(clippy::cast_precision_loss, reason = "a ratio needs no more digits")]
    let grown = peak()? as f64 / before as f64;
    Ratio::lower("memory while verifying", grown, "before").say()?;
    Ok(())
}

/// Returns the most memory this process has had, in KiB.
fn peak() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
