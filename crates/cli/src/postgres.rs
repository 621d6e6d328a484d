//! A store in a PostgreSQL database.

use std::sync::Arc;

use ringfence_store::{
    Copied, Database, DatabaseError, KeepRaw, PostgresError, PostgresOptions, PostgresStore, SqliteStore,
};

use crate::error::CommandError;

/// Connects to a database.
pub(crate) async fn open(url: &str, raw: KeepRaw) -> Result<Arc<dyn Database>, CommandError> {
    Ok(Arc::new(connect(url, raw).await?))
}

/// Copies a file into a database, and returns what was copied and what the database is called.
pub(crate) async fn copy(from: &SqliteStore, url: &str) -> Result<(Copied, String), CommandError> {
    let to = connect(url, KeepRaw::Always).await?;
    let copied = ringfence_store::copy(from, &to).await?;
    Ok((copied, to.describe()))
}

/// Says what may help against an error of a database.
pub(crate) const fn hint(error: &DatabaseError) -> Option<&'static str> {
    let DatabaseError::Postgres(error) = error else { return None };
    match error {
        PostgresError::Address { .. } => Some("write it as `postgres://user@host/database`"),
        PostgresError::Diverged { .. } => {
            Some("see what differs with `ringfence audit verify --trust KEY`, and go back to a backup")
        }
        PostgresError::Login { .. } => Some("look at the user, the password and the name of the database"),
        PostgresError::Lost { .. } | PostgresError::Timeout { .. } => {
            Some("look whether the database runs, and at the host and port of its address")
        }
        PostgresError::Newer { .. } => Some("a newer ringfence made its tables: use that one"),
        PostgresError::Occupied { .. } => Some("name a database without tables of ringfence"),
        PostgresError::Foreign { .. } => {
            Some("name another database: this one has a schema `ringfence` of somebody else")
        }
        PostgresError::Full { .. } => Some("make room on its disk"),
        PostgresError::Tls { .. } => Some("`sslmode` in its address says what is asked of the connection"),
        _ => None,
    }
}

async fn connect(url: &str, raw: KeepRaw) -> Result<PostgresStore, CommandError> {
    let options = PostgresOptions { raw, ..PostgresOptions::default() };
    PostgresStore::connect_with(url, options).await.map_err(|error| CommandError::Store(error.into()))
}
