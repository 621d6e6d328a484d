//! The ways of tampering, and what is said of each.

use super::stage::Step::{self, Add, Each, Rehash, Restore, RestoreMark, SignOther, SignStolen, Sql};

/// What a command must say.
#[derive(Clone, Copy)]
pub(crate) enum Expect {
    /// It does not end well, and says one of these.
    Found(&'static [&'static str]),
    /// It ends well though something was changed, and a guide says this.
    Guide(&'static str),
    /// It ends well, and is right.
    True,
}

use Expect::{Found, Guide, True};

/// A way of tampering. What is expected: of `audit verify`, of that with the checkpoint that left, of `store check`, and of
/// `audit checkpoint`, which signs what is true or nothing unless a guide says otherwise.
pub(crate) struct Case {
    pub(crate) what: &'static str,
    pub(crate) steps: &'static [Step],
    /// On SQLite, where it applies.
    pub(crate) sqlite: Option<[Expect; 4]>,
    pub(crate) postgres: Option<[Expect; 4]>,
}

const TAIL: &str = "Records after the last checkpoint are held by their stored hashes only: whoever can write the file can rewrite those too.";
const STOLEN: &str =
    "whoever holds the key can sign another history, and only a checkpoint that left shows it.";
const BESIDE: &str = "Keys, approvals and stored values lie beside it, and no checkpoint covers them.";
const DIGEST: &str = "Their digests are against damage: whoever changes or removes rows can make them fit, and triggers of the database do part of it.";
const RAW: &str = "Raw outputs have a time of their own, and the log verifies without them";
const NEWEST: &str =
    "A newest checkpoint that was removed from the store looks like one that was never signed.";
const GIVEN: &str = "A checkpoint that you give with `--checkpoint` counts like one of the store's own.";
const OLDER: &str =
    "An older copy of the whole store verifies: only a checkpoint that left shows what is missing.";
const FIRST: &str = "`audit checkpoint` compares with the newest checkpoint that the store still has.";
const FILED: &str =
    "A checkpoint is believed by its own text: the size that the store files it under only orders them.";
const LOG_ONLY: &str = "`store check` looks at everything but the log.";
const FUNCTIONS: &str = "The functions of the PostgreSQL schema are not compared.";

const EDITED: Expect = Found(&["edited: "]);
const FORKED: Expect = Found(&["forked: "]);
const MISSING: Expect = Found(&["missing: "]);
const SWAPPED: Expect = Found(&["swapped: "]);
const UNSIGNED: Expect = Found(&["unsigned: "]);
/// The tree does not fit: a store is not opened for writing, and PostgreSQL not at all.
const DAMAGED: Expect = Found(&["is damaged: ", "its tree is over", "is not in its tree"]);
const REFUSED: Expect = Found(&["refusing to sign"]);
const SCHEMA: Expect = Found(&["was not made by ringfence", "was changed", "is missing"]);
/// What `store check` counts on PostgreSQL.
const GAP: Expect = Found(&["entries are missing from the log"]);
const LOG: Expect = Guide(LOG_ONLY);

/// The same on both.
const fn both(what: &'static str, steps: &'static [Step], expected: [Expect; 4]) -> Case {
    Case { what, steps, sqlite: Some(expected), postgres: Some(expected) }
}

const fn each(
    what: &'static str,
    steps: &'static [Step],
    sqlite: [Expect; 4],
    postgres: [Expect; 4],
) -> Case {
    Case { what, steps, sqlite: Some(sqlite), postgres: Some(postgres) }
}

const EDIT: Step = Sql("UPDATE entry SET record = edit(record, 'pay', 'buy') WHERE position = 3");
/// Something of the signed part that no column repeats.
const AMOUNT: Step =
    Sql("UPDATE entry SET record = edit(record, '\"amount\":3', '\"amount\":4') WHERE kind = 'call'");
const NO_CHECKPOINTS: Step = Sql("DELETE FROM checkpoint");
const NOT_THE_NEWEST: Step = Sql("DELETE FROM checkpoint WHERE size = (SELECT max(size) FROM checkpoint)");

/// Copies the first record to a place.
macro_rules! insert {
    ($place:literal) => {
        Each(
            concat!("INSERT INTO entry (position, at_ms, kind, leaf, record, run, tool, code, class, host, principal) SELECT ", $place,
                ", at_ms, kind, leaf, record, run, tool, code, class, host, principal FROM entry WHERE position = 0"),
            concat!("INSERT INTO entry (position, at_ms, kind, leaf, record, run, tool, code, class, host, principal, filing) SELECT ", $place,
                ", at_ms, kind, leaf, record, run, tool, code, class, host, principal, filing FROM entry WHERE position = 0"),
        )
    };
}

#[rustfmt::skip]
pub(crate) const CASES: &[Case] = &[
    both("nothing", &[], [True, True, True, True]),
    // Records.
    both("the text of a record", &[EDIT], [EDITED, EDITED, LOG, True]),
    both("the text and the hash of a record",
        &[EDIT, Each("UPDATE entry SET leaf = zeroblob(32) WHERE position = 3", "UPDATE entry SET leaf = sha256('\\x00' || record) WHERE position = 3")],
        [EDITED, EDITED, LOG, True]),
    both("the columns of a record: its run", &[Sql("UPDATE entry SET run = 'r9' WHERE run = 'r1'")], [EDITED, EDITED, LOG, True]),
    both("the columns of a record: its time", &[Sql("UPDATE entry SET at_ms = at_ms + 60000 WHERE position = 2")], [EDITED, EDITED, LOG, True]),
    both("the times of a block", &[Sql("UPDATE span SET last_ms = first_ms")], [EDITED, EDITED, LOG, True]),
    both("a run's name, in the record too", &[Sql("UPDATE entry SET run = 'r9', record = edit(record, '\"r1\"', '\"r9\"') WHERE run = 'r1'")],
        [EDITED, EDITED, LOG, True]),
    both("an approval in the log", &[Sql("UPDATE entry SET record = edit(record, 'agreed', 'denied') WHERE kind = 'approval'")],
        [EDITED, EDITED, LOG, True]),
    both("what the model saw, removed", &[Sql("UPDATE entry SET clean = NULL")], [SWAPPED, SWAPPED, LOG, True]),
    both("what the model saw, changed", &[Sql("UPDATE entry SET clean = '\"x\"' WHERE clean IS NOT NULL")], [SWAPPED, SWAPPED, LOG, True]),
    both("what the tool returned, made up", &[Sql("UPDATE entry SET raw = '\"x\"' WHERE clean IS NOT NULL")], [SWAPPED, SWAPPED, LOG, True]),
    both("raw outputs forgotten before their time", &[Sql("UPDATE entry SET raw = NULL")], [Guide(RAW), Guide(RAW), LOG, True]),
    each("the first record removed", &[Sql("DELETE FROM entry WHERE position = 0")], [MISSING, MISSING, LOG, True], [MISSING, MISSING, GAP, True]),
    each("a record removed", &[Sql("DELETE FROM entry WHERE position = 3")], [MISSING, MISSING, LOG, True], [MISSING, MISSING, GAP, True]),
    each("the last record removed", &[Sql("DELETE FROM entry WHERE position = (SELECT max(position) FROM entry)")],
        [Found(&["truncated: "]), Found(&["truncated: "]), DAMAGED, DAMAGED], [DAMAGED, DAMAGED, DAMAGED, DAMAGED]),
    each("all records removed", &[Sql("DELETE FROM entry")],
        [Found(&["truncated: "]), Found(&["truncated: "]), DAMAGED, DAMAGED], [DAMAGED, DAMAGED, DAMAGED, DAMAGED]),
    both("two records in each other's place",
        &[Sql("UPDATE entry SET position = -1 WHERE position = 3; UPDATE entry SET position = 3 WHERE position = 4; UPDATE entry SET position = 4 WHERE position = -1")],
        [FORKED, FORKED, LOG, True]),
    both("a record in the place of another", &[Sql("UPDATE entry SET record = (SELECT record FROM entry WHERE position = 2), leaf = (SELECT leaf FROM entry WHERE position = 2) WHERE position = 5")],
        [FORKED, FORKED, LOG, True]),
    // One that completes no node.
    each("a record added behind the last",
        &[insert!("(SELECT max(position) + 1 FROM entry)")],
        [Found(&["added: "]), Found(&["added: "]), DAMAGED, DAMAGED], [DAMAGED, DAMAGED, DAMAGED, DAMAGED]),
    both("a record added behind the last, with every hash",
        &[insert!("(SELECT max(position) + 1 FROM entry)"), Rehash],
        [Guide(TAIL), Guide(TAIL), LOG, True]),
    both("a record after the last checkpoint, with every hash",
        &[Sql("UPDATE entry SET record = edit(record, 'added', 'begun') WHERE position = (SELECT max(position) FROM entry)"), Rehash],
        [Guide(TAIL), Guide(TAIL), LOG, True]),
    each("a made up late use, with every hash",
        &[Each("INSERT INTO entry (position, at_ms, kind, leaf, record, run, tool, code) SELECT max(position) + 1, 5000, 'late', x'00', '{\"kind\":\"late\",\"at_ms\":5000,\"call\":1,\"run\":\"r1\",\"tool\":\"pay\",\"code\":\"CALL_ENDED\",\"surface\":\"read\",\"what\":\"/x\"}', 'r1', 'pay', 'CALL_ENDED' FROM entry",
            "INSERT INTO entry (filing, position, at_ms, kind, leaf, record, run, tool, code) SELECT 3, max(position) + 1, 5000, 'late', '\\x00', '{\"kind\":\"late\",\"at_ms\":5000,\"call\":1,\"run\":\"r1\",\"tool\":\"pay\",\"code\":\"CALL_ENDED\",\"surface\":\"read\",\"what\":\"/x\"}', 'r1', 'pay', 'CALL_ENDED' FROM entry"), Rehash],
        [Guide(TAIL), Guide(TAIL), LOG, True], [Guide(TAIL), Guide(TAIL), LOG, True]),
    both("a record put between others, with every hash",
        &[Sql("UPDATE entry SET position = -position - 2 WHERE position > 4; UPDATE entry SET position = -position - 1 WHERE position < 0"), insert!("5"), Rehash],
        [FORKED, FORKED, LOG, REFUSED]),
    each("a number twice",
        &[Each("CREATE TABLE other AS SELECT * FROM entry; INSERT INTO other SELECT * FROM entry WHERE position = 2; DROP TABLE entry; ALTER TABLE other RENAME TO entry",
            "ALTER TABLE entry DROP CONSTRAINT entry_pkey CASCADE; INSERT INTO entry SELECT * FROM entry WHERE position = 2")],
        [SCHEMA, SCHEMA, SCHEMA, SCHEMA], [Found(&["reordered: "]), Found(&["reordered: "]), GAP, True]),
    // The tree.
    both("a hash of the tree", &[Each("UPDATE node SET hash = zeroblob(32) WHERE level = 1 AND position = 1", "UPDATE node SET hash = '\\x00' WHERE level = 1 AND position = 1")],
        [EDITED, EDITED, LOG, True]),
    each("where the tree stands", &[Each("UPDATE frontier SET bytes = x'0000000000000000'", "UPDATE frontier SET bytes = '\\x0000000000000000'")],
        [Found(&["added: "]), Found(&["added: "]), DAMAGED, DAMAGED], [DAMAGED, DAMAGED, DAMAGED, DAMAGED]),
    both("cut to the first checkpoint, with every hash", &[Sql("DELETE FROM entry WHERE position >= (SELECT min(size) FROM checkpoint)"), Rehash],
        [Found(&["truncated: "]), Found(&["truncated: "]), LOG, REFUSED]),
    both("cut to the first checkpoint, and no later checkpoint",
        &[Sql("DELETE FROM entry WHERE position >= (SELECT min(size) FROM checkpoint)"), Rehash, NOT_THE_NEWEST],
        [Guide(OLDER), Found(&["truncated: "]), LOG, True]),
    both("rewritten, with every hash", &[AMOUNT, Rehash], [FORKED, FORKED, LOG, REFUSED]),
    both("rewritten, and no checkpoint left", &[AMOUNT, Rehash, NO_CHECKPOINTS], [UNSIGNED, FORKED, LOG, Guide(FIRST)]),
    both("rewritten, and signed with another key", &[AMOUNT, Rehash, NO_CHECKPOINTS, SignOther], [UNSIGNED, FORKED, LOG, Guide(FIRST)]),
    both("rewritten, and signed with the stolen key", &[AMOUNT, Rehash, NO_CHECKPOINTS, SignStolen], [Guide(STOLEN), FORKED, LOG, Guide(STOLEN)]),
    both("another history beside the true one", &[SignStolen, AMOUNT, Rehash, SignStolen, Sql("UPDATE entry SET record = edit(record, '\"amount\":4', '\"amount\":3') WHERE kind = 'call'"), Rehash],
        [FORKED, FORKED, LOG, REFUSED]),
    both("rewritten after the first checkpoint, and no later one",
        &[Sql("UPDATE entry SET record = edit(record, '\"amount\":9', '\"amount\":8') WHERE kind = 'call'"), Rehash, NOT_THE_NEWEST],
        [Guide(STOLEN), FORKED, LOG, Guide(FIRST)]),
    // Checkpoints.
    both("no checkpoint left", &[NO_CHECKPOINTS], [UNSIGNED, Guide(GIVEN), LOG, True]),
    both("the newest checkpoint removed", &[NOT_THE_NEWEST], [Guide(NEWEST), Guide(GIVEN), LOG, True]),
    both("the signature of a checkpoint", &[Each("UPDATE checkpoint SET note = substr(note, 1, length(note) - 9) || 'AAAA' || substr(note, -5)", "UPDATE checkpoint SET note = overlay(note PLACING '\\x41414141'::bytea FROM length(note) - 9)")],
        [UNSIGNED, UNSIGNED, LOG, True]),
    both("the key id of a checkpoint", &[Each("UPDATE checkpoint SET note = replace(note, '— acme.io/agents ', '— acme.io/agents B')", "UPDATE checkpoint SET note = pg_temp.edit(note, '— acme.io/agents ', '— acme.io/agents B')")],
        [UNSIGNED, UNSIGNED, LOG, True]),
    both("the origin of a checkpoint", &[Sql("UPDATE checkpoint SET note = edit(note, 'acme.io/agents\n', 'acme.io/others\n')")], [UNSIGNED, UNSIGNED, LOG, True]),
    both("the size in a checkpoint", &[Each("UPDATE checkpoint SET note = replace(note, char(10) || size || char(10), char(10) || (size - 1) || char(10))", "UPDATE checkpoint SET note = pg_temp.edit(note, E'\\n' || size || E'\\n', E'\\n' || (size - 1) || E'\\n')")],
        [UNSIGNED, UNSIGNED, LOG, True]),
    both("the root in a checkpoint", &[Sql("UPDATE checkpoint SET note = edit(note, '=\n', 'A\n')")], [UNSIGNED, UNSIGNED, LOG, True]),
    each("a checkpoint filed under another size", &[Sql("UPDATE checkpoint SET size = size + 100 WHERE size = (SELECT min(size) FROM checkpoint)")],
        [Found(&["reordered: "]), Found(&["reordered: "]), LOG, True], [Guide(FILED), Guide(FILED), LOG, True]),
    // Older states.
    each("an older copy", &[Restore],
        [Guide(OLDER), Found(&["truncated: "]), Guide(OLDER), Found(&["acknowledged transactions"])],
        [Guide(OLDER), Found(&["truncated: "]), Guide(OLDER), True]),
    both("an older copy with its mark", &[Restore, RestoreMark], [Guide(OLDER), Found(&["truncated: "]), Guide(OLDER), True]),
    both("an older copy that went on", &[Restore, RestoreMark, Add("d"), Add("e"), Add("f"), Add("g"), Add("h"), Add("i")],
        [Guide(OLDER), Found(&["forked: ", "truncated: "]), Guide(OLDER), Guide(FIRST)]),
    // Rows beside the log.
    each("a key from done to running",
        &[Each("UPDATE idempotency SET state = 'executing', output = NULL, until_us = NULL", "UPDATE key SET state = 1, output = NULL, until_us = NULL")],
        [Guide(BESIDE), Guide(BESIDE), Found(&["idempotency keys do not have their digests"]), True],
        [Guide(BESIDE), Guide(BESIDE), Guide(DIGEST), True]),
    each("a kept answer", &[Each("UPDATE idempotency SET output = '\"paid 0\"'", "ALTER TABLE key DISABLE TRIGGER key_sealed; UPDATE key SET output = '\"paid 0\"'; ALTER TABLE key ENABLE TRIGGER key_sealed")],
        [Guide(BESIDE), Guide(BESIDE), Found(&["idempotency keys do not have their digests"]), True],
        [Guide(BESIDE), Guide(BESIDE), Found(&["idempotency keys do not have their digests"]), True]),
    each("a key removed", &[Each("DELETE FROM idempotency", "DELETE FROM key")],
        [Guide(BESIDE), Guide(BESIDE), Found(&["`idempotency` has 0 rows and"]), Found(&["`idempotency` has 0 rows and"])],
        [Guide(BESIDE), Guide(BESIDE), Guide(DIGEST), True]),
    each("what people said to a request", &[Sql("UPDATE request SET state = 'approved' WHERE state = 'open'")],
        [Guide(BESIDE), Guide(BESIDE), Found(&["requests for approval do not have their digests"]), True],
        [Guide(BESIDE), Guide(BESIDE), Guide(DIGEST), True]),
    each("the role of a person", &[Sql("UPDATE approver SET role = 'admin'")],
        [Guide(BESIDE), Guide(BESIDE), Found(&["approvers do not have their digests"]), True],
        [Guide(BESIDE), Guide(BESIDE), Guide(DIGEST), True]),
    // Tables.
    both("a table dropped", &[Sql("DROP TABLE checkpoint")], [SCHEMA, SCHEMA, SCHEMA, Found(&["checkpoint"])]),
    both("a column added", &[Sql("ALTER TABLE entry ADD COLUMN hidden TEXT")], [SCHEMA, SCHEMA, SCHEMA, SCHEMA]),
    both("a trigger planted",
        &[Each("CREATE TRIGGER planted AFTER INSERT ON entry BEGIN DELETE FROM idempotency; END", "CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN DELETE FROM ringfence.key; RETURN NULL; END'; CREATE TRIGGER planted AFTER INSERT ON entry EXECUTE FUNCTION planted()")],
        [SCHEMA, SCHEMA, SCHEMA, SCHEMA]),
    both("a view in the place of a table", &[Sql("ALTER TABLE entry RENAME TO hidden; CREATE VIEW entry AS SELECT * FROM hidden")],
        [SCHEMA, SCHEMA, SCHEMA, Found(&["was not made by ringfence", "view"])]),
    Case {
        what: "a rule that hides what is removed",
        steps: &[Sql("CREATE RULE planted AS ON INSERT TO checkpoint DO INSTEAD NOTHING")],
        sqlite: None,
        postgres: Some([SCHEMA, SCHEMA, SCHEMA, SCHEMA]),
    },
    Case {
        what: "a function replaced",
        steps: &[Sql("CREATE OR REPLACE FUNCTION is_alive(asked bytea) RETURNS boolean LANGUAGE sql VOLATILE AS 'SELECT true'")],
        sqlite: None,
        postgres: Some([Guide(FUNCTIONS), Guide(FUNCTIONS), Guide(FUNCTIONS), True]),
    },
];
