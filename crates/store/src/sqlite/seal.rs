//! Checkpoints and proofs.
//!
//! INVARIANT: only a log that goes on from where this process last knew it, and from what was signed of it last, is signed.

use ringfence::audit::{
    Checkpoint, Continuity, Frontier, InclusionProof, Note, ProofError, ProofFile, SignerKey, TrustedLog,
};

use super::SqliteStore;
use super::error::SqliteError;
use super::log;

impl SqliteStore {
    /// Signs what is in the log now, and keeps the checkpoint beside it.
    ///
    /// # Errors
    ///
    /// The origin is not one line, the log does not begin with what the key signed last, or the database cannot be written.
    pub fn sign(&self, key: &SignerKey, origin: &str) -> Result<Note, SqliteError> {
        let writer = self.writer()?;
        let frontier = writer.transact_now(|turn| turn.frontier())?;
        self.check_signed(&TrustedLog::new(origin, [key.verifier().clone()])?, None, &frontier)?;
        let note = Checkpoint::new(origin, &frontier)?.sign(key)?;
        writer.transact_now(log::keeping_checkpoint(frontier.size(), &note))?;
        Ok(note)
    }

    /// Refuses a log that does not begin with what was signed of it last, and with a checkpoint that was kept elsewhere.
    pub(super) fn check_signed(
        &self,
        log: &TrustedLog,
        trusted: Option<&Checkpoint>,
        frontier: &Frontier,
    ) -> Result<(), SqliteError> {
        let kept = self.checkpoints()?;
        let stored = Continuity::of(log, kept.iter().map(|(_, note)| note));
        for continuity in trusted.map(Continuity::after).iter().chain([&stored]) {
            self.check_continuity(continuity, frontier)?;
        }
        Ok(())
    }

    fn check_continuity(&self, continuity: &Continuity, frontier: &Frontier) -> Result<(), SqliteError> {
        let proven = self.0.readers.snapshot(|snapshot| {
            self.check_tables(snapshot)?;
            let mut broken = None;
            let proven = continuity.prove(frontier, |id| {
                log::node(snapshot, id).unwrap_or_else(|error| {
                    broken = Some(self.failed(&error));
                    None
                })
            });
            broken.map_or(Ok(proven), Err)
        })?;
        let diverged =
            |_| SqliteError::Diverged { path: self.path().to_path_buf(), signed: continuity.signed() };
        proven.map_err(diverged)
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
