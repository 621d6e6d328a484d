//! How much of a suite runs.

use std::env;

/// How much of a suite runs: `RINGFENCE_TEST_TIER` says it, and `script/test` sets that.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tier {
    /// `fast`: a sample, for the inner loop.
    Fast,
    /// Unset or `change`: everything that a change can break, each case once.
    Change,
    /// `all`: every seed and repetition, for the night and before a release.
    All,
}

impl Tier {
    /// Returns the tier of this run.
    ///
    /// # Panics
    ///
    /// When the variable holds another word: a mistyped tier must not silently run less.
    #[expect(clippy::panic, reason = "a test cannot go on")]
    pub fn current() -> Self {
        match env::var("RINGFENCE_TEST_TIER").as_deref() {
            Ok("fast") => Self::Fast,
            Ok("change" | "") | Err(env::VarError::NotPresent) => Self::Change,
            Ok("all") => Self::All,
            other => panic!("RINGFENCE_TEST_TIER is {other:?}; write fast, change or all"),
        }
    }

    /// Returns the value for this tier.
    pub fn pick<T>(self, fast: T, change: T, all: T) -> T {
        match self {
            Self::Fast => fast,
            Self::Change => change,
            Self::All => all,
        }
    }
}
