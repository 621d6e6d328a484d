//! The engine, folders to grant, and commands to run there.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use ringfence_container::Engine;
use ringfence_sandbox::{Access, Report, Sandbox, SandboxError, Spec, Streams};
use tokio::runtime::Runtime;

/// Where the engine is, and its image.
pub(crate) struct Place {
    pub(crate) address: String,
    pub(crate) image: String,
    runtime: Runtime,
}

/// Returns the engine that all tests share.
pub(crate) fn place() -> &'static Place {
    static PLACE: OnceLock<Place> = OnceLock::new();
    PLACE.get_or_init(|| {
        let line = std::env::var("RINGFENCE_TEST_ENGINE").unwrap_or_else(|_| script());
        let (address, image) = line.trim().split_once(' ').expect("`ADDRESS IMAGE@DIGEST`");
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Place { address: address.to_owned(), image: image.to_owned(), runtime }
    })
}

fn script() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../script/container-engine");
    let output = Command::new(script).output().unwrap();
    assert!(output.status.success(), "script/container-engine: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().last().unwrap_or_default().to_owned()
}

impl Place {
    pub(crate) fn engine(&self) -> Engine {
        Engine::connect(self.runtime.handle().clone(), &self.address).unwrap()
    }

    pub(crate) fn sandbox(&self) -> Sandbox {
        Sandbox::foreign(self.engine())
    }

    pub(crate) fn sweep(&self) -> usize {
        self.runtime.block_on(self.engine().sweep()).unwrap()
    }

    /// A shell's script, in the image and with nothing granted.
    pub(crate) fn shell(&self, script: &str) -> Spec {
        Spec::new("/bin/sh").in_image(&self.image).arguments(["-c", script])
    }

    /// Asks the engine something by hand.
    pub(crate) fn ask(&self, path: &str) -> serde_json::Value {
        let mut stream = UnixStream::connect(self.address.strip_prefix("unix://").unwrap()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        write!(stream, "GET /v1.41{path} HTTP/1.0\r\nHost: engine\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1.trim()).unwrap()
    }

    /// Returns the containers that the process of this number made and that are still there.
    pub(crate) fn left_of(&self, process: u32) -> Vec<serde_json::Value> {
        let all = self.ask("/containers/json?all=true");
        let owner = format!("/{process}/");
        all.as_array()
            .unwrap()
            .iter()
            .filter(|one| {
                one["Labels"]["ringfence.owner"].as_str().is_some_and(|label| label.contains(&owner))
            })
            .cloned()
            .collect()
    }
}

pub(crate) fn run(spec: &Spec) -> Report {
    try_run(spec).unwrap()
}

pub(crate) fn try_run(spec: &Spec) -> Result<Report, SandboxError> {
    place().sandbox().run(spec, Streams::default())
}

pub(crate) fn out(report: &Report) -> String {
    String::from_utf8_lossy(&report.stdout.bytes).into_owned()
}

pub(crate) fn all(report: &Report) -> String {
    format!("{}{}", out(report), String::from_utf8_lossy(&report.stderr.bytes))
}

/// Folders of a test: one to read, one to write, and one that is not granted.
pub(crate) struct Folders {
    _kept: tempfile::TempDir,
    pub(crate) read: PathBuf,
    pub(crate) write: PathBuf,
    pub(crate) outside: PathBuf,
}

impl Folders {
    pub(crate) fn new() -> Self {
        let kept = tempfile::Builder::new().prefix("ringfence-container-").tempdir_in("/var/tmp").unwrap();
        let root = kept.path().canonicalize().unwrap();
        let folder = |name: &str| {
            let path = root.join(name);
            std::fs::create_dir(&path).unwrap();
            path
        };
        let (read, write, outside) = (folder("read"), folder("write"), folder("outside"));
        std::fs::write(read.join("in"), "granted\n").unwrap();
        std::fs::write(outside.join("secret"), "hunter2\n").unwrap();
        Self { _kept: kept, read, write, outside }
    }

    /// A shell's script that knows the folders as `$R`, `$W` and `$O`.
    pub(crate) fn shell(&self, script: &str) -> Spec {
        place()
            .shell(script)
            .tree(&self.read, Access::READ)
            .tree(&self.write, Access::WRITE)
            .variable("R", &self.read)
            .variable("W", &self.write)
            .variable("O", &self.outside)
    }
}
