//! Where accepted definitions are kept, and what was seen and not accepted.

use ringfence::Pins;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Keeps what somebody has accepted, and what waits for that.
pub trait PinBook: Send + Sync {
    /// Reads the pins.
    ///
    /// # Errors
    ///
    /// They cannot be read or were edited; then nothing is trusted.
    fn pins(&self) -> Result<Pins, String>;

    /// Returns a number that is another one when the pins are others. It is asked for with every call.
    fn stamp(&self) -> u64 {
        0
    }

    /// Accepts definitions of a server, by key, and replaces what was seen of one kind (`tool`, `prompt`, `instructions`) of it
    /// and is not accepted.
    ///
    /// # Errors
    ///
    /// It cannot be written down; then nothing was accepted.
    fn keep(
        &self,
        server: &str,
        kind: &str,
        accepted: &[(String, Value)],
        seen: &[Seen],
    ) -> Result<(), String>;
}

/// A definition that was seen and is withheld.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// `tool:echo`, `prompt:greet` or `instructions`.
    pub key: String,
    /// SHA-256 of the definition in hexadecimal; empty where it has none.
    pub digest: String,
    /// The whole definition, as the server sent it.
    pub definition: Value,
    /// Why it is withheld, as one sentence.
    pub why: String,
    /// What the scan says: `accept`, `flag` or `quarantine`.
    pub verdict: String,
    /// The key of an accepted definition that is gone and that this one resembles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
}
