//! Appending to the log and reading it.

use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ringfence::{AuditEntry, AuditSink};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::PostgresStore;
use super::error::PostgresError;
use super::log::{self, Line, signed};
use super::session::{Parameter, Session};
use super::writer::Change;
use crate::entry::{Filter, KeepRaw, Stored};

/// The columns of [`Stored`], in its order.
const COLUMNS: &str = "position, at_ms, kind, run, tool, code, record, raw, clean";

/// From which end entries are looked for.
#[derive(Clone, Copy)]
enum End {
    /// From an index on, oldest first.
    From(u64),
    /// From the newest back.
    Newest,
}

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
        let read = |session: Arc<Session>| async move {
            let conditions = Conditions::new(filter, end, most);
            let parameters: Vec<Parameter<'_>> =
                conditions.values.iter().map(|value| &**value as Parameter<'_>).collect();
            let rows = session.rows(conditions.sql, &parameters).await?;
            rows.iter().map(|row| stored(&session, row)).collect()
        };
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
                lines.push(Line::new(line).map_err(|error| error.to_string())?);
            }
            let kept = self.writer().change(Change::Append(lines)).await;
            kept.map(drop).map_err(|error| error.to_string())
        }
        .boxed()
    }
}

/// A statement and its values. Only conditions that are there let an index help.
struct Conditions<'a> {
    sql: String,
    values: Vec<Box<dyn tokio_postgres::types::ToSql + Sync + Send + 'a>>,
}

impl<'a> Conditions<'a> {
    fn new(filter: &'a Filter, end: End, most: usize) -> Self {
        let sql = format!("SELECT {COLUMNS} FROM ringfence.entry WHERE true");
        let mut conditions = Self { sql, values: Vec::new() };
        for (condition, text) in [("kind = ", &filter.kind), ("code = ", &filter.code)] {
            if let Some(text) = text {
                // PostgreSQL has no text with a NUL, and neither kinds nor codes have one.
                conditions.add(condition, "", text.replace('\0', "?"));
            }
        }
        for (column, text) in [("run", &filter.run), ("tool", &filter.tool)] {
            if let Some(text) = text {
                let condition = format!("{column} IS NOT NULL AND sha256({column}) = sha256(");
                conditions.add(&condition, ")", text.as_bytes());
            }
        }
        for (condition, time) in [("at_ms >= ", filter.since_ms), ("at_ms < ", filter.until_ms)] {
            if let Some(time) = time {
                conditions.add(condition, "", signed(time));
            }
        }
        let order = match end {
            End::From(index) => {
                conditions.add("position >= ", "", signed(index));
                "ASC"
            }
            End::Newest => "DESC",
        };
        conditions.values.push(Box::new(i64::try_from(most).unwrap_or(i64::MAX)));
        // Writing to a string does not fail.
        let number = conditions.values.len();
        let _written = write!(conditions.sql, " ORDER BY position {order} LIMIT ${number}");
        conditions
    }

    fn add(
        &mut self,
        before: &str,
        after: &str,
        value: impl tokio_postgres::types::ToSql + Sync + Send + 'a,
    ) {
        self.values.push(Box::new(value));
        let number = self.values.len();
        let _written = write!(self.sql, " AND {before}${number}{after}");
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
        record: text(session, row, 6)?.unwrap_or_default(),
        raw: text(session, row, 7)?,
        clean: text(session, row, 8)?,
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
