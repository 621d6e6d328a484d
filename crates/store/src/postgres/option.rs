//! How long a store waits, and how many connections it has.

use std::time::Duration;

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
    /// How long a change is tried again after the connection was lost: 15 seconds.
    pub patience: Duration,
    /// How many connections read at once; one more writes: 8.
    pub sessions: usize,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            statement: Duration::from_secs(30),
            patience: Duration::from_secs(15),
            sessions: 8,
        }
    }
}
