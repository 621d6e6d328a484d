//! A walk through a tree: depth first, by handles, with nothing kept but the names of folders that are still to be entered.

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::folder::{Folder, identity, kind_of, names};
use super::hard_link::{Linked, LinkedFolder};
use super::{
    MAX_ENTRIES, MAX_SENSITIVE, SYSTEM, Sensitive, Survey, Treatment, in_repository, led_to, treatment,
};
use crate::error::SandboxError;
use crate::host::{Identity, Kind};

/// A folder with a longer path counts as a whole. Everything that is mounted needs a path, the kernel takes 4,096 bytes, and a
/// name of 255 bytes and the place where a root is built come on top.
const MAX_PATH: usize = 3_800;
/// So many folders on the way down stay open; those above are opened again on the way back.
const MAX_OPEN: usize = 32;

/// A walk through one tree.
pub(super) struct Walk<'a> {
    pub(super) root: &'a Path,
    pub(super) writable: bool,
    pub(super) named: &'a [PathBuf],
    /// The trees in which what a link leads to is protected like the link.
    pub(super) reach: &'a [PathBuf],
    /// Where it is.
    path: PathBuf,
    entries: usize,
    survey: Survey,
}

/// A folder on the way down.
struct Level {
    folder: Option<Folder>,
    identity: Identity,
    pending: Vec<CString>,
}

/// What came of entering a folder.
enum Entered {
    Closed,
    Gone,
    Level(Box<Level>),
}

impl<'a> Walk<'a> {
    pub(super) fn new(root: &'a Path, writable: bool, named: &'a [PathBuf], reach: &'a [PathBuf]) -> Self {
        let (path, survey) = (root.to_path_buf(), Survey::default());
        Self { root, writable, named, reach, path, entries: 0, survey }
    }

    /// Walks through it all.
    pub(super) fn run(mut self) -> Result<Survey, SandboxError> {
        let root = match Folder::at(self.root) {
            Ok(root) => root,
            // A single file has nothing below it.
            Err(Errno::NOTDIR | Errno::NOENT) => return Ok(self.survey),
            Err(error) => return self.close_root(error),
        };
        let Some(level) = self.look_into(root)? else { return self.close_root(Errno::ACCESS) };
        let mut levels = vec![level];
        while let Some(level) = levels.last_mut() {
            let Some(name) = level.pending.pop() else {
                self.go_back(&mut levels)?;
                continue;
            };
            let Some(folder) = &level.folder else { return Err(self.changed()) };
            self.path.push(OsStr::from_bytes(name.as_bytes()));
            match self.enter(folder, &name)? {
                Entered::Level(below) => {
                    levels.push(*below);
                    let far = levels.len().checked_sub(MAX_OPEN + 1).and_then(|above| levels.get_mut(above));
                    if let Some(far) = far {
                        far.folder = None;
                    }
                }
                Entered::Closed => {
                    self.add(folder, &name, Treatment::Hide)?;
                    self.path.pop();
                }
                Entered::Gone => _ = self.path.pop(),
            }
        }
        let sensitive = &mut self.survey.sensitive;
        sensitive.sort_by(|one, other| one.path.cmp(&other.path));
        sensitive.dedup_by(|one, other| one.path == other.path);
        Ok(self.survey)
    }

    /// Returns to the folder above, which is opened again where it was closed on the way down.
    fn go_back(&mut self, levels: &mut Vec<Level>) -> Result<(), SandboxError> {
        let done = levels.pop();
        if levels.last().is_some() {
            self.path.pop();
        }
        if let (Some(done), Some(above)) = (done.and_then(|done| done.folder), levels.last_mut())
            && above.folder.is_none()
        {
            let around = done.around().map_err(|error| self.failed(error))?;
            if around.identity() != above.identity {
                return Err(self.changed());
            }
            above.folder = Some(around);
        }
        Ok(())
    }

    /// Opens the folder at the path and looks at what is in it.
    fn enter(&mut self, around: &Folder, name: &CStr) -> Result<Entered, SandboxError> {
        if self.path.as_os_str().len() > MAX_PATH {
            return Ok(Entered::Closed);
        }
        match around.enter(name) {
            Ok(folder) => {
                let looked = self.look_into(folder)?;
                Ok(looked.map_or(Entered::Closed, |level| Entered::Level(Box::new(level))))
            }
            Err(Errno::NOENT) => Ok(Entered::Gone),
            // It was a folder a moment ago.
            Err(Errno::NOTDIR | Errno::LOOP) => Err(self.changed()),
            Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => Err(self.failed(error)),
            Err(_) => Ok(Entered::Closed),
        }
    }

    /// Looks at everything in a folder. None where that cannot be done.
    fn look_into(&mut self, mut folder: Folder) -> Result<Option<Level>, SandboxError> {
        if folder.is_closed() {
            return Ok(None);
        }
        let Ok(listed) = folder.list() else { return Ok(None) };
        self.entries += listed.len();
        let repository = in_repository(&listed);
        let mut pending = Vec::new();
        let mut linked = Vec::new();
        for (name, kind) in listed {
            self.path.push(OsStr::from_bytes(name.as_bytes()));
            let in_git = repository.iter().any(|part| name.to_bytes() == part.as_bytes());
            let looked = match treatment(&self.path, kind, in_git, self.writable, self.named) {
                Some(treatment) => self.add(&folder, &name, treatment),
                None => {
                    if kind == Kind::Directory && !(self.root == Path::new("/") && is_system(&self.path)) {
                        pending.push(name);
                    } else if self.writable && !matches!(kind, Kind::Directory | Kind::Link) {
                        match folder.look(&name) {
                            Ok(found) if names(&found) > 1 => {
                                linked.push(Linked::new(name, kind, identity(&found), names(&found)));
                            }
                            Ok(_) | Err(Errno::NOENT) => {}
                            Err(_) => {
                                self.path.pop();
                                return Ok(None);
                            }
                        }
                    }
                    Ok(())
                }
            };
            self.path.pop();
            looked?;
        }
        if !linked.is_empty() {
            let (path, identity) = (self.path.clone(), folder.identity());
            self.survey.linked.push(LinkedFolder { path, identity, files: linked });
        }
        self.check_size()?;
        Ok(Some(Level { identity: folder.identity(), folder: Some(folder), pending }))
    }

    /// Adds what is at the path, and what it leads to.
    fn add(&mut self, folder: &Folder, name: &CStr, treatment: Treatment) -> Result<(), SandboxError> {
        let found = match folder.look(name) {
            Ok(found) => found,
            // One that is gone again needs no protection.
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(self.failed(error)),
        };
        let (path, kind) = (self.path.clone(), kind_of(&found));
        let made = (kind == Kind::Link).then_some((found.st_ctime, found.st_ctime_nsec as i64));
        if kind == Kind::Link {
            self.survey.sensitive.extend(led_to(&path, treatment, self.root, self.reach));
        }
        self.survey.sensitive.push(Sensitive { path, kind, identity: identity(&found), made, treatment });
        Ok(())
    }

    fn check_size(&self) -> Result<(), SandboxError> {
        let too_many = [
            (self.entries > MAX_ENTRIES, "files", MAX_ENTRIES),
            (self.survey.sensitive.len() > MAX_SENSITIVE, "protected files", MAX_SENSITIVE),
        ];
        let Some((_, what, most)) = too_many.iter().find(|(too_many, ..)| *too_many) else { return Ok(()) };
        Err(SandboxError::Inexpressible {
            what: format!(
                "the always-deny floor in `{}`: it holds more than {most} {what}; grant less of it",
                self.root.display()
            ),
        })
    }

    /// The tree itself cannot be looked into.
    fn close_root(self, error: Errno) -> Result<Survey, SandboxError> {
        if matches!(error, Errno::ACCESS | Errno::PERM) {
            let mut survey = self.survey;
            survey.sensitive.extend(super::seen(self.root, Treatment::Hide));
            return Ok(survey);
        }
        Err(self.failed(error))
    }

    fn failed(&self, error: Errno) -> SandboxError {
        SandboxError::Path { path: self.path.clone(), error: error.into() }
    }

    fn changed(&self) -> SandboxError {
        let error =
            std::io::Error::other("it changed while it was searched for protected files; run it again");
        SandboxError::Path { path: self.path.clone(), error }
    }
}

pub(super) fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}
