//! The connections that read.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::Semaphore;

use super::error::PostgresError;
use super::option::PostgresOptions;
use super::random;
use super::session::Session;
use super::target::Target;

/// Opens connections as they are needed, up to a number, and keeps them.
pub(super) struct Pool {
    target: Arc<Target>,
    options: PostgresOptions,
    idle: Mutex<Vec<Session>>,
    room: Semaphore,
}

impl Pool {
    /// Starts without connections.
    pub(super) fn new(target: Arc<Target>, options: PostgresOptions) -> Self {
        let room = Semaphore::new(options.sessions.max(1));
        Self { target, options, idle: Mutex::default(), room }
    }

    /// Returns the waits and numbers.
    pub(super) const fn options(&self) -> &PostgresOptions {
        &self.options
    }

    /// Returns the server.
    pub(super) const fn target(&self) -> &Arc<Target> {
        &self.target
    }

    /// Returns the database and its host.
    pub(super) fn place(&self) -> &Arc<str> {
        &self.target.place
    }

    /// Reads with a connection of one's own, and again where it broke, for as long as patience lasts. One that failed
    /// is not used again.
    pub(super) async fn read<T, F, R>(&self, read: F) -> Result<T, PostgresError>
    where
        F: Fn(Arc<Session>) -> R,
        R: Future<Output = Result<T, PostgresError>>,
    {
        let (started, mut tries) = (Instant::now(), 0);
        loop {
            match self.once(&read).await {
                Err(error) if error.passes() && started.elapsed() < self.options.patience => {
                    random::pause(tries).await;
                }
                other => return other,
            }
            tries += 1;
        }
    }

    /// Works with a connection of one's own, once.
    pub(super) async fn once<T, E, F, R>(&self, work: &F) -> Result<T, E>
    where
        E: From<PostgresError>,
        F: Fn(Arc<Session>) -> R,
        R: Future<Output = Result<T, E>>,
    {
        let waiting = tokio::time::timeout(self.options.statement, self.room.acquire());
        let timeout = || PostgresError::Timeout { place: Arc::clone(self.place()) };
        let _room = waiting.await.map_err(|_| timeout())?.map_err(|_| timeout())?;
        let session = match self.idle() {
            Some(session) => session,
            None => Session::open(&self.target, &self.options).await?,
        };
        let session = Arc::new(session);
        let found = work(Arc::clone(&session)).await?;
        if let Ok(session) = Arc::try_unwrap(session) {
            self.lock().push(session);
        }
        Ok(found)
    }

    /// Takes a connection that is still there.
    fn idle(&self) -> Option<Session> {
        let mut idle = self.lock();
        while let Some(session) = idle.pop() {
            if !session.is_closed() {
                return Some(session);
            }
        }
        None
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Session>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
