//! One suite for every store: what holds for one holds for all.
//!
//! INVARIANT: a store that cannot be made is a failure and never a reason to leave it out.

mod log;
mod value;

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use ringfence::{Clock as _, ManualClock, MemoryStore, Store};
use ringfence_store::{Database, SqliteStore};

use crate::postgres::Bench;

/// Makes an empty store whose time is the clock's.
type Maker = fn(Arc<ManualClock>) -> BoxFuture<'static, Made>;

/// The stores, each with its name.
const MAKERS: [(&str, Maker); 3] = [("memory", memory), ("sqlite", sqlite), ("postgres", postgres)];

/// An empty store, and what it needs to stay.
struct Made {
    clock: Arc<ManualClock>,
    /// Keys and values.
    store: Arc<dyn Store>,
    /// The whole database, if it is one.
    database: Option<Arc<dyn Database>>,
    /// Where the clock of the store is one of a server.
    bench: Option<Bench>,
    /// What is removed when the check is over.
    _keep: Box<dyn Any + Send>,
}

impl Made {
    /// Lets time pass.
    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
        if let Some(bench) = &self.bench {
            bench.set_clock(self.clock.now()).await;
        }
    }

    fn store(&self) -> &dyn Store {
        &*self.store
    }
}

fn memory(clock: Arc<ManualClock>) -> BoxFuture<'static, Made> {
    async move {
        let store = Arc::new(MemoryStore::new(clock.clone()));
        Made { clock, store, database: None, bench: None, _keep: Box::new(()) }
    }
    .boxed()
}

fn sqlite(clock: Arc<ManualClock>) -> BoxFuture<'static, Made> {
    async move {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ringfence.db");
        let store = Arc::new(SqliteStore::builder(path).clock(clock.clone()).open().unwrap());
        Made { clock, store: store.clone(), database: Some(store), bench: None, _keep: Box::new(directory) }
    }
    .boxed()
}

fn postgres(clock: Arc<ManualClock>) -> BoxFuture<'static, Made> {
    async move {
        let bench = Bench::new().await;
        let store = Arc::new(bench.open().await);
        bench.set_clock(clock.now()).await;
        Made { clock, store: store.clone(), database: Some(store), bench: Some(bench), _keep: Box::new(()) }
    }
    .boxed()
}

/// Runs a check on an empty store of each kind.
#[expect(clippy::print_stdout, reason = "a check that fails must say on which store")]
async fn on_each(check: impl AsyncFn(&Made)) {
    for (name, make) in MAKERS {
        let made = make(Arc::new(ManualClock::default())).await;
        println!("on {name}");
        check(&made).await;
    }
}

/// Runs a check on each store that is a whole database.
async fn on_each_database(check: impl AsyncFn(&Arc<dyn Database>)) {
    on_each(async |made| {
        if let Some(database) = &made.database {
            check(database).await;
        }
    })
    .await;
}
