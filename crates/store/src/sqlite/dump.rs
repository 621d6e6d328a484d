//! Reading a whole file out, table by table, for whoever copies it elsewhere.
//!
//! INVARIANT: everything is of one state of the file, and memory holds a few pages of it at most.

use rusqlite::types::ValueRef;
use tokio::sync::mpsc::Sender;

use super::SqliteStore;
use super::check;
use super::error::SqliteError;

/// How many rows make a page.
const ROWS: usize = 1_000;
/// How many bytes make a page, give or take a row.
const BYTES: usize = 8 << 20;

/// What kind of values a column has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// Text and blobs.
    Bytes,
    /// Whole numbers.
    Number,
}

/// A column of a page.
#[derive(Debug)]
pub(crate) enum Column {
    /// Text and blobs.
    Bytes(Vec<Option<Vec<u8>>>),
    /// Whole numbers.
    Numbers(Vec<Option<i64>>),
}

/// Some rows of a table, by columns.
pub(crate) struct Page {
    /// Which of the statements they are from.
    pub(crate) table: usize,
    /// How many rows there are.
    pub(crate) rows: u64,
    /// The columns.
    pub(crate) columns: Vec<Column>,
}

impl SqliteStore {
    /// Runs statements one after another, and sends what they return. It blocks, and ends early when nobody listens.
    pub(crate) fn dump(
        &self,
        statements: &[(&str, &[Kind])],
        pages: &Sender<Page>,
    ) -> Result<(), SqliteError> {
        self.0.readers.snapshot(|snapshot| {
            let failed = |error| self.failed(&error);
            // What is damaged here would get a new digest there, and be trusted.
            if let Some(why) = check::digests(snapshot, self.path())?.into_iter().next() {
                return Err(SqliteError::Corrupt { path: self.path().to_owned(), why });
            }
            for (table, (sql, kinds)) in statements.iter().enumerate() {
                let mut select = snapshot.prepare(sql).map_err(failed)?;
                let mut rows = select.query([]).map_err(failed)?;
                let mut page = Page::new(table, kinds);
                let mut bytes = 0;
                while let Some(row) = rows.next().map_err(failed)? {
                    for (index, column) in page.columns.iter_mut().enumerate() {
                        bytes += column.push(row.get_ref(index).map_err(failed)?).map_err(failed)?;
                    }
                    page.rows += 1;
                    if page.rows >= ROWS as u64 || bytes >= BYTES {
                        let full = std::mem::replace(&mut page, Page::new(table, kinds));
                        bytes = 0;
                        if pages.blocking_send(full).is_err() {
                            return Ok(());
                        }
                    }
                }
                if page.rows > 0 && pages.blocking_send(page).is_err() {
                    return Ok(());
                }
            }
            Ok(())
        })
    }
}

impl Page {
    fn new(table: usize, kinds: &[Kind]) -> Self {
        let column = |kind: &Kind| match kind {
            Kind::Bytes => Column::Bytes(Vec::new()),
            Kind::Number => Column::Numbers(Vec::new()),
        };
        Self { table, rows: 0, columns: kinds.iter().map(column).collect() }
    }
}

impl Column {
    /// Adds a value, and returns its size.
    fn push(&mut self, value: ValueRef<'_>) -> rusqlite::Result<usize> {
        match self {
            Self::Bytes(column) => {
                let bytes = value.as_bytes_or_null()?;
                column.push(bytes.map(<[u8]>::to_vec));
                Ok(bytes.map_or(0, <[u8]>::len))
            }
            Self::Numbers(column) => {
                column.push(value.as_i64_or_null()?);
                Ok(8)
            }
        }
    }
}
