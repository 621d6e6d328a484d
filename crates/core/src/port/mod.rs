//! Ports: what the core needs from outside, and the versions that live in memory.

mod approver;
mod clock;
mod environment;
mod idempotency;
mod launcher;
mod secret;
mod store;

pub use approver::{Approval, ApprovalRequest, Approver, MemoryApprover, Verdict};
pub use clock::{Clock, ManualClock, SystemClock};
pub use environment::Environment;
pub use idempotency::{Claim, IdempotencyStore, MemoryIdempotency};
pub use launcher::{Confinement, Launch, Launcher, ProcessOutput};
pub use secret::{Secret, SecretError, SecretSource};
pub use store::{MemoryStore, Store, StoreError};
