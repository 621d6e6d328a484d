//! Keys and values by namespace.
//!
//! They expire by the clock of the database, so that all gateways agree.
//!
//! INVARIANT: the rules are those of [`MemoryStore`](ringfence::MemoryStore); one suite of tests runs on both.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ringfence::{Store, StoreError};
use tokio_postgres::Row;

use super::PostgresStore;
use super::error::PostgresError;
use super::session::{Parameter, Session};
use super::writer::{Change, Done};

/// How many keys one namespace may hold.
const MAX_KEYS: i64 = StoreError::MAX_KEYS as i64;
/// How many bytes of keys and values one namespace may hold.
const MAX_BYTES: i64 = StoreError::MAX_BYTES as i64;
/// A time to live from which on a value never expires, which the database could not add to its clock.
const EVER: Duration = Duration::from_secs(1_000 * 365 * 24 * 3_600);

/// A value to be stored.
pub(super) struct Value {
    space: String,
    key: String,
    content: String,
    ttl: Option<Duration>,
}

impl Value {
    /// Returns what it counts for in its namespace.
    pub(super) const fn bytes(&self) -> usize {
        self.key.len() + self.content.len()
    }
}

/// Changes of values by columns, as one statement takes them.
#[derive(Default)]
pub(super) struct Values<'a> {
    verbs: Vec<i16>,
    spaces: Vec<&'a [u8]>,
    keys: Vec<&'a [u8]>,
    contents: Vec<&'a [u8]>,
    ttls: Vec<Option<i64>>,
}

impl<'a> Values<'a> {
    /// Stores a value.
    pub(super) fn set(&mut self, value: &'a Value) {
        let ttl = value.ttl.filter(|ttl| *ttl < EVER);
        // A microsecond that has begun is counted, so that nothing expires early.
        let ttl = ttl.map(|ttl| i64::try_from(ttl.as_nanos().div_ceil(1_000)).unwrap_or(i64::MAX));
        self.push(1, &value.space, &value.key, &value.content, ttl);
    }

    /// Removes a key.
    pub(super) fn delete(&mut self, space: &'a str, key: &'a str) {
        self.push(2, space, key, "", None);
    }

    /// Drops a namespace.
    pub(super) fn clear(&mut self, space: &'a str) {
        self.push(3, space, "", "", None);
    }

    /// Removes some of what has expired.
    pub(super) fn sweep(&mut self) {
        self.push(4, "", "", "", None);
    }

    /// Returns the arguments of `value_apply`.
    pub(super) fn parameters(&self) -> [Parameter<'_>; 7] {
        let Self { verbs, spaces, keys, contents, ttls } = self;
        [verbs, spaces, keys, contents, ttls, &MAX_KEYS, &MAX_BYTES]
    }

    fn push(&mut self, verb: i16, space: &'a str, key: &'a str, content: &'a str, ttl: Option<i64>) {
        self.verbs.push(verb);
        self.spaces.push(space.as_bytes());
        self.keys.push(key.as_bytes());
        self.contents.push(content.as_bytes());
        self.ttls.push(ttl);
    }
}

impl Store for PostgresStore {
    fn get<'a>(
        &'a self,
        namespace: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        async move {
            let read = |session: Arc<Session>| async move {
                let sql = "SELECT content, seal IS NOT DISTINCT FROM ringfence.value_seal(v) FROM ringfence.value AS v WHERE space = sha256($1) AND key = $2
                    AND (until IS NULL OR until > ringfence.moment())";
                let row = session.row(sql, &[&namespace.as_bytes(), &key.as_bytes()]).await?;
                row.map(|row| text(&session, &row)).transpose()
            };
            Ok(self.readers().read(read).await?)
        }
        .boxed()
    }

    fn set<'a>(
        &'a self,
        namespace: &'a str,
        key: &'a str,
        value: &'a str,
        ttl: Option<Duration>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            StoreError::check(key, value)?;
            let (space, key, content) = (namespace.to_owned(), key.to_owned(), value.to_owned());
            self.changing(Change::Set(Value { space, key, content, ttl })).await
        }
        .boxed()
    }

    fn delete<'a>(&'a self, namespace: &'a str, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.changing(Change::Delete { space: namespace.to_owned(), key: key.to_owned() }).boxed()
    }

    fn list<'a>(
        &'a self,
        namespace: &'a str,
        prefix: &'a str,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        async move {
            let read = |session: Arc<Session>| async move {
                let prefix = prefix.as_bytes();
                let (sql, after) = match successor(prefix) {
                    Some(after) => (
                        "SELECT key, seal IS NOT DISTINCT FROM ringfence.value_seal(v) FROM ringfence.value AS v WHERE space = sha256($1) AND key >= $2 AND key < $3
                         AND (until IS NULL OR until > (SELECT ringfence.moment())) ORDER BY key",
                        Some(after),
                    ),
                    None => (
                        "SELECT key, seal IS NOT DISTINCT FROM ringfence.value_seal(v) FROM ringfence.value AS v WHERE space = sha256($1) AND key >= $2
                         AND (until IS NULL OR until > (SELECT ringfence.moment())) ORDER BY key",
                        None,
                    ),
                };
                let space = namespace.as_bytes();
                let mut parameters: Vec<Parameter<'_>> = vec![&space, &prefix];
                parameters.extend(after.as_ref().map(|after| after as Parameter<'_>));
                let rows = session.rows(sql, &parameters).await?;
                rows.iter().map(|row| text(&session, row)).collect()
            };
            Ok(self.readers().read(read).await?)
        }
        .boxed()
    }

    fn clear<'a>(&'a self, namespace: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.changing(Change::Clear { space: namespace.to_owned() }).boxed()
    }
}

impl PostgresStore {
    /// Has a change committed, and says what the rules say of it.
    async fn changing(&self, change: Change) -> Result<(), StoreError> {
        match self.writer().change(change).await? {
            Done::Refused(error) => Err(error),
            Done::Again | Done::Claimed(_) | Done::Frontier(_) | Done::Kept | Done::Settled(_) => Ok(()),
        }
    }
}

/// Returns the first bytes after everything that begins with a prefix; none where there is nothing after it.
pub(super) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut after = prefix.to_vec();
    while let Some(last) = after.pop() {
        if last < u8::MAX {
            after.push(last + 1);
            return Some(after);
        }
    }
    None
}

/// Reads the first column as text.
fn text(session: &Session, row: &Row) -> Result<String, PostgresError> {
    if !row.try_get::<_, bool>(1).map_err(|error| session.failed(&error))? {
        return Err(session.corrupt("a stored value does not have its digest"));
    }
    let bytes: Vec<u8> = row.try_get(0).map_err(|error| session.failed(&error))?;
    String::from_utf8(bytes).map_err(|_| session.corrupt("a key or a value is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_with_a_prefix_is_before_its_successor() {
        #[rustfmt::skip]
        let cases: [(&[u8], Option<&[u8]>); 6] = [
            (b"",             None),
            (b"a",            Some(b"b")),
            (b"a/",           Some(b"a0")),
            (b"a\xff",        Some(b"b")),
            (b"\xff\xff",     None),
            (b"\x00\xfe\xff", Some(b"\x00\xff")),
        ];
        for (prefix, after) in cases {
            assert_eq!(successor(prefix).as_deref(), after, "{prefix:?}");
        }
    }
}
