//! A registry with one component in it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use futures_util::future::{BoxFuture, FutureExt, ready};
use ringfence::egress::{Client, Dialer};
use ringfence::policy::{ComponentFile, Declaration};
use ringfence::{
    Backends, Call, Environment, GateMode, HostFiles, MemoryStore, Outcome, Personality, Registry, Run,
    Secret, SecretError, SecretSource, Tool,
};
use ringfence_wasm::{Host, HostBuilder, Package, WasmError};
use serde_json::{Value, json};

/// Returns the folder with the guests.
pub(crate) fn guests() -> PathBuf {
    match std::env::var_os("RINGFENCE_TEST_GUESTS") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/wasm"),
    }
}

/// Returns the bytes of a guest.
pub(crate) fn guest(name: &str) -> Vec<u8> {
    let path = guests().join(format!("{name}.wasm"));
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; run `script/wasm-guests` first", path.display()))
}

/// Returns the engine that all tests share.
pub(crate) fn host() -> &'static Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    HOST.get_or_init(|| builder().build().unwrap())
}

/// Returns the settings of an engine that keeps what it compiled, for a compiler without optimisation takes its time.
pub(crate) fn builder() -> HostBuilder {
    // `<target>/debug/deps/ringfence_wasm-…` → `<target>/tmp/wasm-cache`
    let own = std::env::current_exe().unwrap();
    Host::builder().cache(own.ancestors().nth(3).unwrap().join("tmp/wasm-cache"))
}

/// Returns what a component declares.
pub(crate) fn declaration(package: &Package) -> Declaration {
    ComponentFile { declaration: package.declaration().to_owned(), digest: package.digest().to_owned() }
        .declared(None)
        .unwrap()
}

/// Makes a tool of a guest, or says why not.
pub(crate) fn tool(name: &str) -> Result<Arc<dyn Tool>, WasmError> {
    tool_of(host(), name)
}

/// The same in another engine.
pub(crate) fn tool_of(host: &Host, name: &str) -> Result<Arc<dyn Tool>, WasmError> {
    let package = Package::read(guest(name))?;
    host.tool(&package, declaration(&package))
}

/// The probe, compiled once, with other limits where they are given.
pub(crate) fn probe(limits: Value) -> Arc<dyn Tool> {
    static PROBE: OnceLock<Package> = OnceLock::new();
    static PLAIN: OnceLock<Arc<dyn Tool>> = OnceLock::new();
    let package = PROBE.get_or_init(|| Package::read(guest("probe")).unwrap());
    if limits == json!({}) {
        return Arc::clone(PLAIN.get_or_init(|| host().tool(package, declaration(package)).unwrap()));
    }
    let mut declared = declaration(package);
    declared.limits = serde_json::from_value(limits).unwrap();
    host().tool(package, declared).unwrap()
}

/// A registry, and a run in it.
pub(crate) struct Bench {
    registry: Registry,
    pub(crate) run: Run,
    tool: String,
}

impl Bench {
    /// Registers the probe under a personality.
    pub(crate) fn new(personality: Value) -> Self {
        Self::limited(personality, json!({}))
    }

    /// The same with limits.
    pub(crate) fn limited(personality: Value, limits: Value) -> Self {
        Self::of(&probe(limits), personality)
    }

    /// Registers a tool under a personality.
    pub(crate) fn of(tool: &Arc<dyn Tool>, personality: Value) -> Self {
        let personality: Personality = serde_json::from_value(personality).unwrap();
        let backends = Backends::none()
            .files(HostFiles::new())
            .network(Client::builder().dialer(Dialer::default()).build())
            .secrets(Arc::new(Safe))
            .store(Arc::new(MemoryStore::default()))
            .environment(Environment::new([
                ("LANG".to_owned(), "C.UTF-8".to_owned()),
                ("PROBE_VARIABLE".to_owned(), "seen".to_owned()),
                ("PROBE_HIDDEN".to_owned(), "hidden".to_owned()),
            ]));
        // What the arguments name is not looked at, so that it is the guest that is refused.
        let registry =
            Registry::builder().personality(personality).backends(backends).gate(GateMode::Off).build();
        let name = tool.declaration().name.to_string();
        registry.register_shared(tool).unwrap();
        Self { registry, run: Run::new("run-1", "session-1"), tool: name }
    }

    /// Makes a call.
    pub(crate) async fn make(&self, call: Call) -> Outcome {
        self.registry.call(&self.run, call).await.outcome
    }

    /// Calls the tool and returns the whole answer.
    pub(crate) async fn call(&self, arguments: Value) -> Value {
        serde_json::to_value(self.make(Call::new(self.tool.as_str(), arguments)).await).unwrap()
    }

    /// Has the probe do something, and returns what came of it: `{"ok": …}` or `{"error": "…"}`.
    pub(crate) async fn act(&self, act: Value) -> Value {
        let mut answer = self.call(act.clone()).await;
        assert_eq!(answer["ok"], json!(true), "{act}: {answer}");
        let field = if answer["structured"].is_null() { "value" } else { "structured" };
        match answer[field].take() {
            Value::String(text) => serde_json::from_str(&text).unwrap(),
            value => value,
        }
    }
}

/// One secret.
struct Safe;

impl SecretSource for Safe {
    fn describe(&self) -> String {
        "the test".to_owned()
    }

    fn secret<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, SecretError>> {
        ready(Ok((name == "PROBE_SECRET").then(|| Secret::new("tell-nobody".to_owned())))).boxed()
    }
}

/// A personality that permits everything the probe declares, within a folder.
pub(crate) fn everything(folder: &Path) -> Value {
    json!({
        "network": { "allow": ["*"], "private": ["127.0.0.1"] },
        "fs_reach": { "read": [folder], "write": [folder] },
        "secrets": { "allow": ["PROBE_SECRET", "PROBE_ABSENT"] },
        "environment": { "allow": ["LANG", "PROBE_VARIABLE"] },
    })
}
