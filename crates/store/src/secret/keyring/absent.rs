//! Systems whose keyring this build cannot ask.

use ringfence::SecretError;

use crate::secret::Answer;

/// How the keyring is called in a hint.
pub(super) const NAME: &str = "the keyring";

/// Refuses.
pub(super) fn entry(_service: &str, _user: &str) -> Answer {
    Err(SecretError::new("the keyring of this operating system is not available in this build"))
}

#[cfg(test)]
mod tests {
    use super::{NAME, entry};

    #[test]
    fn refuses_and_says_why() {
        let error = entry("ringfence", "prod/db").unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{NAME} of this operating system is not available in this build")
        );
    }
}
