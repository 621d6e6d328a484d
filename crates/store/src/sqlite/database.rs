//! The face that SQLite shares with other databases. What reads does so on a thread that may block.

use std::time::Duration;

use futures_util::FutureExt as _;
use ringfence::audit::{
    Checkpoint, Filter, Note, Progress, ProofFile, SignerKey, Stored, TrustedLog, Verified,
};

use super::SqliteStore;
use super::error::SqliteError;
use super::log;
use crate::database::{Answer, Database};

impl Database for SqliteStore {
    fn describe(&self) -> String {
        self.path().display().to_string()
    }

    fn size(&self) -> Answer<'_, u64> {
        self.asking(Self::size)
    }

    fn entries<'a>(&'a self, filter: &'a Filter, from: u64, most: usize) -> Answer<'a, Vec<Stored>> {
        let filter = filter.clone();
        self.asking(move |store| store.entries(&filter, from, most))
    }

    fn newest<'a>(&'a self, filter: &'a Filter, most: usize) -> Answer<'a, Vec<Stored>> {
        let filter = filter.clone();
        self.asking(move |store| store.newest(&filter, most))
    }

    fn entry(&self, index: u64) -> Answer<'_, Option<Stored>> {
        self.asking(move |store| store.entry(index))
    }

    fn sign<'a>(
        &'a self,
        key: &'a SignerKey,
        origin: &'a str,
        trusted: Option<&'a Checkpoint>,
    ) -> Answer<'a, Note> {
        async move {
            let frontier = self.transact(0, |turn| turn.frontier()).await?;
            let log = TrustedLog::new(origin, [key.verifier().clone()]).map_err(SqliteError::from)?;
            let (signed, trusted) = (frontier.clone(), trusted.cloned());
            self.blocking(move |store| store.check_signed(&log, trusted.as_ref(), &signed)).await?;
            let note = Checkpoint::new(origin, &frontier).and_then(|checkpoint| checkpoint.sign(key));
            let note = note.map_err(SqliteError::from)?;
            self.transact(0, log::keeping_checkpoint(frontier.size(), &note)).await?;
            Ok(note)
        }
        .boxed()
    }

    fn checkpoints(&self) -> Answer<'_, Vec<(u64, String)>> {
        self.asking(Self::checkpoints)
    }

    fn verify<'a>(
        &'a self,
        log: &'a TrustedLog,
        tail: u64,
        trusted: Option<&'a Checkpoint>,
        progress: &'a Progress,
    ) -> Answer<'a, Verified> {
        let (log, trusted, progress) = (log.clone(), trusted.cloned(), progress.clone());
        self.asking(move |store| store.verify(&log, tail, trusted.as_ref(), &progress))
    }

    fn prove<'a>(&'a self, index: u64, note: &'a Note, log: &'a TrustedLog) -> Answer<'a, ProofFile> {
        let (note, log) = (note.clone(), log.clone());
        self.asking(move |store| store.prove(index, &note, &log))
    }

    fn forget_raw(&self, before: Duration) -> Answer<'_, u64> {
        async move {
            let mut forgotten = 0;
            // Each transaction forgets a bounded part, so that nobody waits long for it.
            loop {
                match self.transact(0, move |turn| turn.forget_raw(before)).await? {
                    0 => return Ok(forgotten),
                    count => forgotten += count,
                }
            }
        }
        .boxed()
    }

    fn check(&self) -> Answer<'_, Vec<String>> {
        self.asking(Self::check)
    }
}

impl SqliteStore {
    /// Asks on a thread that may block.
    fn asking<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Self) -> Result<T, SqliteError> + Send + 'static,
    ) -> Answer<'_, T> {
        async move { Ok(self.blocking(ask).await?) }.boxed()
    }
}
