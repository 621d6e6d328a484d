//! A build without PostgreSQL.

use std::sync::Arc;

use ringfence_store::{Copied, Database, DatabaseError, KeepRaw, SqliteStore};

use crate::error::CommandError;

/// Refuses: this build has no PostgreSQL client.
#[expect(clippy::unused_async, reason = "a build with a client waits for it")]
pub(crate) async fn open(_: &str, _: KeepRaw) -> Result<Arc<dyn Database>, CommandError> {
    Err(absent())
}

/// Refuses: this build has no PostgreSQL client.
#[expect(clippy::unused_async, reason = "a build with a client waits for it")]
pub(crate) async fn copy(_: &SqliteStore, _: &str) -> Result<(Copied, String), CommandError> {
    Err(absent())
}

/// Says nothing: no error comes from a database that cannot be opened.
pub(crate) const fn hint(_: &DatabaseError) -> Option<&'static str> {
    None
}

fn absent() -> CommandError {
    CommandError::Input {
        message: "this ringfence was built without PostgreSQL".to_owned(),
        hint: Some("build it with the feature `postgres`, or name a file as the store"),
    }
}
