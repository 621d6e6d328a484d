//! Why the server or its database did not do what was asked.
//!
//! INVARIANT: no sentence holds a password, a key, a value or a record; each names host and database.

use std::error::Error as _;
use std::sync::Arc;

use ringfence::audit::{NoteError, ProofError};
use ringfence::{Code, StoreError};
use tokio_postgres::error::{DbError, SqlState};

/// Why the server or its database did not do what was asked.
#[non_exhaustive]
#[derive(Clone, Debug, thiserror::Error)]
pub enum PostgresError {
    /// The URL cannot be used.
    #[error("the URL of the database cannot be used: {why}")]
    Address {
        /// What is wrong with it.
        why: String,
    },
    /// The task that writes has ended.
    #[error("the database {place} is closed")]
    Closed {
        /// The database and its host.
        place: Arc<str>,
    },
    /// The log is not the one that was signed.
    #[error(
        "the log in {place} no longer matches its newest checkpoint ({signed} records): refusing to sign"
    )]
    Diverged {
        /// The database and its host.
        place: Arc<str>,
        /// How many records were signed.
        signed: u64,
    },
    /// Other transactions were in the way each time.
    #[error("the database {place} is busy: {why}")]
    Contended {
        /// The database and its host.
        place: Arc<str>,
        /// What it says.
        why: String,
    },
    /// What is in the database does not fit together.
    #[error("the database {place} is damaged: {why}")]
    Corrupt {
        /// The database and its host.
        place: Arc<str>,
        /// What does not fit.
        why: String,
    },
    /// Anything else that the server says.
    #[error("the database {place} failed: {why}")]
    Database {
        /// The database and its host.
        place: Arc<str>,
        /// What it says.
        why: String,
    },
    /// An entry cannot be kept.
    #[error("the entry cannot be kept: {why}")]
    Entry {
        /// Why not.
        why: String,
    },
    /// The schema belongs to somebody else.
    #[error("the schema `ringfence` of the database {place} was not made by ringfence")]
    Foreign {
        /// The database and its host.
        place: Arc<str>,
    },
    /// There is no room.
    #[error("there is no room on the disk of the database {place}")]
    Full {
        /// The database and its host.
        place: Arc<str>,
    },
    /// The server does not admit the user.
    #[error("the database {place} does not admit the user: {why}")]
    Login {
        /// The database and its host.
        place: Arc<str>,
        /// What it says.
        why: String,
    },
    /// The connection broke, or there was none to be had.
    #[error("the database {place} cannot be reached: {why}")]
    Lost {
        /// The database and its host.
        place: Arc<str>,
        /// What happened.
        why: String,
    },
    /// A newer version of ringfence has made the tables.
    #[error("the database {place} has version {found}, and this program knows versions up to {known}")]
    Newer {
        /// The database and its host.
        place: Arc<str>,
        /// Its version.
        found: i32,
        /// The newest version that is known.
        known: i32,
    },
    /// A checkpoint cannot be made or is not believed.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// What must be empty is not.
    #[error("the database {place} is not empty")]
    Occupied {
        /// The database and its host.
        place: Arc<str>,
    },
    /// A proof cannot be made.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// The server took too long.
    #[error("the database {place} did not answer in time")]
    Timeout {
        /// The database and its host.
        place: Arc<str>,
    },
    /// There is no encrypted connection to the right server.
    #[error("there is no trusted connection to the database {place}: {why}")]
    Tls {
        /// The database and its host.
        place: Arc<str>,
        /// What happened.
        why: String,
    },
    /// The connection broke during a commit, and nobody could be asked what became of it.
    #[error("it is not known whether the database {place} has kept the change: {why}")]
    Unsettled {
        /// The database and its host.
        place: Arc<str>,
        /// What happened.
        why: String,
    },
    /// It is another database than before, or an older state of it.
    #[error(
        "the database {place} lost acknowledged transactions: stop every gateway, restore it, then start again"
    )]
    WentBack {
        /// The database and its host.
        place: Arc<str>,
    },
}

impl PostgresError {
    /// Returns the stable code.
    pub const fn code(&self) -> Code {
        match self {
            Self::Closed { .. }
            | Self::Contended { .. }
            | Self::Corrupt { .. }
            | Self::Database { .. }
            | Self::Diverged { .. }
            | Self::Login { .. }
            | Self::Lost { .. }
            | Self::Timeout { .. }
            | Self::Tls { .. }
            | Self::Unsettled { .. }
            | Self::WentBack { .. } => Code::NotAvailable,
            Self::Entry { .. } => Code::AuditFailed,
            Self::Address { .. } | Self::Foreign { .. } | Self::Newer { .. } | Self::Occupied { .. } => {
                Code::InputInvalid
            }
            Self::Full { .. } => Code::LimitExceeded,
            Self::Note(error) => error.code(),
            Self::Proof(error) => error.code(),
        }
    }

    /// Says whether trying again may help.
    pub(super) const fn passes(&self) -> bool {
        matches!(self, Self::Contended { .. } | Self::Lost { .. })
    }

    /// Says what an error of the client means for the database.
    pub(super) fn from_client(place: &Arc<str>, error: &tokio_postgres::Error) -> Self {
        let place = Arc::clone(place);
        if let Some(said) = error.as_db_error() {
            return Self::from_server(place, said);
        }
        let why = sentence(error);
        // The client does not show the kind of its errors in another way.
        let kind = error.to_string();
        if kind.starts_with("error performing TLS") {
            Self::Tls { place, why }
        } else if kind.starts_with("authentication") || kind.starts_with("invalid configuration") {
            Self::Login { place, why }
        } else if kind.starts_with("error deserializing") || kind.starts_with("query returned") {
            Self::Corrupt { place, why }
        } else if kind.starts_with("error serializing") || kind.starts_with("expected") {
            Self::Database { place, why }
        } else {
            Self::Lost { place, why }
        }
    }

    /// Says what a message of the server means. Its details may hold values and are left out.
    fn from_server(place: Arc<str>, said: &DbError) -> Self {
        let why = said.message().replace('\n', " ");
        let state = said.code();
        match state.code() {
            _ if *state == SqlState::INVALID_PASSWORD
                || *state == SqlState::INVALID_AUTHORIZATION_SPECIFICATION =>
            {
                Self::Login { place, why }
            }
            _ if *state == SqlState::DISK_FULL => Self::Full { place },
            _ if *state == SqlState::QUERY_CANCELED => Self::Timeout { place },
            "40001" | "40P01" | "55P03" => Self::Contended { place, why },
            // The server ends or is not there yet, has no room for a connection, or is no longer the one that writes.
            "57P01" | "57P02" | "57P03" | "57P05" | "25P03" | "53300" | "25006" => Self::Lost { place, why },
            code if code.starts_with("08") => Self::Lost { place, why },
            _ => Self::Database { place, why },
        }
    }
}

/// Joins an error and its causes to one line.
fn sentence(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text.replace('\n', " ")
}

impl From<PostgresError> for StoreError {
    fn from(error: PostgresError) -> Self {
        Self::Unreachable(error.to_string())
    }
}
