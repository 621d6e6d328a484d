-- So that entries are found by kind, tool and time without reading the log.
CREATE INDEX entry_kind ON entry (kind);
CREATE INDEX entry_tool ON entry (tool) WHERE tool IS NOT NULL;
CREATE INDEX entry_at ON entry (at_ms, kind, tool);

-- So that raw outputs whose time is up are found.
CREATE INDEX entry_raw ON entry (at_ms) WHERE raw IS NOT NULL;

-- Calls by idempotency key. `fence` grows with every claim that is granted, over all keys, and is never used again.
-- `instance` is the store that a call runs under: one that executes under a dead one is in doubt.
CREATE TABLE idempotency (
    fence INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    arguments TEXT NOT NULL,
    run TEXT NOT NULL,
    owner TEXT NOT NULL,
    instance TEXT NOT NULL,
    claimed_us INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('committed', 'executing', 'failed', 'unknown')),
    output TEXT,
    until_us INTEGER,
    UNIQUE (scope, key),
    CHECK ((state = 'committed') = (output IS NOT NULL)),
    CHECK ((state IN ('committed', 'failed')) = (until_us IS NOT NULL))
) STRICT;
CREATE INDEX idempotency_key ON idempotency (key);
CREATE INDEX idempotency_open ON idempotency (fence) WHERE state IN ('executing', 'unknown');
CREATE INDEX idempotency_until ON idempotency (until_us) WHERE until_us IS NOT NULL;

-- Requests for approval, in the order they were filed. `body` is what was asked and `decided` who said what, as JSON.
-- `waiter` is the store whose calls wait for it, and `waiting` how many of them.
CREATE TABLE request (
    ordinal INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL,
    run TEXT NOT NULL,
    personality TEXT,
    body TEXT NOT NULL,
    state TEXT NOT NULL
        CHECK (state IN ('approved', 'denied', 'expired', 'open', 'replaced', 'taken')),
    asked_us INTEGER NOT NULL,
    expires_us INTEGER NOT NULL,
    decided TEXT NOT NULL,
    replaces TEXT,
    waiter TEXT,
    waiting INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX request_digest ON request (digest);
CREATE INDEX request_run ON request (run);
CREATE INDEX request_replaces ON request (replaces) WHERE replaces IS NOT NULL;
CREATE INDEX request_alive ON request (expires_us) WHERE state NOT IN ('expired', 'taken');
CREATE INDEX request_ended ON request (expires_us) WHERE state IN ('expired', 'taken');
CREATE INDEX request_state ON request (state);

-- People who may decide, with the hashes of their tokens.
CREATE TABLE approver (
    name TEXT PRIMARY KEY,
    token BLOB NOT NULL,
    added_us INTEGER NOT NULL,
    revoked_us INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX approver_token ON approver (token) WHERE revoked_us IS NULL;

-- Which channel was told of which request, or when it is tried again.
CREATE TABLE notice (
    request INTEGER NOT NULL REFERENCES request (ordinal) ON DELETE CASCADE,
    channel TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    next_us INTEGER NOT NULL,
    told INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (request, channel)
) STRICT, WITHOUT ROWID;
