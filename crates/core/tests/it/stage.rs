//! A registry with everything in memory, and what was seen of its calls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, FutureExt, ready};
use ringfence::egress::Client;
use ringfence::policy::SafetyClass;
use ringfence::{
    Backends, Call, Environment, Event, HostFiles, Launch, Launcher, ManualClock, MemoryAudit, MemoryStore,
    Observer, Personality, ProcessOutput, Record, Registry, RegistryBuilder, Report, Run, Secret,
    SecretError, SecretSource, Tool, ToolError, tool,
};
use serde_json::{Value, json};

/// A registry, its audit, and the events that were told.
pub(crate) struct Stage {
    pub(crate) registry: Arc<Registry>,
    pub(crate) audit: Arc<MemoryAudit>,
    pub(crate) log: Arc<Log>,
    pub(crate) run: Run,
}

impl Stage {
    /// A registry without backends, under a personality that sets nothing.
    pub(crate) fn bare() -> Self {
        Self::of(Registry::builder())
    }

    /// A registry as described, with an audit and an observer added.
    pub(crate) fn of(builder: RegistryBuilder) -> Self {
        let (audit, log) = (Arc::new(MemoryAudit::default()), Arc::new(Log::default()));
        let registry = builder
            .audit(Arc::clone(&audit) as Arc<_>)
            .observer(Arc::clone(&log) as Arc<dyn Observer>)
            .build();
        Self { registry: Arc::new(registry), audit, log, run: Run::new("run-1", "session-1") }
    }

    pub(crate) fn with(self, tool: impl Tool + 'static) -> Self {
        self.registry.register(tool).unwrap();
        self
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Report {
        self.make(Call::new(tool, arguments)).await
    }

    /// Makes a call and holds it to the rule that every call leaves exactly one record and one event.
    pub(crate) async fn make(&self, call: Call) -> Report {
        let before = (self.audit.records().len(), self.log.outcomes());
        let report = self.registry.call(&self.run, call).await;
        let records = self.audit.records();
        assert_eq!((records.len(), self.log.outcomes()), (before.0 + 1, before.1 + 1), "one outcome each");
        assert_eq!(envelope(&report), serde_json::to_value(records[before.0].outcome()).unwrap());
        report
    }

    pub(crate) fn last(&self) -> Record {
        self.audit.records().pop().unwrap()
    }
}

pub(crate) fn envelope(report: &Report) -> Value {
    serde_json::to_value(&report.outcome).unwrap()
}

/// The code of a call that was not done; empty when it was.
pub(crate) fn code(report: &Report) -> &'static str {
    report.outcome.code().map_or("", |code| code.as_str())
}

pub(crate) fn personality(document: Value) -> Personality {
    serde_json::from_value(document).unwrap()
}

/// A tool that touches nothing and returns the text it was given.
pub(crate) fn echo() -> impl Tool {
    echo_of(SafetyClass::Read)
}

pub(crate) fn echo_of(class: SafetyClass) -> impl Tool {
    tool("echo")
        .description("Says it again")
        .class(class)
        .input_schema(json!({"type": "string", "maxLength": 1000}))
        .output_schema(json!({"type": "string"}))
        .run(|text, _context| ready(Ok(text)))
        .unwrap()
}

/// What observers were told, one line each.
#[derive(Default)]
pub(crate) struct Log(Mutex<Vec<String>>);

impl Log {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn outcomes(&self) -> usize {
        let ends = ["called", "failed", "refused"];
        self.lines().iter().filter(|line| ends.iter().any(|end| line.starts_with(end))).count()
    }
}

impl Observer for Log {
    fn event(&self, event: Event<'_>) {
        let coded =
            |word, record: &Record| format!("{word} {} {}", record.tool(), record.outcome().code().unwrap());
        self.0.lock().unwrap().push(match event {
            Event::Asked { tool, .. } => format!("asked {tool}"),
            Event::Called(record) => format!("called {}", record.tool()),
            Event::Connected { tool, evidence, .. } => format!("connected {tool} {}", evidence.host),
            Event::Failed(record) => coded("failed", record),
            Event::Late(late) => format!("late {} {} {}", late.tool, late.surface, late.what),
            Event::Observed { tool, refusal } => format!("observed {tool} {}", refusal.code),
            Event::Refused(record) => coded("refused", record),
        });
    }
}

/// Secrets from a list.
pub(crate) struct Vault(pub(crate) BTreeMap<&'static str, &'static str>);

impl SecretSource for Vault {
    fn describe(&self) -> String {
        "the vault".into()
    }

    fn secret<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, SecretError>> {
        assert_ne!(name, "FORBIDDEN", "a refused ref never reaches the source");
        let found = self.0.get(name).map(|value| Secret::new((*value).to_owned()));
        ready(if name == "BROKEN" { Err(SecretError::new("the vault is shut")) } else { Ok(found) }).boxed()
    }
}

/// Starts nothing and says what it would have started.
pub(crate) struct Pretender;

impl Launcher for Pretender {
    fn launch(&self, launch: Launch) -> BoxFuture<'_, Result<ProcessOutput, ToolError>> {
        let stdout = format!("{} {:?}", launch.binary, launch.arguments);
        ready(Ok(ProcessOutput { stdout, ..ProcessOutput::default() })).boxed()
    }
}

/// Every backend, with a store that expires by `clock`.
pub(crate) fn backends(clock: &Arc<ManualClock>) -> Backends {
    Backends::none()
        .network(Client::builder().without_platform_roots().build())
        .secrets(Arc::new(Vault(BTreeMap::from([("API_KEY", "hunter2"), ("prod/db", "s3cret")]))))
        .store(Arc::new(MemoryStore::new(Arc::clone(clock) as Arc<_>)))
        .files(HostFiles::new())
        .launcher(Arc::new(Pretender))
        .environment(Environment::new([("LANG", "C"), ("HOME", "/root")].map(|(n, v)| (n.into(), v.into()))))
}
