//! What was played, for a program that reads it.

use ringfence::Code;
use serde::Serialize;

use super::scene::{Scene, Step};
use super::stage::Played;
use super::tools::Ledger;
use crate::error::Exit;

/// How many invoices are really paid when all goes well.
const PAID: usize = 2;

/// Everything that was played.
#[derive(Debug, Serialize)]
pub(super) struct Told<'a> {
    steps: Vec<OneStep<'a>>,
    pub(super) totals: Totals,
}

#[derive(Debug, Serialize)]
struct OneStep<'a> {
    number: usize,
    what: &'static str,
    tool: &'static str,
    #[serde(flatten)]
    played: &'a Played,
}

/// How it came out.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Totals {
    pub(super) calls: usize,
    allowed: usize,
    pub(super) refused: usize,
    failed: usize,
    died: usize,
    /// The invoices in the ledger.
    pub(super) paid: usize,
    /// The calls that came out otherwise than they should.
    pub(super) surprises: usize,
}

impl<'a> Told<'a> {
    pub(super) fn of(steps: &'a [Step], played: &'a [Played], scene: &Scene) -> Self {
        let both = || steps.iter().zip(played);
        let count = |verdict: &str| played.iter().filter(|one| one.verdict == verdict).count();
        // A machine without a sandbox starts no program, and says so.
        let is_right = |step: &Step, played: &Played| {
            played.verdict == step.expected || played.code == Some(Code::NotAvailable)
        };
        let totals = Totals {
            calls: played.len(),
            allowed: count("allowed"),
            refused: count("refused"),
            failed: count("failed"),
            died: count("died"),
            paid: Ledger::count(&scene.ledger()),
            surprises: both().filter(|(step, played)| !is_right(step, played)).count(),
        };
        let one = |(number, (step, played)): (usize, (&'a Step, &'a Played))| OneStep {
            number,
            what: step.what,
            tool: step.tool,
            played,
        };
        Self { steps: (1..).zip(both()).map(one).collect(), totals }
    }

    pub(super) const fn exit(&self) -> Exit {
        if self.totals.surprises > 0 || self.totals.paid != PAID { Exit::Failed } else { Exit::Done }
    }
}
