//! Checkpoints, verification and proofs.
//!
//! INVARIANT: what is signed is the frontier as a writer saw it in its turn.

use std::pin::pin;
use std::sync::Arc;

use futures_util::TryStreamExt as _;
use ringfence::audit::{
    Checkpoint, Hash, InclusionProof, Note, ProofError, ProofFile, SignerKey, TrustedLog, Verification,
    Verified,
};

use super::PostgresStore;
use super::audit::get;
use super::error::PostgresError;
use super::log::{self, signed};
use super::session::{Parameter, Session};
use super::writer::{Change, Done};

/// How many entries are asked for at a time; they come one after another all the same.
const PAGE: u64 = 20_000;

/// Sees one state of the database until it ends, however long that takes.
pub(super) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
    SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";

impl PostgresStore {
    /// Signs what is in the log now, and keeps the checkpoint beside it.
    ///
    /// # Errors
    ///
    /// The origin is not one line, or the database cannot be written.
    pub async fn sign(&self, key: &SignerKey, origin: &str) -> Result<Note, PostgresError> {
        let Done::Frontier(frontier) = self.writer().change(Change::Frontier).await? else {
            return Err(PostgresError::Closed { place: Arc::clone(self.place()) });
        };
        let note = Checkpoint::new(origin, &frontier)?.sign(key)?;
        let kept = Change::Checkpoint { size: frontier.size(), note: note.to_string() };
        self.writer().change(kept).await?;
        Ok(note)
    }

    /// Returns the kept checkpoints with the sizes they are filed under, smallest first. Nobody has verified them.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub async fn checkpoints(&self) -> Result<Vec<(u64, String)>, PostgresError> {
        let read = |session: Arc<Session>| async move {
            let sql = "SELECT size, note FROM ringfence.checkpoint ORDER BY size, ordinal";
            let mut found = Vec::new();
            for row in session.rows(sql, &[]).await? {
                let note: &[u8] = get(&session, &row, 1)?;
                let size: i64 = get(&session, &row, 0)?;
                found.push((size.cast_unsigned(), String::from_utf8_lossy(note).into_owned()));
            }
            Ok(found)
        };
        self.readers().read(read).await
    }

    /// Verifies the whole log as it is now, in one pass and in flat memory: records, their stored hashes, their
    /// outputs, the frontier and the kept checkpoints.
    ///
    /// `tail` is how many entries at the end may be without a signed checkpoint, and `trusted` a checkpoint that was
    /// kept elsewhere.
    ///
    /// # Errors
    ///
    /// The database cannot be read. That something is wrong with the log is no error but a finding.
    pub async fn verify(
        &self,
        log: &TrustedLog,
        tail: u64,
        trusted: Option<&Checkpoint>,
    ) -> Result<Verified, PostgresError> {
        let read = |session: Arc<Session>| async move {
            session.batch(SNAPSHOT).await?;
            let mut verification = Verification::new(log, tail);
            if let Some(checkpoint) = trusted {
                verification.trust(checkpoint);
            }
            verification.frontier(&log::claimed_frontier(&session).await?);
            let mut notes = Some(Page::default());
            let mut from = Some(i64::MIN);
            while let Some(position) = from {
                // Each checkpoint comes before the records pass its size.
                let until = verification.seen().saturating_add(PAGE);
                while let Some(page) = notes.filter(|page| page.size <= signed(until)) {
                    notes = checkpoints(&session, &mut verification, page).await?;
                }
                from = records(&session, &mut verification, position).await?;
            }
            while let Some(page) = notes {
                notes = checkpoints(&session, &mut verification, page).await?;
            }
            session.batch("COMMIT").await?;
            Ok(verification.finish())
        };
        self.readers().read(read).await
    }

    /// Proves that the entry is in the log that `note` is a checkpoint of, with a few point reads.
    ///
    /// # Errors
    ///
    /// The checkpoint is not believed or does not cover the entry, or what is stored does not lead to its root.
    pub async fn prove(&self, index: u64, note: &Note, log: &TrustedLog) -> Result<ProofFile, PostgresError> {
        let size = log.open(note)?.size();
        let needed = &InclusionProof::needed(index, size)?;
        let read = |session: Arc<Session>| async move {
            // A node that is there never changes, so that it need not be one state that is seen.
            let nodes = log::nodes(&session, needed).await?;
            let sql = "SELECT record FROM ringfence.entry WHERE position = $1";
            let row = session.row(sql, &[&signed(index)]).await?;
            let row = row.ok_or(ProofError::Node { level: 0, index })?;
            Ok((nodes, get::<Vec<u8>>(&session, &row, 0)?))
        };
        let (nodes, record) = self.readers().read(read).await?;
        let proof = InclusionProof::assemble(index, size, |id| nodes.get(&id).copied())?;
        let file = ProofFile::new(record, proof, note.clone());
        // A file that does not prove anything is not handed out.
        file.verify(log)?;
        Ok(file)
    }
}

/// Where the checkpoints have been read to: the size and the number of the last.
#[derive(Clone, Copy)]
struct Page {
    size: i64,
    ordinal: i64,
}

impl Default for Page {
    fn default() -> Self {
        Self { size: i64::MIN, ordinal: i64::MIN }
    }
}

/// Hands some checkpoints over, and says where the next are, if there are more.
async fn checkpoints(
    session: &Session,
    verification: &mut Verification<'_>,
    Page { size, ordinal }: Page,
) -> Result<Option<Page>, PostgresError> {
    let sql = "SELECT size, ordinal, note FROM ringfence.checkpoint WHERE (size, ordinal) > ($1, $2)
        ORDER BY size, ordinal LIMIT 100";
    let mut next = None;
    for row in session.rows(sql, &[&size, &ordinal]).await? {
        // One that is not even text is not believed.
        let note: &[u8] = get(session, &row, 2)?;
        verification.checkpoint(&String::from_utf8_lossy(note));
        next = Some(Page { size: get(session, &row, 0)?, ordinal: get(session, &row, 1)? });
    }
    Ok(next)
}

/// Hands some records over, and says where the next begin, if there are more.
async fn records(
    session: &Session,
    verification: &mut Verification<'_>,
    from: i64,
) -> Result<Option<i64>, PostgresError> {
    let sql = "SELECT position, leaf, record, raw, clean FROM ringfence.entry WHERE position >= $1
        ORDER BY position LIMIT $2";
    let statement = session.statement(sql).await?;
    let most = signed(PAGE);
    let parameters: [Parameter<'_>; 2] = [&from, &most];
    let rows = session.wait(session.client().query_raw(&statement, parameters)).await?;
    let mut rows = pin!(rows);
    let mut next = None;
    while let Some(row) = session.wait(rows.try_next()).await? {
        let position: i64 = get(session, &row, 0)?;
        let index = position.cast_unsigned();
        // A stored hash of another length is another hash.
        let leaf: &[u8] = get(session, &row, 1)?;
        let leaf = leaf.try_into().map_or_else(|_| Hash::of(leaf), Hash::from_bytes);
        let record: &[u8] = get(session, &row, 2)?;
        let (raw, clean): (Option<&[u8]>, Option<&[u8]>) = (get(session, &row, 3)?, get(session, &row, 4)?);
        verification.record(index, record, Some(leaf));
        if raw.is_some() || clean.is_some() {
            verification.outputs(index, record, raw, clean);
        }
        next = position.checked_add(1);
    }
    Ok(next)
}
