//! Building a crate inside the sandbox, so that the compiler tells what every crate of it does.
//!
//! Building runs code of the packages: build scripts and procedural macros. They run without a network, and can write nothing but
//! this project's folder of our cache. What they could do there is falsify what is said of their own project, which is why each
//! of them must be waived.

mod artifact;
mod canary;
mod compiler;
mod configuration;
mod error;
mod fence;
mod fetch;
mod folder;
mod package;
mod runner;
mod toolchain;
mod wrapper;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ringfence_sandbox::Sandbox;
use sha2::{Digest, Sha256};

pub use artifact::Crate;
pub use configuration::{Configuration, settings};
pub use error::BuildError;
pub use fetch::FetchPlan;
pub use toolchain::{Search, Toolchain};
pub use wrapper::{VARIABLE, stand_in};

use crate::file::{Links, read_text};
use crate::project::Project;
use compiler::Compiler;
use fence::{Fence, tail};

/// How long a lock file may be.
const MAX_LOCK: u64 = 64 << 20;

/// Which features of the project are built.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Features {
    /// Those that are named.
    pub named: Vec<String>,
    /// All of them.
    pub all: bool,
    /// Not even the default ones.
    pub no_default: bool,
}

impl Features {
    fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        if self.all {
            arguments.push("--all-features".into());
        }
        if self.no_default {
            arguments.push("--no-default-features".into());
        }
        if !self.named.is_empty() {
            arguments.extend(["--features".into(), self.named.join(",").into()]);
        }
        arguments
    }
}

/// What builds a project.
#[derive(Debug)]
pub struct Builder<'a> {
    /// What confines it.
    pub sandbox: &'a Sandbox,
    /// What compiles.
    pub toolchain: &'a Toolchain,
    /// The manifest of the package or the workspace, as an absolute path.
    pub manifest: &'a Path,
    /// Which features.
    pub features: &'a Features,
    /// Whether the project's own configuration of cargo counts.
    pub configuration: Configuration,
    /// Cargo's folder with the packages.
    pub cargo_home: &'a Path,
    /// A private folder of this user for what can be lost.
    pub cache: &'a Path,
    /// The program that stands in for the compiler: this one.
    pub stand_in: &'a Path,
}

/// What is known of a project before anything of it is built.
#[derive(Clone, Debug)]
pub struct Described {
    /// What `cargo metadata` says.
    pub metadata: String,
    /// The lock file.
    pub lock: String,
    /// What `rustc --print cfg` says.
    pub cfg: String,
    /// The platform that is built for.
    pub host: String,
}

impl Builder<'_> {
    /// Asks cargo what the project consists of. Runs nothing of it.
    ///
    /// # Errors
    ///
    /// There is no lock file, packages are missing, or the project cannot be understood.
    pub fn describe(&self) -> Result<Described, BuildError> {
        self.fenced(|fence, readable, lock| {
            let root = readable.first().map_or(Path::new("/"), PathBuf::as_path);
            let compiler = Compiler::ask(fence, root)?;
            let host = compiler.host;
            let mut arguments =
                self.cargo_arguments("metadata", &["--format-version", "1", "--filter-platform", &host]);
            arguments.extend(self.features.arguments());
            let ran = fence.cargo(&arguments, &self.directory(fence, root))?;
            let metadata = missing(ran)?.happy("`cargo metadata`")?.stdout;
            Ok(Described { metadata, lock: lock.to_owned(), cfg: compiler.cfg, host })
        })
    }

    /// Builds the project, and returns the crates that make up its libraries and programs.
    ///
    /// # Errors
    ///
    /// It does not build.
    pub fn build(&self, described: &Described, project: &Project) -> Result<Vec<Crate>, BuildError> {
        self.begin_anew_if(&runner::digest(project))?;
        self.fenced(|fence, readable, _| {
            canary::ask(fence)?;
            let root = readable.first().map_or(Path::new("/"), PathBuf::as_path);
            let host = described.host.as_str();
            let mut arguments = self.cargo_arguments(
                "check",
                &["--release", "--message-format", "json", "--target", host, "--lib", "--bins"],
            );
            arguments.extend(self.features.arguments());
            let ran = missing(fence.cargo(&arguments, &self.directory(fence, root))?)?;
            if !ran.success {
                let rendered = rendered(&ran.stdout);
                let output = if rendered.is_empty() { tail(&ran.stderr) } else { rendered };
                return Err(BuildError::Failed { what: "`cargo check`", output });
            }
            artifact::crates(&ran.stdout, &fence.writable.join("target").join(host))
        })
    }

    /// Throws away what was built when something else ran while it was.
    fn begin_anew_if(&self, runners: &str) -> Result<(), BuildError> {
        let notes = self.folder();
        let kept = notes.join("runners");
        if std::fs::read_to_string(&kept).is_ok_and(|known| known == runners) {
            return Ok(());
        }
        let _gone = std::fs::remove_dir_all(notes.join("work"));
        std::fs::create_dir_all(&notes)
            .and_then(|()| std::fs::write(&kept, runners))
            .map_err(|error| BuildError::File { path: kept, error })
    }

    /// Returns where cargo starts, which decides whose configuration counts.
    fn directory(&self, fence: &Fence<'_>, root: &Path) -> PathBuf {
        match self.configuration {
            Configuration::Ignored => fence.writable.join("home"),
            Configuration::Obeyed => root.to_path_buf(),
        }
    }

    fn cargo_arguments(&self, command: &str, more: &[&str]) -> Vec<OsString> {
        let mut arguments: Vec<OsString> =
            [command, "--locked", "--offline", "--manifest-path"].map(Into::into).into();
        arguments.push(self.manifest.into());
        arguments.extend(more.iter().map(Into::into));
        arguments
    }

    /// Makes this project's folder of the cache and a fence around it.
    fn fenced<T>(
        &self,
        run: impl FnOnce(&Fence<'_>, &[PathBuf], &str) -> Result<T, BuildError>,
    ) -> Result<T, BuildError> {
        // What we remember ourselves lies outside of what a build can write to.
        let notes = self.folder();
        let writable = notes.join("work");
        let home = writable.join("home");
        let is_folder = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|known| known.is_dir());
        if !is_folder(&writable) || !is_folder(&home) {
            // Whatever a build made of it, it begins anew.
            let _gone = std::fs::remove_dir_all(&writable).or_else(|_| std::fs::remove_file(&writable));
            std::fs::create_dir_all(&home).map_err(|error| BuildError::File { path: home, error })?;
        }
        let mut readable = folder::readable(self.manifest);
        let lock = readable.first().map(|root| root.join("Cargo.lock")).unwrap_or_default();
        let lock =
            read_text(&lock, MAX_LOCK, Links::Followed).map_err(|_| BuildError::Lock { path: lock })?;
        readable.extend(package::files(&lock, self.cargo_home));
        let fence = Fence {
            sandbox: self.sandbox,
            toolchain: self.toolchain,
            cargo_home: self.cargo_home,
            readable: &readable,
            writable: &writable,
            notes: &notes,
            stand_in: self.stand_in,
        };
        run(&fence, &readable, &lock)
    }

    /// Returns this project's folder: another for another project, compiler or version of this program.
    pub fn folder(&self) -> PathBuf {
        let mut hash = Sha256::new();
        let obeyed = Path::new(if self.configuration == Configuration::Obeyed { "obeyed" } else { "" });
        let parts = [self.manifest, &self.toolchain.root, self.stand_in, obeyed];
        for part in parts {
            hash.update(part.as_os_str().as_bytes());
            hash.update([0]);
        }
        // Another version of either writes something else.
        for program in [self.toolchain.rustc(), self.stand_in.to_path_buf()] {
            let changed = std::fs::metadata(&program).and_then(|known| known.modified()).ok();
            let since =
                changed.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
            hash.update(since.as_nanos().to_le_bytes());
        }
        let name: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.cache.join("lint").join(name)
    }
}

/// Tells apart packages that are missing from everything else that goes wrong.
fn missing(ran: fence::Ran) -> Result<fence::Ran, BuildError> {
    let says = |text: &str| ran.stderr.contains(text);
    if !ran.success
        && (says("--offline") || says("offline mode") || says("attempting to make an HTTP request"))
    {
        return Err(BuildError::NotFetched { output: tail(&ran.stderr) });
    }
    Ok(ran)
}

/// Returns what the compiler said of errors, from cargo's messages.
fn rendered(messages: &str) -> String {
    let values = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let errors = values.filter(|value| value.pointer("/message/level").is_some_and(|level| level == "error"));
    let texts = errors.filter_map(|value| Some(value.pointer("/message/rendered")?.as_str()?.to_owned()));
    tail(&texts.take(5).collect::<Vec<_>>().join("\n"))
}
