//! Ringfence's own files.

use super::super::{FloorEntry, FloorKind::Store};
use super::{both, writes};

#[rustfmt::skip]
pub(super) const LINES: &[FloorEntry] = &[
    both(Store, ".ringfence", "ringfence: records, approvals and keys"),
    both(Store, ".ringfence-*", "ringfence: what it keeps where there is no home"),
    both(Store, ".cache/ringfence", "ringfence: what it compiled and downloaded"),
    both(Store, ".local/state/ringfence", "ringfence: records and accepted definitions"),
    // Whoever can read a file can lock it, and keep others from writing to it.
    both(Store, "ringfence.db", "ringfence: the store"),
    both(Store, "ringfence.db-wal", "ringfence: the store"),
    both(Store, "ringfence.db-shm", "ringfence: the locks of the store"),
    both(Store, "ringfence.db-journal", "ringfence: the store"),
    both(Store, "ringfence.db.lock", "ringfence: the lock of the store"),
    both(Store, "ringfence.db.mark", "ringfence: how far the store has come"),
    both(Store, "ringfence.db.mark.new", "ringfence: how far the store has come"),
    both(Store, "ringfence.db.live", "ringfence: who has the store open"),
    both(Store, "ringfence.db-*.live", "ringfence: who has the store open"),
    both(Store, "ringfence.pins.lock", "ringfence: the lock of accepted definitions"),
    writes(Store, "ringfence.toml", "ringfence: the policy"),
    writes(Store, "ringfence.json", "ringfence: the policy"),
    writes(Store, "ringfence.lock.json", "ringfence: the accepted permissions"),
    writes(Store, "ringfence.lock.json.sig", "ringfence: the signature of the accepted permissions"),
    writes(Store, "ringfence.pins.json", "ringfence: accepted definitions"),
    writes(Store, "ringfence.seen.json", "ringfence: definitions that were seen"),
];
