-- Which store this is, and how far it has come: `sequence` counts transactions, and `chain` tells two histories of the same
-- length apart. Whoever was connected before compares, and refuses a database that has gone back.
ALTER TABLE ringfence.frontier
    ADD store bytea NOT NULL DEFAULT ''::bytea,
    ADD sequence bigint NOT NULL DEFAULT 0,
    ADD chain bytea NOT NULL DEFAULT ''::bytea;
UPDATE ringfence.frontier SET store = sha256(convert_to(
    random()::text || random()::text || clock_timestamp()::text || pg_backend_pid()::text, 'UTF8'));

-- The digest of each row, which whoever reads it compares: the server need not have checksums of its own. Who waits for a
-- request is not part of it.
ALTER TABLE ringfence.key ADD seal bytea;
ALTER TABLE ringfence.request ADD seal bytea;
ALTER TABLE ringfence.approver ADD seal bytea;
ALTER TABLE ringfence.value ADD seal bytea;

CREATE FUNCTION ringfence.key_seal(k ringfence.key) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT sha256(k.name || sha256(k.scope) || sha256(k.key) || sha256(k.digest) || sha256(k.arguments) || sha256(k.run)
        || sha256(k.owner) || sha256(k.instance) || int8send(k.fence) || int2send(k.state) || int8send(k.claimed_us)
        || coalesce(sha256(k.output), '\x00'::bytea) || coalesce(int8send(k.until_us), '\x00'::bytea))
$$;
CREATE FUNCTION ringfence.request_seal(r ringfence.request) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT sha256(sha256(convert_to(r.id, 'UTF8')) || sha256(r.digest) || sha256(r.run)
        || sha256(convert_to(r.state, 'UTF8')) || sha256(r.document) || sha256(r.decided) || sha256(r.tool)
        || coalesce(sha256(convert_to(r.replaces, 'UTF8')), '\x00'::bytea) || int8send(r.asked_us)
        || int8send(r.expires_us))
$$;
CREATE FUNCTION ringfence.approver_seal(a ringfence.approver) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT sha256(sha256(convert_to(a.name, 'UTF8')) || sha256(a.token) || int8send(a.added_us)
        || coalesce(int8send(a.revoked_us), '\x00'::bytea) || sha256(convert_to(a.role, 'UTF8')))
$$;
CREATE FUNCTION ringfence.value_seal(v ringfence.value) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT sha256(v.space || sha256(v.key) || sha256(v.content) || int8send(v.bytes)
        || coalesce(timestamptz_send(v.until), '\x00'::bytea))
$$;

UPDATE ringfence.key AS k SET seal = ringfence.key_seal(k);
UPDATE ringfence.request AS r SET seal = ringfence.request_seal(r);
UPDATE ringfence.approver AS a SET seal = ringfence.approver_seal(a);
UPDATE ringfence.value AS v SET seal = ringfence.value_seal(v);

-- Whoever writes a row gives it a digest; a row that does not have its own is neither changed nor removed.
CREATE FUNCTION ringfence.key_sealed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        IF OLD.seal IS DISTINCT FROM ringfence.key_seal(OLD) THEN
            RAISE EXCEPTION 'a row of `key` does not have its digest' USING ERRCODE = 'XX001';
        END IF;
        IF TG_OP = 'DELETE' THEN
            RETURN OLD;
        END IF;
    END IF;
    NEW.seal := ringfence.key_seal(NEW);
    RETURN NEW;
END $$;
CREATE TRIGGER key_sealed BEFORE INSERT OR UPDATE OR DELETE ON ringfence.key
    FOR EACH ROW EXECUTE FUNCTION ringfence.key_sealed();
CREATE FUNCTION ringfence.request_sealed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        IF OLD.seal IS DISTINCT FROM ringfence.request_seal(OLD) THEN
            RAISE EXCEPTION 'a row of `request` does not have its digest' USING ERRCODE = 'XX001';
        END IF;
        IF TG_OP = 'DELETE' THEN
            RETURN OLD;
        END IF;
    END IF;
    NEW.seal := ringfence.request_seal(NEW);
    RETURN NEW;
END $$;
CREATE TRIGGER request_sealed BEFORE INSERT OR UPDATE OR DELETE ON ringfence.request
    FOR EACH ROW EXECUTE FUNCTION ringfence.request_sealed();
CREATE FUNCTION ringfence.approver_sealed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        IF OLD.seal IS DISTINCT FROM ringfence.approver_seal(OLD) THEN
            RAISE EXCEPTION 'a row of `approver` does not have its digest' USING ERRCODE = 'XX001';
        END IF;
        IF TG_OP = 'DELETE' THEN
            RETURN OLD;
        END IF;
    END IF;
    NEW.seal := ringfence.approver_seal(NEW);
    RETURN NEW;
END $$;
CREATE TRIGGER approver_sealed BEFORE INSERT OR UPDATE OR DELETE ON ringfence.approver
    FOR EACH ROW EXECUTE FUNCTION ringfence.approver_sealed();
CREATE FUNCTION ringfence.value_sealed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        IF OLD.seal IS DISTINCT FROM ringfence.value_seal(OLD) THEN
            RAISE EXCEPTION 'a row of `value` does not have its digest' USING ERRCODE = 'XX001';
        END IF;
        IF TG_OP = 'DELETE' THEN
            RETURN OLD;
        END IF;
    END IF;
    NEW.seal := ringfence.value_seal(NEW);
    RETURN NEW;
END $$;
CREATE TRIGGER value_sealed BEFORE INSERT OR UPDATE OR DELETE ON ringfence.value
    FOR EACH ROW EXECUTE FUNCTION ringfence.value_sealed();

-- Verdict 9: the key does not have its digest.
CREATE OR REPLACE FUNCTION ringfence.key_apply(
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
        IF old.name IS NOT NULL AND old.seal IS DISTINCT FROM ringfence.key_seal(old) THEN
            verdict := 9;
        ELSIF verbs[i] = 1 THEN
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
