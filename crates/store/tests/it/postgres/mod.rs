//! The database on a server, from outside.
//!
//! INVARIANT: a server that cannot be had is a failure, never a reason to leave a test out.

mod append;
mod copy;
mod crash;
mod damage;
mod lease;
mod migrate;
mod model;
mod open;
mod proxy;
mod tamper;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ringfence_store::{PostgresOptions, PostgresStore};
use tokio_postgres::NoTls;

use crate::it::wait::PATIENCE;

/// Where a server is, as `script/postgres` prints it. It must admit plain text from this machine too.
const VARIABLE: &str = "RINGFENCE_TEST_POSTGRES";

/// A database of its own, which goes with it.
pub(crate) struct Bench {
    /// The URL of the server's own database.
    server: String,
    name: String,
}

impl Bench {
    /// Makes an empty database.
    pub(crate) async fn new() -> Self {
        Self::on(server()).await
    }

    /// Makes an empty database on a server.
    pub(crate) async fn on(server: String) -> Self {
        let name = format!("test_{}", unique());
        let bench = Self { server, name };
        bench.admin(&format!("CREATE DATABASE {}", bench.name)).await;
        bench
    }

    /// Returns the URL of the database.
    pub(crate) fn url(&self) -> String {
        self.server.replacen("/postgres?", &format!("/{}?", self.name), 1)
    }

    /// Returns the URL of the database without its parameters: in plain text.
    pub(crate) fn plain_url(&self) -> String {
        self.url().split('?').next().unwrap().to_owned()
    }

    /// Connects. Nothing ends only because the machine is slow: neither patience nor the lease.
    pub(crate) async fn open(&self) -> PostgresStore {
        let options = PostgresOptions {
            connect: PATIENCE,
            statement: PATIENCE,
            patience: PATIENCE,
            lease: Duration::from_hours(1),
            ..PostgresOptions::default()
        };
        PostgresStore::connect_with(&self.url(), options).await.unwrap()
    }

    /// Changes the database behind the store's back. Names need no schema.
    pub(crate) async fn sql(&self, sql: &str) {
        run(&self.plain_url(), &format!("SET search_path = ringfence, public; {sql}")).await.unwrap();
    }

    /// Returns one number.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        let (client, connection) = tokio_postgres::connect(&self.plain_url(), NoTls).await.unwrap();
        let driver = tokio::spawn(connection);
        let number = client.query_one(sql, &[]).await.unwrap().get(0);
        driver.abort();
        number
    }

    /// Makes the clock of the database stand at a time since 1970.
    pub(crate) async fn set_clock(&self, now: Duration) {
        let micros = now.as_micros();
        self.sql(&format!(
            "CREATE OR REPLACE FUNCTION moment() RETURNS timestamptz LANGUAGE sql VOLATILE AS
             'SELECT timestamptz ''epoch'' + {micros} * interval ''1 microsecond'''"
        ))
        .await;
    }

    /// Does something on the server's own database.
    pub(crate) async fn admin(&self, sql: &str) {
        run(self.server.split('?').next().unwrap(), sql).await.unwrap();
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        // A server that was killed by its test keeps the database, and that is all right.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let server = server.split('?').next().unwrap().to_owned();
            runtime
                .block_on(async { drop(run(&server, &format!("DROP DATABASE {name} WITH (FORCE)")).await) });
        });
        drop(dropped.join());
    }
}

async fn run(url: &str, sql: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let driver = tokio::spawn(connection);
    let done = client.batch_execute(sql).await;
    driver.abort();
    done
}

/// Returns random letters and digits.
fn unique() -> String {
    ringfence::ApproverToken::generate().unwrap().expose().chars().skip(4).take(20).collect()
}

/// Returns the URL of the server, which is started where there is none.
#[expect(clippy::disallowed_methods, reason = "a test asks its environment")]
pub(crate) fn server() -> String {
    std::env::var(VARIABLE).unwrap_or_else(|_| script(&[]))
}

/// Calls `script/postgres`, and returns the last line of what it prints.
#[expect(clippy::disallowed_methods, reason = "a test starts a server")]
fn script(arguments: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../script/postgres");
    let output = Command::new(script).args(arguments).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "script/postgres {arguments:?} failed: {error}");
    String::from_utf8(output.stdout).unwrap().lines().last().unwrap_or_default().to_owned()
}

/// A server of its own, which can be killed.
struct Server {
    directory: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        // The server runs as another user when the test is root.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(directory.path(), open).unwrap();
        let server = Self { directory };
        server.restart();
        server
    }

    fn restart(&self) -> String {
        script(&["--dir", self.directory.path().to_str().unwrap()])
    }

    fn kill(&self) {
        script(&["--kill", "--dir", self.directory.path().to_str().unwrap()]);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
