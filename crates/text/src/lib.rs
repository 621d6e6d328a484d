//! Text that comes from tools: cleaned before a model sees it, scanned before a tool is trusted.
//!
//! Bytes in, bytes and findings out: no files, no network, no clock.

mod base64;
mod clean;
mod credential;
mod hidden;
mod keyword;
mod markdown;
mod name;
mod scan;
mod trigger;

pub use clean::{
    Action, Cleaned, Cleaner, Finding, FindingKind, JsonFinding, WINDOW, clean, clean_json,
    replace_lone_surrogates,
};
pub use hidden::{HiddenKind, hidden_spans, is_invisible, may_hide};
pub use name::{Collision, Refused, collide, collisions, likeness, refused};
pub use scan::{
    Definition, Family, MAX_DESCRIPTION, Scan, ScanFinding, Thresholds, Verdict, rule_patterns, scan,
    scan_with, visible_description,
};

/// Returns the rules for credentials with a prefix as regular expressions: what one would write first.
///
/// For comparisons; cleaning does not use them.
pub fn credential_patterns() -> Vec<String> {
    credential::RULES.iter().map(credential::pattern).collect()
}

/// The example of the README is compiled and run like any other.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
extern crate self as ringfence_text;

// The tests that use only what is public, linked into the executable of the unit tests.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
