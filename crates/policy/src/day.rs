//! Days of the calendar, written `2026-11-15`: the one place where days are turned into dates.
//!
//! INVARIANT: a day that was written is read back as the same day, and a date that the calendar does not have is no day.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

/// From 1 March of the year 0, where the count of a cycle begins, to 1 January 1970.
const BEFORE_1970: u64 = 719_468;

/// 400 years, after which the Gregorian calendar repeats itself.
const CYCLE: u64 = 146_097;

/// A day since 1970, in UTC.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[serde(try_from = "String")]
pub struct Day {
    since_1970: u64,
}

/// A day that cannot be read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{text}` is not a day such as 2027-06-30")]
pub struct DayError {
    text: String,
}

impl Day {
    /// The length of a day.
    pub const SECONDS: u64 = 24 * 60 * 60;

    /// Returns the day of a moment, in seconds since 1970.
    pub const fn of_epoch(seconds: u64) -> Self {
        Self { since_1970: seconds / Self::SECONDS }
    }

    /// Returns the seconds from 1970 to the midnight it begins with.
    pub const fn begins(self) -> u64 {
        self.since_1970 * Self::SECONDS
    }

    /// Returns the day of a date; nothing for one before 1970, after 9999, or that its month does not have.
    pub fn of_date(year: u64, month: u64, day: u64) -> Option<Self> {
        if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return None;
        }
        // Years begin in March here, so that the leap day is the last one.
        let (year_from_march, month_from_march) =
            if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let (cycle, year_of_cycle) = (year_from_march / 400, year_from_march % 400);
        let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
        let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
        let found = Self { since_1970: cycle * CYCLE + day_of_cycle - BEFORE_1970 };
        // A day that its month does not have comes back as another one.
        (found.date() == (year, month, day)).then_some(found)
    }

    /// Returns the year, the month and the day of the month.
    pub const fn date(self) -> (u64, u64, u64) {
        let from_march = self.since_1970 + BEFORE_1970;
        let (cycle, day_of_cycle) = (from_march / CYCLE, from_march % CYCLE);
        let year_of_cycle =
            (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
        let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        (cycle * 400 + year_of_cycle + next, month, day)
    }

    /// Returns the same day of the next year, and 1 March for a leap day.
    #[must_use]
    pub fn next_year(self) -> Self {
        let (year, month, day) = self.date();
        Self::of_date(year + 1, month, day).or_else(|| Self::of_date(year + 1, 3, 1)).unwrap_or(self)
    }
}

impl FromStr for Day {
    type Err = DayError;

    fn from_str(text: &str) -> Result<Self, DayError> {
        let number = |digits: &str, count: usize| {
            (digits.len() == count && digits.bytes().all(|byte| byte.is_ascii_digit()))
                .then(|| digits.parse().ok())?
        };
        let read = || {
            let (year, rest) = text.split_once('-')?;
            let (month, day) = rest.split_once('-')?;
            Self::of_date(number(year, 4)?, number(month, 2)?, number(day, 2)?)
        };
        read().ok_or_else(|| DayError { text: text.to_owned() })
    }
}

impl TryFrom<String> for Day {
    type Error = DayError;

    fn try_from(text: String) -> Result<Self, DayError> {
        text.parse()
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_and_written() {
        #[rustfmt::skip]
        let cases = [
            // written      days since 1970
            ("1970-01-01",  Some(0)),
            ("2000-02-29",  Some(11_016)),
            ("2000-03-01",  Some(11_017)),
            ("2024-02-29",  Some(19_782)),
            ("2026-11-15",  Some(20_772)),
            ("2100-02-28",  Some(47_540)),
            ("2100-03-01",  Some(47_541)),
            ("9999-12-31",  Some(2_932_896)),
            ("2100-02-29",  None),
            ("2023-02-29",  None),
            ("2026-04-31",  None),
            ("2026-13-01",  None),
            ("2026-00-01",  None),
            ("2026-01-00",  None),
            ("1969-12-31",  None),
            ("0000-03-01",  None),
            ("2026-1-15",   None),
            ("26-11-15",    None),
            ("2026-11-15Z", None),
            ("2026-11-1é",  None),
            ("+026-11-15",  None),
            ("2026-11",     None),
            ("tomorrow",    None),
            ("",            None),
        ];
        for (text, expected) in cases {
            let read = text.parse::<Day>();
            assert_eq!(read.as_ref().ok().map(|day| day.since_1970), expected, "{text}");
            match read {
                Ok(day) => assert_eq!(day.to_string(), text),
                Err(error) => {
                    assert_eq!(error.to_string(), format!("`{text}` is not a day such as 2027-06-30"));
                }
            }
        }
    }

    #[test]
    fn every_day_comes_back() {
        let mut before = None;
        for since_1970 in (0..2_932_897).step_by(13) {
            let day = Day::of_epoch(since_1970 * Day::SECONDS + 3_723);
            let (year, month, of_month) = day.date();
            assert_eq!(Day::of_date(year, month, of_month), Some(day));
            assert_eq!(day.begins(), since_1970 * Day::SECONDS);
            assert!(before.replace((year, month, of_month)) < Some((year, month, of_month)));
        }
    }

    #[test]
    fn a_year_later_is_the_same_day() {
        let cases =
            [("2026-11-15", "2027-11-15"), ("2024-02-29", "2025-03-01"), ("9999-01-01", "9999-01-01")];
        for (day, later) in cases {
            assert_eq!(day.parse::<Day>().unwrap().next_year().to_string(), later);
        }
    }
}
