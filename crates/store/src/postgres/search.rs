//! Finding entries by what they are filed under.
//!
//! Every index is in the order of the log, and the server chooses. A time is first turned into the part of the log that
//! can hold it.

use std::fmt::Write as _;

use ringfence::audit::{Filter, Stored};
use tokio_postgres::types::ToSql;

use super::audit::{COLUMNS, get, stored};
use super::error::PostgresError;
use super::log::signed;
use super::session::{Parameter, Session};

/// How many entries have their times in one row of `span`.
const BLOCK: i64 = 1 << 10;

/// From which end entries are looked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// From an index on, oldest first.
    From(u64),
    /// From the newest back.
    Newest,
}

/// Returns up to `most` entries that fit.
pub(super) async fn search(
    session: &Session,
    filter: &Filter,
    end: End,
    most: usize,
) -> Result<Vec<Stored>, PostgresError> {
    let Some(range) = range(session, filter, end).await?.filter(|_| !filter.is_vain()) else {
        return Ok(Vec::new());
    };
    let conditions = Conditions::new(filter, range, end, most);
    let parameters: Vec<Parameter<'_>> =
        conditions.values.iter().map(|value| &**value as Parameter<'_>).collect();
    let rows = session.rows(conditions.sql, &parameters).await?;
    rows.iter().map(|row| stored(session, row)).collect()
}

/// Returns the first and the last place that can hold what is asked for; nothing where there is none.
async fn range(session: &Session, filter: &Filter, end: End) -> Result<Option<(i64, i64)>, PostgresError> {
    let from = match end {
        End::From(index) => index,
        End::Newest => 0,
    };
    let mut first = signed(from.max(filter.from.unwrap_or(0)));
    let mut last = match filter.below {
        Some(below) => signed(below) - 1,
        None => i64::MAX,
    };
    if filter.since_ms.is_some() || filter.until_ms.is_some() {
        let sql = "SELECT min(block), max(block) FROM ringfence.span WHERE last_ms >= $1 AND first_ms < $2
            HAVING count(*) > 0";
        let (since, until) =
            (filter.since_ms.map_or(i64::MIN, signed), filter.until_ms.map_or(i64::MAX, signed));
        let Some(row) = session.row(sql, &[&since, &until]).await? else { return Ok(None) };
        let (low, high): (i64, i64) = (get(session, &row, 0)?, get(session, &row, 1)?);
        first = first.max(low.saturating_mul(BLOCK));
        last = last.min(high.saturating_add(1).saturating_mul(BLOCK) - 1);
    }
    Ok((first <= last).then_some((first, last)))
}

/// A statement and its values. Only conditions that are there let an index help.
struct Conditions<'a> {
    sql: String,
    values: Vec<Box<dyn ToSql + Sync + Send + 'a>>,
}

/// Returns the columns that are read: for a list what is large is passed over.
fn columns(filter: &Filter) -> String {
    if !filter.light {
        return COLUMNS.to_owned();
    }
    let most = Filter::LIGHT;
    let record = format!("CASE WHEN octet_length(record) <= {most} THEN record ELSE ''::bytea END");
    COLUMNS.replace("record, raw, clean", &format!("{record}, NULL::bytea, NULL::bytea"))
}

impl<'a> Conditions<'a> {
    fn new(filter: &'a Filter, (first, last): (i64, i64), end: End, most: usize) -> Self {
        let sql = format!("SELECT {} FROM ringfence.entry WHERE true", columns(filter));
        let mut conditions = Self { sql, values: Vec::new() };
        let words = [("kind = ", &filter.kind), ("code = ", &filter.code), ("class = ", &filter.class)];
        for (condition, text) in words {
            if let Some(text) = text {
                // PostgreSQL has no text with a NUL, and neither kinds nor codes nor classes have one.
                conditions.add(condition, "", text.replace('\0', "?"));
            }
        }
        let names = [
            ("run", &filter.run),
            ("tool", &filter.tool),
            ("host", &filter.host),
            ("principal", &filter.principal),
        ];
        for (column, text) in names {
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
        conditions.add("position >= ", "", first);
        conditions.add("position <= ", "", last);
        if let Some(text) = &filter.text {
            conditions.add("position(", "::bytea in record) > 0", text.as_bytes());
        }
        let order = match end {
            End::From(_) => "ASC",
            End::Newest => "DESC",
        };
        conditions.values.push(Box::new(i64::try_from(most).unwrap_or(i64::MAX)));
        // Writing to a string does not fail.
        let number = conditions.values.len();
        let _written = write!(conditions.sql, " ORDER BY position {order} LIMIT ${number}");
        conditions
    }

    fn add(&mut self, before: &str, after: &str, value: impl ToSql + Sync + Send + 'a) {
        self.values.push(Box::new(value));
        let number = self.values.len();
        let _written = write!(self.sql, " AND {before}${number}{after}");
    }
}
