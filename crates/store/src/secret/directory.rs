//! Secrets from a directory with one file per ref.
//!
//! INVARIANT: only regular files below the directory are opened, whatever links and races are in it.

mod beneath;

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ringfence::{Secret, SecretError, SecretSource};
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use zeroize::Zeroizing;

use self::beneath::{Look, Opener};
use super::{Answer, blocking, value};

/// The largest file that is read.
const LIMIT: usize = 64 * 1024;

/// A directory with one file per ref, as Docker, Kubernetes and systemd make them: `prod/db` is the file `db` in the
/// directory `prod` below it.
///
/// The directory is opened once and held. Relative links that stay inside are followed; those that lead out, and all
/// absolute ones, are refused. A file is regular, UTF-8 text of at most 64 KiB, and not writable by its group or by
/// everybody; one newline at its end is not part of the value. It is also not readable by everybody, unless
/// [`readable_by_others`](Self::readable_by_others) says so. A group may read it, since that is how service managers
/// hand a file to the one user who needs it.
#[derive(Clone)]
pub struct DirectorySecrets {
    path: PathBuf,
    held: Held,
}

#[derive(Clone)]
struct Held {
    handle: Arc<OwnedFd>,
    opener: Opener,
    readers: Readers,
}

/// Who may be able to read a file beside its owner and group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Readers {
    Everybody,
    Nobody,
}

impl DirectorySecrets {
    /// Opens the directory.
    ///
    /// # Errors
    ///
    /// It cannot be opened, or is none.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, SecretError> {
        let path = path.into();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = openat(CWD, &path, flags, Mode::empty()).map_err(|errno| {
            SecretError::new(format!("the directory of secrets cannot be opened: {}", words(errno)))
        })?;
        let opener = Opener::probe(handle.as_fd());
        Ok(Self { path, held: Held { handle: Arc::new(handle), opener, readers: Readers::Nobody } })
    }

    /// Takes files that every user of the machine can read, as container engines make them by default.
    #[must_use]
    pub fn readable_by_others(mut self) -> Self {
        self.held.readers = Readers::Everybody;
        self
    }

    /// The same for a kernel without `openat2`, so that tests can run both ways on one machine.
    #[doc(hidden)]
    #[must_use]
    pub fn without_openat2(mut self) -> Self {
        self.held.opener = Opener::Walk;
        self
    }
}

impl SecretSource for DirectorySecrets {
    fn describe(&self) -> String {
        format!("the directory `{}`", self.path.display())
    }

    fn secret<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, SecretError>> {
        async move {
            let file = file_of(name)?.to_path_buf();
            let held = self.held.clone();
            blocking(move || held.read(&file)).await
        }
        .boxed()
    }
}

impl fmt::Debug for DirectorySecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let readers = self.held.readers;
        f.debug_struct("DirectorySecrets")
            .field("path", &self.path)
            .field("others", &readers)
            .finish_non_exhaustive()
    }
}

/// Returns the file of a ref: plain names with a slash between them.
fn file_of(name: &str) -> Result<&Path, SecretError> {
    let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
    if name.split('/').all(plain) {
        Ok(Path::new(name))
    } else {
        Err(SecretError::new("the ref is not a path of plain names below the directory"))
    }
}

impl Held {
    fn read(&self, file: &Path) -> Answer {
        match self.opened(file)? {
            Some(file) => content(file).map(Some),
            None => Ok(None),
        }
    }

    /// Opens a file that passes every check but those on its content.
    fn opened(&self, file: &Path) -> Result<Option<File>, SecretError> {
        // Looked at before it is opened: opening a device may act on it.
        let Some(looked) = self.handle_on(file, Look::At)? else { return Ok(None) };
        self.check(&stat(&looked)?)?;
        let Some(opened) = self.handle_on(file, Look::Into)? else { return Ok(None) };
        // Looked at again: it may be another file by now.
        self.check(&stat(&opened)?)?;
        Ok(Some(opened.into()))
    }

    fn handle_on(&self, file: &Path, look: Look) -> Result<Option<OwnedFd>, SecretError> {
        match self.opener.open(self.handle.as_fd(), file, look) {
            Ok(handle) => Ok(Some(handle)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(Errno::XDEV) => Err(SecretError::new("its file is a link that leads out of the directory")),
            Err(Errno::LOOP) => Err(SecretError::new("its file is behind links that cannot be followed")),
            Err(errno) => Err(SecretError::new(format!("its file cannot be opened: {}", words(errno)))),
        }
    }

    fn check(&self, stat: &Stat) -> Result<(), SecretError> {
        let mode = Mode::from_raw_mode(stat.st_mode);
        let complaint = if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            "its file is not a regular file"
        } else if mode.intersects(Mode::WGRP | Mode::WOTH) {
            "its file can be written by other users: make it private with chmod 600"
        } else if mode.contains(Mode::ROTH) && self.readers == Readers::Nobody {
            "its file can be read by every user: make it private with chmod 600"
        } else if usize::try_from(stat.st_size).map_or(true, |size| size > LIMIT) {
            return Err(too_large());
        } else {
            return Ok(());
        };
        Err(SecretError::new(complaint))
    }
}

/// Reads a whole file into one buffer that never moves, so that no copy is left behind.
fn content(mut file: File) -> Result<Secret, SecretError> {
    let mut buffer = Zeroizing::new(vec![0; LIMIT + 1]);
    let mut length = 0;
    loop {
        // The size may have been a lie, or change meanwhile: the limit holds for what is read.
        let room = buffer.get_mut(length..).filter(|room| !room.is_empty()).ok_or_else(too_large)?;
        match file.read(room) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(SecretError::new(format!("its file cannot be read: {}", error.kind()))),
        }
    }
    value::line(buffer.get(..length).unwrap_or_default())
}

fn stat(handle: &OwnedFd) -> Result<Stat, SecretError> {
    fstat(handle).map_err(|errno| SecretError::new(format!("its file cannot be looked at: {}", words(errno))))
}

fn too_large() -> SecretError {
    SecretError::new("its file is larger than 64 KiB")
}

fn words(errno: Errno) -> ErrorKind {
    std::io::Error::from(errno).kind()
}
