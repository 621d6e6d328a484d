CREATE SCHEMA IF NOT EXISTS ringfence;

CREATE TABLE ringfence.ringfence_version (
    version integer PRIMARY KEY,
    since timestamptz NOT NULL DEFAULT now()
);

-- The clock of everything that expires.
CREATE FUNCTION ringfence.moment() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';

-- The audit log: one row for each leaf of the tree, from position 0 on without a gap. Whatever may hold a NUL or must
-- keep its bytes is bytea. Names have no limit of length, and are therefore indexed by their hashes.
CREATE TABLE ringfence.entry (
    position bigint PRIMARY KEY,
    at_ms bigint NOT NULL,
    kind text NOT NULL,
    run bytea,
    tool bytea,
    code text,
    leaf bytea NOT NULL,
    record bytea NOT NULL,
    raw bytea,
    clean bytea
);
CREATE INDEX entry_kind ON ringfence.entry (kind, position);
CREATE INDEX entry_run ON ringfence.entry (sha256(run), position) WHERE run IS NOT NULL;
CREATE INDEX entry_tool ON ringfence.entry (sha256(tool), position) WHERE tool IS NOT NULL;
CREATE INDEX entry_code ON ringfence.entry (code, position) WHERE code IS NOT NULL;
CREATE INDEX entry_at ON ringfence.entry USING brin (at_ms);
CREATE INDEX entry_raw ON ringfence.entry (at_ms) WHERE raw IS NOT NULL;

-- The complete inner nodes of the tree; the leaves stand in the entries.
CREATE TABLE ringfence.node (
    level integer NOT NULL,
    position bigint NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (level, position)
);

-- The right edge of the tree, in one row. Whoever writes locks it first, so that writers take turns.
CREATE TABLE ringfence.frontier (
    one integer PRIMARY KEY CHECK (one = 1),
    bytes bytea NOT NULL
) WITH (fillfactor = 50);
INSERT INTO ringfence.frontier VALUES (1, '\x0000000000000000');

-- The signed checkpoints, in the order they were made.
CREATE TABLE ringfence.checkpoint (
    ordinal bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    size bigint NOT NULL,
    note bytea NOT NULL,
    UNIQUE (size, note)
);

-- The last transaction of each writer, and which of its values were kept: what a writer asks for when it lost its
-- connection during a commit.
CREATE TABLE ringfence.writer (
    id bytea PRIMARY KEY,
    sequence bigint NOT NULL,
    kept boolean[] NOT NULL,
    at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- What each namespace holds.
CREATE TABLE ringfence.space (
    digest bytea PRIMARY KEY,
    name bytea NOT NULL,
    keys bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0
);

-- Keys and values. `space` is the hash of the namespace, `bytes` what a row counts for in it. Rows are added and
-- removed, and never updated.
CREATE TABLE ringfence.value (
    space bytea NOT NULL,
    key bytea NOT NULL,
    content bytea NOT NULL,
    bytes bigint NOT NULL,
    until timestamptz,
    PRIMARY KEY (space, key)
);
CREATE INDEX value_until ON ringfence.value (until) WHERE until IS NOT NULL;

CREATE FUNCTION ringfence.value_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE ringfence.space SET keys = space.keys + more.keys, bytes = space.bytes + more.bytes
        FROM (SELECT added.space, count(*) AS keys, sum(added.bytes) AS bytes FROM added GROUP BY added.space) AS more
        WHERE space.digest = more.space;
    RETURN NULL;
END $$;
CREATE TRIGGER value_added AFTER INSERT ON ringfence.value
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ringfence.value_added();

CREATE FUNCTION ringfence.value_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE ringfence.space SET keys = space.keys - less.keys, bytes = space.bytes - less.bytes
        FROM (SELECT gone.space, count(*) AS keys, sum(gone.bytes) AS bytes FROM gone GROUP BY gone.space) AS less
        WHERE space.digest = less.space;
    DELETE FROM ringfence.space WHERE keys <= 0 AND digest IN (SELECT gone.space FROM gone);
    RETURN NULL;
END $$;
CREATE TRIGGER value_removed AFTER DELETE ON ringfence.value
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ringfence.value_removed();

-- Says whether there is room for a value in place of the one that is there.
CREATE FUNCTION ringfence.value_fits(in_space bytea, in_key bytea, size bigint, max_keys bigint, max_bytes bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    held_keys bigint;
    held_bytes bigint;
    old bigint;
BEGIN
    SELECT s.keys, s.bytes INTO held_keys, held_bytes FROM ringfence.space AS s WHERE s.digest = in_space;
    SELECT v.bytes INTO old FROM ringfence.value AS v WHERE v.space = in_space AND v.key = in_key;
    RETURN coalesce(held_keys, 0) + CASE WHEN old IS NULL THEN 1 ELSE 0 END <= max_keys
        AND coalesce(held_bytes, 0) - coalesce(old, 0) + size <= max_bytes;
END $$;

-- Stores a value for `ttl` microseconds or for ever, or says that the namespace is full.
CREATE FUNCTION ringfence.value_set(
    name bytea, new_key bytea, new_content bytea, ttl bigint, max_keys bigint, max_bytes bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    hash bytea := sha256(name);
    size bigint := length(new_key) + length(new_content);
BEGIN
    IF NOT ringfence.value_fits(hash, new_key, size, max_keys, max_bytes) THEN
        -- What has expired goes when the namespace is full, and nothing else does.
        DELETE FROM ringfence.value AS v WHERE v.space = hash AND v.until <= ringfence.moment();
        IF NOT ringfence.value_fits(hash, new_key, size, max_keys, max_bytes) THEN
            RETURN false;
        END IF;
    END IF;
    DELETE FROM ringfence.value AS v WHERE v.space = hash AND v.key = new_key;
    INSERT INTO ringfence.space (digest, name) VALUES (hash, name) ON CONFLICT DO NOTHING;
    INSERT INTO ringfence.value (space, key, content, bytes, until)
        VALUES (hash, new_key, new_content, size, ringfence.moment() + ttl * interval '1 microsecond');
    RETURN true;
END $$;

-- Removes some of what has expired, and marks after a day.
CREATE FUNCTION ringfence.sweep() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM ringfence.value AS v WHERE (v.space, v.key) IN (
        SELECT o.space, o.key FROM ringfence.value AS o
        WHERE o.until <= (SELECT ringfence.moment()) ORDER BY o.until LIMIT 1000);
    DELETE FROM ringfence.writer AS w WHERE w.at < (SELECT ringfence.moment()) - interval '1 day';
END $$;

-- Makes many changes in their order, and says of each whether it was made: 1 stores, 2 removes a key, 3 drops a
-- namespace, 4 removes some of what has expired.
CREATE FUNCTION ringfence.value_apply(
    verbs smallint[], names bytea[], keys bytea[], contents bytea[], ttls bigint[], max_keys bigint, max_bytes bigint
) RETURNS boolean[] LANGUAGE plpgsql AS $$
DECLARE
    kept boolean[] := '{}';
    made boolean;
BEGIN
    FOR i IN 1 .. coalesce(array_length(verbs, 1), 0) LOOP
        made := true;
        CASE verbs[i]
            WHEN 1 THEN
                made := ringfence.value_set(names[i], keys[i], contents[i], ttls[i], max_keys, max_bytes);
            WHEN 2 THEN
                DELETE FROM ringfence.value AS v WHERE v.space = sha256(names[i]) AND v.key = keys[i];
            WHEN 3 THEN
                DELETE FROM ringfence.value AS v WHERE v.space = sha256(names[i]);
            WHEN 4 THEN
                PERFORM ringfence.sweep();
        END CASE;
        kept := kept || made;
    END LOOP;
    RETURN kept;
END $$;
