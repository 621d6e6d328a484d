//! Builds a package as the engine wants it, without the sandbox: what is tested here is the reading.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ringfence_lint::mir::{Summary, Unit, analyse, summarise};
use ringfence_lint::{Analysis, Effect};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A program that was built and analysed.
pub(crate) struct Program {
    pub(crate) analysis: Analysis,
    pub(crate) read: Duration,
    pub(crate) joined: Duration,
    pub(crate) units: usize,
}

impl Program {
    /// Builds the package in a folder into `target`, and analyses it.
    pub(crate) fn new(folder: &Path, target: &Path) -> Self {
        #[expect(clippy::disallowed_methods, reason = "a test builds a program to look at")]
        let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["check", "--locked", "--target", TARGET, "--manifest-path"])
            .arg(folder.join("Cargo.toml"))
            .env("CARGO_TARGET_DIR", target)
            .env("RUSTC_WRAPPER", env!("CARGO_BIN_EXE_ringfence-lint"))
            .env(ringfence_lint::build::VARIABLE, "1")
            .env_remove("RUSTFLAGS")
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Self::built(folder, &target.join(TARGET).join("debug/deps"))
    }

    /// Analyses what a build left.
    pub(crate) fn built(folder: &Path, deps: &Path) -> Self {
        let units = units(folder, deps);
        let start = Instant::now();
        let summaries: Vec<Summary> = units.iter().map(|unit| summarise(unit).unwrap()).collect();
        let read = start.elapsed();
        let start = Instant::now();
        let analysis = analyse(&units, &summaries).unwrap();
        Self { analysis, read, joined: start.elapsed(), units: units.len() }
    }

    /// Returns the effects of a function, through handles or not.
    pub(crate) fn effects(&self, function: &str) -> Option<Vec<Effect>> {
        let verdict = self.analysis.functions.iter().find(|verdict| verdict.function == function)?;
        Some(verdict.effects().iter().collect())
    }
}

#[derive(serde::Deserialize)]
struct Called {
    name: String,
    package: (String, String),
    folder: PathBuf,
    directory: PathBuf,
    externs: Vec<(String, String)>,
}

fn units(folder: &Path, deps: &Path) -> Vec<Unit> {
    let mut found: Vec<(String, Called)> = Vec::new();
    for file in std::fs::read_dir(deps).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if let Some(stem) = name.strip_suffix(".unit.json") {
            let called = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            found.push((stem.to_owned(), called));
        }
    }
    found.sort_by(|left, right| left.0.cmp(&right.0));
    let numbers: HashMap<String, usize> =
        found.iter().enumerate().map(|(number, (stem, _))| (stem.clone(), number)).collect();
    let unit = |(stem, called): (String, Called)| {
        let own = called.folder.starts_with(folder);
        Unit {
            package: format!("{}@{}", called.package.0, called.package.1),
            own,
            mir: deps.join(format!("{stem}.mir")),
            source_root: if own { called.directory } else { called.folder },
            shown_root: if own {
                String::new()
            } else {
                format!("{}-{}/", called.package.0, called.package.1)
            },
            externs: called
                .externs
                .into_iter()
                .filter_map(|(name, stem)| Some((name, *numbers.get(&stem)?)))
                .collect(),
            proc_macro_or_build: false,
            name: called.name,
        }
    };
    found.into_iter().map(unit).collect()
}
