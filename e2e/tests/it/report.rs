//! A column of the matrix: all cells first, then one readable failure.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ringfence_e2e::Probe;

use crate::verdict::Verdict;

pub(crate) struct Report {
    title: String,
    rows: BTreeMap<&'static str, (Verdict, Result<(), String>)>,
}

impl Report {
    pub(crate) fn new(title: String) -> Self {
        Self { title, rows: BTreeMap::new() }
    }

    /// Adds a cell; `right` says whether its verdict is what must be, or why not.
    pub(crate) fn add(&mut self, probe: &Probe, verdict: Verdict, right: Result<(), String>) {
        self.rows.insert(probe.name, (verdict, right));
    }

    /// Writes the whole column beside the tests' other output, and fails with the cells that are wrong.
    pub(crate) fn conclude(self) {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let (mut all, mut wrong) = (String::new(), String::new());
        for (name, (verdict, right)) in &self.rows {
            let word = verdict.to_string().split(':').next().unwrap().to_lowercase();
            *counts.entry(word).or_default() += 1;
            writeln!(all, "{name:36} {verdict}").unwrap();
            if let Err(why) = right {
                writeln!(wrong, "  {name:36} {verdict}  [{why}]").unwrap();
            }
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("e2e");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{}.txt", self.title)), &all).unwrap();
        let counts: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
        println!("{}: {}", self.title, counts.join(", "));
        assert!(wrong.is_empty(), "{} of {} cells are wrong:\n{wrong}", wrong.lines().count(), self.title);
    }
}
