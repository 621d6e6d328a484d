//! Marks on disk of runs that are not done: what was there before each, so that a quarantine that never came is made up for.
//!
//! A mark is written before the command starts and removed when the quarantine has moved everything. Whoever runs the command holds
//! a lock on it, which ends with the process; so a mark without a lock is one of a run that was killed.
//!
//! The folder of marks is never in reach of a command, or it could write marks that move files of others: it is outside the writable
//! trees, or hidden in them with everything on the way pinned, and it is held open from before the start.
//!
//! INVARIANT: only a mark that is whole, ours and in a folder of ours is believed. One that is not stops every run that may write,
//! until somebody has looked: it cannot be known what it was about.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock, openat, renameat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::before::{Before, Known};
use super::tree::{MarkedMount, MarkedTree};
use crate::git::Target;
use crate::host::{Identity, find};

/// The most a mark takes: a tree with more protected files is not granted.
const MAX_MARK: u64 = 256 << 20;
const ENDING: &str = "mark";
/// Marks of another version cannot be read: they say less.
const VERSION: u32 = 2;

/// The folder of marks, held open: whatever comes to be at its path later, this one is used.
#[derive(Debug)]
pub(crate) struct Marks {
    path: PathBuf,
    folder: File,
}

/// The mark of a run that is going on.
#[derive(Debug)]
pub(crate) struct Mark {
    marks: Marks,
    name: String,
    lock: File,
}

/// The mark of a run that was killed.
#[derive(Debug)]
pub(crate) struct Unfinished {
    /// The trees that it could write, as they were.
    pub(crate) trees: Vec<MarkedTree>,
    pub(crate) before: Before,
    pub(crate) path: PathBuf,
    name: OsString,
    marks: Marks,
    /// Held, so that nobody else looks at the same time.
    lock: File,
}

/// A run that is marked, as others see it.
#[derive(Debug)]
pub(crate) struct Marked {
    pub(crate) before: Before,
    /// Whether whoever runs it lives, as far as can be seen.
    pub(crate) is_alive: bool,
    /// When it was marked: whatever its command made came later.
    pub(crate) since: (i64, i64),
}

impl Mark {
    /// Removes it: everything is done.
    ///
    /// # Errors
    ///
    /// It cannot be removed, and will be looked at again; or another folder is in the place of the one it was made in.
    pub(crate) fn remove(self) -> io::Result<()> {
        unlinkat(&self.marks.folder, &self.name, AtFlags::empty())?;
        self.marks.check_place()
    }

    /// Looks whether the folder it was made in is still where it was.
    ///
    /// # Errors
    ///
    /// It is not.
    pub(crate) fn check_place(&self) -> io::Result<()> {
        self.marks.check_place()
    }
}

impl Unfinished {
    /// Removes it: everything is done.
    ///
    /// # Errors
    ///
    /// It cannot be removed, and will be looked at again.
    pub(crate) fn remove(self) -> io::Result<()> {
        Ok(unlinkat(&self.marks.folder, &self.name, AtFlags::empty())?)
    }

    /// Keeps it for these trees only: the others are done, and are not looked at again. Returns where it is now.
    ///
    /// # Errors
    ///
    /// It cannot be written anew, and stays as it was.
    pub(crate) fn keep_for(self, trees: &[MarkedTree]) -> io::Result<PathBuf> {
        let kept = self.marks.write(trees, &self.before)?;
        // What the command made came after the first mark, and not after this one.
        kept.lock.set_modified(self.lock.metadata()?.modified()?)?;
        let path = self.marks.path.join(&kept.name);
        drop(kept);
        self.remove()?;
        Ok(path)
    }
}

impl Marks {
    /// Takes the folder, and makes it if it is missing.
    ///
    /// # Errors
    ///
    /// It cannot be made, or somebody else could write to it.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        if folder.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let refused = || io::Error::other("it is not a folder that only this user can use");
        let handle = match rustix::fs::open(folder, flags, Mode::empty()) {
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(refused()),
            handle => File::from(handle?),
        };
        let found = handle.metadata()?;
        let is_ours = found.uid() == rustix::process::geteuid().as_raw();
        if is_ours && found.mode() & 0o077 == 0 {
            Ok(Self { path: folder.to_path_buf(), folder: handle })
        } else {
            Err(refused())
        }
    }

    /// Takes the folder to read what is marked there. Nothing where no mark of ours can be: it is missing, a sandbox hides it from this
    /// process, or it is somebody else's. The superuser reads the marks of others too: with their variables it decides on their files.
    ///
    /// # Errors
    ///
    /// It cannot be read, or it is ours and others could use it.
    pub(crate) fn open_to_read(folder: &Path) -> io::Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = match rustix::fs::open(folder, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::ACCESS | Errno::LOOP | Errno::NOTDIR) if is_somebody_elses(folder) => return Ok(None),
            Err(Errno::ACCESS) if is_hidden_here(folder) => return Ok(None),
            handle => File::from(handle?),
        };
        let found = handle.metadata()?;
        let own = rustix::process::geteuid();
        let is_private = found.mode() & 0o077 == 0;
        if found.uid() != own.as_raw() && found.uid() != 0 {
            let is_read = own.is_root() && is_private;
            return Ok(is_read.then(|| Self { path: folder.to_path_buf(), folder: handle }));
        }
        if !is_private {
            return Err(io::Error::other("it is not a folder that only this user can use"));
        }
        Ok(Some(Self { path: folder.to_path_buf(), folder: handle }))
    }

    /// Marks that a run begins.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(crate) fn begin(&self, before: &Before) -> io::Result<Mark> {
        self.write(&MarkedTree::all(&before.trees), before)
    }

    fn write(&self, trees: &[MarkedTree], before: &Before) -> io::Result<Mark> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!(
            "{}-{}-{:016x}",
            rustix::process::getpid().as_raw_nonzero(),
            NEXT.fetch_add(1, Ordering::Relaxed),
            random()
        );
        // It gets its name when it is whole and locked.
        let (new, name) = (format!("{name}.new"), format!("{name}.{ENDING}"));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.folder, &new, flags, Mode::RUSR | Mode::WUSR)?);
        let made = flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(io::Error::from)
            .and_then(|()| file.write_all(&encode(trees, before)?))
            .and_then(|()| Ok(renameat(&self.folder, &new, &self.folder, &name)?));
        if let Err(error) = made {
            let _removed = unlinkat(&self.folder, &new, AtFlags::empty());
            return Err(error);
        }
        Ok(Mark { marks: self.held_twice()?, name, lock: file })
    }

    /// Returns the marks of runs that were killed, as far as they are about folders that `concerns` names.
    ///
    /// # Errors
    ///
    /// One cannot be believed: which, and why.
    pub(crate) fn unfinished(
        &self,
        concerns: impl Fn(&Path) -> bool,
    ) -> Result<Vec<Unfinished>, (PathBuf, io::Error)> {
        let at = |error: io::Error| (self.path.clone(), error);
        let mut all = Vec::new();
        for entry in Dir::read_from(&self.folder).map_err(|error| at(error.into()))? {
            let entry = entry.map_err(|error| at(error.into()))?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
            let path = self.path.join(&name);
            if path.extension() != Some(OsStr::new(ENDING)) {
                continue;
            }
            match read(&self.folder, &name) {
                Ok(None) => {}
                Ok(Some((trees, before, lock))) => {
                    if trees.iter().any(|tree| concerns(&tree.path)) {
                        let marks = self.held_twice().map_err(at)?;
                        all.push(Unfinished { trees, before, path, name, marks, lock });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err((path, error)),
            }
        }
        Ok(all)
    }

    /// Returns the runs that are marked. A mark of somebody else that cannot be believed is passed over: they decide what stands there.
    ///
    /// # Errors
    ///
    /// One of ours cannot be believed: which, and why.
    pub(crate) fn all(&self) -> Result<Vec<Marked>, (PathBuf, io::Error)> {
        let at = |error: Errno| (self.path.clone(), error.into());
        let owner = self.folder.metadata().map_err(|error| (self.path.clone(), error))?.uid();
        let is_ours = owner == rustix::process::geteuid().as_raw();
        let mut all = Vec::new();
        for entry in Dir::read_from(&self.folder).map_err(at)? {
            let entry = entry.map_err(at)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if Path::new(name).extension() != Some(OsStr::new(ENDING)) {
                continue;
            }
            let read = |mut file: File| {
                let found = file.metadata()?;
                Ok((content(&mut file)?.1, (found.mtime(), found.mtime_nsec())))
            };
            match open_of(&self.folder, name, owner).and_then(read) {
                Ok((before, since)) => all.push(Marked { before, is_alive: is_alive(name), since }),
                // Its run has just ended.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) if !is_ours => {}
                Err(error) => return Err((self.path.join(name), error)),
            }
        }
        Ok(all)
    }

    fn held_twice(&self) -> io::Result<Self> {
        Ok(Self { path: self.path.clone(), folder: self.folder.try_clone()? })
    }

    /// Looks whether its path still leads to this very folder.
    fn check_place(&self) -> io::Result<()> {
        let (own, now) = (self.folder.metadata()?, find(&self.path));
        let own = Identity { device: own.dev(), inode: own.ino() };
        if now.is_ok_and(|now| now.identity == own) {
            return Ok(());
        }
        Err(io::Error::other("another folder is in its place; look for forged marks before the next run"))
    }
}

fn random() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// Tells whether the process that made a mark is there, by the mark's name. Only for what a person is told.
fn is_alive(name: &OsStr) -> bool {
    let number =
        name.as_bytes().split(|byte| *byte == b'-').next().and_then(|own| std::str::from_utf8(own).ok());
    number.is_some_and(|number| Path::new("/proc").join(number).exists())
}

/// Tells whether the first folder on a path that can be looked at from below belongs to somebody else, who is not the superuser: that one
/// may have marked a run here for the user.
fn is_somebody_elses(folder: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    closed(folder).is_some_and(|(_, found)| found.uid() != own && found.uid() != 0)
}

/// Tells whether a sandbox hides a folder, or one around it, from this process: nobody may enter it, and it is mounted there.
fn is_hidden_here(folder: &Path) -> bool {
    let is_mounted = |path: &Path, found: &std::fs::Metadata| {
        let around = path.parent().and_then(|parent| parent.metadata().ok());
        around.is_some_and(|around| around.dev() != found.dev())
    };
    closed(folder).is_some_and(|(path, found)| found.mode() & 0o777 == 0 && is_mounted(&path, &found))
}

/// Returns the closed folder, of those on a path, that can be seen.
fn closed(folder: &Path) -> Option<(PathBuf, std::fs::Metadata)> {
    folder.ancestors().find_map(|path| Some((path.to_path_buf(), path.symlink_metadata().ok()?)))
}

/// Opens a mark that nobody else could have written.
fn open(folder: &File, name: &OsStr) -> io::Result<File> {
    open_of(folder, name, rustix::process::geteuid().as_raw())
}

/// Opens a mark that only its owner could have written.
fn open_of(folder: &File, name: &OsStr, owner: u32) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(folder, name, flags, Mode::empty())?);
    let found = file.metadata()?;
    if !found.is_file() || found.uid() != owner || found.mode() & 0o077 != 0 || found.nlink() > 1 {
        return Err(io::Error::other("it is not a file that only this user can use"));
    }
    Ok(file)
}

fn content(file: &mut File) -> io::Result<(Vec<MarkedTree>, Before)> {
    let mut bytes = Vec::new();
    file.take(MAX_MARK + 1).read_to_end(&mut bytes)?;
    decode(&bytes).ok_or_else(|| io::Error::other("it is damaged"))
}

/// Reads a mark and locks it; nothing where its run goes on, or has just ended.
fn read(folder: &File, name: &OsStr) -> io::Result<Option<(Vec<MarkedTree>, Before, File)>> {
    let mut file = open(folder, name)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
        locked => locked?,
    }
    // Whoever held the lock may have removed it in the meantime.
    if file.metadata()?.nlink() == 0 {
        return Ok(None);
    }
    let (trees, before) = content(&mut file)?;
    Ok(Some((trees, before, file)))
}

/// What stands in the file. Paths are bytes, in hexadecimal.
#[derive(Deserialize, Serialize)]
struct Stored {
    version: u32,
    trees: Vec<StoredTree>,
    /// The mount of each tree; marks that were made before these were kept have none.
    #[serde(default)]
    mounts: Vec<Option<StoredMount>>,
    named: Vec<String>,
    home: Option<String>,
    pointed: Vec<(String, bool)>,
    links: Vec<String>,
    known: Vec<StoredFile>,
}

/// Path, device, inode, when a link was made, whether it is protected.
type StoredFile = (String, u64, u64, Option<(i64, i64)>, bool);

/// Path, and of the folder there: device, inode, when it was made.
type StoredTree = (String, Option<(u64, u64, Option<(i64, i64)>)>);

/// Where it is mounted, its device, and the number of its file system.
type StoredMount = (String, u64, Option<u64>);

fn encode(trees: &[MarkedTree], before: &Before) -> io::Result<Vec<u8>> {
    let all = |paths: &[PathBuf]| paths.iter().map(|path| hex(path)).collect();
    let known = before.known.iter().map(|(path, known)| {
        (hex(path), known.identity.device, known.identity.inode, known.made, known.is_protected)
    });
    let tree = |tree: &MarkedTree| {
        let folder = tree.folder.map(|(identity, made)| (identity.device, identity.inode, made));
        (hex(&tree.path), folder)
    };
    let mount = |mount: &MarkedMount| (hex(&mount.point), mount.device, mount.file_system);
    let stored = Stored {
        version: VERSION,
        trees: trees.iter().map(tree).collect(),
        mounts: trees.iter().map(|tree| tree.mount.as_ref().map(mount)).collect(),
        named: all(&before.named),
        links: all(&before.links),
        home: before.home.as_deref().map(hex),
        pointed: before.pointed.iter().map(|target| (hex(&target.path), target.only_file)).collect(),
        known: known.collect(),
    };
    let body = serde_json::to_vec(&stored)?;
    let mut bytes = digest(&body).into_bytes();
    bytes.push(b'\n');
    bytes.extend(body);
    Ok(bytes)
}

fn decode(bytes: &[u8]) -> Option<(Vec<MarkedTree>, Before)> {
    let (head, body) = bytes.split_at_checked(64)?;
    let body = body.strip_prefix(b"\n")?;
    if digest(body).as_bytes() != head {
        return None;
    }
    let stored: Stored =
        serde_json::from_slice(body).ok().filter(|stored: &Stored| stored.version == VERSION)?;
    let all = |paths: Vec<String>| paths.iter().map(|path| unhex(path)).collect::<Option<Vec<_>>>();
    let pointed = |(path, only_file): (String, bool)| Some(Target { path: unhex(&path)?, only_file });
    let known = |(path, device, inode, made, is_protected): StoredFile| {
        Some((unhex(&path)?, Known { identity: Identity { device, inode }, made, is_protected }))
    };
    let mount = |(point, device, file_system): StoredMount| {
        Some(MarkedMount { point: unhex(&point)?, device, file_system })
    };
    let mounts = stored.mounts.into_iter().map(|stored| stored.and_then(mount));
    let tree = |((path, folder), mount): (StoredTree, Option<MarkedMount>)| {
        let folder = folder.map(|(device, inode, made)| (Identity { device, inode }, made));
        Some(MarkedTree { path: unhex(&path)?, folder, mount })
    };
    let mounts = mounts.chain(std::iter::repeat_with(|| None));
    let trees = stored.trees.into_iter().zip(mounts).map(tree).collect::<Option<Vec<_>>>()?;
    let before = Before {
        trees: trees.iter().map(|tree| tree.path.clone()).collect(),
        links: all(stored.links)?,
        named: all(stored.named)?,
        home: match stored.home {
            None => None,
            Some(home) => Some(unhex(&home)?),
        },
        pointed: stored.pointed.into_iter().map(pointed).collect::<Option<_>>()?,
        known: stored.known.into_iter().map(known).collect::<Option<_>>()?,
    };
    Some((trees, before))
}

fn digest(body: &[u8]) -> String {
    Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hex(path: &Path) -> String {
    path.as_os_str().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<PathBuf> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Vec<u8> = text.as_bytes().chunks(2).map(byte).collect::<Option<_>>()?;
    let path = PathBuf::from(OsStr::from_bytes(&bytes));
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests;
