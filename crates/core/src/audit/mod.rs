//! The tamper-evident part of the audit: a Merkle tree over the records, signed checkpoints, proofs, verification.
//!
//! An [`AuditEntry`] is one thing that happened, and an [`AuditSink`] keeps it. The rest is pure: no store, no clock, no
//! randomness. A store keeps records, the complete nodes of the tree
//! and the [`Frontier`]; this module says what to keep, what a proof needs, and whether what is kept is what was
//! logged.
//!
//! | what | form | made by | checked by |
//! |---|---|---|---|
//! | root of the records | RFC 6962, SHA-256 | [`Frontier`] | [`verify_log`], [`Verification`] |
//! | a record is in the log | RFC 9162 path | [`InclusionProof`], [`ProofFile`] | their `verify` |
//! | the log only grew | RFC 9162 path | [`ConsistencyProof`] | its `verify` |
//! | the log stands by a root | C2SP checkpoint in a signed note, Ed25519 | [`Checkpoint::sign`] | [`TrustedLog::open`] |
//! | outputs belong to a record | SHA-256 digests in the record | [`OutputDigests`] | [`check_outputs`] |
//!
//! What it does not stop: whoever holds the signing key can sign another history, which shows only against a
//! checkpoint that left the machine; and records after the last checkpoint are covered by no signature.

mod checkpoint;
mod column;
mod continuity;
mod entry;
mod error;
mod filter;
mod finding;
mod hash;
mod key;
mod ledger;
#[cfg(test)]
mod naive;
mod note;
mod output;
mod progress;
mod proof;
mod proof_file;
mod step;
mod tree;
mod verify;

pub use checkpoint::{Checkpoint, TrustedLog};
pub use column::Columns;
pub use continuity::Continuity;
pub use entry::{AuditEntry, AuditLine, AuditSink, MemoryAudit};
pub use error::{HashError, KeyError, NoteError, OutputError, ProofError, TreeError};
pub use filter::{Filter, Stored};
pub use finding::{Finding, Promise, Verified};
pub use hash::Hash;
pub use key::{SignerKey, VerifierKey};
pub use note::Note;
pub use output::{OutputDigests, check_outputs};
pub use progress::Progress;
pub use proof::{ConsistencyProof, InclusionProof};
pub use proof_file::{ProofFile, Proven};
pub use step::{ApprovalStep, ApproverChange, ConsoleStep, KeySettlement, LateUse, PolicyChange, ServerStep};
pub use tree::{Frontier, MAX_SIZE, Node, NodeId};
pub use verify::{StoredRecord, Verification, verify_log};
