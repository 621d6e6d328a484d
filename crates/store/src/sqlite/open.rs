//! How a database is opened, and the choices there are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringfence::{Clock, SystemClock};

use super::error::SqliteError;
use super::instance::{self, Instance};
use super::name::StoreName;
use super::pool::Pool;
use super::writer::Writer;
use super::{Inner, SqliteStore, file, lock};
use crate::entry::KeepRaw;

/// Opens a database with other choices than the usual ones.
#[must_use = "a builder does nothing until `open` is called"]
pub struct SqliteBuilder {
    pub(super) path: PathBuf,
    clock: Arc<dyn Clock>,
    raw: KeepRaw,
    /// Where it is recorded which file the name led to.
    names: Vec<PathBuf>,
}

impl SqliteStore {
    /// Starts with the machine's clock, and keeps raw outputs until they are forgotten by hand.
    pub fn builder(path: impl Into<PathBuf>) -> SqliteBuilder {
        let (clock, raw) = (Arc::new(SystemClock), KeepRaw::default());
        SqliteBuilder { path: path.into(), clock, raw, names: Vec::new() }
    }

    /// Opens the database for writing, and makes it where there is none.
    ///
    /// # Errors
    ///
    /// Other users may write to it, it is not ours or of a newer version, its tree does not fit its entries, its
    /// tables are of an older version while another process has it open, something that was acknowledged is not in it,
    /// or the mark beside it is missing.
    pub fn open(path: &Path) -> Result<Self, SqliteError> {
        Self::builder(path).open()
    }

    /// Opens the database for reading, beside processes that write to it.
    ///
    /// A tree that does not fit its entries is no reason to refuse here, so that it can be looked into.
    ///
    /// # Errors
    ///
    /// There is none, other users may write to it, or it is not ours or of another version.
    pub fn open_read_only(path: &Path) -> Result<Self, SqliteError> {
        Self::builder(path).open_read_only()
    }
}

impl SqliteBuilder {
    /// Expires values and outputs by this clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Keeps raw outputs for as long as this.
    pub const fn raw(mut self, raw: KeepRaw) -> Self {
        self.raw = raw;
        self
    }

    /// Records in the first of these folders that can be written which file the name leads to, where there is a link on the way. Once it
    /// leads to another, it is refused until somebody accepts that. No command may reach the folders.
    pub fn record_name_in(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.names = folders.into_iter().collect();
        self
    }

    pub(super) fn name(&self) -> Result<StoreName, SqliteError> {
        StoreName::new(&self.path, &self.names)
    }

    /// Opens the database for reading, beside processes that write to it.
    ///
    /// # Errors
    ///
    /// Those of [`SqliteStore::open_read_only`], or the name led to another file before.
    pub fn open_read_only(self) -> Result<SqliteStore, SqliteError> {
        let path = file::resolve(&self.path)?;
        self.name()?.check(&path)?;
        file::check_folder(&path)?;
        file::check(&path)?;
        let readers = Pool::new(path);
        readers.with(|_| Ok(()))?;
        Ok(SqliteStore(Arc::new(Inner {
            clock: self.clock,
            raw: self.raw,
            readers,
            writer: None,
            instance: None,
            _lock: None,
        })))
    }

    /// Opens the database for writing, and makes it where there is none.
    ///
    /// # Errors
    ///
    /// Those of [`SqliteStore::open`], or the name led to another file before.
    pub fn open(self) -> Result<SqliteStore, SqliteError> {
        let (path, name) = (file::resolve(&self.path)?, self.name()?);
        name.check(&path)?;
        file::check_folder(&path)?;
        let (lock, is_first) = lock::share(&path)?;
        let mut readers = Pool::new(path.clone());
        // What cannot be swept is no reason not to open: it only lies there.
        let _swept = instance::sweep(&path);
        let instance = Instance::begin(&path, || draw(&readers))?;
        let writer =
            Writer::start(&path, Arc::clone(&self.clock), self.raw, instance.id().to_owned(), is_first)?;
        readers.watch(Arc::clone(writer.guard()));
        // Before anything is acknowledged.
        name.keep(&path)?;
        Ok(SqliteStore(Arc::new(Inner {
            clock: self.clock,
            raw: self.raw,
            readers,
            writer: Some(writer),
            instance: Some(instance),
            _lock: Some(lock),
        })))
    }
}

/// Draws a random id.
fn draw(readers: &Pool) -> Result<String, SqliteError> {
    readers.with(|connection| {
        connection
            .query_row("SELECT lower(hex(randomblob(16)))", [], |row| row.get(0))
            .map_err(|error| SqliteError::from_sqlite(readers.path(), &error))
    })
}
