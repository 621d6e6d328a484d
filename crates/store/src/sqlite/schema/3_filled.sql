CREATE INDEX entry_class ON entry (class) WHERE class IS NOT NULL;
CREATE INDEX entry_host ON entry (host) WHERE host IS NOT NULL;
CREATE INDEX entry_principal ON entry (principal) WHERE principal IS NOT NULL;
