//! The tree the tests run in: a granted den, and a wild outside that must never be read or changed.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ringfence::{HostFiles, ScopedFs};
use ringfence_policy::{FsCeiling, FsGrant, FsReach, Jail, PathPattern, PathReach, PathSet};
use rustix::fs::{CWD, FileType, Mode, mknodat};

pub(super) const CANARY: &str = "canary outside the den";

pub(super) struct Den {
    dir: tempfile::TempDir,
}

impl Den {
    pub(super) fn new() -> Self {
        let den = Self { dir: tempfile::tempdir().unwrap() };
        for dir in ["den/deep", "wild", "den-next", "attic"] {
            fs::create_dir_all(den.path(dir)).unwrap();
        }
        for (file, content) in [
            ("den/one.txt", "one"),
            ("den/deep/two.txt", "two"),
            ("attic/box.txt", "box"),
            ("wild/canary.txt", CANARY),
            ("den-next/canary.txt", CANARY),
            ("dens", CANARY),
        ] {
            fs::write(den.path(file), content).unwrap();
        }
        den
    }

    /// The canonical path of something in the tree.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        let root = self.dir.path().canonicalize().unwrap();
        if name.is_empty() { root } else { root.join(name) }
    }

    /// Replaces `{}` by the path of the tree.
    pub(super) fn fill(&self, text: &str) -> String {
        text.replace("{}", self.path("").to_str().unwrap())
    }

    pub(super) fn set(&self, texts: &[&str]) -> PathSet {
        texts.iter().map(|text| self.fill(text).parse::<PathPattern>().unwrap()).collect()
    }

    /// A grant in which the declaration and the personality say the same.
    pub(super) fn grant(&self, read: &[&str], write: &[&str], jail: Jail) -> FsGrant {
        let (read, write) = (self.set(read), self.set(write));
        let reach = FsReach {
            read: Some(PathReach::Listed(read.clone())),
            write: Some(PathReach::Listed(write.clone())),
            jail,
        };
        FsGrant::meet(&reach, &FsCeiling { read, write }).unwrap()
    }

    /// A handle that reads and writes the den.
    pub(super) fn handle(&self, host: &HostFiles) -> ScopedFs {
        ScopedFs::new(host, self.grant(&["{}/den"], &["{}/den"], Jail::None), Some(self.path("den")))
    }

    pub(super) fn make(&self, step: &Step) {
        match step {
            Step::Dir(path) => fs::create_dir_all(self.path(path)).unwrap(),
            Step::Fifo(path) => {
                mknodat(CWD, self.path(path), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
            }
            Step::File(path) => fs::write(self.path(path), "made").unwrap(),
            Step::Hard(path, other) => fs::hard_link(self.path(other), self.path(path)).unwrap(),
            Step::Link(path, target) => symlink(self.fill(target), self.path(path)).unwrap(),
            Step::Named(bytes) => {
                fs::write(self.path("den").join(std::ffi::OsStr::from_bytes(bytes)), "made").unwrap();
            }
            Step::Socket(path) => {
                mknodat(CWD, self.path(path), FileType::Socket, Mode::from_raw_mode(0o600), 0).unwrap();
            }
        }
    }

    /// Nothing outside the den was changed, added or removed.
    pub(super) fn assert_wild_untouched(&self, case: &str) {
        for canary in ["wild/canary.txt", "den-next/canary.txt", "dens"] {
            assert_eq!(fs::read_to_string(self.path(canary)).unwrap(), CANARY, "{case}: {canary}");
        }
        for dir in ["wild", "den-next"] {
            assert_eq!(fs::read_dir(self.path(dir)).unwrap().count(), 1, "{case}: {dir}");
        }
        assert!(!Path::new("/ringfence-abs").exists(), "{case}");
    }
}

/// Something that is there before the case runs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Dir(&'static str),
    Fifo(&'static str),
    File(&'static str),
    Hard(&'static str, &'static str),
    Link(&'static str, &'static str),
    Named(&'static [u8]),
    Socket(&'static str),
}

/// Both ways of opening.
pub(super) fn hosts() -> [(&'static str, HostFiles); 2] {
    [("openat2", HostFiles::new()), ("walk", HostFiles::without_openat2())]
}
