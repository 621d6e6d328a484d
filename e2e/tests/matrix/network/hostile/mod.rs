//! What a hostile program tries from inside.

mod address;
mod dns;
mod flood;
mod request;
mod tls;

use super::attempt::Attempt;

/// Every attempt.
pub(crate) const ATTEMPTS: &[&[Attempt]] =
    &[address::ATTEMPTS, dns::ATTEMPTS, flood::ATTEMPTS, request::ATTEMPTS, tls::ATTEMPTS];
