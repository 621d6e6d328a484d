//! Names that nobody else has, and pauses that nobody else makes.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use rustls::crypto::aws_lc_rs;

/// Returns sixteen random bytes; none where the system has no randomness.
pub(super) fn id() -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    aws_lc_rs::default_provider().secure_random.fill(&mut bytes).ok().map(|()| bytes)
}

/// Waits a little, longer at each try, and never as long as another process.
pub(super) async fn pause(tries: u32) {
    let most = 20_u64 << tries.min(5);
    let jitter = RandomState::new().hash_one(tries) % most;
    tokio::time::sleep(Duration::from_millis(most / 2 + jitter / 2)).await;
}
