//! Times as they are written: in UTC for programs and for people without a script, and how they are read from a form.
//!
//! INVARIANT: a time that is written and read again is the same second.

use std::time::Duration;

use ringfence::policy::Day;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = Day::SECONDS;
/// 9999-12-31T23:59:59Z, the last second that is written.
const LAST: u64 = 253_402_300_799;

/// A time, for pages: they write it in UTC, and a script in the reader's own clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment(pub(crate) u64);

impl Moment {
    /// Returns milliseconds since 1970.
    pub(crate) const fn ms(self) -> u64 {
        self.0
    }

    /// Returns the time for programs.
    pub(crate) fn utc(self) -> String {
        rfc3339(self.0)
    }

    /// Returns the time for people.
    pub(crate) fn written(self) -> String {
        written(self.0)
    }

    /// Returns the time in short, `2026-03-01 12:30:05`.
    pub(crate) fn brief(self) -> String {
        written(self.0).replace(" UTC", "")
    }
}

/// Writes a time in milliseconds since 1970 as `2026-03-01T12:30:05Z`.
pub(crate) fn rfc3339(at_ms: u64) -> String {
    let seconds = (at_ms / 1000).min(LAST);
    let day = Day::of_epoch(seconds);
    let rest = seconds % DAY;
    let (hour, minute, second) = (rest / HOUR, rest % HOUR / MINUTE, rest % MINUTE);
    format!("{day}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Writes a time as people without a script see it, `2026-03-01 12:30:05 UTC`.
pub(crate) fn written(at_ms: u64) -> String {
    rfc3339(at_ms).replace('T', " ").replace('Z', " UTC")
}

/// Writes how long something takes or took, such as `350 µs`, `12 ms`, `3.4 s` or `2 h 5 min`.
pub(crate) fn lasting(duration: Duration) -> String {
    let (micros, seconds) = (duration.as_micros(), duration.as_secs());
    match () {
        () if micros < 1_000 => format!("{micros} µs"),
        () if micros < 10_000 => format!("{:.1} ms", duration.as_secs_f64() * 1000.0),
        () if micros < 1_000_000 => format!("{} ms", duration.as_millis()),
        () if seconds < MINUTE => format!("{:.1} s", duration.as_secs_f64()),
        () if seconds < HOUR => format!("{} min {} s", seconds / MINUTE, seconds % MINUTE),
        () if seconds < DAY => format!("{} h {} min", seconds / HOUR, seconds % HOUR / MINUTE),
        () => format!("{} d {} h", seconds / DAY, seconds % DAY / HOUR),
    }
}

/// The same for a number of microseconds.
pub(crate) fn micros(micros: u64) -> String {
    lasting(Duration::from_micros(micros))
}

/// Reads a time as a form or a query gives it, in milliseconds since 1970: `2026-03-01T12:30`, also with seconds and with `Z`,
/// `2026-03-01`, all in UTC; or how long ago it was, `90s`, `15m`, `2h`, `7d`; or milliseconds since 1970.
pub(crate) fn read(text: &str, now_ms: u64) -> Option<u64> {
    let text = text.trim();
    if let Some(ago) = ago(text) {
        return Some(now_ms.saturating_sub(ago.checked_mul(1000)?));
    }
    if text.len() >= 11 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let day: Day = date.parse().ok()?;
    let mut times = time.strip_suffix('Z').unwrap_or(time).split(':');
    let (hour, minute) = (digits(times.next()?, 2)?, digits(times.next()?, 2)?);
    let second = times.next().map_or(Some(0), |second| digits(second.split('.').next()?, 2))?;
    if times.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some((day.begins() + hour * HOUR + minute * MINUTE + second) * 1000)
}

/// Reads `90s`, `15m`, `2h` or `7d` as seconds.
fn ago(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let count: u64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
    let seconds = match unit {
        's' => 1,
        'm' => MINUTE,
        'h' => HOUR,
        'd' => DAY,
        _ => return None,
    };
    count.checked_mul(seconds)
}

fn digits(text: &str, count: usize) -> Option<u64> {
    (text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_and_read() {
        #[rustfmt::skip]
        let cases = [
            (0,                   "1970-01-01T00:00:00Z"),
            (951_782_400_000,     "2000-02-29T00:00:00Z"),
            (951_868_799_000,     "2000-02-29T23:59:59Z"),
            (951_868_800_000,     "2000-03-01T00:00:00Z"),
            (1_709_164_800_000,   "2024-02-29T00:00:00Z"),
            (1_790_942_705_000,   "2026-10-02T12:05:05Z"),
            (4_107_542_399_000,   "2100-02-28T23:59:59Z"),
            (4_107_542_400_000,   "2100-03-01T00:00:00Z"),
            (253_402_300_799_000, "9999-12-31T23:59:59Z"),
        ];
        for (at, text) in cases {
            assert_eq!(rfc3339(at), text);
            assert_eq!(read(text, 0), Some(at), "{text}");
        }
        assert_eq!(rfc3339(u64::MAX), "9999-12-31T23:59:59Z");
        assert_eq!(written(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(Moment(951_868_799_999).brief(), "2000-02-29 23:59:59");
    }

    #[test]
    fn forms_are_read() {
        const NOW: u64 = 1_000_000_000_000;
        #[rustfmt::skip]
        let cases = [
            ("2h",                  Some(NOW - 7_200_000)),
            ("15m",                 Some(NOW - 900_000)),
            ("90 s",                Some(NOW - 90_000)),
            ("7d",                  Some(NOW - 604_800_000)),
            ("99999999d",           Some(0)),
            ("2000-03-01",          Some(951_868_800_000)),
            ("2000-03-01T00:01",    Some(951_868_860_000)),
            ("2000-03-01 00:01:02", Some(951_868_862_000)),
            ("2000-03-01T00:01:02.5Z", Some(951_868_862_000)),
            ("951868800000",        Some(951_868_800_000)),
            ("2001-02-29",          None),
            ("2000-13-01",          None),
            ("2000-00-10",          None),
            ("2000-03-01T24:00",    None),
            ("2000-03-01T00:60",    None),
            ("2000-03-01T1:00",     None),
            ("2000-03-01-01",       None),
            ("1969-12-31",          None),
            ("yesterday",           None),
            ("h",                   None),
            ("-2h",                 None),
            ("99999999999999999999d", None),
            ("",                    None),
            ("ü",                   None),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text, NOW), expected, "{text:?}");
        }
    }

    #[test]
    fn lengths_are_told() {
        #[rustfmt::skip]
        let cases = [
            (350,              "350 µs"),
            (1_500,            "1.5 ms"),
            (12_345,           "12 ms"),
            (3_400_000,        "3.4 s"),
            (125_000_000,      "2 min 5 s"),
            (7_500_000_000,    "2 h 5 min"),
            (180_000_000_000,  "2 d 2 h"),
        ];
        for (length, expected) in cases {
            assert_eq!(micros(length), expected);
        }
    }
}
