//! The same on a PostgreSQL server.
//!
//! INVARIANT: a server that cannot be had is a failure, never a reason to leave a test out.

use std::path::Path;
use std::process::Command;

use crate::office::Office;
use crate::{approvals, idempotency};

/// Where a server is, as `script/postgres` prints it.
const VARIABLE: &str = "RINGFENCE_TEST_POSTGRES";

/// A database of its own, which goes with it.
pub(crate) struct Bench {
    server: String,
    name: String,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::made("")
    }

    /// Makes a copy, to which nobody may be connected.
    pub(crate) fn copy(&self) -> Self {
        Self::made(&format!("TEMPLATE {}", self.name))
    }

    fn made(how: &str) -> Self {
        let server = std::env::var(VARIABLE).unwrap_or_else(|_| started());
        let token = ringfence::ApproverToken::generate().unwrap();
        let bench = Self { server, name: format!("cli_{}", token.expose().get(4..24).unwrap()) };
        bench.admin(&format!("CREATE DATABASE {} {how}", bench.name)).unwrap();
        bench
    }

    /// Asks the database behind ringfence's back, and returns the rows. Names need no schema.
    pub(crate) fn sql(
        &self,
        sql: &str,
    ) -> Result<Vec<tokio_postgres::SimpleQueryMessage>, tokio_postgres::Error> {
        let plain = self.url();
        let plain = plain.split('?').next().unwrap();
        simple(plain, &format!("SET search_path = ringfence, public; {sql}"))
    }

    pub(crate) fn url(&self) -> String {
        self.server.replacen("/postgres?", &format!("/{}?", self.name), 1)
    }

    fn admin(&self, sql: &str) -> Result<(), tokio_postgres::Error> {
        simple(self.server.split('?').next().unwrap(), sql).map(drop)
    }
}

fn simple(url: &str, sql: &str) -> Result<Vec<tokio_postgres::SimpleQueryMessage>, tokio_postgres::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
        let driver = tokio::spawn(connection);
        let done = client.simple_query(sql).await;
        // The server sees the end, so that nobody is connected when this returns.
        drop(client);
        let _ended = driver.await;
        done
    })
}

impl Drop for Bench {
    fn drop(&mut self) {
        drop(self.admin(&format!("DROP DATABASE {} WITH (FORCE)", self.name)));
    }
}

fn started() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../script/postgres");
    let output = Command::new(script).output().unwrap();
    assert!(output.status.success(), "script/postgres: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_payment_waits_for_a_person_and_is_made_once() {
    let bench = Bench::new();
    approvals::once(&Office::over(&bench.url()));
}

#[test]
fn two_different_people_and_not_the_proposer() {
    let bench = Bench::new();
    approvals::two_people(&Office::over(&bench.url()));
}

#[test]
fn a_waiting_call_survives_its_process() {
    let bench = Bench::new();
    approvals::survives(&Office::over(&bench.url()));
}

#[test]
fn a_call_in_doubt_is_settled_by_a_person() {
    let bench = Bench::new();
    idempotency::settled(&Office::over(&bench.url()));
}

#[test]
fn a_file_is_copied_with_everything_in_it() {
    let bench = Bench::new();
    let office = Office::new();
    office.hire("ada");
    let pay = ["call", "--run", "r1", "--idempotency-key", "k1", "pay", r#"{"to": "ada", "amount": 3}"#];
    office.raw(&pay);
    assert!(office.decide("ada", &["approve"]).contains("approved by ada"));
    assert!(office.raw(&pay).ends_with("exit 0"));
    office.raw(&["call", "--run", "r2", "wire", r#"{"amount": 9}"#]);
    let key = office.raw(&["audit", "keygen", "acme.io/agents", "key"]);
    let key = key.lines().next().unwrap().to_owned();
    let note = office.raw(&["audit", "checkpoint", "--key", "key"]);
    let office = office.with("kept", note.rsplit_once("exit").unwrap().0);

    let copy = |arguments: &[&str]| {
        let url = bench.url();
        let said = office
            .bench
            .ringfence_in(&[("RINGFENCE_STORE", url.as_str())], &[&["store", "copy"], arguments].concat());
        let place = said
            .split_once("the database")
            .and_then(|(_, rest)| rest.split_once("` at `"))
            .and_then(|(name, rest)| Some(format!("the database{name}` at `{}`", rest.split_once('`')?.0)));
        place.map_or(said.clone(), |place| said.replace(&place, "[DATABASE]"))
    };
    insta::assert_snapshot!(copy(&["office.db", "other.db"]), @"
    error: this works on a PostgreSQL database only
      hint: name it as `postgres://…` in the variable RINGFENCE_STORE
    exit 2
    ");
    insta::assert_snapshot!(copy(&["missing.db"]), @"
    error: the file `[W]/missing.db` is not there
      hint: nothing has made this store yet: `ringfence approver add`, `ringfence call --store` or `ringfence store migrate` makes one; another is named with --store STORE or in the variable RINGFENCE_STORE
    exit 1
    ");
    insta::assert_snapshot!(copy(&["office.db"]), @"
    copied: [W]/office.db to [DATABASE]
      records: 14
      checkpoints: 1
      idempotency keys: 1
      requests for approval: 2
      approvers: 1
      stored values: 0
    exit 0
    ");
    insta::assert_snapshot!(copy(&["office.db"]), @"
    error: [DATABASE] is not empty
      hint: name a database without tables of ringfence
    exit 1
    ");
    // The new place goes on where the old one was.
    let office = office.moved(&bench.url());
    assert!(office.raw(&pay).contains("paid 3"));
    assert_eq!(office.ledger(), "ada 3\n");
    assert_eq!(office.waiting().len(), 1);
    assert!(office.decide("ada", &["approve"]).contains("agreed by ada"));
    let verified = office.raw(&["audit", "verify", "--trust", &key, "--checkpoint", "kept"]);
    assert!(verified.starts_with("intact: "), "{verified}");
}
