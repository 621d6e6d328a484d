//! The packages that a tool's program is made of, from what cargo says of them.
//!
//! Running cargo is not done here: the texts come in.
//!
//! INVARIANT: every package that code of the root packages can reach on this platform is in [`Project::packages`]; a package that
//! only tests, examples or another platform use is not.

mod cfg;
mod resolve;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Place;

pub use cfg::Cfg;
#[cfg(test)]
pub(crate) use cfg::LINUX;

/// The packages of a program.
#[derive(Clone, Debug)]
pub struct Project {
    /// The folder that places are written relative to.
    pub root: PathBuf,
    /// The tool's own packages first, then by name and version.
    pub packages: Vec<SourcePackage>,
    /// The platform.
    pub cfg: Cfg,
}

/// One package of a program.
#[derive(Clone, Debug)]
pub struct SourcePackage {
    /// What it is called.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The folder of its manifest.
    pub folder: PathBuf,
    /// What `Cargo.lock` says of its content.
    pub checksum: Option<String>,
    /// Whether it is the tool's own: a member of the workspace that is not part of ringfence.
    pub own: bool,
    /// When its code runs.
    pub role: Role,
    /// What is built of it.
    pub targets: Vec<Target>,
    /// The features that are on.
    pub features: BTreeSet<String>,
    /// Every feature it has, on or off.
    pub known_features: BTreeSet<String>,
    /// The native library that it says it binds to.
    pub links: Option<String>,
    /// What its libraries and programs use.
    pub dependencies: Vec<Dependency>,
    /// What its build script uses.
    pub build_dependencies: Vec<Dependency>,
    /// `package.metadata` of its manifest.
    pub metadata: Value,
}

/// When the code of a package runs.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Role {
    /// Only while something is built: in a build script or a procedural macro.
    Build,
    /// In the program itself.
    Run,
}

/// One thing that is built of a package.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Target {
    /// The name of the crate, as code writes it.
    pub name: String,
    /// What it is.
    pub kind: TargetKind,
    /// Its first source file.
    pub source: PathBuf,
    /// The year of its edition.
    pub edition: u16,
}

/// What a target is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum TargetKind {
    /// A program.
    Binary,
    /// A program that runs before the package is built.
    BuildScript,
    /// A library.
    Library,
    /// A library that runs inside the compiler.
    ProcMacro,
}

/// One package that another uses.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Dependency {
    /// What the user's code calls it.
    pub name: String,
    /// Which of [`Project::packages`] it is.
    pub package: usize,
}

/// Why the packages of a program could not be told.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// A line of the compiler's settings makes no sense.
    #[error("line {line} of the compiler's settings cannot be read: `{text}`")]
    Cfg {
        /// Which line.
        line: usize,
        /// What it says.
        text: String,
    },
    /// The lock file is not one.
    #[error("the lock file cannot be read: {0}")]
    Lock(String),
    /// The metadata is not what cargo writes.
    #[error("what cargo says of the project cannot be read: {0}")]
    Metadata(String),
    /// The graph names a package that is not listed.
    #[error("cargo's graph names the package `{0}`, which it does not list")]
    Missing(String),
    /// The metadata has no graph.
    #[error("what cargo says of the project has no resolved graph")]
    NoGraph,
    /// The workspace has no package.
    #[error("the workspace has no package to analyse")]
    NoRoot,
}

impl Project {
    /// Reads what `cargo metadata --format-version 1` wrote, and `Cargo.lock` for the checksums.
    ///
    /// # Errors
    ///
    /// Says what of either cannot be understood.
    pub fn from_metadata(metadata_json: &str, lock: Option<&str>, host: &Cfg) -> Result<Self, ProjectError> {
        resolve::project(metadata_json, lock, host)
    }

    /// Returns the tool's own packages.
    pub fn own(&self) -> impl Iterator<Item = &SourcePackage> {
        self.packages.iter().filter(|package| package.own)
    }

    /// Returns a file as places name it: below the root as it is written there, of another package as `name-version/src/lib.rs`.
    pub fn display(&self, package: &SourcePackage, file: &Path) -> String {
        let shown = match (file.strip_prefix(&self.root), file.strip_prefix(&package.folder)) {
            (Ok(below), _) if package.own || package.checksum.is_none() => below.to_path_buf(),
            (_, Ok(below)) => Path::new(&format!("{}-{}", package.name, package.version)).join(below),
            _ => file.to_path_buf(),
        };
        shown.to_string_lossy().into_owned()
    }

    /// Returns a place in a file of a package; line and column count from 1.
    pub fn place(&self, package: &SourcePackage, file: &Path, line: usize, column: usize) -> Place {
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Place { file: self.display(package, file), line: number(line), column: number(column) }
    }
}

impl SourcePackage {
    /// Returns `name@version`.
    pub fn id(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// Returns the first target of a kind.
    pub fn target(&self, kind: TargetKind) -> Option<&Target> {
        self.targets.iter().find(|target| target.kind == kind)
    }
}
