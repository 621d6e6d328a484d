//! One connection to the server.
//!
//! INVARIANT: no wait is without an end, and a connection on which a wait has ended early is not used again.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::error::PostgresError;
use super::option::PostgresOptions;
use super::target::Target;

/// How long the client waits beyond what the server allows itself.
const GRACE: Duration = Duration::from_secs(5);

/// How long a transaction may stand still.
const IDLE: Duration = Duration::from_secs(5);

/// A value of a statement.
pub(super) type Parameter<'a> = &'a (dyn ToSql + Sync);

/// One connection. Dropping it cuts it, and the server undoes what was not committed.
pub(super) struct Session {
    client: Client,
    place: Arc<str>,
    limit: Duration,
    statements: Mutex<HashMap<Cow<'static, str>, Statement>>,
    driver: AbortHandle,
}

impl Session {
    /// Connects.
    pub(super) async fn open(target: &Target, options: &PostgresOptions) -> Result<Self, PostgresError> {
        let place = Arc::clone(&target.place);
        let failed = |error| PostgresError::from_client(&place, &error);
        let dialled = tokio::time::timeout(options.connect, target.config.connect(target.tls.clone()));
        let (client, connection) = dialled
            .await
            .map_err(|_| PostgresError::Lost {
                place: Arc::clone(&place),
                why: "connecting took too long".into(),
            })?
            .map_err(failed)?;
        // What goes wrong with the connection is told to whoever waits for an answer on it.
        let driver = tokio::spawn(async move { drop(connection.await) }).abort_handle();
        let limit = options.statement.saturating_add(GRACE);
        let session = Self { client, place, limit, statements: Mutex::default(), driver };
        session.batch(&set_up(options)).await?;
        Ok(session)
    }

    /// Returns the connection itself, for what is sent without waiting for each answer.
    pub(super) const fn client(&self) -> &Client {
        &self.client
    }

    /// Says whether the connection is known to be broken.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Returns a prepared statement.
    pub(super) async fn statement(
        &self,
        sql: impl Into<Cow<'static, str>>,
    ) -> Result<Statement, PostgresError> {
        let sql = sql.into();
        let known = self.lock().get(&sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.wait(self.client.prepare(&sql)).await?;
        self.lock().insert(sql, statement.clone());
        Ok(statement)
    }

    /// Runs a statement and returns its rows.
    pub(super) async fn rows(
        &self,
        sql: impl Into<Cow<'static, str>>,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, PostgresError> {
        let statement = self.statement(sql).await?;
        self.wait(self.client.query(&statement, parameters)).await
    }

    /// Runs a statement and returns its row, if there is one.
    pub(super) async fn row(
        &self,
        sql: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Row>, PostgresError> {
        Ok(self.rows(sql, parameters).await?.into_iter().next())
    }

    /// Runs a statement and returns how many rows it touched.
    pub(super) async fn execute(
        &self,
        sql: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<u64, PostgresError> {
        let statement = self.statement(sql).await?;
        self.wait(self.client.execute(&statement, parameters)).await
    }

    /// Runs several statements without values.
    pub(super) async fn batch(&self, sql: &str) -> Result<(), PostgresError> {
        self.wait(self.client.batch_execute(sql)).await
    }

    /// Waits for an answer, but not for ever.
    pub(super) async fn wait<T>(
        &self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, PostgresError> {
        match tokio::time::timeout(self.limit, answer).await {
            Ok(answer) => answer.map_err(|error| self.failed(&error)),
            Err(_) => Err(PostgresError::Timeout { place: Arc::clone(&self.place) }),
        }
    }

    /// Says what an error of the client means.
    pub(super) fn failed(&self, error: &tokio_postgres::Error) -> PostgresError {
        PostgresError::from_client(&self.place, error)
    }

    /// Says that what was read does not fit.
    pub(super) fn corrupt(&self, why: impl Into<String>) -> PostgresError {
        PostgresError::Corrupt { place: Arc::clone(&self.place), why: why.into() }
    }

    /// Returns the database and its host.
    pub(super) const fn place(&self) -> &Arc<str> {
        &self.place
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Cow<'static, str>, Statement>> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Session {
    /// Does not wait for answers that may never come.
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Returns what a connection is told first. A server that does not wait for its disk is told to.
fn set_up(options: &PostgresOptions) -> String {
    let limit = options.statement.as_millis().clamp(1, 2_000_000_000);
    // Whoever stops in the middle of its turn does not keep the others waiting for long.
    let idle = limit.min(IDLE.as_millis());
    format!(
        "SET search_path = pg_catalog;
         SET statement_timeout = {limit};
         SET lock_timeout = {limit};
         SET idle_in_transaction_session_timeout = {idle};
         SET default_transaction_isolation = 'read committed';
         SET client_min_messages = warning;
         SET jit = off;
         SELECT set_config('synchronous_commit', 'on', false)
         WHERE current_setting('synchronous_commit') = 'off'"
    )
}
