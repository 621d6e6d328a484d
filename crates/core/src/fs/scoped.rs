//! The handle a tool gets, and how an asked path becomes the path that is judged.

use std::cmp::Ordering;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::io::Errno;

use ringfence_policy::{Direction, FsGrant, normalise};

use super::error::FsError;
use super::host::{HostFiles, roots};
use super::open::Opener;
use super::resolve::Anchor;
use super::storage::FileStorage;
use crate::touch::Touches;

/// How much a read returns at most, unless told otherwise.
const READ_LIMIT: u64 = 16 << 20;

/// Files within a grant.
///
/// Relative paths are taken from the working directory given at construction; without one they are refused. With a
/// jail they are taken from the jail, and absolute paths and `..` are refused. `~` and `${…}` are ordinary names here.
pub struct ScopedFs {
    pub(super) anchors: Mutex<Vec<Arc<Anchor>>>,
    pub(super) grant: FsGrant,
    pub(super) opener: Opener,
    pub(super) read_limit: u64,
    /// Where the files are kept, where that is not this machine.
    pub(super) storage: Option<Arc<dyn FileStorage>>,
    /// The roots as they resolve, longest first.
    pub(super) roots: Vec<PathBuf>,
    /// The roots whose name goes through a link, and where they are; longest name first.
    renamed: Vec<(PathBuf, PathBuf)>,
    cwd: Option<PathBuf>,
    jail: Option<Jail>,
    /// Where it is told what was touched and refused, within a call.
    touches: Option<Touches>,
}

struct Jail {
    written: PathBuf,
    real: PathBuf,
}

impl ScopedFs {
    /// Makes the handle of one call. Roots that `backend` has not pinned yet are pinned now.
    pub fn new(backend: &HostFiles, grant: FsGrant, cwd: Option<PathBuf>) -> Self {
        let mut places: Vec<(PathBuf, PathBuf)> =
            roots(&grant).map(|root| (root.to_path_buf(), backend.pinned(root))).collect();
        places.sort_unstable_by(|(a, _), (b, _)| longest_first(a, b));
        places.dedup();
        let mut roots: Vec<PathBuf> = places.iter().map(|(_, place)| place.clone()).collect();
        roots.sort_unstable_by(|a, b| longest_first(a, b));
        roots.dedup();
        let renamed: Vec<(PathBuf, PathBuf)> =
            places.into_iter().filter(|(root, place)| root != place).collect();
        let place =
            |root: &Path| renamed.iter().find(|(written, _)| written == root).map(|(_, place)| place.clone());
        let jail = grant.jail().map(|root| Jail {
            written: root.to_path_buf(),
            real: place(root).unwrap_or_else(|| root.to_path_buf()),
        });
        let grant = if renamed.is_empty() { grant } else { grant.with_images(place) };
        Self {
            anchors: Mutex::default(),
            grant,
            opener: backend.opener(),
            read_limit: READ_LIMIT,
            storage: backend.storage().cloned(),
            roots,
            renamed,
            cwd,
            jail,
            touches: None,
        }
    }

    /// Tells a call what is touched and refused.
    pub(crate) fn telling(mut self, touches: Touches) -> Self {
        self.touches = Some(touches);
        self
    }

    /// Tells that a path was touched, or refused; one that the operating system refused was touched.
    pub(super) fn touched<T>(&self, path: &Path, direction: Direction, done: &Result<T, FsError>) {
        if let Some(touches) = &self.touches {
            let refused = match done {
                Err(FsError::Refused(refusal)) => Some(refusal.code),
                _ => None,
            };
            touches.file(direction, path, refused);
        }
    }

    /// Sets how many bytes a read returns at most; a larger file is an error.
    #[must_use]
    pub fn read_limit(mut self, bytes: u64) -> Self {
        self.read_limit = bytes;
        self
    }

    /// Returns the asked path as absolute, normalised text. Nothing is touched and nothing is admitted yet.
    pub(super) fn asked(&self, path: &Path, direction: Direction) -> Result<PathBuf, FsError> {
        if let Some(touches) = &self.touches {
            touches.admit(direction.as_str(), &path.to_string_lossy())?;
        }
        let asked = self.absolute(path, direction);
        if asked.is_err() {
            self.touched(path, direction, &asked);
        }
        asked
    }

    fn absolute(&self, path: &Path, direction: Direction) -> Result<PathBuf, FsError> {
        let refused = |hint: &'static str| Err(FsError::Refused(direction.refusal(path).hint(hint)));
        let bytes = path.as_os_str().as_encoded_bytes();
        if bytes.is_empty() || bytes.contains(&0) {
            return refused("a path has at least one character and no NUL");
        }
        let absolute = match (&self.jail, &self.cwd) {
            (Some(jail), _) => {
                let plain = |component| matches!(component, Component::CurDir | Component::Normal(_));
                if !path.components().all(plain) {
                    return refused("the tool is jailed: only relative paths without `..` are taken");
                }
                jail.written.join(path)
            }
            (None, _) if path.is_absolute() => path.to_path_buf(),
            (None, Some(cwd)) => cwd.join(path),
            (None, None) => return refused("there is no working directory to take a relative path from"),
        };
        normalise(&absolute).or_else(|_| refused("the working directory is not an absolute path"))
    }

    /// The same for a path that must name a file: a slash at its end asks for a directory.
    pub(super) fn asked_file(
        &self,
        path: &Path,
        direction: Direction,
        verb: &'static str,
    ) -> Result<PathBuf, FsError> {
        let asked = self.asked(path, direction)?;
        let text = path.as_os_str().as_encoded_bytes();
        if text.ends_with(b"/") || text.ends_with(b"/.") {
            // Judged first, so that the answer tells nothing of what is outside.
            let judged = self.grant.judge(&self.placed(asked.clone()), direction);
            let judged = judged.map_err(|_| FsError::Refused(direction.refusal(&asked)));
            self.touched(&asked, direction, &judged);
            judged?;
            return Err(FsError::io(verb, &asked, Errno::NOTDIR));
        }
        Ok(asked)
    }

    /// Returns where the path is once the pinned roots in it are taken to their places.
    pub(super) fn placed(&self, mut path: PathBuf) -> PathBuf {
        // A place may lie below the name of another root; each name is used once, so this ends.
        for _ in 0..=self.renamed.len() {
            let Some((rest, place)) =
                self.renamed.iter().find_map(|(root, place)| Some((path.strip_prefix(root).ok()?, place)))
            else {
                break;
            };
            path = if rest.as_os_str().is_empty() { place.clone() } else { place.join(rest) };
        }
        path
    }

    /// Judges a path on the way from `asked`; the refusal names what was asked, not where it led.
    pub(super) fn admit(&self, path: &Path, direction: Direction, asked: &Path) -> Result<(), FsError> {
        let refused = |hint: &'static str| FsError::Refused(direction.refusal(asked).hint(hint));
        if self.jail.as_ref().is_some_and(|jail| !path.starts_with(&jail.real)) {
            return Err(refused("the tool is jailed, and a symbolic link on the way leads out of the jail"));
        }
        match self.grant.judge(path, direction) {
            Ok(()) => Ok(()),
            Err(refusal) if path == asked => Err(refusal.into()),
            Err(_) => Err(refused("a symbolic link on the way leads to what is not granted")),
        }
    }
}

fn longest_first(a: &Path, b: &Path) -> Ordering {
    b.as_os_str().len().cmp(&a.as_os_str().len()).then_with(|| a.cmp(b))
}

impl fmt::Debug for ScopedFs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedFs").field("grant", &self.grant).finish_non_exhaustive()
    }
}
