//! Choosing a backend by trying it, once per boot and policy.

#[cfg(target_os = "linux")]
#[path = "select/linux.rs"]
mod os;
#[cfg(not(target_os = "linux"))]
#[path = "select/portable.rs"]
mod os;

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ringfence_policy::{Direction, Floor};
use sha2::{Digest, Sha256};

use crate::backend::Backend;
use crate::error::SandboxError;
use crate::probe::probe;
use crate::sandbox::Sandbox;

/// Returns the folder of ours in one where a user keeps such folders. It is on the floor wherever that is: another process of ours, with
/// other variables, lets no command write there either. What counts is where the folder is, however it is spelled.
pub fn own_folder_in(folder: &Path) -> PathBuf {
    let nothing_named = std::iter::empty();
    let usual = resolved(folder).join("ringfence");
    let is_covered = Floor::denies_unless_named(&usual, Direction::Write, &nothing_named).is_some();
    folder.join(if is_covered { "ringfence" } else { ".ringfence" })
}

/// Returns where a path leads, as far as it is there.
fn resolved(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, real)) = there else { return path.to_path_buf() };
    let rest = path.strip_prefix(above).map(|rest| real.join(rest)).unwrap_or(real);
    ringfence_policy::normalise(&rest).unwrap_or(rest)
}

/// Returns where a user keeps what can be lost: in the cache folder (`XDG_CACHE_HOME`, or `.cache` in `HOME`), or in the scratch space
/// where there is no home.
pub fn private_folder(cache: Option<OsString>, home: Option<OsString>, scratch: &Path) -> PathBuf {
    let absolute =
        |value: Option<OsString>| value.map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute());
    let cache = absolute(cache).or_else(|| Some(absolute(home)?.join(".cache")));
    let user = rustix::process::geteuid().as_raw();
    cache
        .filter(|cache| cache.parent().is_some_and(Path::is_dir))
        .map_or_else(|| scratch.join(format!(".ringfence-{user}")), |cache| own_folder_in(&cache))
}

/// Which backend is wanted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Choice {
    /// The strongest that works: on Linux native, then bwrap, then firejail; on macOS Seatbelt. [`Sandbox::fallback`] says why it is
    /// a weaker one.
    Auto,
    /// The system's bubblewrap.
    Bwrap,
    /// The system's firejail.
    Firejail,
    /// Our own launcher.
    Native,
    /// The system's `sandbox-exec`, on macOS.
    Seatbelt,
}

/// Chooses backends, and remembers what was tried.
#[derive(Clone, Debug)]
pub struct Selector {
    inner: PathBuf,
    cache: PathBuf,
    policy: String,
    home: Option<PathBuf>,
    marks: Vec<PathBuf>,
    own: Vec<PathBuf>,
}

impl Selector {
    /// Chooses with this program as the inner stage of bwrap and firejail, and this private folder for what was tried. A machine without a
    /// shell is tried with this program too.
    ///
    /// The folder is made if it is missing. One that somebody else could write to is not believed.
    pub fn new(inner: impl Into<PathBuf>, cache: impl Into<PathBuf>) -> Self {
        Self {
            inner: inner.into(),
            cache: cache.into(),
            policy: String::new(),
            home: None,
            marks: Vec::new(),
            own: Vec::new(),
        }
    }

    /// Tries again when this text, such as the digest of a policy, was not seen before.
    #[must_use]
    pub fn policy(mut self, policy: impl Into<String>) -> Self {
        self.policy = policy.into();
        self
    }

    /// As [`Sandbox::home`], of every sandbox that is chosen.
    #[must_use]
    pub fn home(mut self, home: Option<PathBuf>) -> Self {
        self.home = home;
        self
    }

    /// As [`Sandbox::mark_runs_in`], of every sandbox that is chosen.
    #[must_use]
    pub fn mark_runs_in(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.marks = folders.into_iter().collect();
        self
    }

    /// As [`Sandbox::own_folders`], of every sandbox that is chosen.
    #[must_use]
    pub fn own_folders(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.own = folders.into_iter().collect();
        self
    }

    /// Returns a sandbox whose backend was seen to refuse what is forbidden.
    ///
    /// # Errors
    ///
    /// No backend of the choice works here: what was tried, and what came of it.
    pub fn select(&self, choice: Choice) -> Result<Sandbox, SandboxError> {
        os::select(self, choice)
    }

    /// Tries a backend anew, whatever is remembered.
    ///
    /// # Errors
    ///
    /// As [`select`](Self::select).
    pub fn try_again(&self, choice: Choice) -> Result<Sandbox, SandboxError> {
        self.forget();
        self.select(choice)
    }

    fn tried(&self, backend: impl Backend + 'static) -> Result<Sandbox, SandboxError> {
        let name = backend.name();
        let sandbox = Sandbox::new(backend);
        let absent = |why: String| SandboxError::Absent { backend: name, why };
        let private =
            self.private_folder().map_err(|error| absent(format!("`{}`: {error}", self.cache.display())))?;
        let mark = os::boot_id().map(|boot| private.join(format!("probed-{}", self.key(name, &boot))));
        if !mark.as_deref().is_some_and(is_ours) {
            probe(&sandbox, private, &self.inner).map_err(absent)?;
            // Not being able to remember costs time, nothing else.
            let _kept = mark.as_deref().map(remember);
        }
        let sandbox = sandbox.seen_to_refuse().mark_runs_in(self.marks.iter().cloned());
        let sandbox = sandbox.own_folders(self.own.iter().cloned());
        Ok(match &self.home {
            Some(home) => sandbox.home(home),
            None => sandbox,
        })
    }

    /// What a result depends on: this program, this boot, this user, the policy and the backend.
    fn key(&self, backend: &str, boot: &str) -> String {
        let program =
            std::fs::metadata(&self.inner).map_or((0, 0), |found| (found.ino(), found.mtime_nsec()));
        let mut hash = Sha256::new();
        for part in [boot, backend, &self.policy, env!("CARGO_PKG_VERSION"), &format!("{program:?}")] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    fn private_folder(&self) -> std::io::Result<&Path> {
        if std::fs::symlink_metadata(&self.cache).is_err() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.cache)?;
        }
        let found = std::fs::symlink_metadata(&self.cache)?;
        let own = found.uid() == rustix::process::geteuid().as_raw();
        if found.is_dir() && own && found.mode() & 0o022 == 0 {
            Ok(&self.cache)
        } else {
            Err(std::io::Error::other("it is not a folder that only this user can write to"))
        }
    }

    /// The program that calls [`crate::inner::stage`].
    #[cfg(target_os = "linux")]
    pub(crate) fn inner(&self) -> &Path {
        &self.inner
    }

    fn forget(&self) {
        let Ok(listed) = self.private_folder().and_then(std::fs::read_dir) else { return };
        for entry in
            listed.flatten().filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"probed-"))
        {
            let _removed = std::fs::remove_file(entry.path());
        }
    }
}

/// Tries a backend.
type Attempt<'a> = &'a dyn Fn() -> Result<Sandbox, SandboxError>;

/// Returns the first sandbox that works, with why those before it do not. Those from `strong` on are weaker, and the sandbox says so.
fn first_working(attempts: &[Attempt<'_>], strong: usize) -> Result<Sandbox, SandboxError> {
    let mut failed = Vec::new();
    for (index, attempt) in attempts.iter().enumerate() {
        match attempt() {
            Ok(sandbox) if index >= strong => return Ok(sandbox.chosen_because(failed.join("; "))),
            Ok(sandbox) => return Ok(sandbox),
            Err(error) => failed.push(error.to_string()),
        }
    }
    Err(SandboxError::Absent { backend: "auto", why: failed.join("; ") })
}

fn is_ours(mark: &Path) -> bool {
    std::fs::symlink_metadata(mark)
        .is_ok_and(|found| found.is_file() && found.uid() == rustix::process::geteuid().as_raw())
}

fn remember(mark: &Path) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(mark)?;
    file.write_all(b"a forbidden act was tried and failed\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::DenyAll;

    #[test]
    fn every_folder_of_ours_is_on_the_floor() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| Some(folder.path().join(name).into_os_string());
        std::fs::create_dir(folder.path().join(".cache")).unwrap();
        let found = [
            private_folder(None, place(""), folder.path()),
            private_folder(place(".cache"), None, folder.path()),
            private_folder(place("elsewhere"), None, folder.path()),
            private_folder(None, None, folder.path()),
        ];
        let names: Vec<_> = found.iter().map(|path| path.strip_prefix(folder.path()).unwrap()).collect();
        let temporary = format!(".ringfence-{}", rustix::process::geteuid().as_raw());
        let wanted = [".cache/ringfence", ".cache/ringfence", "elsewhere/.ringfence", &temporary];
        assert_eq!(names, wanted.map(Path::new));
        for direction in [Direction::Read, Direction::Write] {
            for path in &found {
                let inside = path.join("x");
                assert!(
                    Floor::denies_unless_named(&inside, direction, &std::iter::empty()).is_some(),
                    "{path:?}"
                );
            }
        }
    }

    #[test]
    fn a_folder_of_ours_has_one_name_however_the_one_around_it_is_spelled() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir_all(home.join(".local/state")).unwrap();
        std::fs::create_dir_all(folder.path().join("data/state")).unwrap();
        std::os::unix::fs::symlink(home.join(".local/state"), folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink("../data", home.join("moved")).unwrap();
        for (spelled, name) in [
            ("home/.local/state", "ringfence"),
            ("home//.local/./state/", "ringfence"),
            ("home/.local/../.local/state", "ringfence"),
            ("link", "ringfence"),
            ("link/../state", "ringfence"),
            ("home/.local/state/not/there", ".ringfence"),
            ("data/state", ".ringfence"),
            ("home/moved/state", ".ringfence"),
            ("new/.local/state", "ringfence"),
        ] {
            let own = own_folder_in(&folder.path().join(spelled));
            assert_eq!(own.file_name().unwrap(), name, "{spelled}");
            let real = resolved(own.parent().unwrap()).join(name).join("x");
            let nothing = std::iter::empty();
            assert!(Floor::denies_unless_named(&real, Direction::Write, &nothing).is_some(), "{spelled}");
        }
    }

    #[test]
    fn a_weaker_backend_is_the_last_choice_and_says_why() {
        let works = || Ok(Sandbox::new(DenyAll));
        let fails =
            |why: &'static str| move || Err(SandboxError::Absent { backend: "some", why: why.to_owned() });
        let (one, two) = (fails("no namespaces"), fails("not installed"));
        let strong = first_working(&[&works, &two, &works], 2).unwrap();
        assert_eq!(strong.fallback(), None);
        let second = first_working(&[&one, &works, &works], 2).unwrap();
        assert_eq!(second.fallback(), None);
        let weak = first_working(&[&one, &two, &works], 2).unwrap();
        let why = weak.fallback().unwrap();
        assert!(why.contains("no namespaces") && why.contains("not installed"), "{why}");
        let none = first_working(&[&one, &two], 2).unwrap_err().to_string();
        assert!(none.contains("no namespaces") && none.contains("not installed"), "{none}");
    }
}
