//! The files of a store, by their names. Whoever hides, protects or leaves alone a store does so with all of them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// What is appended to the name of a store for each file that belongs to it; nothing for the store itself.
///
/// The last is a folder, in which each process that has the store open has a file of its own.
pub const STORE_SUFFIXES: [&str; 8] =
    ["", "-wal", "-shm", "-journal", ".lock", ".mark", ".mark.new", LIVE_SUFFIX];
/// The end of the name of that folder, and of the files that older versions made beside the store. Before it comes `-` and a number of
/// 32 digits.
pub const LIVE_SUFFIX: &str = ".live";
/// Those of [`STORE_SUFFIXES`] that a process outside may remove and make again.
const CHANGING: [&str; 4] = ["-wal", "-shm", "-journal", ".mark.new"];
/// How many digits are in the name of a file that tells that a process has the store open.
const DIGITS: usize = 32;

/// A file that belongs to a store, by its name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StoreFile {
    /// The store itself.
    pub store: PathBuf,
    /// Whether a process outside may remove this file and make it again.
    pub may_change: bool,
}

impl StoreFile {
    /// Returns the store that a file belongs to, where its name says so; the store itself does not belong to another.
    pub fn named(path: &Path) -> Option<Self> {
        let name = path.file_name()?.as_bytes();
        let suffixes = STORE_SUFFIXES.iter().filter(|suffix| !suffix.is_empty());
        let beside = suffixes.filter_map(|suffix| {
            let stem = name.strip_suffix(suffix.as_bytes())?;
            Some((stem, CHANGING.contains(suffix)))
        });
        let (stem, may_change) = live(name).map(|stem| (stem, true)).into_iter().chain(beside).next()?;
        let store = path.with_file_name(OsStr::from_bytes(stem));
        (!stem.is_empty()).then_some(Self { store, may_change })
    }
}

/// Returns the name of the store of a file that tells that a process has it open.
fn live(name: &[u8]) -> Option<&[u8]> {
    let name = name.strip_suffix(LIVE_SUFFIX.as_bytes())?;
    let (stem, digits) = name.split_at_checked(name.len().checked_sub(DIGITS)?)?;
    let is_number = digits.iter().all(u8::is_ascii_hexdigit);
    stem.strip_suffix(b"-").filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Direction, Floor};

    #[test]
    fn every_file_of_a_store_with_its_usual_name_is_on_the_floor() {
        let live = format!("-{:032x}{LIVE_SUFFIX}", 7);
        for suffix in STORE_SUFFIXES.into_iter().chain([live.as_str()]) {
            let path = PathBuf::from(format!("/work/ringfence.db{suffix}"));
            for direction in [Direction::Read, Direction::Write] {
                assert!(
                    Floor::denies_unless_named(&path, direction, &std::iter::empty()).is_some(),
                    "{}",
                    path.display()
                );
            }
        }
    }

    #[test]
    fn a_file_belongs_to_the_store_that_its_name_begins_with() {
        let live = format!("/w/x.db-{:032x}.live", 7);
        #[rustfmt::skip]
        let cases = [
            // file              store                may it change?
            ("/w/x.db-wal",      Some(("/w/x.db",     true))),
            ("/w/x.db-shm",      Some(("/w/x.db",     true))),
            ("/w/x.db.mark",     Some(("/w/x.db",     false))),
            ("/w/x.db.mark.new", Some(("/w/x.db",     true))),
            ("/w/x.db.lock",     Some(("/w/x.db",     false))),
            (live.as_str(),      Some(("/w/x.db",     true))),
            ("/w/x.db.live",     Some(("/w/x.db",     false))),
            ("/w/x.db-journal",  Some(("/w/x.db",     true))),
            ("/w/x.db",          None),
            ("/w/-wal",          None),
            ("/w/x.db-7.live",   Some(("/w/x.db-7",   false))),
            ("/",                None),
        ];
        for (file, expected) in cases {
            let found = StoreFile::named(Path::new(file));
            let expected =
                expected.map(|(store, may_change)| StoreFile { store: PathBuf::from(store), may_change });
            assert_eq!(found, expected, "{file}");
        }
    }
}
