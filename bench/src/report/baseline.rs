//! The ratios that were measured before, and whether those of now are worse.
//!
//! A line is the program, what it measured, against what, the ratio, and its tolerance: by which part the ratio may be worse before it
//! counts as a regression. Some ratios are noisier than others, so each has its own, and a new baseline keeps it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::Measured;
use crate::ratio::{Better, Ratio, digits, number};

/// The tolerance of a line that is new.
const TOLERANCE: f64 = 0.3;

const HEAD: &str = "\
# The ratios that `script/bench --check` holds new ones against. `script/bench --baseline` writes them anew, and keeps tolerances.
# A tolerance of 0.3 lets a ratio get worse by 30 % before it is named. Edit it by hand where a ratio is noisier or steadier.
# program\twhat\tagainst\tratio\ttolerance
";

/// What makes a ratio the same one in two runs: its program, its name, and what it is held against.
type Key = (String, String, String);

/// What was measured before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baseline(BTreeMap<Key, Line>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    ratio: f64,
    tolerance: f64,
}

/// What became of a ratio.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// It is better by more than its tolerance.
    Better,
    /// Its program ran, and did not say it.
    Gone,
    /// It was not measured before.
    New,
    /// It is within its tolerance.
    Same,
    /// It is worse by more than its tolerance.
    Worse,
}

impl Verdict {
    /// Says whether this must be looked at. A ratio that is gone might hide anything.
    pub fn is_regression(self) -> bool {
        matches!(self, Self::Gone | Self::Worse)
    }
}

/// One ratio, now and before.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    key: Key,
    /// What became of it.
    pub verdict: Verdict,
    now: Option<f64>,
    was: Option<f64>,
    tolerance: f64,
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (program, name, against) = &self.key;
        let verdict = match self.verdict {
            Verdict::Better => "better",
            Verdict::Gone => "GONE",
            Verdict::New => "new",
            Verdict::Same => "same",
            Verdict::Worse => "WORSE",
        };
        let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), digits);
        let (now, was, percent) = (shown(self.now), shown(self.was), self.tolerance * 100.0);
        write!(f, "{verdict:<6} {program}: {name}, × {against}: {now}, was {was} (tolerance {percent:.0} %)")
    }
}

impl Baseline {
    /// Compares what was measured with this. Programs that did not run say nothing either way.
    pub fn compare(&self, measured: &Measured) -> Vec<Compared> {
        let now = now(measured);
        let ran = |key: &Key| measured.programs.iter().any(|program| program.name == key.0);
        let gone = self.0.iter().filter(|(key, _)| ran(key) && !now.contains_key(*key)).map(|(key, line)| {
            Compared {
                key: key.clone(),
                verdict: Verdict::Gone,
                now: None,
                was: Some(line.ratio),
                tolerance: line.tolerance,
            }
        });
        let there = now.iter().map(|(key, ratio)| {
            let line = self.0.get(key);
            Compared {
                key: key.clone(),
                verdict: line.map_or(Verdict::New, |line| line.judge(ratio)),
                now: Some(ratio.value),
                was: line.map(|line| line.ratio),
                tolerance: line.map_or(TOLERANCE, |line| line.tolerance),
            }
        });
        let mut all: Vec<Compared> = there.chain(gone).collect();
        all.sort_by(|one, other| one.key.cmp(&other.key));
        all
    }

    /// Takes the ratios of the programs that ran; tolerances and the lines of other programs stay.
    #[must_use]
    pub fn renewed(mut self, measured: &Measured) -> Self {
        let ran = |key: &Key| measured.programs.iter().any(|program| program.name == key.0);
        let before = self.0.clone();
        self.0.retain(|key, _| !ran(key));
        self.0.extend(now(measured).into_iter().map(|(key, ratio)| {
            let tolerance = before.get(&key).map_or(TOLERANCE, |line| line.tolerance);
            (key, Line { ratio: ratio.value, tolerance })
        }));
        self
    }
}

impl Line {
    fn judge(self, ratio: &Ratio) -> Verdict {
        let room = 1.0 + self.tolerance;
        let (low, high) = (self.ratio / room, self.ratio * room);
        match ratio.better {
            Better::Higher if ratio.value < low => Verdict::Worse,
            Better::Higher if ratio.value > high => Verdict::Better,
            Better::Lower if ratio.value > high => Verdict::Worse,
            Better::Lower if ratio.value < low => Verdict::Better,
            Better::Higher | Better::Lower => Verdict::Same,
        }
    }
}

fn now(measured: &Measured) -> BTreeMap<Key, &Ratio> {
    let said = measured.programs.iter().flat_map(|program| {
        program
            .ratios
            .iter()
            .map(|ratio| ((program.name.clone(), ratio.name.clone(), ratio.against.clone()), ratio))
    });
    said.collect()
}

impl FromStr for Baseline {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut lines = BTreeMap::new();
        for (at, line) in (1..).zip(text.lines()) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || format!("line {at} of the baseline is none: `{line}`");
            let [program, name, against, ratio, tolerance] =
                line.split('\t').collect::<Vec<_>>().try_into().map_err(|_| wrong())?;
            let read = |text| number(text).filter(|value| *value >= 0.0).ok_or_else(wrong);
            let key = (program.to_owned(), name.to_owned(), against.to_owned());
            let line = Line { ratio: read(ratio)?, tolerance: read(tolerance)? };
            if lines.insert(key, line).is_some() {
                return Err(format!("line {at} of the baseline says again what another has said"));
            }
        }
        Ok(Self(lines))
    }
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HEAD}")?;
        for ((program, name, against), line) in &self.0 {
            writeln!(f, "{program}\t{name}\t{against}\t{}\t{}", digits(line.ratio), line.tolerance)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
