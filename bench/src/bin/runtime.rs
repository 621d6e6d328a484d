//! What one call of one small tool takes in each runtime: a function, a tool in this process, a WebAssembly component
//! with a fresh instance; and what starting a program takes, in the native sandbox and in a container.
//!
//! The subjects take turns, so that a slow moment of the machine hits them all.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement reads its settings, fills a cache and prints its table"
)]

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use ringfence::sandbox::{Ending, Native, Sandbox, Spec, Streams};
use ringfence::{Call, MemoryAudit, Outcome, Registry, Run, Tool};
use ringfence_bench::ratio::Ratio;
use ringfence_bench::runtime::{
    Sample, Timed, arguments, component, guest, in_process, registry, resident, slug,
};
use ringfence_container::Engine;
use ringfence_wasm::Host;

const ROUNDS: u32 = 100;
/// Calls of each tool in a round: 10,000 instances of the component in all.
const CALLS: u32 = 100;
/// Bare calls that are measured together.
const BARE: u32 = 10_000;
/// A container is started once in so many rounds.
const SELDOM: u32 = 5;
/// How often a component is loaded from nothing.
const LOADS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let title =
        arguments().get("title").and_then(|title| title.as_str().map(str::to_owned)).unwrap_or_default();
    let native = start(Sandbox::new(Native::new()), &Spec::new("/bin/true"))?;
    let engine = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let container = container(&engine)?;
    let timed = Arc::new(Timed::new(component(&Host::builder().build()?, guest("slug")?)?));
    let shared: Arc<dyn Tool> = Arc::clone(&timed) as _;
    let (plain, wasm) = (Called::new(&in_process()?)?, Called::new(&shared)?);
    for _ in 0..5 {
        plain.calls(&runtime, &mut Sample::default())?;
        wasm.calls(&runtime, &mut Sample::default())?;
        native()?;
    }
    drop(timed.take());
    let mut rows = Rows::default();
    let before = resident()?;
    for round in 0..ROUNDS {
        rows.bare.add_each(BARE, || drop(black_box(slug(black_box(&title)))));
        plain.calls(&runtime, &mut rows.plain)?;
        wasm.calls(&runtime, &mut rows.wasm)?;
        timed.take().into_iter().for_each(|time| rows.alone.add(time));
        once(&mut rows.native, &native)?;
        if let Some(container) = &container
            && round % SELDOM == 0
        {
            once(&mut rows.container, container)?;
        }
    }
    let after = resident()?;
    rows.print()?;
    println!(
        "resident: {before} KiB before {} instances, {after} KiB after (aim: no growth)",
        ROUNDS * CALLS
    );
    #[expect(clippy::cast_precision_loss, reason = "a ratio needs no more digits")]
    let grown = after as f64 / before as f64;
    Ratio::lower("memory after 10,000 instances of a component", grown, "before").aim(1.0).say()?;
    loads(&runtime)
}

/// What was measured.
#[derive(Default)]
struct Rows {
    bare: Sample,
    plain: Sample,
    wasm: Sample,
    alone: Sample,
    native: Sample,
    container: Sample,
}

impl Rows {
    fn print(mut self) -> Result<(), Box<dyn Error>> {
        println!("{:<46} {:>9} {:>9} {:>9} {:>10}", "", "times", "p50 µs", "p99 µs", "× function");
        let bare = self.bare.at(50);
        for (name, sample) in [
            ("a bare function call", &mut self.bare),
            ("in process, through the registry", &mut self.plain),
            ("component, fresh instance, through the registry", &mut self.wasm),
            ("component, fresh instance, the tool alone", &mut self.alone),
            ("native sandbox, start to exit of /bin/true", &mut self.native),
            ("container, start to exit of true", &mut self.container),
        ] {
            if sample.count() == 0 {
                println!("{name:<46}  not measured: RINGFENCE_BENCH_ENGINE names no engine");
                continue;
            }
            let (half, slow) = (sample.at(50), sample.at(99));
            println!("{name:<46} {:>9} {half:>9.2} {slow:>9.2} {:>10.0}", sample.count(), half / bare);
        }
        println!("aim: a warm call of a component with a fresh instance, p50 at most 30 µs");
        let (plain, wasm, native) = (self.plain.at(50), self.wasm.at(50), self.native.at(50));
        Ratio::within("a component with a fresh instance, p50", wasm, 30.0, "µs").say()?;
        Ratio::lower("a component with a fresh instance", wasm / plain, "the same tool in process").say()?;
        Ratio::lower("a component with a fresh instance", wasm / native, "a start of the native sandbox")
            .say()?;
        if self.container.count() > 0 {
            let container = self.container.at(50);
            Ratio::lower("a start of the native sandbox", native / container, "a start of a container")
                .say()?;
        }
        Ok(())
    }
}

/// A registry with one tool, and its call.
struct Called {
    registry: Registry,
    audit: Arc<MemoryAudit>,
    run: Run,
    call: Call,
}

impl Called {
    fn new(tool: &Arc<dyn Tool>) -> Result<Self, Box<dyn Error>> {
        let (registry, audit) = registry(tool)?;
        Ok(Self {
            registry,
            audit,
            run: Run::new("run-1", "session-1"),
            call: Call::new("slug", arguments()),
        })
    }

    /// Makes the calls of one round, as on a server: many on one runtime.
    fn calls(&self, runtime: &tokio::runtime::Runtime, sample: &mut Sample) -> Result<(), Box<dyn Error>> {
        runtime.block_on(async {
            for _ in 0..CALLS {
                let call = self.call.clone();
                let begun = Instant::now();
                let report = self.registry.call(&self.run, call).await;
                sample.add(begun.elapsed());
                if !matches!(report.outcome, Outcome::Done(_)) {
                    return Err(format!("the call that is measured fails: {:?}", report.outcome).into());
                }
            }
            drop(self.audit.take());
            Ok(())
        })
    }
}

type Act = Box<dyn Fn() -> Result<(), Box<dyn Error>>>;

/// Returns what starts a program and sees it end.
fn start(sandbox: Sandbox, spec: &Spec) -> Result<Act, Box<dyn Error>> {
    let plan = sandbox.plan(spec)?;
    Ok(Box::new(move || match sandbox.run_plan(&plan, Streams::default())?.ending {
        Ending::Exited(0) => Ok(()),
        other => Err(format!("the program that is measured ends with {other:?}").into()),
    }))
}

/// The same in a container, where `RINGFENCE_BENCH_ENGINE` says `ADDRESS IMAGE`, as `script/container-engine` does.
fn container(runtime: &tokio::runtime::Runtime) -> Result<Option<Act>, Box<dyn Error>> {
    let Ok(named) = std::env::var("RINGFENCE_BENCH_ENGINE") else { return Ok(None) };
    let (address, image) =
        named.split_once(' ').ok_or("RINGFENCE_BENCH_ENGINE must be `ADDRESS IMAGE@DIGEST`")?;
    let engine = Engine::connect(runtime.handle().clone(), address)?;
    start(Sandbox::foreign(engine), &Spec::new("true").in_image(image)).map(Some)
}

fn once(sample: &mut Sample, act: &Act) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    act()?;
    sample.add(begun.elapsed());
    Ok(())
}

/// Loads the component into an engine that has never seen it and calls it once, without a cache and from one.
fn loads(runtime: &tokio::runtime::Runtime) -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("ringfence-bench-{}", std::process::id()));
    let bytes = guest("slug")?;
    let first = |host: Host| -> Result<std::time::Duration, Box<dyn Error>> {
        let begun = Instant::now();
        let called = Called::new(&component(&host, bytes.clone())?)?;
        let report = runtime.block_on(called.registry.call(&called.run, called.call));
        let took = begun.elapsed();
        match report.outcome {
            Outcome::Done(_) => Ok(took),
            other => Err(format!("the first call fails: {other:?}").into()),
        }
    };
    let (mut cold, mut cached) = (Sample::default(), Sample::default());
    let filled = first(Host::builder().cache(folder.clone()).build()?);
    let measured = filled.and_then(|_| {
        for _ in 0..LOADS {
            cold.add(first(Host::builder().build()?)?);
            cached.add(first(Host::builder().cache(folder.clone()).build()?)?);
        }
        Ok(())
    });
    std::fs::remove_dir_all(&folder)?;
    measured?;
    let (cold, cached) = (cold.at(50) / 1e3, cached.at(50) / 1e3);
    println!(
        "read, compile, ask and first call of {} KiB: {cold:.1} ms compiled, {cached:.1} ms from the cache on disk, × {:.2}",
        bytes.len() / 1024,
        cached / cold
    );
    Ratio::lower("first call of a component, from the cache on disk", cached / cold, "compiled").say()?;
    Ok(())
}
