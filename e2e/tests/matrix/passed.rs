//! Columns without a sandbox, which depend on the probes, on what judges them and on the kernel: one that passed stands until these change.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use ringfence_e2e::{Probe, Tier};

/// What a column depended on when it passed.
pub(crate) struct Passed {
    file: PathBuf,
    key: String,
}

impl Passed {
    /// Finds out what a column of these cells depends on now.
    pub(crate) fn of(title: &str, cells: &[&Probe]) -> Self {
        let mut hasher = DefaultHasher::new();
        for folder in ["src", "tests/matrix"] {
            hash_sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut hasher);
        }
        for cell in cells {
            cell.name.hash(&mut hasher);
        }
        let kernel = fs::read_to_string("/proc/version").unwrap();
        Self {
            file: Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("e2e/{title}.passed")),
            key: format!("{:016x} {kernel}", hasher.finish()),
        }
    }

    /// Whether it passed with the same probes on the same kernel, and this tier does not ask for everything anew.
    pub(crate) fn stands(&self) -> bool {
        Tier::current() != Tier::All && fs::read_to_string(&self.file).is_ok_and(|key| key == self.key)
    }

    /// Remembers that it passed.
    pub(crate) fn record(&self) {
        fs::write(&self.file, &self.key).unwrap();
    }
}

fn hash_sources(path: &Path, hasher: &mut DefaultHasher) {
    if path.is_dir() {
        let mut below: Vec<PathBuf> =
            fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        below.sort();
        for path in below {
            hash_sources(&path, hasher);
        }
    } else {
        path.hash(hasher);
        fs::read(path).unwrap().hash(hasher);
    }
}
