//! What this machine can enforce, tried anew at most once a minute.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ringfence::sandbox::doctor::{Finding, examine};
use ringfence_server::console::Enforcement;

use crate::sandbox::selector;

/// How long what was seen holds: trying starts processes.
const FRESH: Duration = Duration::from_secs(60);

/// Remembers what was seen.
#[derive(Debug, Default)]
pub(super) struct Doctor(Mutex<Option<(Instant, Vec<Enforcement>)>>);

impl Doctor {
    /// Returns what was seen within the last minute, or tries. Whoever asks meanwhile waits for the same answer.
    pub(super) fn findings(&self) -> Vec<Enforcement> {
        self.of(|| examine(&selector()))
    }

    pub(super) fn of(&self, look: impl FnOnce() -> Vec<Finding>) -> Vec<Enforcement> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, findings)) = &*seen
            && at.elapsed() < FRESH
        {
            return findings.clone();
        }
        let findings: Vec<Enforcement> = look().into_iter().map(told).collect();
        *seen = Some((Instant::now(), findings.clone()));
        findings
    }
}

fn told(finding: Finding) -> Enforcement {
    Enforcement {
        subject: finding.subject.to_owned(),
        state: finding.state.word().to_owned(),
        detail: finding.detail,
        fix: finding.fix,
    }
}
