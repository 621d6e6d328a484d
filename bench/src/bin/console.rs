//! The console over a log of a million records: pages and searches, the live feed to many browsers, and memory.
//!
//! ```text
//! cargo build --profile dist -p ringfence-cli && cargo run --profile dist -p ringfence-bench --bin console
//! cargo run --profile dist -p ringfence-bench --bin console -- 50000         a smaller log, to try it
//! ```
//! A real gateway serves the console, and is asked over loopback. Its memory is what the system says of its process. The floor is
//! `/healthz`, which is answered without looking at anything, in the same run and over the same connection.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement starts programs and prints its table"
)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ringfence_bench::console::{Connection, Gateway, fill, follow, step};
use ringfence_bench::ratio::Ratio;
use ringfence_store::{Database, SqliteStore};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How many records the log has.
const LOG: u64 = 1_000_000;
/// How often each page is asked for.
const ASKED: usize = 200;
/// How many browsers follow, how many events there are in a second, and for how long.
const FOLLOWERS: usize = 20;
const EVENTS: u64 = 1_000;
const SECONDS: u64 = 20;

fn main() -> Outcome<()> {
    let size = std::env::args().nth(1).map_or(Ok(LOG), |text| text.parse())?;
    let folder = std::env::current_dir()?.join(format!("bench-console-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let folder = Folder(folder);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let store = folder.0.join("ringfence.db");
    let begun = Instant::now();
    let token = runtime.block_on(fill(&store, size))?;
    println!("log of {size} records made in {:.0} s", begun.elapsed().as_secs_f64());
    let gateway = Gateway::start(&folder.0, &store)?;
    let before = gateway.resident()?;
    pages(&gateway, &token)?;
    let after_pages = gateway.resident()?;
    runtime.block_on(feed(&gateway, &store, &token))?;
    let after_feed = gateway.resident()?;
    let peak = gateway.peak()?;
    println!(
        "memory of the gateway: {:.1} MB at the start, {:.1} after the pages, {:.1} after the feed, {:.1} at most (aim 80)",
        megabytes(before),
        megabytes(after_pages),
        megabytes(after_feed),
        megabytes(peak)
    );
    Ratio::within("memory of the gateway with its console, at most", megabytes(peak), 80.0, "MB").say()?;
    Ok(())
}

/// Asks for pages, and tells how long they took.
fn pages(gateway: &Gateway, token: &str) -> Outcome<()> {
    let mut connection = Connection::open(&gateway.address, token)?;
    let first = connection.get("/activity")?.len();
    let assets = connection.assets("/activity")?;
    println!(
        "first page: {:.1} kB of HTML, {:.1} kB with its style, script and picture (aim 100)",
        kilobytes(first),
        kilobytes(first + assets)
    );
    Ratio::within(
        "the first page with its style, script and picture",
        kilobytes(first + assets),
        100.0,
        "kB",
    )
    .say()?;
    let page = connection.get("/activity?kind=call&below=500000")?;
    let call = page.split('"').find(|part| part.starts_with("/calls/")).ok_or("there is no call")?.to_owned();
    #[rustfmt::skip]
    let all = [
        ("floor",                   "/healthz"),
        ("activity",                "/activity"),
        ("older",                   "/activity?below=400000"),
        ("by run",                  "/activity?run=run-77"),
        ("by tool",                 "/activity?tool=tool_3"),
        ("by code, rare",           "/activity?code=TOOL_UNKNOWN"),
        ("by code, frequent",       "/activity?code=INPUT_INVALID"),
        ("by class",                "/activity?class=read"),
        ("by host",                 "/activity?host=api10.example.com"),
        ("by principal",            "/activity?principal=agent-3"),
        ("tool and code",           "/activity?tool=tool_3&code=INPUT_INVALID"),
        ("last hour and class",     "/activity?class=read&since=1h"),
        ("run and code",            "/activity?run=run-77&code=INPUT_INVALID"),
        ("nothing fits",            "/activity?tool=no_such_tool"),
        ("text, in a window",       "/audit?text=delivered"),
        ("text that is not there",  "/audit?text=qqqqqqqq"),
        ("approvals",               "/approvals"),
        ("one call",                call.as_str()),
        ("one run",                 "/runs/run-77"),
    ];
    println!("{:<24} {:>9} {:>9} {:>9}", "page", "p50 ms", "p95 ms", "× floor");
    let mut floor = f64::NAN;
    let mut slowest = 0.0_f64;
    for (name, path) in all {
        let mut times = Vec::with_capacity(ASKED);
        for _ in 0..ASKED {
            let begun = Instant::now();
            connection.get(path)?;
            times.push(begun.elapsed());
        }
        times.sort_unstable();
        let at = |part: usize| {
            times.get(times.len() * part / 100).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
        };
        if floor.is_nan() {
            floor = at(50);
        }
        println!("{name:<24} {:>9.2} {:>9.2} {:>9.0}", at(50), at(95), at(50) / floor);
        slowest = slowest.max(at(95));
        if path != "/healthz" {
            Ratio::lower(format!("page: {name}, p50"), at(50) / floor, "/healthz").say()?;
        }
    }
    Ratio::within("the slowest page, p95", slowest, 50.0, "ms").say()?;
    Ok(())
}

/// Has many browsers follow while another process writes, and counts what each of them is sent.
async fn feed(gateway: &Gateway, store: &Path, token: &str) -> Outcome<()> {
    let store: Arc<dyn Database> = Arc::new(SqliteStore::open(store)?);
    let from = store.size().await?;
    let over = Arc::new(AtomicBool::new(false));
    let received = Arc::new(AtomicU64::new(0));
    let followers: Vec<_> = (0..FOLLOWERS)
        .map(|_| {
            let (address, token) = (gateway.address.clone(), token.to_owned());
            let (over, received) = (Arc::clone(&over), Arc::clone(&received));
            std::thread::spawn(move || follow(&address, &token, from, &over, &received))
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let begun = Instant::now();
    let mut written = 0;
    let mut most = 0;
    while written < EVENTS * SECONDS {
        // Ten at a time, a hundred times a second.
        for _ in 0..EVENTS / 100 {
            step(&*store, written).await?;
            written += 1;
        }
        most = most.max(gateway.resident()?);
        let due = Duration::from_millis(written * 1000 / EVENTS);
        tokio::time::sleep(due.saturating_sub(begun.elapsed())).await;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let wanted = written * u64::try_from(FOLLOWERS)?;
    let end = Instant::now();
    while received.load(Ordering::Relaxed) < wanted && end.elapsed() < Duration::from_secs(20) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let lag = end.elapsed();
    over.store(true, Ordering::Relaxed);
    let mut lost = 0;
    for follower in followers {
        let seen = follower.join().map_err(|_| "a follower has ended early")??;
        lost += written - seen.min(written);
    }
    println!(
        "live feed: {written} events in {seconds:.1} s to {FOLLOWERS} browsers: {lost} lost, the last came {:.0} ms after it was written, {:.1} MB meanwhile",
        lag.as_secs_f64() * 1e3,
        megabytes(most)
    );
    if lost > 0 { Err("events were lost".into()) } else { Ok(()) }
}

/// A folder that goes with its owner.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _removed = std::fs::remove_dir_all(&self.0);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a table needs no more digits")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "a table needs no more digits")]
fn kilobytes(bytes: usize) -> f64 {
    bytes as f64 / 1e3
}
