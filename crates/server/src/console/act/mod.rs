//! What people change: the same for a page and for the API.
//!
//! INVARIANT: whoever may not is refused before anything is looked at, and the audit keeps who does what before it is done.

mod definition;
mod key;
mod manifest;
mod person;
mod verification;

pub(crate) use definition::{judge, missing};
pub(crate) use key::settle;
pub(crate) use manifest::accept;
pub(crate) use person::revoke;
pub(crate) use verification::{Verifications, Verifying, verify};
