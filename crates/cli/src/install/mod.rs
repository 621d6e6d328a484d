//! Installing a server's package inside the fence, before the server itself runs without the registry.
//!
//! A package goes into a folder of its own, which is made beside its place and moved there when it is whole. The step may write
//! to that folder alone, reach the registry alone, and runs no script of any package. What was resolved is written down, and a
//! package without a version stays what it was until it is refreshed.
//!
//! INVARIANT: a folder with its record is a whole install; one without it is never used.

mod fence;
mod npm;
mod own;
mod progress;
mod pypi;
mod record;
mod registry;
mod spelling;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ringfence::Code;
use ringfence::policy::HostSet;
use ringfence::sandbox::{SandboxError, SearchPath};

use crate::book::{Lock, private_folder, unique_beside};
use crate::error::CommandError;
use crate::program::{find_program, is_script};

pub(crate) use fence::Step;
pub(crate) use own::{is_fit, own_install};
pub(crate) use record::Record;
pub(crate) use spelling::{Install, Kind};

/// How long an install may take, with all its steps and with the wait for another process that installs the same.
const PATIENCE: Duration = Duration::from_secs(300);

/// What to run, and what of it is the server's own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Installed {
    /// The program, as an absolute path.
    pub(crate) program: PathBuf,
    /// All its arguments.
    pub(crate) arguments: Vec<String>,
    /// The folder of the install: the server reads and runs what is there, and changes nothing.
    pub(crate) root: PathBuf,
    /// Folders outside of it that the program needs, such as its interpreter's; read-only too.
    pub(crate) beside: Vec<PathBuf>,
    /// What was resolved.
    pub(crate) record: Record,
}

/// Whether a package that is there is used, or looked for anew.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Refresh {
    /// Install it again.
    Anew,
    /// Use what is there.
    Keep,
}

/// Why there is no install.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstallError {
    /// The command that installs ended otherwise than it should.
    #[error("{step} of `{package}` failed with code {code}: {output}{refused}")]
    Failed { step: &'static str, package: String, code: i32, output: String, refused: String },
    /// A file or folder of the install is not what it should be.
    #[error("the install of `{package}`: {message}")]
    Content { package: String, message: String },
    /// Our own files.
    #[error(transparent)]
    File(#[from] CommandError),
    /// The time of the whole install is up.
    #[error("{step} of `{package}` was stopped: an install may take 5 minutes{refused}")]
    Late { step: &'static str, package: String, refused: String },
    /// A program is missing on this machine.
    #[error("`{program}` is needed to install `{package}`, and was not found")]
    Missing { program: &'static str, package: String },
    /// The registry cannot be used.
    #[error("the registry of `{package}`: {message}")]
    Registry { package: String, message: String },
    /// The sandbox refused.
    #[error("{step} of `{package}` was refused: {error}")]
    Refused { step: &'static str, package: String, error: SandboxError },
}

impl InstallError {
    /// Says what would help.
    pub(crate) const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Failed { .. } | Self::Late { .. } => {
                Some("hosts that a registry needs beside its own are named in the server's `registry`")
            }
            Self::Missing { .. } => Some("install nodejs and npm, or python3 and python3-venv"),
            Self::Registry { .. } => Some("name its hosts in the server's `registry`"),
            Self::Content { .. } | Self::File(_) | Self::Refused { .. } => None,
        }
    }

    /// Returns the code of what the fence refused, where it did.
    pub(crate) const fn code(&self) -> Option<Code> {
        match self {
            Self::Failed { refused, .. } | Self::Late { refused, .. } if !refused.is_empty() => {
                Some(Code::HostNotAllowed)
            }
            Self::Refused { error, .. } => Some(error.code()),
            Self::Content { .. }
            | Self::Failed { .. }
            | Self::File(_)
            | Self::Late { .. }
            | Self::Missing { .. }
            | Self::Registry { .. } => None,
        }
    }
}

/// Installs a package, or finds it installed. Blocks; for a thread that may wait.
///
/// `registry` is what the policy says of the hosts that may be reached, and `told` hears what takes time.
pub(crate) fn installed(
    install: &Install,
    registry: Option<&HostSet>,
    refresh: Refresh,
    told: &(dyn Fn(&str) + Sync),
) -> Result<Installed, InstallError> {
    progress::reported(&install.package, told, || found_or_made(install, registry, refresh, told))
}

fn found_or_made(
    install: &Install,
    registry: Option<&HostSet>,
    refresh: Refresh,
    told: &(dyn Fn(&str) + Sync),
) -> Result<Installed, InstallError> {
    let until = Instant::now() + PATIENCE;
    let folder = installs_folder()?;
    let source = registry::Source::of(install, registry)?;
    let root = folder.join(record::folder_name(install, &source));
    let _lock = Lock::within(&root.with_extension("lock"), PATIENCE)?;
    let kept = if refresh == Refresh::Keep { Record::read(&root, install)? } else { None };
    let record = match kept {
        Some(record) => record,
        None => {
            told(&format!("installing `{}` inside the fence", install.package));
            build(install, &source, &root, until)?
        }
    };
    match install.kind {
        Kind::Npm => npm::program(install, &root, record),
        Kind::PyPi => pypi::program(install, &root, record),
    }
}

/// Installs into a folder beside the place, and puts it there when it is whole.
fn build(
    install: &Install,
    source: &registry::Source,
    root: &Path,
    until: Instant,
) -> Result<Record, InstallError> {
    let made = Scaffold(unique_beside(root));
    private_folder(&made.0)?;
    let content = made.0.join("content");
    private_folder(&content)?;
    let record = match install.kind {
        Kind::Npm => npm::install(install, source, &content, until)?,
        Kind::PyPi => pypi::install(install, source, &content, until)?,
    };
    record.write(&content)?;
    let failed = |error| CommandError::File { verb: "move", path: root.to_path_buf(), error, hint: None };
    // Who still runs what was there keeps the files it has open; the others find the new ones.
    if root.exists() {
        std::fs::rename(root, made.0.join("before")).map_err(failed)?;
    }
    std::fs::rename(&content, root).map_err(failed)?;
    Ok(record)
}

/// A folder that is removed with everything in it when the work is done or has failed.
struct Scaffold(PathBuf);

impl Drop for Scaffold {
    fn drop(&mut self) {
        let _removed = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the folder of all installs, which nobody else may look into.
fn installs_folder() -> Result<PathBuf, InstallError> {
    let above = crate::sandbox::private_folder();
    // Whoever may write to the folder above could put another in its place.
    private_folder(&above)?;
    let folder = above.join("installs");
    private_folder(&folder)?;
    // Without links, so that what is granted is what is there.
    let failed = |error| CommandError::File { verb: "use", path: folder.clone(), error, hint: None };
    Ok(folder.canonicalize().map_err(failed)?)
}

/// Finds a program that is a program and not a script that looks for one, as the shims of version managers are.
///
/// The folders of the client's `PATH` come first, as for a shell.
fn find_binary(name: &str) -> Option<PathBuf> {
    let first = find_program(name).filter(|path| !is_script(path));
    first.or_else(|| find_other_binary(name))
}

fn find_other_binary(name: &str) -> Option<PathBuf> {
    let own = std::env::var_os("PATH");
    let listed = own.iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute());
    let mut found =
        SearchPath::default().find(name).into_iter().chain(listed.map(|folder| folder.join(name)));
    found.find(|path| path.is_file() && !is_script(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_fence_refused_has_a_code() {
        let failed = |refused: &str| InstallError::Failed {
            step: "the install",
            package: "x".to_owned(),
            code: 1,
            output: String::new(),
            refused: refused.to_owned(),
        };
        assert_eq!(failed("; refused hosts: a.test").code(), Some(Code::HostNotAllowed));
        assert_eq!(failed("").code(), None);
        let error = SandboxError::Path { path: "/x".into(), error: std::io::Error::other("no") };
        let refused = InstallError::Refused { step: "the install", package: "x".to_owned(), error };
        assert_eq!(refused.code(), Some(Code::PathNotReachable));
    }
}
