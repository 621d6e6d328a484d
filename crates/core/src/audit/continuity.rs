//! Checks that a log still extends its newest signed checkpoint.

use super::checkpoint::{Checkpoint, TrustedLog};
use super::error::ProofError;
use super::hash::Hash;
use super::note::Note;
use super::proof::ConsistencyProof;
use super::tree::{Frontier, NodeId};

/// What must be shown before a further checkpoint is signed: that the log still begins with what the newest kept checkpoint says.
///
/// # Examples
///
/// ```
/// use ringfence::audit::{Checkpoint, Frontier, Hash, SignerKey, Continuity, TrustedLog};
///
/// let key = SignerKey::from_seed("audit.example/log", &[7; 32])?;
/// let log = TrustedLog::new("audit.example/log", [key.verifier().clone()])?;
/// let mut frontier = Frontier::new();
/// frontier.append(Hash::leaf(b"one"));
/// let kept = Checkpoint::new("audit.example/log", &frontier)?.sign(&key)?.to_string();
///
/// let continuity = Continuity::of(&log, [&kept]);
/// assert!(continuity.prove(&frontier, |_| None).is_ok());
/// let mut rewritten = Frontier::new();
/// rewritten.append(Hash::leaf(b"another"));
/// assert!(continuity.prove(&rewritten, |_| None).is_err());
/// assert!(continuity.prove(&Frontier::new(), |_| None).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Continuity {
    newest: Option<Checkpoint>,
}

impl Continuity {
    /// Starts from the kept checkpoints. Those that the log has not signed say nothing.
    pub fn of(log: &TrustedLog, kept: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let opened = kept
            .into_iter()
            .filter_map(|note| note.as_ref().parse::<Note>().ok())
            .filter_map(|note| log.open(&note).ok());
        Self { newest: opened.max_by_key(Checkpoint::size) }
    }

    /// Starts from a checkpoint that was opened and kept elsewhere.
    pub fn after(checkpoint: &Checkpoint) -> Self {
        Self { newest: Some(checkpoint.clone()) }
    }

    /// Returns how many records were signed last; none where nothing was.
    pub fn signed(&self) -> u64 {
        self.newest.as_ref().map_or(0, Checkpoint::size)
    }

    /// Returns the nodes that [`Continuity::prove`] needs for a log of this size.
    ///
    /// # Errors
    ///
    /// More was signed than there is.
    pub fn needed(&self, size: u64) -> Result<Vec<NodeId>, ProofError> {
        ConsistencyProof::needed(self.signed(), size)
    }

    /// Checks that the log begins with what was signed.
    ///
    /// # Errors
    ///
    /// It does not, or a node is missing.
    pub fn prove(
        &self,
        frontier: &Frontier,
        lookup: impl FnMut(NodeId) -> Option<Hash>,
    ) -> Result<(), ProofError> {
        let Some(newest) = &self.newest else { return Ok(()) };
        let proof = ConsistencyProof::assemble(newest.size(), frontier.size(), lookup)?;
        proof.verify(newest.root(), frontier.root())
    }
}
