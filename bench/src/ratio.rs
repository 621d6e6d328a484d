//! A ratio that a measurement came to, said as a line of a file beside the table that people read.
//!
//! The variable `RINGFENCE_BENCH_RATIOS` names the file; where it is not set, nothing is written. `script/bench` sets it and makes a
//! page of the lines.
//!
//! INVARIANT: a line that was written can be read: its value is a number, and no part of it holds a tab or the end of a line.

#![expect(clippy::disallowed_methods, reason = "a measurement says what it came to in a file")]

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::str::FromStr;

/// The variable that names the file.
pub const FILE: &str = "RINGFENCE_BENCH_RATIOS";

/// Which way is better.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Better {
    /// The higher, the better: speeds.
    Higher,
    /// The lower, the better: times and sizes.
    Lower,
}

/// One ratio.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// What was measured.
    pub name: String,
    /// What it came to, in units of `against`.
    pub value: f64,
    /// What it is held against: a floor or a peer of the same run, or a figure.
    pub against: String,
    /// Which way is better.
    pub better: Better,
    /// What it should be, at most or at least.
    pub aim: Option<f64>,
}

impl Ratio {
    /// A ratio that should be low.
    pub fn lower(name: impl Into<String>, value: f64, against: impl Into<String>) -> Self {
        Self { name: name.into(), value, against: against.into(), better: Better::Lower, aim: None }
    }

    /// A ratio that should be high.
    pub fn higher(name: impl Into<String>, value: f64, against: impl Into<String>) -> Self {
        Self { better: Better::Higher, ..Self::lower(name, value, against) }
    }

    /// A figure that must stay below a limit, as its share of that limit.
    pub fn within(name: impl Into<String>, figure: f64, limit: f64, unit: &str) -> Self {
        Self::lower(name, figure / limit, format!("{limit} {unit}")).aim(1.0)
    }

    /// A figure that must reach a mark, as its share of that mark.
    pub fn reaching(name: impl Into<String>, figure: f64, mark: f64, unit: &str) -> Self {
        Self::higher(name, figure / mark, format!("{mark} {unit}")).aim(1.0)
    }

    /// Says what it should be.
    #[must_use]
    pub fn aim(self, aim: f64) -> Self {
        Self { aim: Some(aim), ..self }
    }

    /// Writes it to the file, if there is one.
    ///
    /// # Errors
    ///
    /// It is no number, a part of it would break the line, or the file cannot be written.
    pub fn say(&self) -> io::Result<()> {
        let Some(path) = std::env::var_os(FILE) else { return Ok(()) };
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        file.write_all(self.line()?.as_bytes())
    }

    /// Returns whether the aim is met, if there is one. What counts is the figure as it is shown.
    pub fn is_met(&self) -> Option<bool> {
        let shown: f64 = digits(self.value).parse().ok()?;
        self.aim.map(|aim| match self.better {
            Better::Higher => shown >= aim,
            Better::Lower => shown <= aim,
        })
    }

    fn line(&self) -> io::Result<String> {
        let bad = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
        if !self.value.is_finite() {
            return Err(bad(format!("`{}` came to no number", self.name)));
        }
        if [&self.name, &self.against].iter().any(|text| text.is_empty() || text.contains(['\t', '\n'])) {
            return Err(bad(format!("`{}` against `{}` is no line", self.name, self.against)));
        }
        let better = match self.better {
            Better::Higher => "higher",
            Better::Lower => "lower",
        };
        let aim = self.aim.map_or_else(|| "-".to_owned(), |aim| aim.to_string());
        Ok(format!("{}\t{}\t{}\t{better}\t{aim}\n", self.name, self.value, self.against))
    }
}

impl FromStr for Ratio {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let wrong = || format!("`{line}` is no ratio");
        let [name, value, against, better, aim] =
            line.split('\t').collect::<Vec<_>>().try_into().map_err(|_| wrong())?;
        let better = match better {
            "higher" => Better::Higher,
            "lower" => Better::Lower,
            _ => return Err(wrong()),
        };
        let aim = if aim == "-" { None } else { Some(number(aim).ok_or_else(wrong)?) };
        Ok(Self {
            name: name.to_owned(),
            value: number(value).ok_or_else(wrong)?,
            against: against.to_owned(),
            better,
            aim,
        })
    }
}

/// Reads a number that one can reckon with.
pub(crate) fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Shows three digits that count; more would claim what no measurement holds.
pub fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    #[expect(clippy::cast_possible_truncation, reason = "a number has at most 308 places")]
    let places = 2 - value.abs().log10().floor() as i32;
    format!("{value:.*}", usize::try_from(places).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_read() {
        for ratio in [
            Ratio::lower("one call", 8.25, "two checks").aim(6.0),
            Ratio::higher("a transfer", 0.5625, "direct"),
            Ratio::within("memory", 32.9, 15.0, "MB"),
            Ratio::reaching("verify", 254_000.0, 200_000.0, "records/s"),
        ] {
            let line = ratio.line().unwrap();
            assert_eq!(line.trim_end_matches('\n').parse(), Ok(ratio));
        }
    }

    #[test]
    fn what_is_no_line_is_not_written() {
        for ratio in [
            Ratio::lower("no number", f64::NAN, "x"),
            Ratio::lower("no end", 1.0 / 0.0, "x"),
            Ratio::lower("a\ttab", 1.0, "x"),
            Ratio::lower("a line", 1.0, "x\ny"),
            Ratio::lower("", 1.0, "x"),
        ] {
            assert!(ratio.line().is_err(), "{ratio:?}");
        }
    }

    #[test]
    fn what_is_no_ratio_is_not_read() {
        for line in [
            "",
            "a\t1\tb\tlower",
            "a\t1\tb\tlower\t-\tmore",
            "a\tone\tb\tlower\t-",
            "a\t1\tb\tbest\t-",
            "a\t1\tb\tlower\tsoon",
            "a\tNaN\tb\tlower\t-",
        ] {
            assert!(line.parse::<Ratio>().is_err(), "{line:?}");
        }
    }

    #[test]
    fn an_aim_is_met_as_it_is_shown() {
        let cases = [
            (Ratio::lower("x", 3.5, "y"), None),
            (Ratio::lower("x", 3.5, "y").aim(3.5), Some(true)),
            (Ratio::lower("x", 3.504, "y").aim(3.5), Some(true)),
            (Ratio::lower("x", 3.506, "y").aim(3.5), Some(false)),
            (Ratio::higher("x", 0.7996, "y").aim(0.8), Some(true)),
            (Ratio::higher("x", 0.79, "y").aim(0.8), Some(false)),
            (Ratio::within("x", 15.0, 15.0, "MB"), Some(true)),
            (Ratio::reaching("x", 9_750.0, 10_000.0, "held"), Some(false)),
        ];
        for (ratio, met) in cases {
            assert_eq!(ratio.is_met(), met, "{ratio:?}");
        }
    }

    #[test]
    fn three_digits_count() {
        let cases = [
            (0.0, "0"),
            (0.000_123_4, "0.000123"),
            (0.05, "0.0500"),
            (1.0, "1.00"),
            (9.876, "9.88"),
            (54.32, "54.3"),
            (208.4, "208"),
            (12_345.0, "12345"),
            (-0.25, "-0.250"),
        ];
        for (value, shown) in cases {
            assert_eq!(digits(value), shown);
        }
    }
}
