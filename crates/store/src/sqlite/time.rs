//! Times as they are stored: whole microseconds since 1970.

use std::time::Duration;

/// Returns a time in whole microseconds, those begun not counted.
pub(super) fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

/// Returns a time in whole microseconds, one begun counted, so that nothing expires early.
pub(super) fn micros_up(time: Duration) -> i64 {
    i64::try_from(time.as_nanos().div_ceil(1_000)).unwrap_or(i64::MAX)
}

/// Returns the time that was stored.
pub(super) fn from_micros(micros: i64) -> Duration {
    Duration::from_micros(micros.max(0).cast_unsigned())
}
