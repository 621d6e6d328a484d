//! Which servers and databases are opened, and by whom the tables are made.

use std::io::Write as _;

use ringfence::{Code, IdempotencyStore as _};
use ringfence_store::PostgresError;

use super::*;
use crate::it::sample::append;
use crate::it::wait::wait_for;

/// Connects, and returns the sentence of the error.
async fn refused(url: &str) -> String {
    let options = PostgresOptions { connect: Duration::from_secs(3), ..PostgresOptions::default() };
    let error = PostgresStore::connect_with(url, options).await.unwrap_err();
    let password = url.split(['@', '?']).next().unwrap().rsplit(':').next().unwrap();
    let sentence = error.to_string();
    assert!(password.len() > 5 && !sentence.contains(password) && !sentence.contains('\n'), "{sentence}");
    sentence
}

#[tokio::test]
async fn connects_only_to_the_server_of_the_url() {
    let bench = Bench::new().await;
    let url = bench.url();
    drop(PostgresStore::connect(&url).await.unwrap());
    drop(PostgresStore::connect(&url.replace("@127.0.0.1:", "@localhost:")).await.unwrap());
    drop(PostgresStore::connect(&bench.plain_url()).await.unwrap());

    let other = tempfile::NamedTempFile::new().unwrap();
    other.as_file().write_all(OTHER_AUTHORITY.as_bytes()).unwrap();
    let (front, _) = url.split_once("sslrootcert=").unwrap();
    let untrusted = format!("{front}sslrootcert={}", other.path().display());
    #[rustfmt::skip]
    let cases = [
        // URL                                                    what the sentence holds
        (untrusted.clone(),                                       "there is no trusted connection to the database `"),
        (untrusted.replace("verify-full", "require"),             "there is no trusted connection to the database `"),
        (front.replace("&", ""),                                  "there is no trusted connection to the database `"),
        (url.replace("@127.0.0.1:", "@127.0.0.2:"),               " at `127.0.0.2:"),
        (bench.plain_url().replacen(":", ":x", 2).replacen(":x", ":", 1), "does not admit the user: password authentication failed"),
        (url.replace("/test_", "/none_"),                         "does not exist"),
        ("postgres://u:hunter2@127.0.0.1:1/db".to_owned(),        "cannot be reached: error connecting to server: "),
    ];
    for (url, part) in cases {
        let sentence = refused(&url).await;
        assert!(sentence.contains(part), "{sentence}");
    }
}

#[tokio::test]
async fn refuses_schemas_that_are_not_ours() {
    #[rustfmt::skip]
    let cases = [
        ("INSERT INTO ringfence_version VALUES (1000)",          "has version 1000, and this program knows versions up to"),
        ("DROP TABLE ringfence_version",                         "was not made by ringfence"),
        ("DELETE FROM ringfence_version",                        "was not made by ringfence"),
    ];
    for (sql, part) in cases {
        let bench = Bench::new().await;
        drop(bench.open().await);
        bench.sql(sql).await;
        let error = PostgresStore::connect(&bench.url()).await.unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!(error.code(), Code::InputInvalid);
    }
    let bench = Bench::new().await;
    bench.sql("CREATE SCHEMA ringfence; CREATE TABLE ringfence.theirs (x integer)").await;
    assert!(matches!(PostgresStore::connect(&bench.url()).await, Err(PostgresError::Foreign { .. })));
    // A schema that somebody has made for us is welcome.
    let bench = Bench::new().await;
    bench.sql("CREATE SCHEMA ringfence").await;
    bench.open().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_make_the_tables_once() {
    let bench = Bench::new().await;
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let url = bench.url();
            tokio::spawn(async move {
                let store = PostgresStore::connect(&url).await.unwrap();
                append(&store, &format!("run-{task}"), 0..2).await;
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(bench.open().await.size().await.unwrap(), 16);
}

#[tokio::test]
async fn whoever_may_only_use_the_tables_can() {
    let bench = Bench::new().await;
    drop(bench.open().await);
    let role = format!("user_{}", unique());
    bench
        .sql(&format!(
            "CREATE ROLE {role} LOGIN PASSWORD 'secret-word';
             GRANT USAGE ON SCHEMA ringfence TO {role};
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ringfence TO {role};
             GRANT USAGE ON ALL SEQUENCES IN SCHEMA ringfence TO {role};
             GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ringfence TO {role}"
        ))
        .await;
    let (_, rest) = bench.url().split_once('@').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let url = format!("postgres://{role}:secret-word@{rest}");
    let used = async {
        let store = PostgresStore::connect(&url).await.map_err(|error| error.to_string())?;
        append(&store, "run", 0..3).await;
        let claimed =
            store.claim(&super::lease::claim("one", "a")).await.map_err(|error| error.to_string())?;
        assert!(matches!(claimed, ringfence::Claim::Granted(_)), "{claimed:?}");
        store
            .sign(&crate::it::sample::key(), crate::it::sample::ORIGIN)
            .await
            .map_err(|error| error.to_string())?;
        store.size().await.map_err(|error| error.to_string())
    };
    let used = used.await;
    bench.sql(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
    assert_eq!(used, Ok(3));
}

#[tokio::test]
async fn a_server_that_hangs_is_an_error() {
    let bench = Bench::new().await;
    // The tables are made without haste.
    drop(bench.open().await);
    let options = PostgresOptions {
        statement: Duration::from_millis(600),
        patience: Duration::from_millis(600),
        ..PostgresOptions::default()
    };
    let store = PostgresStore::connect_with(&bench.url(), options).await.unwrap();
    let (client, connection) = tokio_postgres::connect(&bench.plain_url(), NoTls).await.unwrap();
    let driver = tokio::spawn(connection);
    client.batch_execute("BEGIN; LOCK TABLE ringfence.frontier, ringfence.entry").await.unwrap();
    let step = crate::it::sample::step("run", 0);
    let tried = async {
        let kept = ringfence::AuditSink::append(&store, &[ringfence::AuditEntry::Approval(&step)]).await;
        (kept, store.size().await)
    };
    // The tables are locked until the test gives them free, so whoever waited for them would never end.
    let (kept, size) = tokio::time::timeout(PATIENCE, tried).await.unwrap();
    assert!(kept.is_err() && size.is_err(), "{kept:?} {size:?}");
    client.batch_execute("ROLLBACK").await.unwrap();
    driver.abort();
    // On a slow machine the short patience may end once more.
    wait_for("the store answers again", async || store.size().await.ok()).await;
    append(&store, "run", 0..1).await;
    assert_eq!(store.size().await.unwrap(), 1);
}

#[tokio::test]
async fn connects_through_a_socket() {
    let server = Server::start();
    let url = server.restart();
    let directory = server.directory.path().join("socket").to_str().unwrap().replace('/', "%2F");
    let bench = Bench::on(url.clone()).await;
    let socket = bench.plain_url().replace("@127.0.0.1:", &format!("@{directory}:"));
    let store = PostgresStore::connect(&socket).await.unwrap();
    append(&store, "run", 0..3).await;
    assert_eq!(store.size().await.unwrap(), 3);
    assert!(format!("{store:?}").contains("/socket`"), "{store:?}");
    drop(bench);
}

/// A certificate of an authority that signed nothing.
const OTHER_AUTHORITY: &str = "\
-----BEGIN CERTIFICATE-----
MIIBjzCCATWgAwIBAgIUN1fLaV7xLHU+DYIeHwypjPMRfhUwCgYIKoZIzj0EAwIw
HDEaMBgGA1UEAwwRYW5vdGhlciBhdXRob3JpdHkwIBcNMjYxMTE1MTEyMzE5WhgP
MjEyNjEwMjIxMTIzMTlaMBwxGjAYBgNVBAMMEWFub3RoZXIgYXV0aG9yaXR5MFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEPElCemeyzePvlV+0pLEsfVZTx9SljxoB
S5KarhSWk4SCUd/cUqYd+6jn6DOrCtTK/ZD6a+8XLFbWNDYaN4kDIKNTMFEwHQYD
VR0OBBYEFEwdHxs4QT91rKoegDNJ+ZzulD4ZMB8GA1UdIwQYMBaAFEwdHxs4QT91
rKoegDNJ+ZzulD4ZMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIh
AKaIQO7PGWf/sSkCQnyEGQqFGovyY6NUwtGBYngP4SVSAiB5LhCFiMJE3aQPqAq5
VrzbqgXSNWJKWjblqPHhmZUh6g==
-----END CERTIFICATE-----
";
