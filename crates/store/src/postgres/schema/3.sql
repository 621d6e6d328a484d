-- By what else entries are found. They are filled in from the records, and then indexed. `filing` is the version of the
-- tables that a writer knows: one that does not know these columns cannot append any more.
ALTER TABLE ringfence.entry
    ADD class text,
    ADD host bytea,
    ADD principal bytea,
    ADD filing smallint NOT NULL DEFAULT 3;
ALTER TABLE ringfence.entry ALTER filing DROP DEFAULT;

-- The times of each 1,024 entries in a row: which part of the log can hold a time.
CREATE TABLE ringfence.span (
    block bigint PRIMARY KEY,
    first_ms bigint NOT NULL,
    last_ms bigint NOT NULL
) WITH (fillfactor = 50);
INSERT INTO ringfence.span SELECT position >> 10, min(at_ms), max(at_ms) FROM ringfence.entry GROUP BY position >> 10;
DROP INDEX ringfence.entry_at;

-- What a person may do.
ALTER TABLE ringfence.approver
    ADD role text NOT NULL DEFAULT 'approver' CHECK (role IN ('viewer', 'approver', 'admin'));

-- The tool of a request, so that those of one tool are found. It is filled in from the requests.
ALTER TABLE ringfence.request ADD tool bytea;
