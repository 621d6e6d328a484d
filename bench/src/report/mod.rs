//! What a run of `script/bench` left behind: read, made a page of, and compared with what was measured before.
//!
//! ```text
//! facts.tsv      the machine and the versions, a name and a value in each line
//! NAME.out       what the program printed
//! NAME.tsv       the ratios it said
//! NAME.failed    what it ended with, if it failed
//! ```

#![expect(clippy::disallowed_methods, reason = "what the programs left behind lies in files")]

mod baseline;
mod page;

pub use baseline::{Baseline, Compared, Verdict};
pub use page::{page, table};

use std::error::Error;
use std::path::Path;

use crate::ratio::Ratio;

/// What all programs of a run came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The machine and the versions, as they are shown.
    pub facts: Vec<(String, String)>,
    /// The programs, by name.
    pub programs: Vec<Program>,
}

/// What one program came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// What it is called.
    pub name: String,
    /// What it printed.
    pub printed: String,
    /// What it ended with, if it failed.
    pub failed: Option<String>,
    /// The ratios it said, in its order.
    pub ratios: Vec<Ratio>,
}

impl Measured {
    /// Reads the folder that the script filled.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or holds what no program writes.
    pub fn read(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "out") {
                names.extend(path.file_stem().and_then(|name| name.to_str()).map(str::to_owned));
            }
        }
        names.sort_unstable();
        if names.is_empty() {
            return Err(format!("nothing was measured: `{}` has no file `.out`", folder.display()).into());
        }
        let facts = optional(&folder.join("facts.tsv"))?.unwrap_or_default();
        let facts = facts.lines().filter_map(|line| line.split_once('\t'));
        Ok(Self {
            facts: facts.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            programs: names.iter().map(|name| program(folder, name)).collect::<Result<_, _>>()?,
        })
    }

    /// Says whether some program failed.
    pub fn has_failed(&self) -> bool {
        self.programs.iter().any(|program| program.failed.is_some())
    }
}

fn program(folder: &Path, name: &str) -> Result<Program, Box<dyn Error>> {
    let file = |extension: &str| optional(&folder.join(format!("{name}.{extension}")));
    let said = file("tsv")?.unwrap_or_default();
    let ratios = said.lines().map(str::parse).collect::<Result<_, _>>();
    Ok(Program {
        name: name.to_owned(),
        printed: file("out")?.unwrap_or_default(),
        failed: file("failed")?.map(|text| text.trim().to_owned()),
        ratios: ratios.map_err(|error| format!("{name}.tsv: {error}"))?,
    })
}

/// Reads a file that need not be there.
fn optional(path: &Path) -> std::io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_programs_left() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("facts.tsv", "cores\t2\nkernel\tLinux 6.1\n");
        write("text.out", "a table\n");
        write("text.tsv", "cleaning\t5.5\ta regex set\thigher\t5\n");
        write("egress.out", "");
        write("egress.failed", "exit status 1\n");
        let measured = Measured::read(folder.path()).unwrap();
        assert_eq!(measured.facts, [("cores".into(), "2".into()), ("kernel".into(), "Linux 6.1".into())]);
        let names: Vec<_> = measured.programs.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names, ["egress", "text"]);
        assert!(measured.has_failed());
        assert_eq!(measured.programs[0].failed.as_deref(), Some("exit status 1"));
        assert_eq!(measured.programs[1].ratios, [Ratio::higher("cleaning", 5.5, "a regex set").aim(5.0)]);
    }

    #[test]
    fn a_folder_without_figures_and_a_line_that_is_none_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Measured::read(folder.path()).is_err());
        std::fs::write(folder.path().join("text.out"), "").unwrap();
        std::fs::write(folder.path().join("text.tsv"), "cleaning\t5.5\n").unwrap();
        let error = Measured::read(folder.path()).unwrap_err().to_string();
        assert_eq!(error, "text.tsv: `cleaning\t5.5` is no ratio");
    }
}
