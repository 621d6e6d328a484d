//! The server that the tests share, and servers of their own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The database that the tests make on a server.
const DATABASE: &str = "durable";

/// Returns the URL of an empty database on the shared server, the same one for all tests of this process.
pub(crate) fn url() -> String {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| {
        let server = std::env::var("RINGFENCE_TEST_POSTGRES").unwrap_or_else(|_| script(&[]));
        empty_database(&server, DATABASE)
    })
    .clone()
}

/// Returns the URL of another empty database on the shared server.
pub(crate) fn other_url(name: &str) -> String {
    let server = std::env::var("RINGFENCE_TEST_POSTGRES").unwrap_or_else(|_| script(&[]));
    empty_database(&server, name)
}

/// A server of its own, that can be killed.
pub(crate) struct Server {
    directory: PathBuf,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start(name: &str) -> Self {
        // Not below a private folder: as root the server runs as somebody else.
        let directory = PathBuf::from(format!("/var/tmp/ringfence-durable-{name}-{}", std::process::id()));
        let server = script(&["--dir", directory.to_str().unwrap()]);
        Self { url: empty_database(&server, DATABASE), directory }
    }

    pub(crate) fn kill(&self) {
        self.script("--kill");
    }

    pub(crate) fn start_again(&self) {
        script(&["--dir", self.directory.to_str().unwrap()]);
    }

    /// Ends every connection to the database.
    pub(crate) fn cut(&self) {
        let sql = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{DATABASE}' AND pid <> pg_backend_pid()"
        );
        psql(&self.url, &sql);
    }

    fn script(&self, action: &str) {
        script(&[action, "--dir", self.directory.to_str().unwrap()]);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.script("--kill");
        let _removed = std::fs::remove_dir_all(&self.directory);
    }
}

fn empty_database(server: &str, name: &str) -> String {
    psql(server, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
    psql(server, &format!("CREATE DATABASE {name}"));
    assert!(server.contains("/postgres?"), "`{server}` does not name the database `postgres`");
    server.replacen("/postgres?", &format!("/{name}?"), 1)
}

/// Runs one statement.
pub(crate) fn psql(url: &str, sql: &str) {
    let done = Command::new("psql")
        .env("PGOPTIONS", "-c client_min_messages=warning")
        .args([url, "-qAtX", "-c", sql])
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(done.success(), "`{sql}` failed");
}

/// Runs `script/postgres` and returns its last line.
fn script(arguments: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let output = Command::new(root.join("script/postgres")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().to_owned()
}
