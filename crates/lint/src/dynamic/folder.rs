//! The files below a folder, without ever leaving it.
//!
//! INVARIANT: a symbolic link is never followed, so that no package can point the analysis at files of another.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::ScriptError;

/// How large a source file may be; a larger one counts as not analysed.
pub(crate) const MAX_FILE_BYTES: u64 = 8 << 20;
const MAX_FILES: usize = 60_000;
const MAX_DEPTH: usize = 40;

/// What was found below a folder.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// The files, as paths below the folder with `/` between the parts, sorted.
    pub(crate) files: Vec<String>,
    /// The symbolic links, which were not followed.
    pub(crate) links: Vec<String>,
}

/// Lists the files below `root`; `enter` says of a folder's path below it whether to go in.
pub(crate) fn files_below(root: &Path, enter: &dyn Fn(&str) -> bool) -> Result<Files, ScriptError> {
    let mut found = Files::default();
    let mut waiting = vec![(PathBuf::from(root), String::new(), 0_usize)];
    while let Some((folder, prefix, depth)) = waiting.pop() {
        let read = |source| ScriptError::Read { path: folder.clone(), source };
        for entry in fs::read_dir(&folder).map_err(read)? {
            let entry = entry.map_err(read)?;
            // A name that is no text stays visible as it can be shown; nothing can open it by that name.
            let name = entry.file_name().to_string_lossy().into_owned();
            let below = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
            let kind = entry.file_type().map_err(read)?;
            if kind.is_symlink() {
                found.links.push(below);
            } else if kind.is_dir() {
                if depth >= MAX_DEPTH {
                    return Err(ScriptError::TooMany {
                        what: "nested folders",
                        path: folder,
                        limit: MAX_DEPTH,
                    });
                }
                if enter(&below) {
                    waiting.push((entry.path(), below, depth + 1));
                }
            } else if kind.is_file() {
                found.files.push(below);
            }
            if found.files.len() + found.links.len() > MAX_FILES {
                return Err(ScriptError::TooMany { what: "files", path: root.into(), limit: MAX_FILES });
            }
        }
    }
    found.files.sort();
    found.links.sort();
    Ok(found)
}

/// Reads a source file; `None` when it is too large or is no text.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, ScriptError> {
    let read = |source| ScriptError::Read { path: path.into(), source };
    let mut bytes = Vec::new();
    fs::File::open(path).map_err(read)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(read)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Ok(None);
    }
    Ok(String::from_utf8(bytes).ok())
}
