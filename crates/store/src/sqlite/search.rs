//! Finding entries by what they are filed under.
//!
//! Every index is in the order of the log. What is asked for is walked through the index that leaves the fewest entries,
//! which is found out by counting a few; the others are asked about each place before an entry is read. A time is first
//! turned into the part of the log that can hold it.
//!
//! INVARIANT: nothing is sorted, and no more of the log is read than what one index leaves between two places.

use std::fmt::Write as _;

use memchr::memmem::Finder;
use ringfence::audit::{Filter, Stored};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, params_from_iter};

use super::audit::{COLUMNS, read, signed};

/// How many places of an index are counted before it is said to leave many.
const COUNTED: i64 = 2_000;
/// How many entries have their times in one row of `span`.
const BLOCK: i64 = 1 << 10;

/// From which end entries are walked through.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// Oldest first.
    Oldest,
    /// Newest first.
    Newest,
}

/// Returns up to `most` entries that fit, from the index `from` on.
pub(super) fn search(
    connection: &Connection,
    filter: &Filter,
    from: u64,
    most: usize,
    order: Order,
) -> rusqlite::Result<Vec<Stored>> {
    let filed = filed(filter);
    let Some(range) = range(connection, filter, from)?.filter(|_| !filter.is_vain()) else {
        return Ok(Vec::new());
    };
    let Some(first) = rarest(connection, &filed, range)? else { return Ok(Vec::new()) };
    if let Some(text) = &filter.text {
        let (sql, values) = statement("position, record", filter, &filed, first, range, order);
        return holding(connection, &sql, values, text, (most, columns(filter)));
    }
    let (sql, mut values) = statement(&columns(filter), filter, &filed, first, range, order);
    values.push(i64::try_from(most).unwrap_or(i64::MAX).into());
    let mut select = connection.prepare_cached(&sql)?;
    select.query_map(params_from_iter(&values), read)?.collect()
}

/// Returns the columns that are read: for a list what is large is passed over.
fn columns(filter: &Filter) -> String {
    if !filter.light {
        return COLUMNS.to_owned();
    }
    let most = Filter::LIGHT;
    let record = format!("CASE WHEN octet_length(record) <= {most} THEN record ELSE '' END");
    COLUMNS.replace("record, raw, clean", &format!("{record}, NULL, NULL"))
}

/// Returns up to `most` of the entries that a statement finds and whose records hold a text. Outputs are read only of those.
fn holding(
    connection: &Connection,
    sql: &str,
    mut values: Vec<Value>,
    text: &str,
    (most, columns): (usize, String),
) -> rusqlite::Result<Vec<Stored>> {
    let finder = Finder::new(text);
    let mut whole = connection.prepare_cached(&format!("SELECT {columns} FROM entry WHERE position = ?"))?;
    // The statement is left when there are enough.
    values.push(i64::MAX.into());
    let mut select = connection.prepare_cached(sql)?;
    let mut rows = select.query(params_from_iter(&values))?;
    let mut found = Vec::new();
    while found.len() < most
        && let Some(row) = rows.next()?
    {
        if finder.find(row.get_ref(1)?.as_bytes()?).is_some() {
            found.extend(whole.query_row([row.get::<_, i64>(0)?], read).optional()?);
        }
    }
    Ok(found)
}

/// Returns the columns that are asked for and their texts, those first that mostly leave the fewest entries.
fn filed(filter: &Filter) -> Vec<(&'static str, &str)> {
    let columns = [
        ("run", &filter.run),
        ("code", &filter.code),
        ("host", &filter.host),
        ("tool", &filter.tool),
        ("principal", &filter.principal),
        ("class", &filter.class),
        ("kind", &filter.kind),
    ];
    columns.into_iter().filter_map(|(column, text)| Some((column, text.as_deref()?))).collect()
}

/// Returns the first and the last place that can hold what is asked for; nothing where there is none.
fn range(connection: &Connection, filter: &Filter, from: u64) -> rusqlite::Result<Option<(i64, i64)>> {
    let mut first = signed(from.max(filter.from.unwrap_or(0)));
    let mut last = match filter.below {
        Some(below) => signed(below) - 1,
        None => i64::MAX,
    };
    if filter.since_ms.is_some() || filter.until_ms.is_some() {
        let mut select = connection.prepare_cached(
            "SELECT min(block), max(block) FROM span WHERE last_ms >= ?1 AND first_ms < ?2 HAVING count(*) > 0",
        )?;
        let times = (filter.since_ms.map_or(i64::MIN, signed), filter.until_ms.map_or(i64::MAX, signed));
        let blocks = select.query_row(times, |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
        let Some((low, high)) = blocks.optional()? else { return Ok(None) };
        first = first.max(low.saturating_mul(BLOCK));
        last = last.min(high.saturating_add(1).saturating_mul(BLOCK) - 1);
    }
    Ok((first <= last).then_some((first, last)))
}

/// Returns which of the columns leaves the fewest places, as far as is counted; nothing where one leaves none. Where none
/// is asked for it does not matter.
fn rarest(
    connection: &Connection,
    filed: &[(&'static str, &str)],
    (first, last): (i64, i64),
) -> rusqlite::Result<Option<usize>> {
    let mut best = (0, i64::MAX);
    if filed.len() < 2 {
        return Ok(Some(0));
    }
    for (number, (column, text)) in filed.iter().enumerate() {
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM entry INDEXED BY entry_{column}
             WHERE {column} = ?1 AND position >= ?2 AND position <= ?3 LIMIT ?4)"
        );
        let mut select = connection.prepare_cached(&sql)?;
        let count: i64 = select.query_row((text, first, last, COUNTED), |row| row.get(0))?;
        match count {
            0 => return Ok(None),
            count if count < best.1 => best = (number, count),
            _ => {}
        }
    }
    Ok(Some(best.0))
}

/// Returns the statement that walks through one index, and its values but for the limit.
fn statement(
    columns: &str,
    filter: &Filter,
    filed: &[(&'static str, &str)],
    first: usize,
    range: (i64, i64),
    order: Order,
) -> (String, Vec<Value>) {
    let mut sql = format!("SELECT {columns} FROM entry");
    let mut values: Vec<Value> = Vec::new();
    // Writing to a string does not fail.
    let _written = match filed.get(first) {
        None => write!(sql, " WHERE position >= ? AND position <= ?"),
        Some((column, text)) => {
            values.push((*text).to_owned().into());
            write!(sql, " INDEXED BY entry_{column} WHERE {column} = ? AND position >= ? AND position <= ?")
        }
    };
    values.extend([range.0.into(), range.1.into()]);
    for (number, (column, text)) in filed.iter().enumerate() {
        if number != first {
            let _written = write!(
                sql,
                " AND (SELECT count(*) FROM entry AS o INDEXED BY entry_{column}
                       WHERE o.{column} = ? AND o.position = entry.position)"
            );
            values.push((*text).to_owned().into());
        }
    }
    for (condition, time) in [("at_ms >= ?", filter.since_ms), ("at_ms < ?", filter.until_ms)] {
        if let Some(time) = time {
            let _written = write!(sql, " AND {condition}");
            values.push(signed(time).into());
        }
    }
    sql.push_str(match order {
        Order::Oldest => " ORDER BY position LIMIT ?",
        Order::Newest => " ORDER BY position DESC LIMIT ?",
    });
    (sql, values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema;

    /// Returns how SQLite would go about it.
    fn plan(connection: &Connection, sql: &str, mut values: Vec<Value>) -> String {
        values.push(100.into());
        let mut select = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let lines = select.query_map(params_from_iter(&values), |row| row.get::<_, String>(3)).unwrap();
        lines.collect::<Result<Vec<_>, _>>().unwrap().join("; ")
    }

    #[test]
    fn walks_through_one_index_whatever_is_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        schema::make(&path).unwrap();
        let connection = schema::writer(&path).unwrap();
        for given in 0_u16..512 {
            let has = |bit: u16| given & (1 << bit) != 0;
            let text = |bit: u16| has(bit).then(|| "x".to_owned());
            let filter = Filter {
                kind: text(0),
                run: text(1),
                tool: text(2),
                code: text(3),
                class: text(4),
                host: text(5),
                principal: text(6),
                since_ms: has(7).then_some(1),
                until_ms: has(8).then_some(2),
                ..Filter::default()
            };
            let filed = filed(&filter);
            for first in 0..filed.len().max(1) {
                for order in [Order::Oldest, Order::Newest] {
                    let (sql, values) = statement(COLUMNS, &filter, &filed, first, (0, i64::MAX), order);
                    let plan = plan(&connection, &sql, values);
                    let walked = match filed.get(first) {
                        None => "SEARCH entry USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)".to_owned(),
                        Some((column, _)) => format!(
                            "SEARCH entry USING INDEX entry_{column} ({column}=? AND rowid>? AND rowid<?)"
                        ),
                    };
                    assert!(plan.starts_with(&walked), "{filter:?}: {plan}");
                    for (_, (column, _)) in filed.iter().enumerate().filter(|(number, _)| *number != first) {
                        let asked = format!("COVERING INDEX entry_{column} ({column}=? AND rowid=?)");
                        assert!(plan.contains(&asked), "{filter:?}: {plan}");
                    }
                    assert!(!plan.contains("SCAN") && !plan.contains("TEMP"), "{filter:?}: {plan}");
                }
            }
        }
    }
}
