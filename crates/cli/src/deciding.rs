//! Files of ours that decide, and that a command which runs right now may have made.
//!
//! INVARIANT: what is read here is not believed where it came in a run that nobody has looked after: such a file is moved aside when
//! that run ends, and until then it may say whatever its command likes.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use ringfence::sandbox::may_be_planted;

use crate::error::CommandError;
use crate::exposed::both_spellings;
use crate::load::read_text;
use crate::sandbox::mark_folders;

/// How often a file is read again that somebody replaces meanwhile.
const TRIES: u32 = 100;

/// Reads a text file that decides what is permitted, or what was agreed to.
pub(crate) fn read_deciding(path: &Path, hint: Option<&'static str>) -> Result<String, CommandError> {
    for _ in 0..TRIES {
        let before = identity(path);
        let text = read_text(path, hint)?;
        refuse_planted(path)?;
        // Whoever ends a run in between moves away what was read.
        if before.is_some() && identity(path) == before {
            return Ok(text);
        }
    }
    Err(CommandError::Input {
        message: format!("`{}` is replaced again and again while it is read", path.display()),
        hint: Some("stop what writes it, and try again"),
    })
}

/// Refuses a file that may be the work of a command whose run nobody has looked after yet, or would be moved aside with it.
pub(crate) fn refuse_planted(path: &Path) -> Result<(), CommandError> {
    for folder in mark_folders() {
        let is_planted = may_be_planted(&folder, || both_spellings(path));
        let is_planted = is_planted.map_err(|(mark, error)| CommandError::Input {
            message: format!(
                "`{}` says what a run may have written, and cannot be read: {error}",
                mark.display()
            ),
            hint: Some("run `ringfence doctor`, which says what to do"),
        })?;
        if is_planted {
            return Err(CommandError::Input {
                message: format!(
                    "a command that may write there is running, and `{}` was not there before: it may be its work",
                    path.display()
                ),
                hint: Some("end that run, or run `ringfence doctor` if it was killed; then look at the file"),
            });
        }
    }
    Ok(())
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}
