//! The audit log of a database, as the console reads it.

use std::sync::Arc;

use futures_util::FutureExt as _;
use ringfence::StoreError;
use ringfence::audit::{Filter, Note, Progress, ProofFile, Stored, TrustedLog, Verified};
use ringfence_server::console::{AuditLog, Reading};
use ringfence_store::{Answer, Database};

/// The audit log of a database.
pub(super) struct Library(pub(super) Arc<dyn Database>);

/// Says in the words of the console why a database did not answer.
fn read<'a, T: Send + 'a>(answer: Answer<'a, T>) -> Reading<'a, T> {
    answer.map(|answered| answered.map_err(|error| StoreError::Unreachable(error.to_string()))).boxed()
}

impl AuditLog for Library {
    fn describe(&self) -> String {
        self.0.describe()
    }

    fn size(&self) -> Reading<'_, u64> {
        read(self.0.size())
    }

    fn entries<'a>(&'a self, filter: &'a Filter, from: u64, most: usize) -> Reading<'a, Vec<Stored>> {
        read(self.0.entries(filter, from, most))
    }

    fn newest<'a>(&'a self, filter: &'a Filter, most: usize) -> Reading<'a, Vec<Stored>> {
        read(self.0.newest(filter, most))
    }

    fn entry(&self, index: u64) -> Reading<'_, Option<Stored>> {
        read(self.0.entry(index))
    }

    fn checkpoints(&self) -> Reading<'_, Vec<(u64, String)>> {
        read(self.0.checkpoints())
    }

    fn verify<'a>(&'a self, log: &'a TrustedLog, tail: u64, progress: &'a Progress) -> Reading<'a, Verified> {
        read(self.0.verify(log, tail, None, progress))
    }

    fn prove<'a>(&'a self, index: u64, note: &'a Note, log: &'a TrustedLog) -> Reading<'a, ProofFile> {
        read(self.0.prove(index, note, log))
    }

    fn check(&self) -> Reading<'_, Vec<String>> {
        read(self.0.check())
    }
}
