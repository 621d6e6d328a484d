//! The face that both databases have.

use std::time::Duration;

use futures_util::FutureExt as _;
use ringfence::audit::{
    Checkpoint, Filter, Note, Progress, ProofFile, SignerKey, Stored, TrustedLog, Verified,
};

use super::PostgresStore;
use crate::database::{Answer, Database};

impl Database for PostgresStore {
    fn describe(&self) -> String {
        format!("the database {}", self.place())
    }

    fn size(&self) -> Answer<'_, u64> {
        async { Ok(Self::size(self).await?) }.boxed()
    }

    fn entries<'a>(&'a self, filter: &'a Filter, from: u64, most: usize) -> Answer<'a, Vec<Stored>> {
        async move { Ok(Self::entries(self, filter, from, most).await?) }.boxed()
    }

    fn newest<'a>(&'a self, filter: &'a Filter, most: usize) -> Answer<'a, Vec<Stored>> {
        async move { Ok(Self::newest(self, filter, most).await?) }.boxed()
    }

    fn entry(&self, index: u64) -> Answer<'_, Option<Stored>> {
        async move { Ok(Self::entry(self, index).await?) }.boxed()
    }

    fn sign<'a>(
        &'a self,
        key: &'a SignerKey,
        origin: &'a str,
        trusted: Option<&'a Checkpoint>,
    ) -> Answer<'a, Note> {
        async move { Ok(self.sign_after(key, origin, trusted).await?) }.boxed()
    }

    fn checkpoints(&self) -> Answer<'_, Vec<(u64, String)>> {
        async { Ok(Self::checkpoints(self).await?) }.boxed()
    }

    fn verify<'a>(
        &'a self,
        log: &'a TrustedLog,
        tail: u64,
        trusted: Option<&'a Checkpoint>,
        progress: &'a Progress,
    ) -> Answer<'a, Verified> {
        async move { Ok(Self::verify(self, log, tail, trusted, progress).await?) }.boxed()
    }

    fn prove<'a>(&'a self, index: u64, note: &'a Note, log: &'a TrustedLog) -> Answer<'a, ProofFile> {
        async move { Ok(Self::prove(self, index, note, log).await?) }.boxed()
    }

    fn forget_raw(&self, before: Duration) -> Answer<'_, u64> {
        async move { Ok(Self::forget_raw(self, before).await?) }.boxed()
    }

    fn check(&self) -> Answer<'_, Vec<String>> {
        async { Ok(Self::check(self).await?) }.boxed()
    }
}
