//! Checkpoints and proofs.
//!
//! INVARIANT: what is signed is the frontier as a writer saw it in its turn.

use std::sync::Arc;

use ringfence::audit::{
    Checkpoint, Continuity, Frontier, InclusionProof, Note, ProofError, ProofFile, SignerKey, TrustedLog,
};

use super::PostgresStore;
use super::audit::get;
use super::difference;
use super::error::PostgresError;
use super::log::{self, signed};
use super::session::Session;
use super::writer::{Change, Done};

impl PostgresStore {
    /// Signs what is in the log now, and keeps the checkpoint beside it.
    ///
    /// # Errors
    ///
    /// The origin is not one line, the log does not begin with what the key signed last, or the database cannot be written.
    pub async fn sign(&self, key: &SignerKey, origin: &str) -> Result<Note, PostgresError> {
        self.sign_after(key, origin, None).await
    }

    /// The same for a log that begins with `trusted`, a checkpoint that was kept elsewhere.
    ///
    /// # Errors
    ///
    /// Those of [`PostgresStore::sign`], or the log does not begin with it.
    pub async fn sign_after(
        &self,
        key: &SignerKey,
        origin: &str,
        trusted: Option<&Checkpoint>,
    ) -> Result<Note, PostgresError> {
        let Done::Frontier(frontier) = self.writer().change(Change::Frontier).await? else {
            return Err(PostgresError::Closed { place: Arc::clone(self.place()) });
        };
        let log = TrustedLog::new(origin, [key.verifier().clone()])?;
        let kept = self.checkpoints().await?;
        let stored = Continuity::of(&log, kept.iter().map(|(_, note)| note));
        for continuity in trusted.map(Continuity::after).iter().chain([&stored]) {
            self.check_continuity(continuity, &frontier).await?;
        }
        let note = Checkpoint::new(origin, &frontier)?.sign(key)?;
        let kept = Change::Checkpoint { size: frontier.size(), note: note.to_string() };
        self.writer().change(kept).await?;
        Ok(note)
    }

    /// Checks that the log begins with what was signed.
    async fn check_continuity(
        &self,
        continuity: &Continuity,
        frontier: &Frontier,
    ) -> Result<(), PostgresError> {
        let diverged =
            |_| PostgresError::Diverged { place: Arc::clone(self.place()), signed: continuity.signed() };
        let needed = &continuity.needed(frontier.size()).map_err(diverged)?;
        // A node that is there never changes, so that it need not be one state that is seen.
        let read = |session: Arc<Session>| async move {
            difference::check_tables(&session).await?;
            log::nodes(&session, needed).await
        };
        let nodes = self.readers().read(read).await?;
        continuity.prove(frontier, |id| nodes.get(&id).copied()).map_err(diverged)
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
