//! Waivers: what somebody has looked at and answers for, until a date.
//!
//! A waiver names one package at one version with the checksum of its content, so that it never covers what nobody has seen. It
//! says why, and it ends.

use std::collections::BTreeSet;
use std::path::Path;

use ringfence_policy::Day;
use serde::Deserialize;

use crate::file::{Links, read_text};
use crate::{Effect, EffectSet, Package};

/// The file that holds waivers, beside the manifest of the package.
pub const FILE: &str = "ringfence-lint.toml";

/// How long the file may be.
const MAX_FILE: u64 = 4 << 20;

/// The file, as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Document {
    waiver: Vec<Waiver>,
}

/// One waiver.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// The package.
    pub package: String,
    /// Exactly this version.
    pub version: String,
    /// What the lock file says of its content; absent only for packages that have none, which are folders.
    #[serde(default)]
    pub checksum: Option<String>,
    /// What is waived.
    pub effects: Vec<Effect>,
    /// Why that is fine.
    pub reason: String,
    /// The last day on which it holds, as `2027-06-30`.
    pub expires: Day,
}

/// Why waivers were not read.
#[derive(Debug, thiserror::Error)]
pub enum WaiverError {
    /// The file cannot be read.
    #[error("`{file}`: {error}")]
    File {
        /// Which.
        file: String,
        /// Why.
        error: std::io::Error,
    },
    /// The file makes no sense.
    #[error("`{file}`: {message}")]
    Text {
        /// Which.
        file: String,
        /// Where and what.
        message: String,
    },
}

/// What is wrong with a waiver.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// The checksum is another, or is missing: nobody has looked at this content.
    Checksum,
    /// Its last day is over.
    Expired,
    /// Its last day is more than a year away.
    Late,
    /// It waives what the tool's own code does and could declare.
    Own,
    /// It covers nothing that is there.
    Unused,
}

/// The waivers of a project, beside the packages that they are about.
#[derive(Debug, Default)]
pub struct Waivers {
    all: Vec<Waiver>,
    /// Which of them are in force.
    valid: BTreeSet<usize>,
    /// What is wrong with others.
    faults: Vec<(usize, Fault)>,
    /// Which of them covered something.
    used: BTreeSet<usize>,
}

impl Waivers {
    /// Reads the file; one that does not exist holds none.
    ///
    /// # Errors
    ///
    /// It cannot be read or makes no sense.
    pub fn read(path: &Path) -> Result<Vec<Waiver>, WaiverError> {
        let file = path.display().to_string();
        let text = match read_text(path, MAX_FILE, Links::Followed) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(WaiverError::File { file, error }),
        };
        let wrong = |message: String| WaiverError::Text { file: file.clone(), message };
        let document: Document = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        for waiver in &document.waiver {
            let of = format!("the waiver for `{}`", waiver.package);
            let words =
                waiver.reason.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count();
            if words < 3 {
                return Err(wrong(format!("{of} gives no reason of at least three words")));
            }
            if waiver.effects.is_empty() {
                return Err(wrong(format!("{of} waives nothing")));
            }
        }
        Ok(document.waiver)
    }

    /// Judges waivers on a day, beside the packages of the project.
    pub fn judged(all: Vec<Waiver>, packages: &[Package], today: Day) -> Self {
        let mut judged = Self { all, ..Self::default() };
        for (number, waiver) in judged.all.iter().enumerate() {
            let package =
                packages.iter().find(|one| one.name == waiver.package && one.version == waiver.version);
            let fault = match package {
                None => Some(Fault::Unused),
                Some(package) if package.checksum != waiver.checksum => Some(Fault::Checksum),
                Some(_) if waiver.expires < today => Some(Fault::Expired),
                Some(_) if waiver.expires > today.next_year() => Some(Fault::Late),
                Some(package) if package.own && waiver.effects.iter().any(|effect| !effect.is_opaque()) => {
                    Some(Fault::Own)
                }
                Some(_) => None,
            };
            match fault {
                Some(fault) => judged.faults.push((number, fault)),
                None => drop(judged.valid.insert(number)),
            }
        }
        judged
    }

    /// Says whether an effect of a package (`name@version`) is waived, and remembers that it was asked for.
    pub fn covers(&mut self, package: &str, effect: Effect) -> bool {
        let covering = self.valid.iter().copied().find(|number| {
            self.all.get(*number).is_some_and(|waiver| {
                package == format!("{}@{}", waiver.package, waiver.version)
                    && waiver.effects.contains(&effect)
            })
        });
        self.used.extend(covering);
        covering.is_some()
    }

    /// Returns what is wrong with waivers, those that were never asked for included.
    pub fn faults(&self) -> impl Iterator<Item = (&Waiver, Fault)> {
        let unused = self.valid.difference(&self.used).map(|number| (*number, Fault::Unused));
        let all = self.faults.iter().copied().chain(unused);
        all.filter_map(|(number, fault)| Some((self.all.get(number)?, fault)))
    }
}

/// Writes a waiver for somebody to fill in.
pub fn draft(package: &Package, effects: EffectSet) -> String {
    let names: Vec<String> = effects.iter().map(|effect| format!("\"{effect}\"")).collect();
    let checksum = package.checksum.as_ref().map(|sum| format!("checksum = \"{sum}\"\n")).unwrap_or_default();
    format!(
        "[[waiver]]\npackage = \"{}\"\nversion = \"{}\"\n{checksum}effects = [{}]\nreason = \"\"   # who looked at it, and why it is fine\nexpires = \"\"  # such as 2027-06-30\n",
        package.name,
        package.version,
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(checksum: Option<&str>) -> Package {
        Package {
            name: "ring".into(),
            version: "1.0.0".into(),
            checksum: checksum.map(str::to_owned),
            own: false,
            holds: EffectSet::NONE,
            places: Vec::new(),
            doubt: None,
        }
    }

    fn waivers(text: &str) -> Result<Vec<Waiver>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        std::fs::write(&path, text).unwrap();
        Waivers::read(&path).map_err(|error| error.to_string())
    }

    const GOOD: &str = "[[waiver]]\npackage = \"ring\"\nversion = \"1.0.0\"\nchecksum = \"aa\"\neffects = [\"ffi\"]\n\
                        reason = \"looked at by two people\"\nexpires = \"2027-01-31\"\n";

    #[test]
    fn a_waiver_covers_what_somebody_saw_until_its_last_day() {
        let day = |text: &str| text.parse::<Day>().unwrap();
        #[rustfmt::skip]
        let cases = [
            // checksum    today         covers ffi   fault
            (Some("aa"), "2027-01-31", true,  None),
            (Some("aa"), "2027-02-01", false, Some(Fault::Expired)),
            (Some("bb"), "2027-01-31", false, Some(Fault::Checksum)),
            (None,       "2027-01-31", false, Some(Fault::Checksum)),
            (Some("aa"), "2026-01-30", false, Some(Fault::Late)),
        ];
        for (checksum, today, covers, fault) in cases {
            let mut judged = Waivers::judged(waivers(GOOD).unwrap(), &[package(checksum)], day(today));
            assert_eq!(judged.covers("ring@1.0.0", Effect::Ffi), covers, "{checksum:?} {today}");
            assert!(!judged.covers("ring@1.0.0", Effect::Asm));
            assert!(!judged.covers("ring@1.0.1", Effect::Ffi));
            let faults: Vec<Fault> = judged.faults().map(|(_, fault)| fault).collect();
            assert_eq!(faults, fault.into_iter().collect::<Vec<_>>());
        }
        let own = Package { own: true, ..package(Some("aa")) };
        let wide = waivers(&GOOD.replace("[\"ffi\"]", "[\"ffi\", \"exec\"]")).unwrap();
        let mut judged = Waivers::judged(wide, &[own], day("2026-12-01"));
        assert!(!judged.covers("ring@1.0.0", Effect::Ffi));
        assert_eq!(judged.faults().map(|(_, fault)| fault).collect::<Vec<_>>(), [Fault::Own]);
        let judged = Waivers::judged(waivers(GOOD).unwrap(), &[package(Some("aa"))], day("2026-12-01"));
        assert_eq!(judged.faults().map(|(_, fault)| fault).collect::<Vec<_>>(), [Fault::Unused]);
    }

    #[test]
    fn a_waiver_without_a_reason_or_an_end_is_refused() {
        assert_eq!(waivers("").unwrap().len(), 0);
        for (from, to, message) in [
            ("looked at by two people", "ok", "gives no reason"),
            ("looked at by two people", "          x         y", "gives no reason"),
            ("[\"ffi\"]", "[]", "waives nothing"),
            ("[\"ffi\"]", "[\"fii\"]", "unknown variant"),
            ("2027-01-31", "never", "is not a day"),
            ("2027-01-31", "2027-02-30", "is not a day"),
            ("expires", "expiry", "unknown field `expiry`"),
            ("version = \"1.0.0\"\n", "", "missing field `version`"),
        ] {
            let error = waivers(&GOOD.replace(from, to)).unwrap_err();
            assert!(error.contains(message), "{to}: {error}");
        }
    }
}
