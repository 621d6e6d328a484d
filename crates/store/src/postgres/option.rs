//! How long a store waits, and how many connections it has.

use std::time::Duration;

use crate::entry::KeepRaw;

/// How long a store waits for its server, and how many connections it has.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use ringfence_store::PostgresOptions;
///
/// let options = PostgresOptions { sessions: 4, ..PostgresOptions::default() };
/// assert_eq!(options.connect, Duration::from_secs(5));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PostgresOptions {
    /// How long connecting may take, the handshake and the password included: 5 seconds.
    pub connect: Duration,
    /// How long one step of a transaction may take: 30 seconds.
    pub statement: Duration,
    /// How long something is tried again after the connection was lost: 15 seconds.
    pub patience: Duration,
    /// How many connections read at once; one more writes, and one more renews the lease: 8.
    pub sessions: usize,
    /// How long this process counts as alive after it was last heard of: 15 seconds. It says so every third of it.
    pub lease: Duration,
    /// How long the raw outputs of tools are kept.
    pub raw: KeepRaw,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            statement: Duration::from_secs(30),
            patience: Duration::from_secs(15),
            sessions: 8,
            lease: Duration::from_secs(15),
            raw: KeepRaw::default(),
        }
    }
}
