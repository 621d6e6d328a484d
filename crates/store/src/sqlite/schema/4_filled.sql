-- `(a | b) - (a & b)` is the exclusive or, which SQLite does not have.
CREATE TRIGGER idempotency_digest_added AFTER INSERT ON idempotency BEGIN
    UPDATE frontier SET idempotency_rows = idempotency_rows + 1,
        idempotency_digests = (idempotency_digests | new.row_digest) - (idempotency_digests & new.row_digest);
END;
CREATE TRIGGER idempotency_digest_removed AFTER DELETE ON idempotency BEGIN
    UPDATE frontier SET idempotency_rows = idempotency_rows - 1,
        idempotency_digests = (idempotency_digests | old.row_digest) - (idempotency_digests & old.row_digest);
END;
CREATE TRIGGER idempotency_digest_changed AFTER UPDATE OF row_digest ON idempotency BEGIN
    UPDATE frontier SET idempotency_digests =
        (idempotency_digests | ((old.row_digest | new.row_digest) - (old.row_digest & new.row_digest)))
        - (idempotency_digests & ((old.row_digest | new.row_digest) - (old.row_digest & new.row_digest)));
END;
CREATE TRIGGER request_digest_added AFTER INSERT ON request BEGIN
    UPDATE frontier SET request_rows = request_rows + 1,
        request_digests = (request_digests | new.row_digest) - (request_digests & new.row_digest);
END;
CREATE TRIGGER request_digest_removed AFTER DELETE ON request BEGIN
    UPDATE frontier SET request_rows = request_rows - 1,
        request_digests = (request_digests | old.row_digest) - (request_digests & old.row_digest);
END;
CREATE TRIGGER request_digest_changed AFTER UPDATE OF row_digest ON request BEGIN
    UPDATE frontier SET request_digests =
        (request_digests | ((old.row_digest | new.row_digest) - (old.row_digest & new.row_digest)))
        - (request_digests & ((old.row_digest | new.row_digest) - (old.row_digest & new.row_digest)));
END;
CREATE TRIGGER approver_digest_added AFTER INSERT ON approver BEGIN
    UPDATE frontier SET approver_rows = approver_rows + 1,
        approver_digests = (approver_digests | new.row_digest) - (approver_digests & new.row_digest);
END;
CREATE TRIGGER approver_digest_removed AFTER DELETE ON approver BEGIN
    UPDATE frontier SET approver_rows = approver_rows - 1,
        approver_digests = (approver_digests | old.row_digest) - (approver_digests & old.row_digest);
END;
CREATE TRIGGER approver_digest_changed AFTER UPDATE OF row_digest ON approver BEGIN
    UPDATE frontier SET approver_digests =
        (approver_digests | ((old.row_digest | new.row_digest) - (old.row_digest & new.row_digest)))
        - (approver_digests & ((old.row_digest | new.row_digest) - (old.row_digest & new.row_digest)));
END;
CREATE TRIGGER value_digest_added AFTER INSERT ON value BEGIN
    UPDATE frontier SET value_rows = value_rows + 1,
        value_digests = (value_digests | new.row_digest) - (value_digests & new.row_digest);
END;
CREATE TRIGGER value_digest_removed AFTER DELETE ON value BEGIN
    UPDATE frontier SET value_rows = value_rows - 1,
        value_digests = (value_digests | old.row_digest) - (value_digests & old.row_digest);
END;
CREATE TRIGGER value_digest_changed AFTER UPDATE OF row_digest ON value BEGIN
    UPDATE frontier SET value_digests =
        (value_digests | ((old.row_digest | new.row_digest) - (old.row_digest & new.row_digest)))
        - (value_digests & ((old.row_digest | new.row_digest) - (old.row_digest & new.row_digest)));
END;
