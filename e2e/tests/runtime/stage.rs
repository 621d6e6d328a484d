//! A folder, a personality and one tool that tries what it is told to, in one runtime.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use ringfence::policy::{ComponentFile, Declaration, Personality, Runtime, ToolFiles, Toolbox, Variables};
use ringfence::sandbox::{Choice, Sandbox, Selector};
use ringfence::{
    Backends, Call, Environment, HostFiles, MemoryAudit, MemoryStore, Outcome, Registry, Run,
    SandboxLauncher, Tool, declared_tool,
};
use ringfence_container::Engine;
use ringfence_store::VariableSecrets;
use ringfence_wasm::{Host, Package};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::runtime::kind::{Kind, engine, guest};

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Came {
    /// The probe did it.
    Did(Value),
    /// The probe was told no, and said so.
    ToldNo(String),
    /// The call was refused or ended, with its code.
    Ended { code: String, message: String },
}

impl Came {
    pub(crate) fn did(&self) -> bool {
        matches!(self, Self::Did(_))
    }

    /// Everything it says.
    pub(crate) fn text(&self) -> String {
        format!("{self:?}")
    }
}

pub(crate) struct Stage {
    pub(crate) kind: Kind,
    pub(crate) folder: TempDir,
    pub(crate) registry: Arc<Registry>,
    pub(crate) audit: Arc<MemoryAudit>,
    runtime: tokio::runtime::Runtime,
    _alone: MutexGuard<'static, ()>,
}

/// What outside files hold. Whoever says it has read one.
pub(crate) const CANARY: &str = "canary-5f31c2";

/// How long a test waits for what is certain to happen. Only a broken build waits that long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until something is so.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "still waiting: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// One stage at a time: limits of time are real.
static ALONE: Mutex<()> = Mutex::new(());

impl Stage {
    /// Makes a stage where `in` may be read and `out` written, with these limits, such as `memory = "32M"`.
    pub(crate) fn new(kind: Kind, limits: &str) -> Self {
        Self::with(kind, limits, "")
    }

    /// The same with more for the personality.
    pub(crate) fn with(kind: Kind, limits: &str, more: &str) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let folder = folder();
        let toolbox = toolbox(kind, folder.path(), limits, more);
        let (personality, declaration) = read(&toolbox, folder.path());
        let audit = Arc::new(MemoryAudit::default());
        let _entered = runtime.enter();
        let (tool, backends) = made(kind, declaration);
        let registry = Registry::builder()
            .personality(personality)
            .backends(backends)
            .audit(Arc::clone(&audit) as _)
            .build();
        registry.register_shared(&tool).unwrap();
        drop(_entered);
        Self { kind, folder, registry: Arc::new(registry), audit, runtime, _alone: alone }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Tries an act on a path of the stage.
    pub(crate) fn on(&self, act: &str, path: impl AsRef<Path>) -> Came {
        self.act(json!({"act": act, "path": self.path("").join(path), "text": "changed", "to": self.path("out/to")}))
    }

    /// Tries an act.
    pub(crate) fn act(&self, act: Value) -> Came {
        self.act_in(&Run::new("run", "session"), act)
    }

    pub(crate) fn act_in(&self, run: &Run, act: Value) -> Came {
        let begun = Instant::now();
        let report = self.runtime.block_on(self.registry.call(run, self.call(act)));
        assert!(begun.elapsed() < PATIENCE, "{}: it took {:?}", self.kind.name(), begun.elapsed());
        came(&report.outcome)
    }

    /// Starts an act and hands back what waits for it.
    pub(crate) fn begin(&self, run: &Run, act: Value) -> tokio::task::JoinHandle<Came> {
        let (registry, call, run) = (Arc::clone(&self.registry), self.call(act), run.clone());
        self.runtime.spawn(async move { came(&registry.call(&run, call).await.outcome) })
    }

    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await.unwrap() })
    }

    /// What the last record says.
    pub(crate) fn record(&self) -> Value {
        serde_json::to_value(self.audit.records().last().unwrap()).unwrap()
    }

    fn call(&self, act: Value) -> Call {
        let arguments = if self.kind == Kind::Wasm { act } else { json!({"json": act.to_string()}) };
        Call::new("probe", arguments)
    }
}

fn came(outcome: &Outcome) -> Came {
    let value = serde_json::to_value(outcome).unwrap();
    if let Outcome::Done(_) = outcome {
        let said = &value["structured"];
        return match said.get("error") {
            Some(error) => Came::ToldNo(error.as_str().unwrap_or_default().to_owned()),
            None => Came::Did(said.get("ok").cloned().unwrap_or(value["value"].clone())),
        };
    }
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let code = if text("refusal").is_empty() { text("code") } else { text("refusal") };
    Came::Ended { code, message: text("error") }
}

fn folder() -> TempDir {
    // Not in `/tmp`, which is something else inside; everybody may look, so that no mode decides.
    let folder = tempfile::Builder::new().prefix("rf-runtime-").tempdir_in("/var/tmp").unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["in", "in/deep", "in/.ssh", "out", "out/.git", "out/.git/hooks", "outside"] {
        fs::create_dir(at(name)).unwrap();
    }
    fs::write(at("in/known.txt"), "known").unwrap();
    fs::write(at("in/deep/known.txt"), "deep").unwrap();
    fs::write(at("in/.ssh/id_ed25519"), CANARY).unwrap();
    fs::write(at("outside/secret.txt"), CANARY).unwrap();
    fs::write(at("out/old.txt"), "old").unwrap();
    fs::write(at("out/.git/hooks/pre-commit"), "hook").unwrap();
    for (link, to) in [
        ("in/link.txt", "../outside/secret.txt"),
        ("in/folder", "../outside"),
        ("out/link.txt", "../outside/secret.txt"),
    ] {
        std::os::unix::fs::symlink(to, at(link)).unwrap();
    }
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    folder
}

pub(crate) fn toolbox(kind: Kind, folder: &Path, limits: &str, more: &str) -> String {
    let folder = folder.display();
    let reach = "fs_reach = { read = \"from-personality\", write = \"from-personality\" }, network = { allowedHosts = [\"*\"] }";
    let tool = match kind {
        Kind::Wasm => format!("runtime = \"wasm\"\ncomponent = \"{}\"", guest("probe.wasm").display()),
        Kind::Container => {
            let (_, image) = engine();
            format!(
                "runtime = \"container\"\nimage = \"{image}\"\ncommand = [\"probe\", \"{{json}}\"]\n\
                 capabilities = {{ {reach}, process = {{ allowedBinaries = [\"{image}\"] }} }}"
            )
        }
        Kind::Bwrap | Kind::Firejail | Kind::Native => {
            let probe = probe();
            let probe = probe.display();
            format!(
                "command = [\"{probe}\", \"{{json}}\"]\n\
                 capabilities = {{ {reach}, process = {{ allowedBinaries = [\"{probe}\"] }} }}"
            )
        }
    };
    let schemas = match kind {
        Kind::Wasm => "",
        _ => "input = { type = \"object\", properties = { json = { type = \"string\" } } }\noutput = true",
    };
    let engine = match kind {
        Kind::Container => format!("[container]\nengine = \"{}\"", engine().0),
        _ => String::new(),
    };
    format!(
        "[personality]\nfs_reach = {{ read = [\"{folder}/in\"], write = [\"{folder}/out\"] }}\nlimits = {{ {limits} }}\n{more}\n\
         {engine}\n[[tool]]\nname = \"probe\"\n{tool}\n{schemas}\n"
    )
}

struct Files;

impl ToolFiles for Files {
    fn schema(&mut self, file: &str) -> Result<Value, String> {
        Err(format!("`{file}` is not here"))
    }

    fn component(&mut self, file: &str) -> Result<ComponentFile, String> {
        let package = Package::read(fs::read(file).unwrap()).map_err(|error| error.to_string())?;
        Ok(ComponentFile {
            declaration: package.declaration().to_owned(),
            digest: package.digest().to_owned(),
        })
    }
}

pub(crate) fn read(text: &str, folder: &Path) -> (Personality, Declaration) {
    let toolbox = Toolbox::from_toml(text).unwrap();
    let variables = Variables { workspace: Some(folder.to_path_buf()), ..Variables::default() };
    let (mut declarations, gaps) = toolbox.declarations(&variables, Files);
    assert!(gaps.is_empty(), "{gaps:?}");
    (toolbox.personality.unwrap(), declarations.pop().unwrap())
}

/// Makes the tool and what stands behind it.
fn made(kind: Kind, declaration: Declaration) -> (Arc<dyn Tool>, Backends) {
    let backends = Backends::none()
        .files(HostFiles::new())
        .network(ringfence::egress::Client::builder().build())
        .store(Arc::new(MemoryStore::default()))
        .secrets(Arc::new(VariableSecrets::new(Environment::default())))
        .environment(Environment::new([("LANG".to_owned(), "C.UTF-8".to_owned())]));
    match &declaration.runtime {
        Runtime::Wasm { .. } => {
            let package = Package::read(fs::read(guest("probe.wasm")).unwrap()).unwrap();
            (host().tool(&package, declaration).unwrap(), backends)
        }
        _ => {
            let launcher = Arc::new(SandboxLauncher::new(sandbox(kind)));
            let backends = match kind {
                Kind::Container => backends.containers(launcher),
                _ => backends.launcher(launcher),
            };
            (declared_tool(declaration).unwrap(), backends)
        }
    }
}

/// The one engine of components of this process.
fn host() -> Host {
    static HOST: Mutex<Option<Host>> = Mutex::new(None);
    let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("components");
    fs::create_dir_all(&cache).unwrap();
    fs::set_permissions(&cache, PermissionsExt::from_mode(0o700)).unwrap();
    HOST.lock().unwrap().get_or_insert_with(|| Host::builder().cache(cache).build().unwrap()).clone()
}

/// The command under test.
fn inner() -> PathBuf {
    static PLACED: OnceLock<PathBuf> = OnceLock::new();
    PLACED.get_or_init(|| placed(ringfence_e2e::ringfence())).clone()
}

/// The program that each call starts.
pub(crate) fn probe() -> PathBuf {
    static PLACED: OnceLock<PathBuf> = OnceLock::new();
    PLACED.get_or_init(|| placed(&guest("probe"))).clone()
}

/// Puts a program where firejail starts it too: not in `/tmp`.
fn placed(program: &Path) -> PathBuf {
    if !program.starts_with("/tmp") {
        return program.to_path_buf();
    }
    let folder = Path::new("/opt/rf-e2e-runtime");
    fs::create_dir_all(folder).unwrap();
    let (new, placed) = (folder.join("new"), folder.join(program.file_name().unwrap()));
    fs::copy(program, &new).unwrap();
    fs::rename(new, &placed).unwrap();
    placed
}

/// A sandbox of this kind, tried where it is one of this machine.
pub(crate) fn sandbox(kind: Kind) -> Sandbox {
    let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("probed");
    let select = |choice| Selector::new(inner(), cache).select(choice).unwrap();
    match kind {
        Kind::Bwrap => select(Choice::Bwrap),
        Kind::Firejail => select(Choice::Firejail),
        Kind::Native => select(Choice::Native),
        Kind::Container => {
            Sandbox::foreign(Engine::connect(tokio::runtime::Handle::current(), &engine().0).unwrap())
        }
        Kind::Wasm => panic!("components have no sandbox"),
    }
}
