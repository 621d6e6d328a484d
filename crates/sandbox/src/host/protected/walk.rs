//! A walk through a tree: depth first, by handles, with nothing kept but the names of folders that are still to be entered.

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ringfence_policy::Floor;
use rustix::io::Errno;

use super::folder::{Folder, identity, kind_of, names};
use super::hard_link::{Linked, LinkedFolder};
use super::{MAX_ENTRIES, SYSTEM, Sensitive, Treatment, led_to, made, seen, too_many, treatment};
use crate::error::SandboxError;
use crate::git;
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
    /// Where files with several names go, if they are looked for.
    linked: Option<&'a mut Vec<LinkedFolder>>,
    /// Where it is.
    path: PathBuf,
    entries: usize,
}

type Found<'f> = &'f mut dyn FnMut(Sensitive) -> Result<(), SandboxError>;

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
    pub(super) fn new(
        root: &'a Path,
        writable: bool,
        named: &'a [PathBuf],
        reach: &'a [PathBuf],
        linked: Option<&'a mut Vec<LinkedFolder>>,
    ) -> Self {
        Self { root, writable, named, reach, linked, path: root.to_path_buf(), entries: 0 }
    }

    /// Walks through it all and hands on what it finds.
    pub(super) fn run(mut self, found: Found<'_>) -> Result<(), SandboxError> {
        if is_system(self.root) && !self.writable {
            return Ok(());
        }
        let root = match Folder::at(self.root) {
            Ok(root) => root,
            // A single file has nothing below it.
            Err(Errno::NOTDIR | Errno::NOENT) => return Ok(()),
            Err(error) => return self.close_root(error, found),
        };
        let Some(level) = self.look_into(root, found)? else {
            return self.close_root(Errno::ACCESS, found);
        };
        let mut levels = vec![level];
        while let Some(level) = levels.last_mut() {
            let Some(name) = level.pending.pop() else {
                self.go_back(&mut levels)?;
                continue;
            };
            let Some(folder) = &level.folder else { return Err(self.changed()) };
            self.path.push(OsStr::from_bytes(name.as_bytes()));
            match self.enter(folder, &name, found)? {
                Entered::Level(below) => {
                    levels.push(*below);
                    let far = levels.len().checked_sub(MAX_OPEN + 1).and_then(|above| levels.get_mut(above));
                    if let Some(far) = far {
                        far.folder = None;
                    }
                }
                Entered::Closed => {
                    self.add(folder, &name, Treatment::Hide, found)?;
                    self.path.pop();
                }
                Entered::Gone => _ = self.path.pop(),
            }
        }
        Ok(())
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
    fn enter(&mut self, around: &Folder, name: &CStr, found: Found<'_>) -> Result<Entered, SandboxError> {
        if self.path.as_os_str().len() > MAX_PATH {
            return Ok(Entered::Closed);
        }
        match around.enter(name) {
            Ok(folder) => {
                let looked = self.look_into(folder, found)?;
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
    fn look_into(&mut self, mut folder: Folder, found: Found<'_>) -> Result<Option<Level>, SandboxError> {
        if folder.is_closed() {
            return Ok(None);
        }
        let Ok(listed) = folder.list() else { return Ok(None) };
        self.entries += listed.len();
        let git =
            git::Folder::of(&self.path, listed.iter().map(|(name, _)| OsStr::from_bytes(name.to_bytes())));
        if git == git::Folder::Repository && self.writable {
            let (path, identity) = (self.path.clone(), folder.identity());
            found(Sensitive {
                path,
                kind: Kind::Directory,
                identity,
                made: None,
                treatment: Treatment::Watch,
            })?;
        }
        let mut pending = Vec::new();
        let mut linked = Vec::new();
        for (name, kind) in listed {
            self.path.push(OsStr::from_bytes(name.as_bytes()));
            // A rebase that starts nothing may go on, and is judged again afterwards.
            let in_git = git.protects(OsStr::from_bytes(name.to_bytes())) && !git::is_plain_state(&self.path);
            let looked = match treatment(&self.path, kind, in_git, self.writable, self.named) {
                Some(treatment) => {
                    self.add(&folder, &name, treatment, found)?;
                    // What is protected afterwards is known by then.
                    if kind == Kind::Directory && self.linked.is_some() {
                        self.add_inside(&folder, &name, treatment, MAX_OPEN, found)?;
                    }
                    Ok(())
                }
                // Whatever such a link leads to is in the place of a folder that the floor knows.
                None if kind == Kind::Link && Floor::unfinished_names(&self.path).is_some() => {
                    self.look_at(&folder, &name, Treatment::ReadOnly)?.map_or(Ok(()), &mut *found)
                }
                None => {
                    if kind == Kind::Directory && !(self.root == Path::new("/") && is_system(&self.path)) {
                        pending.push(name);
                    } else if self.linked.is_some() && !matches!(kind, Kind::Directory | Kind::Link) {
                        match folder.look(&name) {
                            Ok(file) if names(&file) > 1 => {
                                linked.push(Linked::new(name, kind, identity(&file), names(&file)));
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
        if let Some(all) = self.linked.as_mut().filter(|_| !linked.is_empty()) {
            let (path, identity) = (self.path.clone(), folder.identity());
            all.push(LinkedFolder { path, identity, files: linked });
        }
        if self.entries > MAX_ENTRIES {
            return Err(too_many(self.root, "files", MAX_ENTRIES));
        }
        Ok(Some(Level { identity: folder.identity(), folder: Some(folder), pending }))
    }

    /// Hands on what is at the path, and what it leads to.
    fn add(
        &self,
        folder: &Folder,
        name: &CStr,
        treatment: Treatment,
        found: Found<'_>,
    ) -> Result<(), SandboxError> {
        let Some(one) = self.look_at(folder, name, treatment)? else { return Ok(()) };
        if one.kind == Kind::Link {
            for target in led_to(&one.path, treatment, &self.trees()) {
                found(target)?;
            }
        }
        found(one)
    }

    /// Looks at what is at the path. One that is gone again needs no protection.
    fn look_at(
        &self,
        folder: &Folder,
        name: &CStr,
        treatment: Treatment,
    ) -> Result<Option<Sensitive>, SandboxError> {
        let file = match folder.look(name) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(self.failed(error)),
        };
        let (path, kind) = (self.path.clone(), kind_of(&file));
        let own = identity(&file);
        let made = match path.symlink_metadata() {
            Ok(found) if (Identity { device: found.dev(), inode: found.ino() }) == own => made(&found, kind),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Ok(_) | Err(_) => return Err(self.changed()),
        };
        Ok(Some(Sensitive { path, kind, identity: own, made, treatment }))
    }

    /// Hands on what links in the protected folder at the path lead to, beyond that folder: a hook may be a link to a script.
    fn add_inside(
        &mut self,
        around: &Folder,
        name: &CStr,
        treatment: Treatment,
        depth: usize,
        found: Found<'_>,
    ) -> Result<(), SandboxError> {
        let mut folder = match around.enter(name) {
            Ok(folder) if depth > 0 => folder,
            Ok(_) => return Err(too_many(self.root, "levels of protected folders", MAX_OPEN)),
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(self.changed()),
            Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => return Err(self.failed(error)),
            // Who may use what is in it can neither.
            Err(_) => return Ok(()),
        };
        let Ok(listed) = folder.list() else { return Ok(()) };
        self.entries += listed.len();
        let own = self.path.clone();
        for (name, kind) in listed {
            self.path.push(OsStr::from_bytes(name.as_bytes()));
            // A key in a folder of settings is hidden like any other.
            let own_treatment = super::treatment(&self.path, kind, false, self.writable, self.named);
            match kind {
                _ if treatment != Treatment::Hide && own_treatment == Some(Treatment::Hide) => {
                    self.add(&folder, &name, Treatment::Hide, found)?;
                }
                Kind::Directory => self.add_inside(&folder, &name, treatment, depth - 1, found)?,
                Kind::Link => {
                    let all = led_to(&self.path, treatment, &self.trees());
                    for one in all.into_iter().filter(|one| !one.path.starts_with(&own)) {
                        found(one)?;
                    }
                }
                Kind::File | Kind::Other | Kind::Pipe => {}
            }
            self.path.pop();
        }
        Ok(())
    }

    /// The trees in which what a link leads to counts.
    fn trees(&self) -> impl Iterator<Item = &'a Path> + Clone {
        self.reach.iter().map(PathBuf::as_path).chain([self.root])
    }

    /// The tree itself cannot be looked into.
    fn close_root(self, error: Errno, found: Found<'_>) -> Result<(), SandboxError> {
        if !matches!(error, Errno::ACCESS | Errno::PERM) {
            return Err(self.failed(error));
        }
        seen(self.root, Kind::Directory, Treatment::Hide).map_or(Ok(()), found)
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

fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}
