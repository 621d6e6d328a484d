-- So that entries are found by kind, tool and time without reading the log.
CREATE INDEX entry_kind ON entry (kind);
CREATE INDEX entry_tool ON entry (tool) WHERE tool IS NOT NULL;
CREATE INDEX entry_at ON entry (at_ms, kind, tool);

-- So that raw outputs whose time is up are found.
CREATE INDEX entry_raw ON entry (at_ms) WHERE raw IS NOT NULL;
