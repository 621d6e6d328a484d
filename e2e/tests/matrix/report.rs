//! A column of the matrix: all cells first, then one readable failure.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

pub(crate) struct Report {
    title: String,
    rows: BTreeMap<&'static str, Row>,
}

struct Row {
    /// A word, and after a colon what it is about.
    line: String,
    took: Duration,
    right: Result<(), String>,
}

impl Row {
    fn word(&self) -> String {
        self.line.split(':').next().unwrap_or_default().to_lowercase()
    }
}

impl Report {
    pub(crate) fn new(title: String) -> Self {
        Self { title, rows: BTreeMap::new() }
    }

    /// Adds a cell; `right` says whether it is what must be, or why not.
    pub(crate) fn add(
        &mut self,
        name: &'static str,
        line: String,
        took: Duration,
        right: Result<(), String>,
    ) {
        self.rows.insert(name, Row { line, took, right });
    }

    /// Fails when fewer cells than that are of this word.
    pub(crate) fn at_least(&self, floor: usize, word: &str) {
        let count = self.rows.values().filter(|row| row.word() == word).count();
        assert!(count >= floor, "only {count} cells of {} are `{word}`, not {floor}", self.title);
    }

    /// Writes the whole column beside the tests' other output, and fails with the cells that are wrong.
    pub(crate) fn conclude(self) {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let (mut all, mut wrong) = (String::new(), String::new());
        let mut absent = Vec::new();
        for (name, row) in &self.rows {
            *counts.entry(row.word()).or_default() += 1;
            writeln!(all, "{:5} ms  {name:36} {}", row.took.as_millis(), row.line).unwrap();
            if row.word() == "absent" {
                absent.push(format!("{name} ({})", row.line.trim_start_matches("absent: ")));
            }
            if let Err(why) = &row.right {
                writeln!(wrong, "  {name:36} {}  [{why}]", row.line).unwrap();
            }
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("e2e");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{}.txt", self.title)), &all).unwrap();
        let counts: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
        println!("{}: {}", self.title, counts.join(", "));
        if !absent.is_empty() {
            println!("{}: absent: {}", self.title, absent.join(", "));
        }
        assert!(wrong.is_empty(), "{} of {} cells are wrong:\n{wrong}", wrong.lines().count(), self.title);
    }
}
