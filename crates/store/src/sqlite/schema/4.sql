-- Which store this is, and how far it has come. `sequence` counts transactions, and `chain` tells two histories of the same
-- length apart; `digest` is over the three. The mark beside the file says the same of what was acknowledged last.
-- Of each table whose rows are trusted: how many there are, and the digests of all of them combined (exclusive or).
ALTER TABLE frontier ADD COLUMN store BLOB NOT NULL DEFAULT x'';
ALTER TABLE frontier ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0;
ALTER TABLE frontier ADD COLUMN chain BLOB NOT NULL DEFAULT x'';
ALTER TABLE frontier ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE frontier ADD COLUMN idempotency_rows INTEGER NOT NULL DEFAULT 0;
ALTER TABLE frontier ADD COLUMN idempotency_digests INTEGER NOT NULL DEFAULT 0;
ALTER TABLE frontier ADD COLUMN request_rows INTEGER NOT NULL DEFAULT 0;
ALTER TABLE frontier ADD COLUMN request_digests INTEGER NOT NULL DEFAULT 0;
ALTER TABLE frontier ADD COLUMN approver_rows INTEGER NOT NULL DEFAULT 0;
ALTER TABLE frontier ADD COLUMN approver_digests INTEGER NOT NULL DEFAULT 0;
ALTER TABLE frontier ADD COLUMN value_rows INTEGER NOT NULL DEFAULT 0;
ALTER TABLE frontier ADD COLUMN value_digests INTEGER NOT NULL DEFAULT 0;

-- The digest of each row. Rows that are there get theirs when the file is brought up to date.
ALTER TABLE idempotency ADD COLUMN row_digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE request ADD COLUMN row_digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE approver ADD COLUMN row_digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE value ADD COLUMN row_digest INTEGER NOT NULL DEFAULT 0;
