//! What one call through the whole pipeline costs, against the two schema checks it contains.
#![expect(clippy::print_stdout, reason = "a measurement prints its table")]

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, ready};
use jsonschema::{Draft, Validator};
use ringfence::egress::Client;
use ringfence::policy::resolve_capabilities;
use ringfence::{
    Backends, Batch, Call, Capabilities, Environment, HostFiles, MemoryAudit, MemoryStore, Personality,
    Registry, Run, Secret, SecretError, SecretSource, tool,
};
use ringfence_bench::{Figure, Subject, measure};
use serde_json::{Value, json};

const ROUNDS: usize = 41;
const SPAN: Duration = Duration::from_millis(10);
/// How many records the audit may hold before the measurement empties it.
const KEPT: u32 = 4_096;
const PARALLEL: u32 = 8;

const CAPABILITIES: &str = r#"{
    "network": {"allowedHosts": ["api.github.com", "uploads.github.com"]},
    "secrets": ["GITHUB_TOKEN"],
    "storage": {"scope": "tool-private", "kind": "kv", "ttlSecondsDefault": 3600},
    "fs_reach": {"read": ["/usr/share"], "write": []},
    "environment": ["LANG"]
}"#;
const PERSONALITY: &str = r#"{
    "id": "researcher",
    "network": {"allow": ["*.github.com", "api.weather.gov:443"]},
    "fs_reach": {"read": ["/usr/share"]},
    "secrets": ["GITHUB_TOKEN", "WEATHER_API_KEY"],
    "environment": ["LANG", "TZ"]
}"#;

fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "owner": {"type": "string", "minLength": 1, "maxLength": 100},
            "name": {"type": "string", "minLength": 1, "maxLength": 100},
            "path": {"type": "string", "format": "path", "direction": "read"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        },
        "required": ["owner", "name", "path"],
        "additionalProperties": false,
    })
}

fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": 200},
            "count": {"type": "integer", "minimum": 0},
            "open": {"type": "boolean"},
            "labels": {"type": "array", "items": {"type": "string"}, "maxItems": 20},
        },
        "required": ["title", "count"],
        "additionalProperties": false,
    })
}

fn input() -> Value {
    json!({"owner": "rust-lang", "name": "cargo", "path": "/usr/share/dict/words", "limit": 20})
}

fn output() -> Value {
    json!({"title": "resolver forgets a feature", "count": 3, "open": true, "labels": ["bug", "resolver"]})
}

fn validator(schema: &Value) -> Result<Validator, Box<dyn Error>> {
    Ok(jsonschema::options().offline().with_draft(Draft::Draft202012).build(schema)?)
}

struct NoSecrets;

impl SecretSource for NoSecrets {
    fn describe(&self) -> String {
        "nowhere".into()
    }

    fn secret<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, SecretError>> {
        ready(Ok(None)).boxed()
    }
}

fn registry(audit: Arc<MemoryAudit>) -> Result<Registry, Box<dyn Error>> {
    let registry = Registry::builder()
        .personality(serde_json::from_str(PERSONALITY)?)
        .backends(
            Backends::none()
                .network(Client::builder().build())
                .secrets(Arc::new(NoSecrets))
                .store(Arc::new(MemoryStore::default()))
                .files(HostFiles::new())
                .environment(Environment::new([("LANG".into(), "C".into())])),
        )
        .audit(audit)
        .build();
    registry.register(
        tool("find_issue")
            .description("Finds an issue and returns what it says")
            .capabilities(serde_json::from_str(CAPABILITIES)?)
            .input_schema(input_schema())
            .output_schema(output_schema())
            .run(|arguments, _context| ready(Ok(no_op(&arguments))))?,
    )?;
    Ok(registry)
}

/// The tool itself: it looks at nothing and returns what it always returns.
fn no_op(arguments: &Value) -> Value {
    black_box(arguments);
    output()
}

/// Empties the audit now and then, so that neither memory nor its growth is what is measured.
struct Emptied {
    audit: Arc<MemoryAudit>,
    calls: u32,
}

impl Emptied {
    fn after(&mut self, calls: u32) {
        self.calls += calls;
        if self.calls >= KEPT {
            self.calls = 0;
            drop(self.audit.take());
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let (schema_in, schema_out) = (validator(&input_schema())?, validator(&output_schema())?);
    let (value_in, value_out) = (input(), output());
    let audit = Arc::new(MemoryAudit::default());
    let registry = Arc::new(registry(Arc::clone(&audit))?);
    let run = Run::new("run-1", "session-1");
    let capabilities: Capabilities = serde_json::from_str(CAPABILITIES)?;
    let personality: Personality = serde_json::from_str(PERSONALITY)?;

    let report = runtime.block_on(registry.call(&run, Call::new("find_issue", input())));
    if !report.outcome.is_done() {
        return Err(format!("the call that is measured fails: {:?}", report.outcome).into());
    }

    // A caller brings the name and the arguments along; making them is not the pipeline's work.
    let call = Call::new("find_issue", input());
    let mut alone = Emptied { audit: Arc::clone(&audit), calls: 0 };
    let mut together = Emptied { audit, calls: 0 };
    let mut subjects = [
        Subject {
            name: "a  two bare schema validations",
            operations: 1,
            turn: Box::new(|| {
                let both = schema_in.validate(black_box(&value_in)).is_ok()
                    && schema_out.validate(black_box(&value_out)).is_ok();
                black_box(both);
            }),
        },
        Subject {
            name: "b  the no-op called directly",
            operations: 1,
            turn: Box::new(|| drop(black_box(no_op(black_box(&value_in))))),
        },
        Subject {
            name: "c  one call through the pipeline",
            operations: 1,
            turn: Box::new(|| {
                drop(black_box(runtime.block_on(registry.call(&run, call.clone()))));
                alone.after(1);
            }),
        },
        Subject {
            name: "d  resolve_capabilities alone",
            operations: 1,
            turn: Box::new(|| drop(black_box(resolve_capabilities(&capabilities, &personality)))),
        },
        Subject {
            name: "e  execute_parallel of 8, per call",
            operations: PARALLEL,
            turn: Box::new(|| {
                let calls = (0..PARALLEL).map(|_| call.clone()).collect();
                let reports = registry.execute_parallel(&run, calls, Batch::default());
                drop(black_box(runtime.block_on(reports)));
                together.after(PARALLEL);
            }),
        },
    ];
    let figures = measure(&mut subjects, ROUNDS, SPAN);
    show(&figures);
    Ok(())
}

fn show(figures: &[Figure]) {
    println!("{:<36} {:>10} {:>12} {:>10}", "per operation", "ns", "allocations", "bytes");
    for figure in figures {
        println!(
            "{:<36} {:>10.0} {:>12.1} {:>10.0}",
            figure.name, figure.nanoseconds, figure.allocations, figure.bytes
        );
    }
    if let [floor, no_op, call, grant, parallel] = figures {
        let ratio = |figure: &Figure| figure.nanoseconds / floor.nanoseconds;
        println!();
        println!("c / a  {:.2}  (aim: at most 6)", ratio(call));
        println!("d / a  {:.2}  (aim: at most 1)", ratio(grant));
        println!("e / a  {:.2}", ratio(parallel));
        println!("c − b  {:.0} ns, what ringfence adds to the no-op", call.nanoseconds - no_op.nanoseconds);
    }
}
