//! Text that comes from tools: cleaned before a model sees it, scanned before a tool is trusted.

mod hidden;
mod name;
mod scan;

pub use hidden::{HiddenKind, hidden_spans, may_hide};
pub use name::{Collision, Refused, collide, collisions, refused};
pub use scan::{
    Definition, Family, MAX_DESCRIPTION, Scan, ScanFinding, Thresholds, Verdict, rule_patterns, scan,
    scan_with, visible_description,
};
