//! Idempotency keys.
//!
//! Claims and settlements go through the writer with everything else, so that they share its commits; the rules are
//! in the function `key_apply` of the database, where they see one state. A key that is executed belongs to an
//! instance, and is in doubt as soon as the lease of that instance has ended.
//!
//! INVARIANT: the rules are those of [`MemoryIdempotency`](ringfence::MemoryIdempotency); one suite of tests runs on
//! both.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ringfence::audit::KeySettlement;
use ringfence::{
    AuditEntry, Claim, Fence, IdempotencyStore, KeyClaim, KeyEntry, KeyFilter, KeyFinding, KeyName, KeyState,
    Settled, Settlement, StoreError,
};
use tokio_postgres::Row;

use super::PostgresStore;
use super::audit::get;
use super::error::PostgresError;
use super::log::signed;
use super::session::{Parameter, Session};
use super::turn::{Turn, micros};
use super::writer::{Change, Done};

/// The columns of a key; a key whose instance is not alive is in doubt.
const COLUMNS: &str = "k.scope, k.key, k.digest, k.arguments, k.run, k.fence, k.claimed_us, k.output,
    CASE WHEN k.state = 1 AND NOT ringfence.is_alive(k.instance) THEN 4 ELSE k.state END,
    k.until_us <= ringfence.moment_us(), k.seal IS NOT DISTINCT FROM ringfence.key_seal(k)";
/// How often a claim whose answer was lost is made again.
const TRIES: u32 = 5;

/// Claims and settlements by columns, as one statement takes them.
#[derive(Default)]
pub(super) struct Keys<'a> {
    verbs: Vec<i16>,
    instances: Vec<&'a [u8]>,
    scopes: Vec<&'a [u8]>,
    keys: Vec<&'a [u8]>,
    digests: Vec<&'a [u8]>,
    arguments: Vec<&'a [u8]>,
    runs: Vec<&'a [u8]>,
    owners: Vec<&'a [u8]>,
    fences: Vec<i64>,
    outputs: Vec<&'a [u8]>,
    keeps: Vec<i64>,
}

impl<'a> Keys<'a> {
    /// Claims a key.
    pub(super) fn claim(&mut self, claim: &'a KeyClaim, instance: &'a [u8; 16]) {
        self.push(1, &claim.name, Fence(0), "", Duration::ZERO);
        self.instances.push(instance);
        self.digests.push(claim.digest.as_bytes());
        self.arguments.push(claim.arguments.as_bytes());
        self.runs.push(claim.run.as_bytes());
        self.owners.push(claim.owner.as_bytes());
    }

    /// Settles a key.
    pub(super) fn settle(&mut self, name: &'a KeyName, fence: Fence, settlement: &'a Settlement) {
        match settlement {
            Settlement::Committed { output, keep } => self.push(2, name, fence, output, *keep),
            Settlement::Failed => self.push(3, name, fence, "", Duration::ZERO),
            Settlement::Unknown => self.push(4, name, fence, "", Duration::ZERO),
        }
        for column in
            [&mut self.instances, &mut self.digests, &mut self.arguments, &mut self.runs, &mut self.owners]
        {
            column.push(b"");
        }
    }

    /// Returns the arguments of `key_apply`.
    #[rustfmt::skip]
    pub(super) fn parameters(&self) -> [Parameter<'_>; 11] {
        [
            &self.verbs, &self.instances, &self.scopes, &self.keys, &self.digests, &self.arguments, &self.runs,
            &self.owners, &self.fences, &self.outputs, &self.keeps,
        ]
    }

    fn push(&mut self, verb: i16, name: &'a KeyName, fence: Fence, output: &'a str, keep: Duration) {
        self.verbs.push(verb);
        self.scopes.push(name.scope.as_bytes());
        self.keys.push(name.key.as_bytes());
        self.fences.push(signed(fence.0));
        self.outputs.push(output.as_bytes());
        self.keeps.push(micros(keep));
    }
}

/// Reads the verdict of `key_apply`. `output` is what is replayed, where that is known.
pub(super) fn answer(verdict: i16, fence: i64, output: Option<Option<Vec<u8>>>) -> Option<Done> {
    let fence = Fence(u64::try_from(fence).ok()?);
    Some(match verdict {
        1 => Done::Claimed(Some(Claim::Granted(fence))),
        2 => Done::Claimed(Some(Claim::Conflict)),
        3 => Done::Claimed(Some(Claim::InFlight)),
        4 => match output {
            None => Done::Again,
            Some(output) => Done::Claimed(Some(Claim::Replay(String::from_utf8(output?).ok()?))),
        },
        5 => Done::Claimed(Some(Claim::Unknown(fence))),
        6 => Done::Settled(Settled::Kept),
        7 => Done::Settled(Settled::Stale),
        8 => Done::Claimed(None),
        9 => Done::Refused(StoreError::Unreachable("an idempotency key does not have its digest".into())),
        _ => return None,
    })
}

impl IdempotencyStore for PostgresStore {
    fn claim<'a>(&'a self, claim: &'a KeyClaim) -> BoxFuture<'a, Result<Claim, StoreError>> {
        async move {
            for _ in 0..TRIES {
                let instance = self.lease().await?.current()?;
                let change = Change::Claim { claim: claim.clone(), instance: instance.id };
                match self.writer().change(change).await? {
                    // Whoever was taken for dead while the answer was on its way must not start.
                    Done::Claimed(Some(Claim::Granted(_))) if !self.lease().await?.holds(&instance) => {
                        return Err(self.not_alive());
                    }
                    Done::Claimed(Some(found)) => return Ok(found),
                    Done::Claimed(None) => return Err(self.not_alive()),
                    Done::Refused(error) => return Err(error),
                    _ => {}
                }
            }
            Err(self.not_alive())
        }
        .boxed()
    }

    fn find<'a>(
        &'a self,
        name: &'a KeyName,
        digest: &'a str,
    ) -> BoxFuture<'a, Result<Option<Claim>, StoreError>> {
        async move {
            let read = |session: Arc<Session>| async move {
                let found = stored(&session, name).await?;
                Ok(found.and_then(|found| found.claim(digest)))
            };
            Ok(self.readers().read(read).await?)
        }
        .boxed()
    }

    fn settle<'a>(
        &'a self,
        name: &'a KeyName,
        fence: Fence,
        settlement: Settlement,
    ) -> BoxFuture<'a, Result<Settled, StoreError>> {
        async move {
            match self.writer().change(Change::Settle { name: name.clone(), fence, settlement }).await? {
                Done::Settled(settled) => Ok(settled),
                Done::Refused(error) => Err(error),
                _ => Err(PostgresError::Closed { place: Arc::clone(self.place()) }.into()),
            }
        }
        .boxed()
    }

    fn find_out<'a>(&'a self, finding: &'a KeyFinding) -> BoxFuture<'a, Result<Settled, StoreError>> {
        async move {
            let (state, output, keep) = match &finding.settlement {
                Settlement::Committed { output, keep } => (2_i16, Some(output), *keep),
                Settlement::Failed => (3, None, Duration::ZERO),
                Settlement::Unknown => (4, None, Duration::ZERO),
            };
            let work = |mut turn: Turn| async move {
                let session = turn.session();
                let found = stored(&session, &finding.name).await?;
                let wanted = |found: &KeyRow| {
                    found.entry.state == KeyState::Unknown && found.entry.fence == finding.fence
                };
                let Some(found) = found.filter(wanted) else { return Ok((turn, Ok(Settled::Stale))) };
                let output = output.map(String::as_bytes);
                let until = output.map(|_| micros(turn.now().saturating_add(keep)));
                let sql = "UPDATE ringfence.key SET state = $3, output = $4, until_us = $5
                    WHERE name = ringfence.key_name($1, $2)";
                let name = (finding.name.scope.as_bytes(), finding.name.key.as_bytes());
                session.execute(sql, &[&name.0, &name.1, &state, &output, &until]).await?;
                let settlement = KeySettlement::new(finding, &found.entry.run, turn.now());
                turn.append(&AuditEntry::Settlement(&settlement))?;
                Ok((turn, Ok(Settled::Kept)))
            };
            self.exclusively(work).await
        }
        .boxed()
    }

    fn keys<'a>(&'a self, filter: &'a KeyFilter) -> BoxFuture<'a, Result<Vec<KeyEntry>, StoreError>> {
        async move {
            let read = |session: Arc<Session>| async move {
                let state = filter.state.map(number);
                let key = filter.key.as_deref().map(str::as_bytes);
                let most = (filter.most > 0).then(|| i64::try_from(filter.most).unwrap_or(i64::MAX));
                let sql = format!(
                    "SELECT * FROM (SELECT {COLUMNS} FROM ringfence.key AS k
                     WHERE ($2::bytea IS NULL OR k.key = $2)
                     AND (k.until_us IS NULL OR k.until_us > (SELECT ringfence.moment_us()))) AS listed
                     (scope, key, digest, arguments, run, fence, claimed_us, output, state, is_over, is_sealed)
                     WHERE $1::smallint IS NULL OR state = $1 ORDER BY fence DESC LIMIT $3"
                );
                let rows = session.rows(sql, &[&state, &key, &most]).await?;
                rows.iter().map(|row| Ok(KeyRow::read(&session, row)?.entry)).collect()
            };
            Ok(self.readers().read(read).await?)
        }
        .boxed()
    }

    fn lost(&self) -> BoxFuture<'_, ()> {
        async move {
            // Whoever cannot even begin to be alive is as good as dead.
            if let Ok(lease) = self.lease().await {
                lease.lost().await;
            }
        }
        .boxed()
    }
}

impl PostgresStore {
    fn not_alive(&self) -> StoreError {
        let why = "this process has lost its lease".to_owned();
        PostgresError::Lost { place: Arc::clone(self.place()), why }.into()
    }
}

/// A key as it is stored.
struct KeyRow {
    entry: KeyEntry,
    output: Option<String>,
    /// What it returned is no longer replayed.
    is_over: bool,
}

impl KeyRow {
    fn read(session: &Session, row: &Row) -> Result<Self, PostgresError> {
        if !get::<bool>(session, row, 10)? {
            return Err(session.corrupt("an idempotency key does not have its digest"));
        }
        let text = |column| {
            let bytes: Vec<u8> = get(session, row, column)?;
            String::from_utf8(bytes).map_err(|_| session.corrupt("a key is not UTF-8"))
        };
        let output: Option<Vec<u8>> = get(session, row, 7)?;
        let output = output.map(String::from_utf8).transpose();
        // The expression of the state has the type of its larger part.
        let state = row.try_get::<_, i32>(8).map_err(|error| session.failed(&error))?;
        let state = KeyState::ALL.into_iter().find(|known| i32::from(number(*known)) == state);
        Ok(Self {
            entry: KeyEntry {
                name: KeyName { scope: text(0)?, key: text(1)? },
                state: state.ok_or_else(|| session.corrupt("a key is in no state"))?,
                fence: Fence(get::<i64>(session, row, 5)?.cast_unsigned()),
                digest: text(2)?,
                arguments: text(3)?,
                run: text(4)?,
                claimed: Duration::from_micros(get::<i64>(session, row, 6)?.cast_unsigned()),
            },
            output: output.map_err(|_| session.corrupt("an output is not UTF-8"))?,
            is_over: get::<Option<bool>>(session, row, 9)?.unwrap_or(false),
        })
    }

    /// Says what a claim would find; nothing where the key is free.
    fn claim(self, digest: &str) -> Option<Claim> {
        match self.entry.state {
            KeyState::Failed => None,
            KeyState::Committed if self.is_over => None,
            _ if self.entry.digest != digest => Some(Claim::Conflict),
            KeyState::Committed => Some(Claim::Replay(self.output.unwrap_or_default())),
            KeyState::Executing => Some(Claim::InFlight),
            KeyState::Unknown => Some(Claim::Unknown(self.entry.fence)),
        }
    }
}

/// Returns a state as it is stored.
const fn number(state: KeyState) -> i16 {
    match state {
        KeyState::Executing => 1,
        KeyState::Committed => 2,
        KeyState::Failed => 3,
        KeyState::Unknown => 4,
    }
}

/// Reads a key.
async fn stored(session: &Session, name: &KeyName) -> Result<Option<KeyRow>, PostgresError> {
    let sql = format!("SELECT {COLUMNS} FROM ringfence.key AS k WHERE k.name = ringfence.key_name($1, $2)");
    let rows = session.rows(sql, &[&name.scope.as_bytes(), &name.key.as_bytes()]).await?;
    rows.first().map(|row| KeyRow::read(session, row)).transpose()
}
