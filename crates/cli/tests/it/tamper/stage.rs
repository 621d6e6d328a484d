//! A store with a history, of which each case gets a copy to change, and what an attacker does to it.

use std::path::Path;
use std::str::FromStr as _;

use ringfence::audit::{Checkpoint, Frontier, Hash, Note, SignerKey, TrustedLog};
use tokio_postgres::SimpleQueryMessage;

use crate::bench::Bench;
use crate::office::Office;
use crate::postgres;

/// The name of the log.
const ORIGIN: &str = "acme.io/agents";

/// One thing that an attacker does.
pub(crate) enum Step {
    /// Statements that both databases know. `edit(bytes, old, new)` replaces text.
    Sql(&'static str),
    /// Statements for SQLite, and for PostgreSQL.
    Each(&'static str, &'static str),
    /// Computes every hash of the tree again from the records as they are.
    Rehash,
    /// Signs the log as it is with the stolen key.
    SignStolen,
    /// Signs the log as it is with another key of the same name.
    SignOther,
    /// Puts the store back to what it was at the first checkpoint. The mark beside a file stays.
    Restore,
    /// Puts the mark back, too.
    RestoreMark,
    /// Has ringfence add a person, which is one record.
    Add(&'static str),
}

/// Where the store is.
enum Place {
    File,
    Database(postgres::Bench),
}

/// A store, the key that signs, and a checkpoint that left.
pub(crate) struct Stage {
    office: Office,
    place: Place,
    /// The state at the first checkpoint.
    early: Place,
    /// The key that verifies.
    pub(crate) trust: String,
    /// The leaves of the true history, and how many of them the checkpoint that left covers.
    pub(crate) leaves: Vec<Hash>,
    pub(crate) kept: usize,
}

impl Stage {
    /// Prepares a file.
    pub(crate) fn on_sqlite() -> Self {
        Self::prepare(Office::new(), Place::File)
    }

    /// Prepares a database.
    pub(crate) fn on_postgres() -> Self {
        let database = postgres::Bench::new();
        Self::prepare(Office::over(&database.url()), Place::Database(database))
    }

    /// Records a payment that a person agreed to, a request that waits and people who came: two checkpoints, the second of which
    /// left, and a record after it.
    fn prepare(office: Office, place: Place) -> Self {
        office.hire("ada");
        let pay = ["call", "--run", "r1", "--idempotency-key", "k1", "pay", r#"{"to": "ada", "amount": 3}"#];
        office.raw(&pay);
        assert!(office.decide("ada", &["approve"]).contains("approved by ada"));
        assert!(office.raw(&pay).ends_with("exit 0"));
        let trust = office.raw(&["audit", "keygen", ORIGIN, "key"]).lines().next().unwrap().to_owned();
        assert!(office.raw(&["audit", "checkpoint", "--key", "key"]).ends_with("exit 0"));
        copy_files(&office.bench.path(), &office.bench.path().join("early"));
        let early = place.copy();
        office.raw(&["call", "--run", "r2", "wire", r#"{"amount": 9}"#]);
        office.hire("bob");
        let note = office.raw(&["audit", "checkpoint", "--key", "key"]);
        let office = office.with("kept", note.rsplit_once("exit").unwrap().0);
        office.hire("cyd");
        let mut stage = Self { office, place, early, trust, leaves: Vec::new(), kept: 0 };
        stage.leaves =
            stage.stored("leaf").iter().map(|leaf| Hash::from_bytes(leaf[..].try_into().unwrap())).collect();
        stage.kept = stage.office.bench.read("kept").lines().nth(1).unwrap().parse().unwrap();
        assert_eq!(stage.kept + 1, stage.leaves.len());
        stage
    }

    /// Returns a copy.
    pub(crate) fn copy(&self) -> Self {
        let bench = Bench::new();
        let (from, to) = (self.office.bench.path(), bench.path());
        copy_files(&from, &to);
        copy_files(&from.join("early"), &to.join("early"));
        let (place, early) = (self.place.copy(), self.early.copy());
        let office = Office::at(bench, &place.name());
        let (trust, leaves, kept) = (self.trust.clone(), self.leaves.clone(), self.kept);
        Self { office, place, early, trust, leaves, kept }
    }

    /// Runs a command over the store.
    pub(crate) fn ringfence(&self, arguments: &[&str]) -> String {
        self.office.raw(arguments)
    }

    /// Opens a checkpoint that a command printed.
    pub(crate) fn open(&self, said: &str) -> Option<Checkpoint> {
        let note: Note = said.rsplit_once("exit")?.0.parse().ok()?;
        TrustedLog::new(ORIGIN, [self.trust.parse().unwrap()]).unwrap().open(&note).ok()
    }

    /// Does what the attacker does.
    pub(crate) fn tamper(&mut self, step: &Step) {
        match step {
            Step::Sql(sql) => self.sql(sql),
            Step::Each(sqlite, postgres) => {
                self.sql(if matches!(self.place, Place::File) { sqlite } else { postgres });
            }
            Step::Rehash => self.rehash(),
            Step::SignStolen => {
                self.sign(&SignerKey::from_str(self.office.bench.read("key").trim()).unwrap());
            }
            Step::SignOther => self.sign(&SignerKey::from_seed(ORIGIN, &[9; 32]).unwrap()),
            Step::Restore | Step::RestoreMark => self.restore(matches!(step, Step::RestoreMark)),
            Step::Add(name) => self.office.hire(name),
        }
    }

    /// Returns a column of the records, in their order.
    pub(crate) fn stored(&self, column: &str) -> Vec<Vec<u8>> {
        match &self.place {
            Place::File => {
                let connection = rusqlite::Connection::open(self.file()).unwrap();
                let sql = format!("SELECT CAST({column} AS BLOB) FROM entry ORDER BY position");
                let mut select = connection.prepare(&sql).unwrap();
                let rows = select.query_map([], |row| row.get(0)).unwrap();
                rows.collect::<Result<_, _>>().unwrap()
            }
            Place::Database(database) => {
                let sql = format!("SELECT encode({column}, 'hex') FROM entry ORDER BY position");
                let answer = database.sql(&sql).unwrap();
                let row = |message| match message {
                    SimpleQueryMessage::Row(row) => row.get(0).map(unhex),
                    _ => None,
                };
                answer.into_iter().filter_map(row).collect()
            }
        }
    }

    fn file(&self) -> std::path::PathBuf {
        self.office.bench.path().join("office.db")
    }

    fn sql(&self, sql: &str) {
        match &self.place {
            Place::File => {
                let connection = rusqlite::Connection::open(self.file()).unwrap();
                connection.execute_batch(&sql.replace("edit(", "replace(")).unwrap();
            }
            Place::Database(database) => {
                let edit = "CREATE FUNCTION pg_temp.edit(own bytea, old text, new text) RETURNS bytea LANGUAGE sql AS
                    'SELECT convert_to(replace(convert_from(own, ''UTF8''), old, new), ''UTF8'')';";
                let sql = sql.replace("pg_temp.edit(", "edit(").replace("edit(", "pg_temp.edit(");
                database.sql(&format!("{edit} {sql}")).unwrap();
            }
        }
    }

    fn frontier(&self) -> (Frontier, String) {
        let (mut frontier, mut sql) = (Frontier::new(), "DELETE FROM node; DELETE FROM span;".to_owned());
        for (index, record) in self.stored("record").iter().enumerate() {
            let leaf = Hash::leaf(record);
            sql +=
                &format!("UPDATE entry SET leaf = {} WHERE position = {index};", self.hex(leaf.as_bytes()));
            for node in frontier.append(leaf) {
                let (level, place) = (node.id.level(), node.id.index());
                sql += &format!(
                    "INSERT INTO node VALUES ({level}, {place}, {});",
                    self.hex(node.hash.as_bytes())
                );
            }
        }
        sql += "INSERT INTO span SELECT position >> 10, min(at_ms), max(at_ms) FROM entry GROUP BY position >> 10;";
        sql += &format!("UPDATE frontier SET bytes = {};", self.hex(&frontier.to_bytes()));
        (frontier, sql)
    }

    fn rehash(&self) {
        self.sql(&self.frontier().1);
    }

    fn sign(&self, key: &SignerKey) {
        let frontier = self.frontier().0;
        let note = Checkpoint::new(ORIGIN, &frontier).unwrap().sign(key).unwrap().to_string();
        let note = match self.place {
            Place::File => format!("CAST({} AS TEXT)", self.hex(note.as_bytes())),
            Place::Database(_) => self.hex(note.as_bytes()),
        };
        self.sql(&format!("INSERT INTO checkpoint (size, note) VALUES ({}, {note})", frontier.size()));
    }

    fn restore(&mut self, with_mark: bool) {
        match &self.early {
            Place::File => {
                let here = self.office.bench.path();
                for name in ["office.db", "office.db-wal", "office.db-shm"] {
                    std::fs::copy(here.join("early").join(name), here.join(name)).unwrap();
                }
                if with_mark {
                    std::fs::copy(here.join("early/office.db.mark"), here.join("office.db.mark")).unwrap();
                }
            }
            Place::Database(database) => {
                let copy = database.copy();
                self.office.move_to(&copy.url());
                self.place = Place::Database(copy);
            }
        }
    }

    fn hex(&self, bytes: &[u8]) -> String {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        if matches!(self.place, Place::File) { format!("x'{hex}'") } else { format!("'\\x{hex}'::bytea") }
    }
}

impl Place {
    /// Returns what `RINGFENCE_STORE` says.
    fn name(&self) -> String {
        match self {
            Self::File => "office.db".to_owned(),
            Self::Database(database) => database.url(),
        }
    }

    /// Copies a database; files are copied with their folder.
    fn copy(&self) -> Self {
        match self {
            Self::File => Self::File,
            Self::Database(database) => Self::Database(database.copy()),
        }
    }
}

/// Copies the files of a folder, which need not be there.
fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).into_iter().flatten() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(text.get(at..at + 2).unwrap(), 16).unwrap())
        .collect()
}
