-- The clock in microseconds since 1970.
CREATE FUNCTION ringfence.moment_us() RETURNS bigint LANGUAGE sql VOLATILE AS
    'SELECT (extract(epoch FROM ringfence.moment()) * 1000000)::bigint';

-- The processes that are alive, each until its lease ends. Leases run by the server's own clock.
CREATE TABLE ringfence.instance (
    id bytea PRIMARY KEY,
    until timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE FUNCTION ringfence.is_alive(asked bytea) RETURNS boolean LANGUAGE sql VOLATILE AS
    'SELECT EXISTS (SELECT 1 FROM ringfence.instance AS i WHERE i.id = asked AND i.until > clock_timestamp())';

-- Idempotency keys. `name` is the hash of scope and key. A state is 1 executing, 2 committed, 3 failed, 4 unknown; who
-- executes is an instance, and one that is not alive leaves nothing but doubt.
CREATE TABLE ringfence.key (
    name bytea PRIMARY KEY,
    scope bytea NOT NULL,
    key bytea NOT NULL,
    digest bytea NOT NULL,
    arguments bytea NOT NULL,
    run bytea NOT NULL,
    owner bytea NOT NULL,
    instance bytea NOT NULL,
    fence bigint NOT NULL UNIQUE,
    state smallint NOT NULL CHECK (state BETWEEN 1 AND 4),
    output bytea,
    claimed_us bigint NOT NULL,
    until_us bigint,
    CHECK ((state = 2) = (output IS NOT NULL AND until_us IS NOT NULL))
);
CREATE INDEX key_until ON ringfence.key (until_us) WHERE until_us IS NOT NULL;
CREATE INDEX key_failed ON ringfence.key (claimed_us) WHERE state = 3;
CREATE INDEX key_open ON ringfence.key (fence) WHERE state IN (1, 4);
CREATE SEQUENCE ringfence.fence CACHE 1;

CREATE FUNCTION ringfence.key_name(scope bytea, key bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS
    'SELECT sha256(sha256(scope) || sha256(key))';

-- What a transaction of a writer answered about keys.
ALTER TABLE ringfence.writer ADD verdicts smallint[] NOT NULL DEFAULT '{}', ADD fences bigint[] NOT NULL DEFAULT '{}';

-- Claims and settles many keys in their order. Verbs are 1 claim, 2 settle as committed, 3 as failed, 4 as unknown.
-- Verdicts are 1 granted, 2 conflict, 3 in flight, 4 replay, 5 unknown, 6 kept, 7 stale, 8 the instance is not alive.
CREATE FUNCTION ringfence.key_apply(
    verbs smallint[], instances bytea[], scopes bytea[], keys bytea[], digests bytea[], arguments bytea[], runs bytea[],
    owners bytea[], asked bigint[], contents bytea[], keeps bigint[],
    OUT verdicts smallint[], OUT fences bigint[], OUT outputs bytea[]
) LANGUAGE plpgsql AS $$
DECLARE
    now_us bigint;
    hash bytea;
    old ringfence.key%ROWTYPE;
    verdict smallint;
    answer bigint;
    output bytea;
BEGIN
    verdicts := '{}';
    fences := '{}';
    outputs := '{}';
    IF coalesce(array_length(verbs, 1), 0) = 0 THEN
        RETURN;
    END IF;
    now_us := ringfence.moment_us();
    FOR i IN 1 .. array_length(verbs, 1) LOOP
        hash := ringfence.key_name(scopes[i], keys[i]);
        answer := 0;
        output := NULL;
        SELECT * INTO old FROM ringfence.key AS k WHERE k.name = hash;
        IF verbs[i] = 1 THEN
            IF old.state = 1 AND NOT ringfence.is_alive(old.instance) THEN
                UPDATE ringfence.key AS k SET state = 4 WHERE k.name = hash;
                old.state := 4;
            END IF;
            answer := coalesce(old.fence, 0);
            IF old.name IS NULL OR old.state = 3 OR (old.state = 2 AND old.until_us <= now_us) THEN
                IF ringfence.is_alive(instances[i]) THEN
                    verdict := 1;
                    answer := nextval('ringfence.fence');
                    DELETE FROM ringfence.key AS k WHERE k.name = hash;
                    INSERT INTO ringfence.key (name, scope, key, digest, arguments, run, owner, instance, fence, state, claimed_us)
                        VALUES (hash, scopes[i], keys[i], digests[i], arguments[i], runs[i], owners[i], instances[i], answer, 1, now_us);
                ELSE
                    verdict := 8;
                END IF;
            ELSIF old.digest <> digests[i] THEN
                verdict := 2;
            ELSIF old.state = 2 THEN
                verdict := 4;
                output := old.output;
            ELSIF old.state = 4 THEN
                verdict := 5;
            ELSIF old.owner = owners[i] THEN
                verdict := 1;
            ELSE
                verdict := 3;
            END IF;
        ELSIF old.fence = asked[i] AND old.state <> 2 THEN
            verdict := 6;
            UPDATE ringfence.key AS k SET state = verbs[i],
                output = CASE WHEN verbs[i] = 2 THEN contents[i] END,
                until_us = CASE WHEN verbs[i] = 2 THEN least(now_us::numeric + keeps[i], 9223372036854775807)::bigint END
                WHERE k.name = hash;
        ELSE
            verdict := 7;
        END IF;
        verdicts := verdicts || verdict;
        fences := fences || answer;
        outputs := outputs || output;
    END LOOP;
END $$;

-- Who may decide, by the hashes of their tokens.
CREATE TABLE ringfence.approver (
    name text PRIMARY KEY,
    token bytea NOT NULL,
    added_us bigint NOT NULL,
    revoked_us bigint
);
CREATE INDEX approver_token ON ringfence.approver (token) WHERE revoked_us IS NULL;

-- Requests for approval, in the order they were filed. `document` is the request and `decided` what people said, both as
-- JSON; `waiter` is the instance whose calls wait, where they could go on elsewhere, and `waiting` how many.
CREATE TABLE ringfence.request (
    ordinal bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    digest bytea NOT NULL,
    run bytea NOT NULL,
    state text NOT NULL CHECK (state IN ('approved', 'denied', 'expired', 'open', 'replaced', 'taken')),
    document bytea NOT NULL,
    decided bytea NOT NULL,
    replaces text,
    asked_us bigint NOT NULL,
    expires_us bigint NOT NULL,
    waiter bytea,
    waiting integer NOT NULL DEFAULT 0
);
CREATE INDEX request_digest ON ringfence.request (digest, ordinal);
CREATE INDEX request_run ON ringfence.request (sha256(run), ordinal);
CREATE INDEX request_open ON ringfence.request (ordinal) WHERE state IN ('approved', 'open');
CREATE INDEX request_replaces ON ringfence.request (replaces) WHERE replaces IS NOT NULL;
CREATE INDEX request_waiter ON ringfence.request (waiter) WHERE waiter IS NOT NULL;
CREATE INDEX request_expires ON ringfence.request (expires_us);

-- Which channels were told of which requests, or when they may be told again.
CREATE TABLE ringfence.notice (
    request text NOT NULL REFERENCES ringfence.request (id) ON DELETE CASCADE,
    channel bytea NOT NULL, -- the hash of its name
    next_us bigint NOT NULL,
    attempts integer NOT NULL,
    is_told boolean NOT NULL,
    PRIMARY KEY (request, channel)
);

-- Removes some of what has expired: values, keys that were done when their time is up, keys that had no effect after a
-- week, requests after a month, marks and dead instances after a day. Keys in doubt stay.
CREATE OR REPLACE FUNCTION ringfence.sweep() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    now_us bigint := ringfence.moment_us();
    day bigint := 86400000000;
BEGIN
    DELETE FROM ringfence.value AS v WHERE (v.space, v.key) IN (
        SELECT o.space, o.key FROM ringfence.value AS o
        WHERE o.until <= (SELECT ringfence.moment()) ORDER BY o.until LIMIT 1000);
    DELETE FROM ringfence.writer AS w WHERE w.at < (SELECT ringfence.moment()) - interval '1 day';
    DELETE FROM ringfence.key AS k WHERE k.name IN (
        SELECT o.name FROM ringfence.key AS o WHERE o.until_us <= now_us LIMIT 1000);
    DELETE FROM ringfence.key AS k WHERE k.name IN (
        SELECT o.name FROM ringfence.key AS o WHERE o.state = 3 AND o.claimed_us <= now_us - 7 * day LIMIT 1000);
    DELETE FROM ringfence.request AS r WHERE r.ordinal IN (
        SELECT o.ordinal FROM ringfence.request AS o WHERE o.expires_us <= now_us - 30 * day LIMIT 1000);
    DELETE FROM ringfence.instance AS i WHERE i.until < clock_timestamp() - interval '1 day';
END $$;
