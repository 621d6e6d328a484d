//! Checkpoints, verification and proofs.
//!
//! INVARIANT: only a log that goes on from where this process last knew it is signed.

use ringfence::audit::{
    Checkpoint, Hash, InclusionProof, Note, ProofError, ProofFile, SignerKey, TrustedLog, Verification,
    Verified,
};
use rusqlite::types::ValueRef;
use rusqlite::{Row, Rows};

use super::SqliteStore;
use super::change::{Change, Done};
use super::error::SqliteError;
use super::log;

impl SqliteStore {
    /// Signs what is in the log now, and keeps the checkpoint beside it.
    ///
    /// # Errors
    ///
    /// The origin is not one line, or the database cannot be written.
    pub fn sign(&self, key: &SignerKey, origin: &str) -> Result<Note, SqliteError> {
        let writer = self.writer()?;
        let (note, change) = self.note(writer.change_now(Change::Frontier)?, key, origin)?;
        writer.change_now(change)?;
        Ok(note)
    }

    /// Signs where the writer says the log stands, and returns the change that keeps it.
    pub(super) fn note(
        &self,
        frontier: Done,
        key: &SignerKey,
        origin: &str,
    ) -> Result<(Note, Change), SqliteError> {
        let Done::Frontier(frontier) = frontier else {
            return Err(SqliteError::Closed { path: self.path().to_owned() });
        };
        let note = Checkpoint::new(origin, &frontier)?.sign(key)?;
        let change = Change::Checkpoint { size: frontier.size(), note: note.to_string() };
        Ok((note, change))
    }

    /// Returns the kept checkpoints with the sizes they are filed under, smallest first. Nobody has verified them.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub fn checkpoints(&self) -> Result<Vec<(u64, String)>, SqliteError> {
        self.0.readers.with(|connection| {
            let found = connection
                .prepare_cached("SELECT size, note FROM checkpoint ORDER BY size, ordinal")
                .and_then(|mut select| {
                    select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()
                });
            found.map_err(|error| self.failed(&error))
        })
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
    pub fn verify(
        &self,
        log: &TrustedLog,
        tail: u64,
        trusted: Option<&Checkpoint>,
    ) -> Result<Verified, SqliteError> {
        self.0.readers.snapshot(|snapshot| {
            let failed = |error| self.failed(&error);
            let mut verification = Verification::new(log, tail);
            if let Some(checkpoint) = trusted {
                verification.trust(checkpoint);
            }
            verification.frontier(&log::claimed_frontier(snapshot, self.path())?);
            let mut notes = snapshot
                .prepare_cached("SELECT CAST(note AS BLOB) FROM checkpoint ORDER BY size, ordinal")
                .map_err(failed)?;
            let mut entries = snapshot
                .prepare_cached("SELECT position, leaf, record, raw, clean FROM entry ORDER BY position")
                .map_err(failed)?;
            let mut notes = notes.query([]).map_err(failed)?;
            let mut entries = entries.query([]).map_err(failed)?;
            run(&mut verification, &mut notes, &mut entries).map_err(failed)?;
            Ok(verification.finish())
        })
    }

    /// Proves that the entry is in the log that `note` is a checkpoint of, with a few point reads.
    ///
    /// # Errors
    ///
    /// The checkpoint is not believed or does not cover the entry, or what is stored does not lead to its root.
    pub fn prove(&self, index: u64, note: &Note, log: &TrustedLog) -> Result<ProofFile, SqliteError> {
        let size = log.open(note)?.size();
        let file = self.0.readers.snapshot(|snapshot| {
            let mut broken = None;
            let proof = InclusionProof::assemble(index, size, |id| {
                log::node(snapshot, id).unwrap_or_else(|error| {
                    broken = Some(self.failed(&error));
                    None
                })
            });
            if let Some(error) = broken {
                return Err(error);
            }
            let record: String = snapshot
                .prepare_cached("SELECT record FROM entry WHERE position = ?1")
                .and_then(|mut select| select.query_row([index], |row| row.get(0)))
                .map_err(|error| match error {
                    rusqlite::Error::QueryReturnedNoRows => ProofError::Node { level: 0, index }.into(),
                    error => self.failed(&error),
                })?;
            Ok(ProofFile::new(record.into_bytes(), proof?, note.clone()))
        })?;
        // A file that does not prove anything is not handed out.
        file.verify(log)?;
        Ok(file)
    }
}

/// Hands everything over, each checkpoint before the records pass its size.
fn run(
    verification: &mut Verification<'_>,
    notes: &mut Rows<'_>,
    entries: &mut Rows<'_>,
) -> rusqlite::Result<()> {
    let (mut ahead, mut more) = (0, true);
    while let Some(entry) = entries.next()? {
        while more && ahead <= verification.seen() {
            match notes.next()? {
                Some(row) => ahead = checkpoint(verification, row)?.unwrap_or(ahead),
                None => more = false,
            }
        }
        let index = entry.get::<_, i64>(0)?.cast_unsigned();
        // A stored hash of another length is another hash.
        let leaf = bytes(entry, 1)?.unwrap_or_default();
        let leaf = leaf.try_into().map_or_else(|_| Hash::of(leaf), Hash::from_bytes);
        let record = bytes(entry, 2)?.unwrap_or_default();
        let (raw, clean) = (bytes(entry, 3)?, bytes(entry, 4)?);
        verification.record(index, record, Some(leaf));
        if raw.is_some() || clean.is_some() {
            verification.outputs(index, record, raw, clean);
        }
    }
    while more && let Some(row) = notes.next()? {
        checkpoint(verification, row)?;
    }
    Ok(())
}

/// Hands one checkpoint over; one that is not even text is not believed.
fn checkpoint(verification: &mut Verification<'_>, row: &Row<'_>) -> rusqlite::Result<Option<u64>> {
    let note = bytes(row, 0)?.unwrap_or_default();
    Ok(verification.checkpoint(&String::from_utf8_lossy(note)))
}

/// Returns the bytes of a column, whether they are text or not.
fn bytes<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<Option<&'a [u8]>> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        value => Ok(Some(value.as_bytes()?)),
    }
}
