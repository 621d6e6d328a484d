//! One call through the whole pipeline, and what it is held against.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt, ready};
use jsonschema::{Draft, Validator};
use ringfence::egress::Client;
use ringfence::policy::resolve_capabilities;
use ringfence::{
    Backends, Batch, Call, Capabilities, Environment, HostFiles, MemoryAudit, MemoryStore, Outcome,
    Personality, Registry, Run, Secret, SecretError, SecretSource, tool,
};
use serde_json::{Value, json};

use crate::Subject;

/// How many records the audit may hold before the measurement empties it.
const KEPT: u32 = 64;
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
            "repository": {"type": "string", "pattern": "^[a-z0-9-]+/[a-z0-9-]+$", "maxLength": 100},
            "labels": {
                "type": "array",
                "items": {"type": "string", "pattern": "^[a-z-]+$", "maxLength": 50},
                "maxItems": 20,
                "uniqueItems": true,
            },
            "path": {"type": "string", "format": "path", "direction": "read", "maxLength": 4096},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        },
        "required": ["repository", "path"],
        "additionalProperties": false,
    })
}

fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": 200},
            "count": {"type": "integer", "minimum": 0},
            "state": {"enum": ["open", "closed"]},
            "labels": {
                "type": "array",
                "items": {"type": "string", "pattern": "^[a-z-]+$", "maxLength": 50},
                "maxItems": 20,
                "uniqueItems": true,
            },
        },
        "required": ["title", "count"],
        "additionalProperties": false,
    })
}

fn input() -> Value {
    json!({"repository": "rust-lang/cargo", "labels": ["bug", "resolver"], "path": "/usr/share/dict/words", "limit": 20})
}

fn output() -> Value {
    json!({"title": "resolver forgets a feature", "count": 3, "state": "open", "labels": ["bug", "resolver", "cargo"]})
}

fn validator(schema: &Value) -> Result<Validator, Box<dyn Error>> {
    let patterns = jsonschema::PatternOptions::regex();
    Ok(jsonschema::options()
        .offline()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(patterns)
        .build(schema)?)
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
            .run({
                let output = output();
                move |arguments, _context| ready(Ok(no_op(&arguments, &output)))
            })?,
    )?;
    Ok(registry)
}

/// The tool itself: it looks at nothing and returns what it always returns.
fn no_op(arguments: &Value, output: &Value) -> Value {
    black_box(arguments);
    output.clone()
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

/// A registry with one tool, and everything it is measured against.
pub struct Pipeline {
    runtime: tokio::runtime::Runtime,
    schemas: (Validator, Validator),
    values: (Value, Value),
    audit: Arc<MemoryAudit>,
    registry: Arc<Registry>,
    run: Run,
    call: Call,
    capabilities: Capabilities,
    personality: Personality,
}

impl Pipeline {
    /// Sets everything up and makes sure that the call that is measured succeeds.
    ///
    /// # Errors
    ///
    /// It does not.
    pub fn new() -> Result<Self, Box<dyn Error>> {
        let audit = Arc::new(MemoryAudit::default());
        let pipeline = Self {
            runtime: tokio::runtime::Builder::new_current_thread().enable_time().build()?,
            schemas: (validator(&input_schema())?, validator(&output_schema())?),
            values: (input(), output()),
            registry: Arc::new(registry(Arc::clone(&audit))?),
            audit,
            run: Run::new("run-1", "session-1"),
            // A caller brings the name and the arguments along; making them is not the pipeline's work.
            call: Call::new("find_issue", input()),
            capabilities: serde_json::from_str(CAPABILITIES)?,
            personality: serde_json::from_str(PERSONALITY)?,
        };
        let report = pipeline.runtime.block_on(pipeline.registry.call(&pipeline.run, pipeline.call.clone()));
        match report.outcome {
            Outcome::Done(_) => Ok(pipeline),
            other => Err(format!("the call that is measured fails: {other:?}").into()),
        }
    }

    /// Returns what is measured, in the order of the table.
    pub fn subjects(&self) -> [Subject<'_>; 5] {
        let emptied = || Emptied { audit: Arc::clone(&self.audit), calls: 0 };
        let (mut alone, mut together) = (emptied(), emptied());
        [
            Subject {
                name: "a  two bare schema validations",
                operations: 1,
                turn: Box::new(|| {
                    let both = self.schemas.0.validate(black_box(&self.values.0)).is_ok()
                        && self.schemas.1.validate(black_box(&self.values.1)).is_ok();
                    black_box(both);
                }),
            },
            Subject {
                name: "b  the no-op called directly",
                operations: 1,
                turn: Box::new(|| drop(black_box(no_op(black_box(&self.values.0), &self.values.1)))),
            },
            Subject {
                name: "c  one call through the pipeline",
                operations: KEPT,
                // As on a server: many calls on one runtime, not one runtime entered for each.
                turn: Box::new(move || {
                    self.runtime.block_on(async {
                        for _ in 0..KEPT {
                            drop(black_box(self.registry.call(&self.run, self.call.clone()).await));
                        }
                    });
                    alone.after(KEPT);
                }),
            },
            Subject {
                name: "d  resolve_capabilities alone",
                operations: 1,
                turn: Box::new(|| {
                    drop(black_box(resolve_capabilities(&self.capabilities, &self.personality)));
                }),
            },
            Subject {
                name: "e  execute_parallel of 8, per call",
                operations: PARALLEL,
                turn: Box::new(move || {
                    let calls = (0..PARALLEL).map(|_| self.call.clone()).collect();
                    let reports = self.registry.execute_parallel(&self.run, calls, Batch::default());
                    drop(black_box(self.runtime.block_on(reports)));
                    together.after(PARALLEL);
                }),
            },
        ]
    }
}
