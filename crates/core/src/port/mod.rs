//! Ports: what the core needs from outside, and the versions that live in memory.

mod approval;
mod approver;
mod clock;
mod environment;
mod idempotency;
mod launcher;
mod secret;
mod store;

pub use approval::{
    ApprovalError, ApprovalRequest, ApprovalStore, ApproverEntry, ApproverName, ApproverNameError,
    ApproverToken, DamagedRequest, Decided, FiledRequest, ListedRequests, MemoryApprovals, Notice,
    PersonDecision, Principal, Proof, RequestFilter, RequestState, Role, RoleError, RunCount, Standing,
    StoreApprover, TokenHash, WaitingCall, Word, notice_pause,
};
pub use approver::{Approval, Approver, MemoryApprover, Verdict};
pub use clock::{Clock, ManualClock, SystemClock};
pub use environment::Environment;
pub use idempotency::{
    Claim, Fence, IdempotencyStore, KeyClaim, KeyEntry, KeyFilter, KeyFinding, KeyName, KeyState,
    MAX_IDEMPOTENCY_KEY, MemoryIdempotency, Settled, Settlement,
};
pub use launcher::{Confinement, Launch, Launcher, ProcessOutput};
pub use secret::{Secret, SecretError, SecretSource};
pub use store::{MemoryStore, Store, StoreError, StoreFactory};
