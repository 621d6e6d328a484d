//! Who is let in: one-time links and tokens, sessions, and what a form must bring along.
//!
//! INVARIANT: a session is made only by a login, under a new random name, and ends when its time is up, when its person logs out,
//! or when its person is revoked. The server keeps only hashes of what lets somebody in.

mod cookie;
mod link;
mod session;

pub(crate) use cookie::Cookies;
pub(crate) use link::Links;
pub(crate) use session::Sessions;

use sha2::{Digest, Sha256};

/// Hashes what lets somebody in.
fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Compares without telling by the time taken where two differ.
pub(crate) fn same(one: &[u8], other: &[u8]) -> bool {
    let difference = one.iter().zip(other).fold(0_u8, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && std::hint::black_box(difference) == 0
}

/// Makes 256 random bits as text.
fn secret() -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(crate::http::random::<32>())
}
