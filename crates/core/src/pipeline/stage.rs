//! How long a call was in each stage.
//!
//! Asking for the time costs as much as a small stage. Lookup, schema and arguments therefore share one measure, under the
//! name of the stage that the call came to; every later stage has its own.

use std::time::{Duration, Instant};

use serde::ser::{Serialize, SerializeMap, Serializer};

/// A stage, in the order of the pipeline.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Stage {
    /// The tool is looked for, and the constraints of the run.
    Lookup,
    /// The arguments are measured and checked against the input schema.
    Schema,
    /// The argument gate judges the paths in them.
    Arguments,
    /// People are asked.
    Approval,
    /// Interceptors are asked.
    Interceptors,
    /// Backends and the grant.
    Grant,
    /// The idempotency keys are claimed.
    Claim,
    /// The tool runs.
    Run,
    /// What it returned is cleaned and checked.
    Clean,
    /// The idempotency keys are settled.
    Settle,
}

impl Stage {
    const ALL: [Self; 10] = [
        Self::Lookup,
        Self::Schema,
        Self::Arguments,
        Self::Approval,
        Self::Interceptors,
        Self::Grant,
        Self::Claim,
        Self::Run,
        Self::Clean,
        Self::Settle,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Lookup => "lookup",
            Self::Schema => "schema",
            Self::Arguments => "arguments",
            Self::Approval => "approval",
            Self::Interceptors => "interceptors",
            Self::Grant => "grant",
            Self::Claim => "claim",
            Self::Run => "run",
            Self::Clean => "clean",
            Self::Settle => "settle",
        }
    }
}

/// How long a call was in each stage that it came to. One that it came to twice counts twice.
#[derive(Clone, Debug)]
pub(crate) struct Stages {
    started: Instant,
    current: Stage,
    since: Instant,
    taken: [Option<Duration>; Stage::ALL.len()],
}

impl Stages {
    /// Begins with the lookup.
    pub(crate) fn begin() -> Self {
        let started = Instant::now();
        Self { started, current: Stage::Lookup, since: started, taken: [None; Stage::ALL.len()] }
    }

    /// Returns how long the call waited for people, where any were asked.
    pub(crate) const fn waited(&self) -> Option<Duration> {
        let [_lookup, _schema, _arguments, approval, ..] = self.taken;
        approval
    }

    /// Goes on to a stage before anybody is asked, without asking for the time where it goes on from another such.
    pub(super) fn judge(&mut self, stage: Stage) {
        match self.current {
            Stage::Lookup | Stage::Schema => self.current = stage,
            _ => self.enter(stage),
        }
    }

    /// Goes on to a stage.
    pub(super) fn enter(&mut self, stage: Stage) {
        self.enter_at(stage, Instant::now());
    }

    /// Goes on to a stage at a time that is known.
    pub(super) fn enter_at(&mut self, stage: Stage, now: Instant) {
        let passed = now.saturating_duration_since(self.since);
        for (known, taken) in Stage::ALL.into_iter().zip(&mut self.taken) {
            if known == self.current {
                *taken = Some(taken.unwrap_or_default().saturating_add(passed));
            }
        }
        self.current = stage;
        self.since = now;
    }

    /// Ends the stage that the call is in, and returns how long the whole call took.
    pub(super) fn end(&mut self) -> Duration {
        let now = Instant::now();
        self.enter_at(self.current, now);
        now.saturating_duration_since(self.started)
    }
}

impl Serialize for Stages {
    /// Writes microseconds, in the order of the pipeline.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (stage, taken) in Stage::ALL.into_iter().zip(self.taken) {
            if let Some(taken) = taken {
                map.serialize_entry(stage.as_str(), &u64::try_from(taken.as_micros()).unwrap_or(u64::MAX))?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_has_its_time_once() {
        let mut stages = Stages::begin();
        let at = |micros| stages.started + Duration::from_micros(micros);
        let times = [at(10), at(30), at(60), at(100), at(150)];
        stages.judge(Stage::Schema);
        stages.judge(Stage::Arguments);
        for (stage, time) in
            [Stage::Grant, Stage::Run, Stage::Clean, Stage::Run, Stage::Clean].into_iter().zip(times)
        {
            stages.enter_at(stage, time);
        }
        let written = serde_json::to_string(&stages).unwrap();
        assert_eq!(written, r#"{"arguments":10,"grant":20,"run":80,"clean":40}"#);
        assert!(stages.end() >= Duration::ZERO);
    }

    #[test]
    fn a_call_that_ends_early_says_where() {
        let mut stages = Stages::begin();
        stages.judge(Stage::Schema);
        stages.end();
        let written = serde_json::to_value(&stages).unwrap();
        assert_eq!(written.as_object().unwrap().keys().collect::<Vec<_>>(), ["schema"]);
    }
}
