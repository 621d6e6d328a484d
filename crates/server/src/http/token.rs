//! Bearer tokens: made here, known by their hash only, compared in constant time.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::config::AgentToken;

/// Hashes a bearer token, as it is kept in a policy file.
pub fn token_hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Makes a bearer token of 256 random bits.
///
/// # Panics
///
/// The machine has no randomness: then there must be no token.
pub fn new_token() -> String {
    format!("rf_{}", URL_SAFE_NO_PAD.encode(random::<32>()))
}

/// Makes random bytes.
///
/// # Panics
///
/// The machine has no randomness: whatever would be made of something else could be guessed.
pub(crate) fn random<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    #[expect(clippy::expect_used, reason = "going on without randomness would let anybody in")]
    getrandom::fill(&mut bytes).expect("there is no randomness");
    bytes
}

/// Returns the place of the agent whose token this is. All agents are looked at, and all of each hash, whatever is found.
pub(super) fn owner(agents: &[AgentToken], token: &str) -> Option<usize> {
    let hash = token_hash(token);
    let mut found = None;
    for (place, agent) in agents.iter().enumerate() {
        let difference = agent.hash.iter().zip(&hash).fold(0_u8, |all, (one, other)| all | (one ^ other));
        if std::hint::black_box(difference) == 0 {
            found = Some(place);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::door::Agent;

    #[test]
    fn a_token_belongs_to_one_agent() {
        let tokens = [new_token(), new_token()];
        let agents: Vec<_> = tokens
            .iter()
            .map(|token| AgentToken { agent: Agent::default(), hash: token_hash(token) })
            .collect();
        assert_eq!(owner(&agents, &tokens[0]), Some(0));
        assert_eq!(owner(&agents, &tokens[1]), Some(1));
        assert_eq!(owner(&agents, ""), None);
        assert_eq!(owner(&agents, tokens[0].trim_end_matches(char::is_alphanumeric)), None);
        assert_eq!(owner(&[], &tokens[0]), None);
    }

    #[test]
    fn tokens_are_long_and_fit_into_a_header() {
        let token = new_token();
        assert_eq!(token.len(), 3 + 43);
        assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)), "{token}");
        assert_ne!(token, new_token());
    }
}
