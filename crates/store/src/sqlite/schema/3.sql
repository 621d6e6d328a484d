-- By what else entries are found. They are filled in from the records, and then indexed.
ALTER TABLE entry ADD COLUMN class TEXT;
ALTER TABLE entry ADD COLUMN host TEXT;
ALTER TABLE entry ADD COLUMN principal TEXT;

-- The times of each 1,024 entries in a row: which part of the log can hold a time. It takes the place of an index of
-- the times, which is not in the order of the log.
CREATE TABLE span (
    block INTEGER PRIMARY KEY,
    first_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL
) STRICT;
INSERT INTO span SELECT position >> 10, min(at_ms), max(at_ms) FROM entry GROUP BY position >> 10;
DROP INDEX entry_at;

-- What a person may do.
ALTER TABLE approver ADD COLUMN role TEXT NOT NULL DEFAULT 'approver' CHECK (role IN ('viewer', 'approver', 'admin'));

-- The tool of a request, so that those of one tool are found.
ALTER TABLE request ADD COLUMN tool TEXT NOT NULL DEFAULT '';
UPDATE request SET tool = ifnull(iif(json_valid(body), json_extract(body, '$.tool'), ''), '');
CREATE INDEX request_tool ON request (tool);
