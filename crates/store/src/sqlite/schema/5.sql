-- What the chain was after each transaction of the block that is not whole yet: 8 bytes each, zeros where nobody knows. It stands in the
-- row that every transaction writes anyway.
ALTER TABLE frontier ADD COLUMN recent BLOB NOT NULL DEFAULT x'';

-- The last fence that was handed out. `digest` is over it too from this version on; the sequence of SQLite stands beyond all fences, so
-- that nobody writes it with each key.
ALTER TABLE frontier ADD COLUMN fence INTEGER NOT NULL DEFAULT 0;

-- What the chain was after each of 64 transactions in a row, for the last 1,024 blocks of them. A row is written when its block is left.
CREATE TABLE chain_block (
    slot INTEGER PRIMARY KEY,
    block INTEGER NOT NULL,
    chains BLOB NOT NULL
) STRICT;

-- Whoever writes a key counts it, with the row that every transaction writes anyway.
DROP TRIGGER IF EXISTS idempotency_digest_added;
DROP TRIGGER IF EXISTS idempotency_digest_removed;
DROP TRIGGER IF EXISTS idempotency_digest_changed;
