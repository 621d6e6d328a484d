//! A backend, a user and a folder of their own: where the checks run the command.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::matrix::place;
use crate::matrix::process::{Ended, finished};
use crate::matrix::user::User;

/// Where programs are looked for, on the host as inside.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

pub(crate) struct Stage {
    pub(crate) backend: &'static str,
    pub(crate) user: User,
    ids: (u32, u32),
    folder: TempDir,
}

impl Stage {
    /// Makes the stage, or `None` when the tests cannot run as that user.
    pub(crate) fn new(backend: &'static str, user: User) -> Option<Self> {
        let ids = user.ids()?;
        let folder = tempfile::Builder::new().prefix("rf-e2e-").tempdir_in(place::base()).unwrap();
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        place::own(folder.path(), ids);
        Some(Self { backend, user, ids, folder })
    }

    /// `native-root`.
    pub(crate) fn title(&self) -> String {
        format!("{}-{}", self.backend, self.user.name())
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A folder that the user owns, made when it is missing.
    pub(crate) fn folder(&self, name: &str) -> Work<'_> {
        let folder = self.folder.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        self.own(&folder);
        Work { stage: self, folder }
    }

    pub(crate) fn own(&self, path: &Path) {
        place::own(path, self.ids);
    }

    /// A command of the host, as the user, with a clean environment.
    pub(crate) fn host(&self, program: &str) -> Command {
        let mut command = self.user.command(program);
        command.env_clear().env("PATH", PATH).env("HOME", self.folder.path().join("home"));
        command
    }
}

/// A folder that the confined command may write.
pub(crate) struct Work<'a> {
    pub(crate) stage: &'a Stage,
    pub(crate) folder: PathBuf,
}

impl Work<'_> {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// `ringfence run` with this folder granted; `{work}` is its path.
    pub(crate) fn ringfence(&self, flags: &[&str], command: &[&str]) -> Command {
        let expand = |word: &&str| word.replace("{work}", self.folder.to_str().unwrap());
        let mut ringfence = self.stage.host(place::ringfence().to_str().unwrap());
        ringfence.args(["run", "--backend", self.stage.backend, "--write"]).arg(&self.folder);
        ringfence.args(flags.iter().map(expand)).arg("--").args(command.iter().map(expand));
        ringfence.current_dir(&self.folder);
        ringfence
    }

    /// Runs it to the end, without input.
    pub(crate) fn run(&self, flags: &[&str], command: &[&str]) -> Ended {
        finished(self.ringfence(flags, command).stdin(Stdio::null()))
    }
}
