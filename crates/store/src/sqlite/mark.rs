//! The mark beside a database: how far the store had come when something was last acknowledged.
//!
//! SQLite takes a damaged write-ahead log for one that ends early, and goes back without an error. The mark lies outside
//! of both files, so that the next one who opens the store sees it. It has two slots that are written in turn, each with
//! its own digest: one that is torn or damaged leaves the other.
//!
//! It is written after each commit and before the answer, and brought to the disk within a second. What the death of a
//! process leaves is therefore exact; after a loss of power the mark may be up to a second old.
//!
//! INVARIANT: a mark never goes back. Whoever writes it, commits or moves the log holds its lock.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ringfence::audit::Hash;

use super::error::SqliteError;
use super::file::{self, Stamp};

/// The end of the name of a mark.
const SUFFIX: &str = ".mark";
const MAGIC: &[u8; 8] = b"RFMARK01";
/// Where the second slot begins: in another sector, whatever the disk.
const DISTANCE: u64 = SECOND as u64;
const SECOND: usize = 4_096;
/// The length of what has a digest, and of the digest.
const LENGTH: usize = 144;
const DIGEST: usize = 32;
/// How far both slots go.
const EXTENT: usize = SECOND + LENGTH + DIGEST;
/// No store counts further: a million a second take 285 years.
pub(super) const MOST: u64 = 1 << 53;
/// How long another may hold the lock.
const PATIENCE: Duration = Duration::from_secs(10);

/// How far a store had come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Mark {
    /// The random id of the store.
    pub(super) store: [u8; 16],
    /// How many transactions it had seen.
    pub(super) sequence: u64,
    /// Tells two histories of the same length apart.
    pub(super) chain: Hash,
    /// How many entries the audit log had.
    pub(super) records: u64,
    /// The last fence that was handed out.
    pub(super) fence: u64,
    /// When, in microseconds since 1970.
    pub(super) at: u64,
    /// The state of the database file.
    pub(super) database: Stamp,
    /// The state of the write-ahead log.
    pub(super) log: Stamp,
    /// How often the mark was written, which tells the newer slot.
    pub(super) count: u64,
}

/// The file of a mark.
#[derive(Debug)]
pub(super) struct MarkFile {
    path: PathBuf,
    file: File,
    /// The threads of this process share the lock of the file, and take turns by this one.
    turn: Mutex<()>,
    /// What was last read: the same bytes are the same mark.
    known: Mutex<Option<(Slots, u64, Mark)>>,
}

/// The bytes of a slot.
type Slot = [u8; LENGTH + DIGEST];

/// The bytes of both slots, none where there is no slot.
type Slots = [Option<Slot>; 2];

/// The lock of a mark, until it is dropped.
pub(super) struct MarkLock<'a> {
    file: &'a File,
    _turn: MutexGuard<'a, ()>,
    /// The newest slot and its count, once they were read or written under this lock: nobody else writes meanwhile.
    newest: Cell<Option<(u64, u64)>>,
}

impl Drop for MarkLock<'_> {
    fn drop(&mut self) {
        let _released = self.file.unlock();
    }
}

/// Returns the path of the mark of a database.
pub(super) fn path(database: &Path) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(SUFFIX);
    PathBuf::from(name)
}

impl MarkFile {
    /// Opens the mark of a database.
    pub(super) fn open(database: &Path) -> Result<Self, SqliteError> {
        let path = path(database);
        if !file::exists(&path)? {
            return Err(SqliteError::MarkMissing { path });
        }
        let file = file::open_existing(&path)?;
        file::check(&path)?;
        Ok(Self { path, file, turn: Mutex::new(()), known: Mutex::new(None) })
    }

    /// Makes the mark of a database that begins, in place of one that says nothing. It gets its name when it is whole: whoever is
    /// killed before leaves none.
    pub(super) fn create(database: &Path, store: [u8; 16]) -> Result<Self, SqliteError> {
        let path = path(database);
        if file::exists(&path)? {
            file::check(&path)?;
        }
        let mut unfinished = path.clone().into_os_string();
        unfinished.push(".new");
        let unfinished = PathBuf::from(unfinished);
        file::remove(&unfinished)?;
        let file = file::open_new(&unfinished)?;
        let created = Self { file, path, turn: Mutex::new(()), known: Mutex::new(None) };
        let mark = Mark::new(store, 0, Hash::of(b""));
        for slot in [0, DISTANCE] {
            created.write_slot(slot, &mark)?;
        }
        created.sync()?;
        file::rename(&unfinished, &created.path)?;
        Ok(created)
    }

    /// Returns the path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the lock.
    pub(super) fn lock(&self) -> Result<MarkLock<'_>, SqliteError> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let start = Instant::now();
        loop {
            match self.file.try_lock() {
                Ok(()) => return Ok(MarkLock { file: &self.file, _turn: turn, newest: Cell::new(None) }),
                Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_micros(100));
                }
                Err(TryLockError::WouldBlock) => return Err(SqliteError::Busy { path: self.path.clone() }),
                Err(TryLockError::Error(error)) => return Err(self.failed(&error)),
            }
        }
    }

    /// Reads the newer of the two slots.
    pub(super) fn read(&self) -> Result<Mark, SqliteError> {
        self.newest().map(|(_, mark)| mark)
    }

    /// Reads the newer of the two slots, so that it need not be read again before it is written.
    pub(super) fn read_locked(&self, lock: &MarkLock<'_>) -> Result<Mark, SqliteError> {
        let (slot, mark) = self.newest()?;
        lock.newest.set(Some((slot, mark.count)));
        Ok(mark)
    }

    /// Writes the slot that is not the newest.
    pub(super) fn write(&self, lock: &MarkLock<'_>, mark: &Mark) -> Result<(), SqliteError> {
        let newest = lock.newest.take();
        let newest = newest.or_else(|| self.newest().ok().map(|(slot, newest)| (slot, newest.count)));
        let (slot, count) = newest.map_or((0, 0), |(slot, count)| (DISTANCE - slot, count));
        let mark = Mark { count: count.saturating_add(1), ..*mark };
        self.write_slot(slot, &mark)?;
        lock.newest.set(Some((slot, mark.count)));
        Ok(())
    }

    /// Brings what was written to the disk.
    pub(super) fn sync(&self) -> Result<(), SqliteError> {
        self.file.sync_data().map_err(|error| self.failed(&error))
    }

    fn newest(&self) -> Result<(u64, Mark), SqliteError> {
        let slots = self.read_slots()?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((bytes, slot, mark)) = &*known
            && *bytes == slots
        {
            return Ok((*slot, *mark));
        }
        let valid = [0, DISTANCE].into_iter().zip(&slots);
        let valid = valid.filter_map(|(slot, bytes)| Some((slot, Mark::from_bytes(bytes.as_ref()?)?)));
        let newest = valid.max_by_key(|(_, mark)| mark.count);
        let (slot, mark) = newest.ok_or_else(|| SqliteError::MarkDamaged { path: self.path.clone() })?;
        *known = Some((slots, slot, mark));
        Ok((slot, mark))
    }

    /// Reads both slots at once.
    fn read_slots(&self) -> Result<Slots, SqliteError> {
        let mut bytes = [0; EXTENT];
        let mut length = 0;
        while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, length as u64) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(&error)),
            }
        }
        let read = bytes.get(..length).unwrap_or_default();
        let slot = |at: usize| read.get(at..).and_then(|rest| rest.first_chunk()).copied();
        Ok([slot(0), slot(SECOND)])
    }

    fn write_slot(&self, slot: u64, mark: &Mark) -> Result<(), SqliteError> {
        let bytes = mark.to_bytes();
        self.file.write_all_at(&bytes, slot).map_err(|error| self.failed(&error))?;
        // Whoever reads these bytes next need not hash them. Others are looked at as ever.
        if let Some((slots, newest, known)) = &mut *self.known.lock().unwrap_or_else(PoisonError::into_inner)
            && known.count < mark.count
        {
            let [first, second] = slots;
            *(if slot == 0 { first } else { second }) = Some(bytes);
            (*newest, *known) = (slot, *mark);
        }
        Ok(())
    }

    /// No other error may be made of it: what it belongs to is committed, and must not be done again.
    fn failed(&self, error: &std::io::Error) -> SqliteError {
        SqliteError::File { path: self.path.clone(), why: error.kind() }
    }
}

impl Mark {
    /// Starts with a store, its sequence and its chain.
    pub(super) fn new(store: [u8; 16], sequence: u64, chain: Hash) -> Self {
        let (database, log) = (Stamp::default(), Stamp::default());
        Self { store, sequence, chain, records: 0, fence: 0, at: 0, database, log, count: 0 }
    }

    fn to_bytes(self) -> Slot {
        let mut bytes = Vec::with_capacity(LENGTH + DIGEST);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.store);
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.extend_from_slice(self.chain.as_bytes());
        for number in [self.records, self.fence, self.at, self.count] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for Stamp { size, seconds, nanoseconds } in [self.database, self.log] {
            bytes.extend_from_slice(&size.to_le_bytes());
            bytes.extend_from_slice(&seconds.to_le_bytes());
            bytes.extend_from_slice(&nanoseconds.to_le_bytes());
        }
        bytes.resize(LENGTH, 0);
        bytes.extend_from_slice(Hash::of(&bytes).as_bytes());
        let mut all = [0; LENGTH + DIGEST];
        all.copy_from_slice(&bytes);
        all
    }

    fn from_bytes(bytes: &Slot) -> Option<Self> {
        let (content, digest) = bytes.split_at(LENGTH);
        if Hash::of(content).as_bytes() != digest {
            return None;
        }
        let rest = content.strip_prefix(MAGIC)?;
        let (store, rest) = rest.split_first_chunk::<16>()?;
        let (sequence, rest) = rest.split_first_chunk::<8>()?;
        let (chain, mut rest) = rest.split_first_chunk::<32>()?;
        let mut next = || {
            let (number, after) = rest.split_first_chunk::<8>()?;
            rest = after;
            Some(*number)
        };
        let [records, fence, at, count] = [next()?, next()?, next()?, next()?].map(u64::from_le_bytes);
        let mut stamp = || {
            Some(Stamp {
                size: u64::from_le_bytes(next()?),
                seconds: i64::from_le_bytes(next()?),
                nanoseconds: u64::from_le_bytes(next()?),
            })
        };
        // Nobody counts so far: it was forged, or damaged before it had its digest.
        let sequence_number = u64::from_le_bytes(*sequence);
        if [sequence_number, records, fence, count].into_iter().any(|number| number > MOST) {
            return None;
        }
        Some(Self {
            store: *store,
            sequence: sequence_number,
            chain: Hash::from_bytes(*chain),
            records,
            fence,
            at,
            database: stamp()?,
            log: stamp()?,
            count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_slot_leaves_the_other_and_two_are_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("x.db");
        assert!(matches!(MarkFile::open(&database), Err(SqliteError::MarkMissing { .. })));
        let file = MarkFile::create(&database, [7; 16]).unwrap();
        let mut mark = file.read().unwrap();
        for sequence in 1..=3 {
            mark.sequence = sequence;
            mark.fence = sequence * 10;
            file.write(&file.lock().unwrap(), &mark).unwrap();
            mark = Mark { count: sequence, ..mark };
            assert_eq!(file.read().unwrap(), mark);
        }
        for bit in 0..(LENGTH + DIGEST) * 8 {
            let flip = |slot: u64| {
                let mut byte = [0];
                let place = slot + bit as u64 / 8;
                file.file.read_exact_at(&mut byte, place).unwrap();
                file.file.write_all_at(&[byte[0] ^ (1 << (bit % 8))], place).unwrap();
            };
            flip(0);
            assert_eq!(MarkFile::open(&database).unwrap().read().unwrap().sequence, 2);
            flip(DISTANCE);
            assert!(matches!(file.read(), Err(SqliteError::MarkDamaged { .. })));
            flip(0);
            flip(DISTANCE);
            assert_eq!(file.read().unwrap(), mark);
        }
    }

    #[test]
    fn a_mark_that_was_not_finished_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("x.db");
        std::fs::write(directory.path().join("x.db.mark.new"), "half").unwrap();
        assert!(matches!(MarkFile::open(&database), Err(SqliteError::MarkMissing { .. })));
        assert_eq!(MarkFile::create(&database, [7; 16]).unwrap().read().unwrap().sequence, 0);
        assert!(!directory.path().join("x.db.mark.new").exists());
    }

    #[test]
    fn its_lock_is_for_one() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("x.db");
        let first = MarkFile::create(&database, [7; 16]).unwrap();
        let second = MarkFile::open(&database).unwrap();
        let lock = first.lock().unwrap();
        assert!(matches!(second.file.try_lock(), Err(TryLockError::WouldBlock)));
        drop(lock);
        drop(second.lock().unwrap());
    }
}
