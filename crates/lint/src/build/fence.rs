//! Starting cargo and the compiler, inside the sandbox and without a network.
//!
//! INVARIANT: what is built can write below one folder of our cache and read the project, its packages and the toolchain; no
//! credentials, no home folder, no network.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ringfence_policy::{Limits, Size, Span};
use ringfence_sandbox::{Access, Ending, Sandbox, SearchPath, Spec, Streams};

use super::{BuildError, Toolchain};

const GIBI: u64 = 1 << 30;

/// Variables that are set here and perhaps nowhere else: code that asks for one can tell that it is looked at.
pub(super) const OWN_VARIABLES: [&str; 14] = [
    "CARGO_HOME",
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "CARGO_PROFILE_RELEASE_OPT_LEVEL",
    "CARGO_TARGET_DIR",
    "CARGO_TERM_COLOR",
    "HOME",
    "LANG",
    "PATH",
    "RUSTC",
    "RUSTC_BOOTSTRAP",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "TMPDIR",
];

/// What everything that is started here shares.
#[derive(Debug)]
pub(super) struct Fence<'a> {
    pub(super) sandbox: &'a Sandbox,
    pub(super) toolchain: &'a Toolchain,
    /// Cargo's folder with the packages.
    pub(super) cargo_home: &'a Path,
    /// What may be read beside it.
    pub(super) readable: &'a [PathBuf],
    /// The one folder that may be written.
    pub(super) writable: &'a Path,
    /// Our own folder around it, which nothing that is started here can see.
    pub(super) notes: &'a Path,
    /// The program that stands in for the compiler.
    pub(super) stand_in: &'a Path,
}

/// What a command wrote, and whether it was happy.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) success: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Ran {
    /// Goes on only with one that was happy.
    pub(super) fn happy(self, what: &'static str) -> Result<Self, BuildError> {
        if self.success {
            return Ok(self);
        }
        Err(BuildError::Failed { what, output: tail(&self.stderr) })
    }
}

/// The end of what something wrote.
pub(super) fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.get(lines.len().saturating_sub(30)..).unwrap_or_default().join("\n")
}

impl Fence<'_> {
    /// Runs the compiler itself.
    pub(super) fn rustc(&self, arguments: &[&str], directory: &Path) -> Result<Ran, BuildError> {
        let spec = self.spec(self.toolchain.rustc(), directory).arguments(arguments);
        self.run(&spec.variable("RUSTC_BOOTSTRAP", "1"))
    }

    /// Runs cargo.
    pub(super) fn cargo(&self, arguments: &[OsString], directory: &Path) -> Result<Ran, BuildError> {
        let wrapper = "RUSTC_WRAPPER";
        let spec = self
            .spec(self.toolchain.cargo(), directory)
            .arguments(arguments)
            .variable("CARGO_HOME", self.cargo_home)
            .variable("CARGO_TARGET_DIR", self.writable.join("target"))
            .variable("CARGO_INCREMENTAL", "0")
            // Libraries of other languages are built on the way, and nobody runs them.
            .variable("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
            .variable("CARGO_TERM_COLOR", "never")
            .variable("CARGO_NET_OFFLINE", "true")
            // What the project's own configuration of cargo may name instead of the compiler does not count.
            .variable("RUSTC", self.toolchain.rustc())
            .variable("RUSTC_WORKSPACE_WRAPPER", "")
            .variable(wrapper, self.stand_in)
            .variable(super::wrapper::VARIABLE, "1");
        self.run(&spec)
    }

    fn spec(&self, program: PathBuf, directory: &Path) -> Spec {
        let built = Access { read: true, write: true, execute: true };
        let mut spec = Spec::new(program)
            .directory(directory)
            .tree(self.toolchain.root.join("bin"), Access::EXECUTE)
            .tree(self.toolchain.root.join("lib"), Access::EXECUTE)
            .tree(self.stand_in, Access::EXECUTE)
            .tree(self.writable, built)
            .any_binary()
            .missing_paths_are_nothing()
            .limits(limits())
            .variable("HOME", self.writable.join("home"))
            .variable("LANG", "C.UTF-8")
            .variable("PATH", path(self.toolchain));
        for folder in self.readable {
            spec = spec.tree(folder, Access::READ);
        }
        spec
    }

    fn run(&self, spec: &Spec) -> Result<Ran, BuildError> {
        let report = self.sandbox.run(spec, Streams::default())?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let mut stderr = text(report.stderr.bytes);
        if report.ending == Ending::TimedOut {
            stderr.push_str("\nit took too long and was killed");
        }
        Ok(Ran { success: report.ending == Ending::Exited(0), stdout: text(report.stdout.bytes), stderr })
    }
}

/// The toolchain first, then the system's own folders: a linker and what build scripts ask for.
fn path(toolchain: &Toolchain) -> OsString {
    let own = std::iter::once(toolchain.root.join("bin"));
    let system = SearchPath::default();
    let system =
        ["cc", "ld", "sh"].iter().filter_map(|name| system.find(name)?.parent().map(Path::to_path_buf));
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in own.chain(system).chain(["/usr/bin".into(), "/bin".into()]) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    std::env::join_paths(folders).unwrap_or_default()
}

fn limits() -> Limits {
    Limits {
        wall: Some(Span::new(Duration::from_secs(40 * 60))),
        cpu: Some(Span::new(Duration::from_secs(4 * 3600))),
        memory: Some(Size::new(16 * GIBI)),
        processes: Some(1024),
        open_files: Some(8192),
        file_size: Some(Size::new(4 * GIBI)),
        output: Some(Size::new(256 << 20)),
        scratch: Some(Size::new(4 * GIBI)),
        ..Limits::default()
    }
}
