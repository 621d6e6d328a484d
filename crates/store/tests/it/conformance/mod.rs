//! One suite for every store: what holds for one holds for all.
//!
//! INVARIANT: a store that cannot be made is a failure and never a reason to leave it out.

mod approval;
mod idempotency;
mod log;
mod principal;
mod search;
mod value;
mod withdraw;

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use ringfence::{
    ApprovalStore, Clock as _, IdempotencyStore, ManualClock, MemoryApprovals, MemoryIdempotency,
    MemoryStore, Store,
};
use ringfence_store::{Database, SqliteStore};

pub(crate) use self::approval::request;
use crate::it::postgres::Bench;

/// Makes an empty store whose time is the clock's.
type Maker = fn(Arc<ManualClock>) -> BoxFuture<'static, Made>;
/// Opens a database once more, as another process would.
type Opener = Box<dyn Fn() -> BoxFuture<'static, Arc<dyn Database>> + Send + Sync>;

/// The stores, each with its name.
const MAKERS: [(&str, Maker); 3] = [("memory", memory), ("sqlite", sqlite), ("postgres", postgres)];

/// An empty store, and what it needs to stay.
struct Made {
    clock: Arc<ManualClock>,
    /// Keys and values.
    store: Arc<dyn Store>,
    /// Calls by idempotency key.
    keys: Arc<dyn IdempotencyStore>,
    /// Requests for approval.
    approvals: Arc<dyn ApprovalStore>,
    /// The whole database, if it is one.
    database: Option<Arc<dyn Database>>,
    /// Where the clock of the store is one of a server.
    bench: Option<Arc<Bench>>,
    /// Opens it once more, if it is a database. What is dropped again has ended.
    again: Option<Opener>,
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

    /// Drops what was opened once more, and waits until that is known.
    async fn end(&self, second: Arc<dyn Database>) {
        let Some(bench) = &self.bench else { return drop(second) };
        let count = "SELECT count(*) FROM ringfence.instance";
        let before = bench.number(count).await;
        drop(second);
        crate::it::wait::wait_for("the end is known", async || {
            (bench.number(count).await < before).then_some(())
        })
        .await;
    }

    fn store(&self) -> &dyn Store {
        &*self.store
    }

    fn keys(&self) -> &dyn IdempotencyStore {
        &*self.keys
    }

    fn approvals(&self) -> &dyn ApprovalStore {
        &*self.approvals
    }

    /// Makes it from a database and the way to open it again.
    fn of(
        database: Arc<dyn Database>,
        again: Opener,
        clock: Arc<ManualClock>,
        keep: Box<dyn Any + Send>,
    ) -> Self {
        Self {
            clock,
            store: Arc::clone(&database) as _,
            keys: Arc::clone(&database) as _,
            approvals: Arc::clone(&database) as _,
            database: Some(database),
            again: Some(again),
            bench: None,
            _keep: keep,
        }
    }
}

fn memory(clock: Arc<ManualClock>) -> BoxFuture<'static, Made> {
    async move {
        Made {
            store: Arc::new(MemoryStore::new(clock.clone())),
            keys: Arc::new(MemoryIdempotency::new(clock.clone())),
            approvals: Arc::new(MemoryApprovals::new(clock.clone())),
            database: None,
            again: None,
            bench: None,
            clock,
            _keep: Box::new(()),
        }
    }
    .boxed()
}

fn sqlite(clock: Arc<ManualClock>) -> BoxFuture<'static, Made> {
    async move {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ringfence.db");
        let time = clock.clone();
        let open = move || SqliteStore::builder(&path).clock(time.clone()).open().unwrap();
        let database = Arc::new(open());
        let again: Opener = Box::new(move || {
            let database: Arc<dyn Database> = Arc::new(open());
            futures_util::future::ready(database).boxed()
        });
        Made::of(database, again, clock, Box::new(directory))
    }
    .boxed()
}

fn postgres(clock: Arc<ManualClock>) -> BoxFuture<'static, Made> {
    async move {
        let bench = Arc::new(Bench::new().await);
        let database = Arc::new(bench.open().await);
        bench.set_clock(clock.now()).await;
        let server = Arc::clone(&bench);
        let again: Opener = Box::new(move || {
            let server = Arc::clone(&server);
            async move { Arc::new(server.open().await) as Arc<dyn Database> }.boxed()
        });
        Made { bench: Some(bench), ..Made::of(database, again, clock, Box::new(())) }
    }
    .boxed()
}

/// Runs a check on an empty store of each kind.
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

/// Runs a check on each store that is a whole database, opened twice.
async fn on_each_pair(check: impl AsyncFn(&Made, &Arc<dyn Database>, Arc<dyn Database>)) {
    on_each(async |made| {
        if let (Some(database), Some(again)) = (&made.database, &made.again) {
            check(made, database, again().await).await;
        }
    })
    .await;
}
