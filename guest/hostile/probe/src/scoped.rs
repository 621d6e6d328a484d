//! What ringfence itself offers: secrets, storage, the log and the call's context.

use std::time::Duration;

use ringfence_guest::{Refusal, context, log, secrets, storage};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Came;

/// An act on what ringfence offers.
#[derive(Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub(crate) enum Act {
    /// Returns the run and the idempotency key.
    Context,
    /// Writes a line of every level.
    Log { text: String },
    /// Returns a secret.
    Secret { name: String },
    /// Removes a key.
    StorageDelete { key: String },
    /// Returns a value.
    StorageGet { key: String },
    /// Returns the keys below a prefix.
    StorageList { prefix: String },
    /// Stores a value, for so many seconds where they are given.
    StorageSet { key: String, value: String, seconds: Option<u64> },
}

impl Act {
    pub(crate) fn attempt(self) -> Came {
        self.ask().map_err(|refusal| refusal.to_string())
    }

    fn ask(self) -> Result<Value, Refusal> {
        Ok(match self {
            Self::Context => json!({ "run": context::run(), "key": context::idempotency_key() }),
            Self::Log { text } => {
                for write in [log::debug, log::info, log::warn, log::error] {
                    write(&text);
                }
                Value::Null
            }
            Self::Secret { name } => json!(secrets::get(&name)?),
            Self::StorageDelete { key } => json!(storage::delete(&key)?),
            Self::StorageGet { key } => json!(storage::get(&key)?),
            Self::StorageList { prefix } => json!(storage::list(&prefix)?),
            Self::StorageSet { key, value, seconds: Some(seconds) } => {
                json!(storage::set_for(&key, &value, Duration::from_secs(seconds))?)
            }
            Self::StorageSet { key, value, seconds: None } => json!(storage::set(&key, &value)?),
        })
    }
}
