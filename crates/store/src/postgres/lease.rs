//! That this process is alive, as others see it.
//!
//! A row says until when; a task moves it on every third of the lease. A process that could not do so in time stops
//! counting itself alive before others do, and begins again under another name: what it had begun stays in doubt.
//!
//! INVARIANT: while [`Lease::holds`] is true for an instance, no other process takes it for dead, as long as the
//! server's clock and this machine's run at about the same speed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::PostgresStore;
use super::error::PostgresError;
use super::option::PostgresOptions;
use super::random;
use super::session::Session;
use super::target::Target;

/// How long a lost lease stays lost, so that every call that depends on it learns of it.
const MOURNING: Duration = Duration::from_secs(1);
/// How soon a renewal that failed is tried again.
const AGAIN: Duration = Duration::from_millis(200);
/// How often whoever waits for the loss looks at the clock, since timers stand still while the machine sleeps.
const LOOK: Duration = Duration::from_millis(200);

/// The name of this process, for as long as it keeps it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Instance {
    /// The name.
    pub(super) id: [u8; 16],
}

/// The lease, and the task that renews it.
pub(super) struct Lease {
    state: Arc<State>,
    /// Dropped with the lease, which tells the task to say goodbye.
    _open: oneshot::Sender<()>,
}

/// What the task and everybody else see.
struct State {
    target: Arc<Target>,
    options: PostgresOptions,
    /// Who we are, and when we must stop believing it.
    held: Mutex<(Instance, Duration)>,
}

impl PostgresStore {
    /// Returns the lease, which begins when somebody first depends on it.
    pub(super) async fn lease(&self) -> Result<&Lease, PostgresError> {
        let begin = || Lease::begin(Arc::clone(self.readers().target()), self.options().clone());
        self.0.lease.get_or_try_init(begin).await
    }
}

impl Lease {
    async fn begin(target: Arc<Target>, options: PostgresOptions) -> Result<Self, PostgresError> {
        let nobody = (Instance { id: [0; 16] }, Duration::ZERO);
        let state = Arc::new(State { target, options, held: Mutex::new(nobody) });
        let session = Session::open(&state.target, &state.options).await?;
        state.register(&session).await?;
        let (open, closed) = oneshot::channel();
        tokio::spawn(Arc::clone(&state).run(session, closed));
        Ok(Self { state, _open: open })
    }

    /// Returns who we are.
    ///
    /// # Errors
    ///
    /// Others may take us for dead.
    pub(super) fn current(&self) -> Result<Instance, PostgresError> {
        let (instance, deadline) = self.state.held();
        if clock() < deadline {
            return Ok(instance);
        }
        let why = "this process has lost its lease".to_owned();
        Err(PostgresError::Lost { place: Arc::clone(&self.state.target.place), why })
    }

    /// Says whether we still are who we were.
    pub(super) fn holds(&self, instance: &Instance) -> bool {
        self.current().is_ok_and(|current| current == *instance)
    }

    /// Waits until others may take us for dead.
    pub(super) async fn lost(&self) {
        let (instance, _) = self.state.held();
        while self.holds(&instance) {
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl State {
    /// Renews until the store is closed. Where goodbye cannot be said, the lease runs out.
    async fn run(self: Arc<Self>, session: Session, mut closed: oneshot::Receiver<()>) {
        let mut session = Some(session);
        let mut pause = self.options.lease / 3;
        loop {
            if tokio::time::timeout(pause, &mut closed).await.is_ok() {
                if let Some(session) = session {
                    let _told = self.end(&session).await;
                }
                return;
            }
            let renewed = match session.take().filter(|session| !session.is_closed()) {
                Some(open) => self.renew(&open).await.map(|()| open),
                None => self.reconnect().await,
            };
            session = renewed.ok();
            // Without a renewal there is no time to lose.
            let third = self.options.lease / 3;
            pause = if session.is_some() { third } else { third.min(AGAIN) };
        }
    }

    /// Says that this process no longer lives.
    async fn end(&self, session: &Session) -> Result<u64, PostgresError> {
        let (instance, _) = self.held();
        session.execute("DELETE FROM ringfence.instance WHERE id = $1", &[&instance.id.as_slice()]).await
    }

    async fn reconnect(&self) -> Result<Session, PostgresError> {
        let session = Session::open(&self.target, &self.options).await?;
        self.renew(&session).await?;
        Ok(session)
    }

    /// Moves the end of the lease on. One that has ended is never taken up again.
    async fn renew(&self, session: &Session) -> Result<(), PostgresError> {
        let (instance, _) = self.held();
        let started = clock();
        let sql = "UPDATE ringfence.instance SET until = clock_timestamp() + $2 * interval '1 microsecond'
            WHERE id = $1 AND until > clock_timestamp()";
        let lease = self.lease();
        if session.execute(sql, &[&instance.id.as_slice(), &lease]).await? == 1 {
            self.hold(instance, started);
            return Ok(());
        }
        *self.lock() = (instance, Duration::ZERO);
        tokio::time::sleep(MOURNING).await;
        self.register(session).await
    }

    /// Begins under a new name.
    async fn register(&self, session: &Session) -> Result<(), PostgresError> {
        let no_randomness = || PostgresError::Closed { place: Arc::clone(&self.target.place) };
        let instance = Instance { id: random::id().ok_or_else(no_randomness)? };
        let started = clock();
        let sql = "INSERT INTO ringfence.instance (id, until)
            VALUES ($1, clock_timestamp() + $2 * interval '1 microsecond')";
        session.execute(sql, &[&instance.id.as_slice(), &self.lease()]).await?;
        self.hold(instance, started);
        Ok(())
    }

    /// Counts ourselves alive for four fifths of the lease from when its renewal was sent.
    fn hold(&self, instance: Instance, started: Duration) {
        *self.lock() = (instance, started.saturating_add(self.options.lease * 4 / 5));
    }

    /// Returns the lease in microseconds, as a number with a point.
    fn lease(&self) -> f64 {
        self.options.lease.as_secs_f64() * 1e6
    }

    fn held(&self) -> (Instance, Duration) {
        *self.lock()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, (Instance, Duration)> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a time that never goes back, and that goes on while the machine sleeps where the system has such a clock.
fn clock() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let now = rustix::time::clock_gettime(clock);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or_default())
}
