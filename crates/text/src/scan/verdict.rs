//! From findings to a verdict.

use super::finding::{Family, ScanFinding, Verdict};

/// Where a score becomes a verdict.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Thresholds {
    /// The score from which a definition is flagged.
    pub flag: u32,
    /// The score from which it is quarantined.
    pub quarantine: u32,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { flag: 50, quarantine: 120 }
    }
}

/// Families that weigh more together than apart.
#[rustfmt::skip]
const COMBINATIONS: &[(&[Family], u32)] = &[
    (&[Family::Secrecy, Family::Steering],                       30),
    (&[Family::Secrecy, Family::Credential],                     40),
    (&[Family::Secrecy, Family::Exfiltration],                   40),
    (&[Family::Markup, Family::Credential],                      40),
    (&[Family::Markup, Family::Steering],                        20),
    (&[Family::Authority, Family::Command],                      20),
    (&[Family::Encoded, Family::Override],                       60),
    (&[Family::Steering, Family::Credential],                    20),
    (&[Family::Secrecy, Family::Steering, Family::Credential],   40),
];

/// Rules that only add to others: many honest descriptions insist and give reasons.
const SUPPORT: &[&str] = &["pressure.pretext", "pressure.pretext-first", "pressure.forced"];

/// Adds up the findings, each rule once, and judges the sum.
pub(super) fn judge(findings: &[ScanFinding], thresholds: &Thresholds) -> (u32, Verdict) {
    let mut seen: Vec<(&str, u32, Family)> =
        findings.iter().map(|one| (one.rule, one.weight, one.family)).collect();
    seen.sort_unstable();
    seen.dedup_by_key(|one| one.0);
    let has = |family: &Family| seen.iter().any(|one| one.2 == *family);
    let together =
        COMBINATIONS.iter().filter(|(families, _)| families.iter().all(has)).map(|(_, weight)| weight);
    let is_support = |one: &&(&str, u32, Family)| SUPPORT.contains(&one.0);
    let main: u32 = seen.iter().filter(|one| !is_support(one)).map(|one| one.1).sum();
    let support: u32 = seen.iter().filter(is_support).map(|one| one.1).sum();
    let score = main + support.min(main) + together.sum::<u32>();
    let verdict = if score >= thresholds.quarantine
        || has(&Family::Hidden) && seen.iter().any(|one| one.0 == "hidden.characters")
    {
        Verdict::Quarantine
    } else if score >= thresholds.flag || has(&Family::Length) {
        Verdict::Flag
    } else {
        Verdict::Accept
    };
    (score, verdict)
}
