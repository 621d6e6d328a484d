-- The audit log: one row for each leaf of the tree, from position 0 on without a gap.
CREATE TABLE entry (
    position INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    run TEXT,
    tool TEXT,
    code TEXT,
    leaf BLOB NOT NULL,
    record TEXT NOT NULL,
    raw TEXT,
    clean TEXT
) STRICT;
CREATE INDEX entry_run ON entry (run) WHERE run IS NOT NULL;
CREATE INDEX entry_code ON entry (code) WHERE code IS NOT NULL;

-- The complete inner nodes of the tree; the leaves stand in the entries.
CREATE TABLE node (
    level INTEGER NOT NULL,
    position INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (level, position)
) STRICT, WITHOUT ROWID;

-- The right edge of the tree, in one row.
CREATE TABLE frontier (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    bytes BLOB NOT NULL
) STRICT;
INSERT INTO frontier VALUES (1, x'0000000000000000');

-- The signed checkpoints, in the order they were made.
CREATE TABLE checkpoint (
    ordinal INTEGER PRIMARY KEY AUTOINCREMENT,
    size INTEGER NOT NULL,
    note TEXT NOT NULL,
    UNIQUE (size, note)
) STRICT;

-- Keys and values. `bytes` is what a row counts for in its namespace, `until_us` when it expires.
CREATE TABLE value (
    id INTEGER PRIMARY KEY,
    space TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    until_us INTEGER,
    UNIQUE (space, key)
) STRICT;
CREATE INDEX value_until ON value (until_us) WHERE until_us IS NOT NULL;

-- What each namespace holds. Rows of `value` are added and removed, and never updated.
CREATE TABLE space (
    name TEXT PRIMARY KEY,
    keys INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER value_added AFTER INSERT ON value BEGIN
    INSERT INTO space VALUES (new.space, 1, new.bytes)
        ON CONFLICT (name) DO UPDATE SET keys = keys + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER value_removed AFTER DELETE ON value BEGIN
    UPDATE space SET keys = keys - 1, bytes = bytes - old.bytes WHERE name = old.space;
    DELETE FROM space WHERE name = old.space AND keys <= 0;
END;
