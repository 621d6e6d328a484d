//! Appending to the log and reading it.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ringfence::audit::{Filter, Stored};
use ringfence::{AuditEntry, AuditSink};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::PostgresStore;
use super::error::PostgresError;
use super::log;
use super::search::{End, search};
use super::session::Session;
use super::writer::Change;
use crate::entry::KeepRaw;
use crate::line::Line;

/// The columns of [`Stored`], in its order.
pub(super) const COLUMNS: &str =
    "position, at_ms, kind, run, tool, code, class, host, principal, record, raw, clean";

impl PostgresStore {
    /// Returns the number of entries.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub async fn size(&self) -> Result<u64, PostgresError> {
        self.readers().read(|session| async move { log::size(&session).await }).await
    }

    /// Returns up to `most` entries from the index `from` on, newest last.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub async fn entries(
        &self,
        filter: &Filter,
        from: u64,
        most: usize,
    ) -> Result<Vec<Stored>, PostgresError> {
        self.find(filter, End::From(from), most).await
    }

    /// Returns the newest entries that fit, up to `most` of them, newest last.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub async fn newest(&self, filter: &Filter, most: usize) -> Result<Vec<Stored>, PostgresError> {
        let mut found = self.find(filter, End::Newest, most).await?;
        found.reverse();
        Ok(found)
    }

    /// Returns one entry.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub async fn entry(&self, index: u64) -> Result<Option<Stored>, PostgresError> {
        let Ok(position) = i64::try_from(index) else { return Ok(None) };
        let read = |session: Arc<Session>| async move {
            let sql = format!("SELECT {COLUMNS} FROM ringfence.entry WHERE position = $1");
            let rows = session.rows(sql, &[&position]).await?;
            rows.first().map(|row| stored(&session, row)).transpose()
        };
        self.readers().read(read).await
    }

    async fn find(&self, filter: &Filter, end: End, most: usize) -> Result<Vec<Stored>, PostgresError> {
        let read = |session: Arc<Session>| async move { search(&session, filter, end, most).await };
        self.readers().read(read).await
    }
}

impl AuditSink for PostgresStore {
    fn append<'a>(&'a self, entries: &'a [AuditEntry<'a>]) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let mut lines = Vec::with_capacity(entries.len());
            for entry in entries {
                let mut line = entry.line().map_err(|error| error.to_string())?;
                if self.options().raw == KeepRaw::Never {
                    line.raw = None;
                }
                lines.push(Line::new(line).map_err(|why| PostgresError::Entry { why }.to_string())?);
            }
            let kept = self.writer().change(Change::Append(lines)).await;
            kept.map(drop).map_err(|error| error.to_string())
        }
        .boxed()
    }
}

/// Reads an entry.
pub(super) fn stored(session: &Session, row: &Row) -> Result<Stored, PostgresError> {
    Ok(Stored {
        index: get::<i64>(session, row, 0)?.cast_unsigned(),
        at: get::<i64>(session, row, 1)?.cast_unsigned(),
        kind: get(session, row, 2)?,
        run: text(session, row, 3)?,
        tool: text(session, row, 4)?,
        code: get(session, row, 5)?,
        class: get(session, row, 6)?,
        host: text(session, row, 7)?,
        principal: text(session, row, 8)?,
        record: text(session, row, 9)?.unwrap_or_default(),
        raw: text(session, row, 10)?,
        clean: text(session, row, 11)?,
    })
}

/// Reads a column.
pub(super) fn get<'a, T: FromSql<'a>>(
    session: &Session,
    row: &'a Row,
    column: usize,
) -> Result<T, PostgresError> {
    row.try_get(column).map_err(|error| session.failed(&error))
}

/// Reads a column of bytes as text.
fn text(session: &Session, row: &Row, column: usize) -> Result<Option<String>, PostgresError> {
    let bytes: Option<Vec<u8>> = get(session, row, column)?;
    let text = bytes.map(String::from_utf8).transpose();
    text.map_err(|_| session.corrupt("an entry is not UTF-8"))
}
