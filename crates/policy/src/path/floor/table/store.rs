//! Ringfence's own files.

use super::super::{FloorEntry, FloorKind::Store};
use super::{both, writes};

#[rustfmt::skip]
pub(super) const LINES: &[FloorEntry] = &[
    both(Store, ".ringfence", "ringfence: records, approvals and keys"),
    both(Store, ".cache/ringfence", "ringfence: what it compiled and downloaded"),
    both(Store, ".local/state/ringfence", "ringfence: records and accepted definitions"),
    writes(Store, "ringfence.toml", "ringfence: the policy"),
    writes(Store, "ringfence.json", "ringfence: the policy"),
    writes(Store, "ringfence.lock.json", "ringfence: the accepted permissions"),
    writes(Store, "ringfence.pins.json", "ringfence: accepted definitions"),
    writes(Store, "ringfence.pins.lock", "ringfence: accepted definitions"),
    writes(Store, "ringfence.seen.json", "ringfence: definitions that were seen"),
];
