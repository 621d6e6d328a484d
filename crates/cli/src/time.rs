//! Times as people write and read them: spans with days, moments as RFC 3339 in UTC or as so long ago.
//!
//! INVARIANT: a moment that was printed is read back as the same second.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ringfence::policy::{Day, Span};

/// A length of time that may be days, such as `30d`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Age(pub(crate) Duration);

/// A moment: `2026-11-15T12:00:00Z`, or `2h` for two hours ago.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Moment {
    since_1970: Duration,
}

/// A time that cannot be read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum TimeError {
    /// It is not a length of time.
    #[error("it is not a length of time such as `90s`, `15m`, `2h` or `30d`")]
    Age,
    /// It is not a moment.
    #[error("it is neither a moment such as `2026-11-15T12:00:00Z` nor an age such as `2h` or `30d`")]
    Moment,
}

impl FromStr for Age {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let days = || {
            let digits =
                text.strip_suffix('d').filter(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))?;
            digits
                .parse::<u64>()
                .ok()?
                .checked_mul(Day::SECONDS)
                .filter(|seconds| *seconds > 0)
                .map(Duration::from_secs)
        };
        days().or_else(|| text.parse::<Span>().ok().map(Span::duration)).map(Self).ok_or(TimeError::Age)
    }
}

impl Moment {
    /// Returns the milliseconds since 1970.
    pub(crate) fn millis(self) -> u64 {
        u64::try_from(self.since_1970.as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the time since 1970.
    pub(crate) const fn since_1970(self) -> Duration {
        self.since_1970
    }

    /// Returns the moment that was so long ago.
    pub(crate) fn ago(age: Age) -> Self {
        Self { since_1970: now().saturating_sub(age.0) }
    }
}

impl From<Duration> for Moment {
    fn from(since_1970: Duration) -> Self {
        Self { since_1970 }
    }
}

impl FromStr for Moment {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        if let Ok(age) = text.parse::<Age>() {
            return Ok(Self::ago(age));
        }
        let since_1970 = rfc3339(text).ok_or(TimeError::Moment)?;
        Ok(Self { since_1970 })
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.since_1970.as_secs();
        let day = Day::of_epoch(seconds);
        let (hour, minute, second) = (seconds % Day::SECONDS / 3600, seconds % 3600 / 60, seconds % 60);
        write!(f, "{day}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// Returns the time since 1970.
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Reads `2026-11-15T12:00:00Z`, with a fraction or another offset where there is one, or a date alone.
fn rfc3339(text: &str) -> Option<Duration> {
    let number = |from: usize, to: usize| {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok()).flatten()
    };
    let is = |at: usize, bytes: &[u8]| text.as_bytes().get(at).is_some_and(|byte| bytes.contains(byte));
    let midnight = text.get(..10)?.parse::<Day>().ok()?.begins();
    if text.len() == 10 {
        return Some(Duration::from_secs(midnight));
    }
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !is(10, b"Tt ") || !is(13, b":") || !is(16, b":") || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let local = Duration::from_secs(midnight + hour * 3600 + minute * 60 + second);
    let rest = text.get(19..)?;
    let digits = rest.strip_prefix('.').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    let (fraction, zone) =
        if rest.starts_with('.') { rest.split_at_checked(digits + 1)? } else { ("", rest) };
    let local = match fraction.strip_prefix('.') {
        Some("") => return None,
        Some(digits) => local + Duration::from_millis(format!("{digits:0<3}").get(..3)?.parse().ok()?),
        None => local,
    };
    if matches!(zone, "Z" | "z") {
        return Some(local);
    }
    let part = |from: usize, to: usize| zone.get(from..to)?.parse::<u64>().ok().filter(|part| *part < 60);
    let offset = Duration::from_secs(part(1, 3).filter(|hours| *hours < 24)? * 3600 + part(4, 6)? * 60);
    match (zone.len(), zone.as_bytes().first()?, zone.as_bytes().get(3)?) {
        (6, b'+', b':') => local.checked_sub(offset),
        (6, b'-', b':') => local.checked_add(offset),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_and_printed() {
        #[rustfmt::skip]
        let cases = [
            // written                          seconds since 1970
            ("1970-01-01T00:00:00Z",            Some(0)),
            ("2026-11-15T12:00:00Z",            Some(1_794_744_000)),
            ("2026-11-15T13:00:00+01:00",       Some(1_794_744_000)),
            ("2026-11-15 07:30:00.25-04:30",    Some(1_794_744_000)),
            ("2026-11-15",                      Some(1_794_700_800)),
            ("2024-02-29T00:00:00Z",            Some(1_709_164_800)),
            ("2023-02-29T00:00:00Z",            None),
            ("2026-13-01T00:00:00Z",            None),
            ("2026-00-01",                      None),
            ("2026-11-15T24:00:00Z",            None),
            ("2026-11-15T12:00:00",             None),
            ("2026-11-15T12:00:00.Z",           None),
            ("2026-11-15T12:00:00+1:00",        None),
            ("1969-12-31T00:00:00Z",            None),
            ("yesterday",                       None),
            ("",                                None),
            ("2026-11-1é",                      None),
        ];
        for (text, seconds) in cases {
            assert_eq!(rfc3339(text).map(|at| at.as_secs()), seconds, "{text}");
        }
        for day in (0..200_000).step_by(13) {
            let at = Duration::from_secs(day * Day::SECONDS + 3_723);
            let printed = Moment::from(at).to_string();
            assert_eq!(rfc3339(&printed), Some(at), "{printed}");
        }
    }

    #[test]
    fn ages_may_be_days() {
        #[rustfmt::skip]
        let cases = [
            ("30d", Some(30 * Day::SECONDS)), ("2h", Some(7_200)), ("90s", Some(90)),
            ("0d", None), ("d", None), ("-1d", None), ("30", None), ("99999999999999999999d", None),
        ];
        for (text, seconds) in cases {
            assert_eq!(text.parse::<Age>().ok().map(|age| age.0.as_secs()), seconds, "{text}");
        }
        assert!("2h".parse::<Moment>().unwrap().since_1970() <= now());
    }
}
