//! The audit log and the keys and values of many machines, in one PostgreSQL database.
//!
//! One task of each process writes; whoever has something to write sends it there and waits. The task takes
//! everything that waits, commits it in one transaction and then answers all of them. Several processes take turns:
//! each transaction first locks the row that says where the log stands. Readers have connections of their own.
//!
//! Everything is in the schema `ringfence`. Transactions that fail because of others, and connections that break, are
//! tried again; a commit whose answer was lost is asked for after reconnecting.
//!
//! INVARIANT: an answer of success is given only after the commit is known to have succeeded.

mod approval;
mod approver;
mod audit;
mod check;
mod copy;
mod database;
mod decision;
mod difference;
mod error;
mod key;
mod lease;
mod log;
mod option;
mod pool;
mod random;
mod request;
mod schema;
mod seal;
mod search;
mod session;
mod target;
mod tls;
mod transaction;
mod turn;
mod value;
mod verify;
mod writer;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::OnceCell;

pub use self::copy::copy;
pub use self::error::PostgresError;
use self::lease::Lease;
pub use self::option::PostgresOptions;
use self::pool::Pool;
use self::session::Session;
use self::target::Target;
use self::transaction::Known;
use self::writer::Writer;

/// An audit log and a key-value store that many machines share.
///
/// It is cheap to clone, and belongs to the runtime in which it was made. Values expire by the clock of the database.
///
/// Connections within this machine are in plain text unless the URL says otherwise; all others are encrypted, and
/// only to a server whose certificate is for the host of the URL. `sslrootcert=FILE` names the certificates to trust,
/// instead of those that the platform trusts. `sslmode=disable` is the only way to have plain text on the wire.
///
/// The server is PostgreSQL 12 or newer. A pooler between must give each connection a session of its own.
///
/// # Examples
///
/// ```no_run
/// use ringfence::Store as _;
/// use ringfence_store::PostgresStore;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let url = "postgres://gateway:secret@db.example/ringfence?sslrootcert=/etc/ringfence/ca.pem";
/// let store = PostgresStore::connect(url).await?;
/// store.set("notes", "first", "hello", None).await?;
/// assert_eq!(store.get("notes", "first").await?.as_deref(), Some("hello"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresStore(Arc<Inner>);

/// What the clones share.
struct Inner {
    readers: Pool,
    writer: Writer,
    /// Where the log was last seen to stand.
    known: Arc<Known>,
    /// That this process is alive, once somebody depends on it.
    lease: OnceCell<Lease>,
}

impl PostgresStore {
    /// Connects to a database, and makes or brings up to date the tables in it.
    ///
    /// # Errors
    ///
    /// The URL is not one of PostgreSQL or would admit plain text by chance, the server cannot be reached or is not
    /// the one of the URL, it does not admit the user, the schema `ringfence` is not ours or of a newer version, or
    /// its tree does not fit its entries.
    pub async fn connect(url: &str) -> Result<Self, PostgresError> {
        Self::connect_with(url, PostgresOptions::default()).await
    }

    /// Does what [`PostgresStore::connect`] does, with other waits and numbers.
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn connect_with(url: &str, options: PostgresOptions) -> Result<Self, PostgresError> {
        let target = Arc::new(Target::parse(url, options.connect)?);
        let session = Session::open(&target, &options).await?;
        schema::migrate(&session, &target, &options).await?;
        session.batch(verify::SNAPSHOT).await?;
        let known = Arc::new(Known::new(log::frontier(&session).await?));
        session.batch("COMMIT").await?;
        let writer = Writer::start(Arc::clone(&target), options.clone(), session, Arc::clone(&known))?;
        let readers = Pool::new(target, options);
        Ok(Self(Arc::new(Inner { readers, writer, known, lease: OnceCell::new() })))
    }

    /// Returns how many transactions were committed, so that tests can see callers share one.
    #[doc(hidden)]
    pub fn transactions(&self) -> u64 {
        self.0.writer.transactions().load(Ordering::SeqCst)
    }

    /// Returns the database and its host.
    fn place(&self) -> &Arc<str> {
        self.0.readers.place()
    }

    fn options(&self) -> &PostgresOptions {
        self.0.readers.options()
    }

    fn readers(&self) -> &Pool {
        &self.0.readers
    }

    fn writer(&self) -> &Writer {
        &self.0.writer
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("place", self.place()).finish_non_exhaustive()
    }
}
