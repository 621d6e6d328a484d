//! Files that are replaced whole or not at all, and the lock under which that happens.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::error::CommandError;

/// How long a lock is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(3);

/// The right to write; it ends when this is dropped.
///
/// The lock file stays: removing it would let two processes lock two files of one name.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "the open file is the lock")] File);

impl Lock {
    /// Waits for the right to write.
    pub(crate) fn of(path: &Path) -> Result<Self, CommandError> {
        Self::within(path, PATIENCE)
    }

    /// The same, for so long at most.
    pub(crate) fn within(path: &Path, patience: Duration) -> Result<Self, CommandError> {
        let failed = |error| failed("lock", path, error);
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.custom_flags(NO_FOLLOW | NO_WAIT).open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(failed(std::io::Error::other("it is not a file")));
        }
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if start.elapsed() > patience => {
                    return Err(failed(std::io::Error::other("another process holds the lock")));
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            }
        }
    }
}

/// Replaces a file: whoever reads it finds the old text or the new one, also after a crash. Who may read it stays.
pub(crate) fn replace(path: &Path, content: impl AsRef<[u8]>) -> Result<(), CommandError> {
    let beside = unique_beside(path);
    let mode = path.metadata().map(|own| own.permissions().mode() & 0o777).ok();
    let written =
        write_through(&beside, content.as_ref(), mode).and_then(|()| std::fs::rename(&beside, path));
    if let Err(error) = written {
        let _removed = std::fs::remove_file(&beside);
        return Err(failed("write", path, error));
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent).and_then(|folder| folder.sync_all()).map_err(|error| failed("write", path, error))
}

/// Writes a file in its place, which must be held by a lock: whoever takes the lock next finds the old text or the new one, also
/// after a crash.
///
/// A file that is replaced gets another inode, which no sandbox that runs by then covers. So a file beside which a command may
/// write stays the same file, and the new text lies in a folder that no command may write until it is whole.
pub(crate) fn rewrite(path: &Path, content: impl AsRef<[u8]>) -> Result<(), CommandError> {
    let journal = journal_of(path)?;
    journal.parent().map_or(Ok(()), private_folder)?;
    replace(&journal, Change { before: read_bytes(path)?, text: content.as_ref().to_vec() }.to_bytes())?;
    put(path, content.as_ref())?;
    std::fs::remove_file(&journal).map_err(|error| failed("remove", &journal, error))
}

/// Ends a [`rewrite`] that was cut off, if there is one. The lock must be held.
pub(crate) fn settle(path: &Path) -> Result<(), CommandError> {
    let journal = journal_of(path)?;
    let Some(content) = read_bytes(&journal)? else { return Ok(()) };
    // Only what nobody else could have put there.
    journal.parent().map_or(Ok(()), private_folder)?;
    let damaged = || failed("read", &journal, std::io::Error::other("it is damaged; remove it"));
    let change = Change::from_bytes(&content).ok_or_else(damaged)?;
    let now = read_bytes(path)?;
    let written = |path: &Path| path.metadata().and_then(|found| found.modified()).ok();
    if change.is_unfinished(now.as_deref(), written(path) > written(&journal)) {
        put(path, &change.text)?;
    }
    std::fs::remove_file(&journal).map_err(|error| failed("remove", &journal, error))
}

/// A file's next text, and the one that it replaces.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Change {
    pub(super) before: Option<Vec<u8>>,
    pub(super) text: Vec<u8>,
}

impl Change {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let length = self.before.as_ref().map_or_else(|| "none".to_owned(), |text| text.len().to_string());
        let before = self.before.as_deref().unwrap_or_default();
        [length.as_bytes(), b"\n", before, &self.text].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let at = bytes.iter().position(|byte| *byte == b'\n')?;
        let rest = bytes.get(at + 1..)?;
        Some(match bytes.get(..at)? {
            b"none" => Self { before: None, text: rest.to_vec() },
            length => {
                let length = std::str::from_utf8(length).ok()?.parse().ok()?;
                let (before, text) = rest.split_at_checked(length)?;
                Self { before: Some(before.to_vec()), text: text.to_vec() }
            }
        })
    }

    /// Says whether a file is as a write leaves it that was cut off. One that somebody has put back since, or changed, is theirs.
    fn is_unfinished(&self, now: Option<&[u8]>, is_newer: bool) -> bool {
        let (before, text) = (self.before.as_deref(), self.text.as_slice());
        match now {
            None => before.is_none(),
            Some(now) if Some(now) == before => !is_newer,
            Some(now) => {
                let old = before.unwrap_or_default();
                let is_of_either =
                    |(at, byte): (usize, &u8)| old.get(at) == Some(byte) || text.get(at) == Some(byte);
                now != text && now.iter().enumerate().all(is_of_either)
            }
        }
    }
}

fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, CommandError> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        open_plain(path)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", path, error)),
    }
}

/// Writes a file in its place that has no lock beside it.
pub(crate) fn rewrite_alone(path: &Path, content: impl AsRef<[u8]>) -> Result<(), CommandError> {
    let _lock = lock_of_journal(path)?;
    settle(path)?;
    rewrite(path, content)
}

/// Ends a [`rewrite_alone`] that was cut off, if there is one.
pub(crate) fn settle_alone(path: &Path) -> Result<(), CommandError> {
    // A folder that is not there holds nothing to end.
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !parent.is_dir() || !journal_of(path)?.exists() {
        return Ok(());
    }
    let _lock = lock_of_journal(path)?;
    settle(path)
}

fn lock_of_journal(path: &Path) -> Result<Lock, CommandError> {
    let journal = journal_of(path)?;
    journal.parent().map_or(Ok(()), private_folder)?;
    Lock::of(&journal.with_extension("lock"))
}

/// Makes a file with this text, where there is none.
pub(crate) fn make(path: &Path, content: &str) -> std::io::Result<()> {
    match write_through(path, content.as_bytes(), None) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// A pipe that nobody reads is not waited for.
const NO_WAIT: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
/// A link is not followed: it leads to a file that nobody has judged.
const NO_FOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

/// Opens a regular file to read it. Anything else in its place is not waited for.
pub(crate) fn open_plain(path: &Path) -> std::io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(NO_WAIT).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(std::io::Error::other("it is not a regular file")) }
}

fn put(path: &Path, content: &[u8]) -> Result<(), CommandError> {
    let put = || {
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false).custom_flags(NO_FOLLOW | NO_WAIT);
        let mut file = options.open(path)?;
        if !file.metadata()?.is_file() {
            return Err(std::io::Error::other("it is not a regular file"));
        }
        file.write_all(content)?;
        file.set_len(content.len() as u64)?;
        file.sync_all()?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(parent)?.sync_all()
    };
    put().map_err(|error| failed("write", path, error))
}

/// Where the next text of a file lies while it is written, by the file's path.
pub(super) fn journal_of(path: &Path) -> Result<PathBuf, CommandError> {
    use sha2::{Digest as _, Sha256};
    let folder = super::state_folder().unwrap_or_else(|_| crate::sandbox::private_folder()).join("writing");
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = parent.canonicalize().map_err(|error| failed("find", parent, error))?;
    let whole = parent.join(path.file_name().unwrap_or_default());
    let digest = Sha256::digest(whole.as_os_str().as_encoded_bytes());
    let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    Ok(folder.join(name))
}

/// Makes a folder that nobody else may look into, or checks that it is ours and that nobody else may write to it.
pub(crate) fn private_folder(path: &Path) -> Result<(), CommandError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| failed("make", path, error))?;
    let metadata = path.symlink_metadata().map_err(|error| failed("read", path, error))?;
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if !metadata.is_dir() || !is_ours || metadata.permissions().mode() & 0o022 != 0 {
        let error = std::io::Error::other("it is not a folder that only you may write to");
        return Err(failed("use", path, error));
    }
    Ok(())
}

fn write_through(path: &Path, content: &[u8], mode: Option<u32>) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode.unwrap_or(0o666)).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// A name that no other process and no other thread uses.
pub(crate) fn unique_beside(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}-{}.new", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    name.into()
}

fn failed(verb: &'static str, path: &Path, error: std::io::Error) -> CommandError {
    CommandError::File { verb, path: path.to_path_buf(), error, hint: None }
}
