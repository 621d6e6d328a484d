//! A call's way through the house, one direction only.
//!
//! ```text
//! Declaration ─ register ─► Registered ─ admit ─► Admitted ─ run ─► RawOutput ─ clean ─► CleanOutput ─ settle ─► Record
//! ```
//!
//! Each stage is a type whose constructor belongs to the stage before, so that skipping a stage does not compile.

mod admit;
mod ask;
mod claim;
mod output;
mod reconcile;
mod registered;
mod retry;
mod review;
mod run;
mod settle;
mod stage;

pub(crate) use admit::Desk;
pub(crate) use ask::{Answer, Patience, Question};
pub use output::{CleanOutput, RawOutput};
pub(crate) use registered::{Fit, fit};
pub use registered::{Quarantine, Registered, scan_declaration};
pub use review::Review;
pub(crate) use settle::Settling;
pub(crate) use stage::Stages;
