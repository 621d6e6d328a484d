-- What the chain was after each of the last transactions, so that the mark can be found in the history of its own store. A row is
-- written again 65536 transactions later; `chain` is 64 bits of it.
CREATE TABLE IF NOT EXISTS past_chain (
    slot INTEGER PRIMARY KEY,
    sequence INTEGER NOT NULL,
    chain INTEGER NOT NULL
);
