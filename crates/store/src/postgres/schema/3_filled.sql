CREATE INDEX entry_class ON ringfence.entry (class, position) WHERE class IS NOT NULL;
CREATE INDEX entry_host ON ringfence.entry (sha256(host), position) WHERE host IS NOT NULL;
CREATE INDEX entry_principal ON ringfence.entry (sha256(principal), position) WHERE principal IS NOT NULL;

ALTER TABLE ringfence.request ALTER tool SET NOT NULL;
CREATE INDEX request_tool ON ringfence.request (sha256(tool), ordinal);
