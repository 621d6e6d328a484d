//! Which crates make up the build, as cargo tells it: what earlier builds left in the folder does not count.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::BuildError;
use super::wrapper::Kept;
use crate::file::{Links, read_text};
use crate::mir::Summary;

/// How long what is kept of one crate may be. A build script could have put anything there.
const MAX_UNIT: u64 = 1 << 30;

/// One crate of the build.
#[derive(Clone, Debug)]
pub struct Crate {
    /// Its name, as the compiler knows it.
    pub name: String,
    /// The package's name and version.
    pub package: (String, String),
    /// The package's folder.
    pub folder: PathBuf,
    /// The folder that relative file names start from.
    pub directory: PathBuf,
    /// Where the compiler wrote what it understood.
    pub mir: PathBuf,
    /// What that says, in short.
    pub summary: Summary,
    /// Why it cannot be believed, where that is so.
    pub doubt: Option<String>,
    /// The crates that it may name: the name, and which of the list.
    pub externs: Vec<(String, usize)>,
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

/// Reads cargo's messages, and what the compiler's stand-in kept of each crate below `folder`.
pub(super) fn crates(messages: &str, folder: &Path) -> Result<Vec<Crate>, BuildError> {
    let unexpected = |error: String| BuildError::Unexpected { what: "cargo", error };
    let mut found: Vec<(Crate, Vec<(String, String)>)> = Vec::new();
    let mut stems: HashMap<String, usize> = HashMap::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Message = serde_json::from_str(line).map_err(|error| unexpected(error.to_string()))?;
        if message.reason != "compiler-artifact" {
            continue;
        }
        let is_own = |file: &&PathBuf| {
            file.starts_with(folder) && file.extension().is_some_and(|extension| extension == "rmeta")
        };
        for file in message.filenames.iter().filter(is_own) {
            let Some(stem) = file.file_stem().and_then(OsStr::to_str) else { continue };
            let stem = stem.strip_prefix("lib").unwrap_or(stem);
            if stems.contains_key(stem) {
                continue;
            }
            let Kept { called, summary, unreadable, asks } =
                read(&file.with_file_name(format!("{stem}.unit.json")))?;
            stems.insert(stem.to_owned(), found.len());
            let one = Crate {
                name: called.name,
                package: called.package,
                folder: called.folder,
                directory: called.directory,
                mir: file.with_file_name(format!("{stem}.mir")),
                summary,
                doubt: unreadable.or_else(|| doubt(&asks)),
                externs: Vec::new(),
            };
            found.push((one, called.externs));
        }
    }
    if found.is_empty() {
        return Err(unexpected("no crate of the target was built".into()));
    }
    // What is not among them is of the host: a procedural macro, which is not part of the tool.
    let linked = |(mut one, externs): (Crate, Vec<(String, String)>)| {
        one.externs =
            externs.into_iter().filter_map(|(name, stem)| Some((name, *stems.get(&stem)?))).collect();
        one
    };
    Ok(found.into_iter().map(linked).collect())
}

/// Says why a crate that asks for variables of ours cannot be believed.
fn doubt(asks: &[String]) -> Option<String> {
    let names: Vec<String> = asks.iter().map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| {
        format!("it asks for {} while it is compiled, and can be another elsewhere", names.join(", "))
    })
}

fn read(path: &Path) -> Result<Kept, BuildError> {
    let text = read_text(path, MAX_UNIT, Links::Refused)
        .map_err(|error| BuildError::File { path: path.to_path_buf(), error })?;
    serde_json::from_str(&text)
        .map_err(|error| BuildError::Unexpected { what: "the compiler's stand-in", error: error.to_string() })
}
