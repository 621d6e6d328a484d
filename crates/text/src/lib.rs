//! Text that comes from tools: cleaned before a model sees it, scanned before a tool is trusted.

mod hidden;

pub use hidden::{HiddenKind, hidden_spans, may_hide};
