//! Files of ours that decide, and that a command which runs right now may have made.
//!
//! INVARIANT: what is read here is not believed where it came in a run that nobody has looked after: such a file is moved aside when
//! that run ends, and until then it may say whatever its command likes.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use ringfence::sandbox::{Identity, Origin, origin_of};

use crate::error::CommandError;
use crate::load::read_identified;
use crate::sandbox::mark_folders;

/// How often a file is read again that somebody replaces meanwhile.
const TRIES: u32 = 100;

/// Reads a text file that decides what is permitted, or what was agreed to.
pub(crate) fn read_deciding(path: &Path, hint: Option<&'static str>) -> Result<String, CommandError> {
    for _ in 0..TRIES {
        let (text, read) = read_identified(path, hint)?;
        // Whoever ends a run in between moves away what was read.
        if is_believed(path, Some(read))? && identity(path) == Some(read) {
            return Ok(text);
        }
    }
    Err(replaced(path))
}

/// Refuses a file that may be the work of a command whose run nobody has looked after yet, or would be moved aside with it.
pub(crate) fn refuse_planted(path: &Path) -> Result<(), CommandError> {
    if is_believed(path, identity(path))? { Ok(()) } else { Err(replaced(path)) }
}

/// Refuses it too where another file is there than before.
pub(crate) fn refuse_replaced(path: &Path, before: Option<Identity>) -> Result<(), CommandError> {
    let is_same = before.is_none_or(|before| identity(path) == Some(before));
    if is_same { refuse_planted(path) } else { Err(replaced(path)) }
}

/// Returns which file is at a path.
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    let found = std::fs::metadata(path).ok()?;
    Some(Identity { device: found.dev(), inode: found.ino() })
}

/// Tells whether what is judged is the file that was read; what it may not be is refused.
fn is_believed(path: &Path, read: Option<Identity>) -> Result<bool, CommandError> {
    let file = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    for folder in mark_folders() {
        let origin = origin_of(&folder, &file, read).map_err(|(mark, error)| CommandError::Input {
            message: format!(
                "`{}` says what a run may have written, and cannot be read: {error}",
                mark.display()
            ),
            hint: Some("run `ringfence doctor`, which says what to do"),
        })?;
        let (who, hint) = match origin {
            Origin::Known => continue,
            Origin::Replaced => return Ok(false),
            Origin::RunningCommand => {
                ("a command that may write there is running", "end that run, then look at the file")
            }
            Origin::EndedCommand => (
                "a command that could write there has ended before all that it left was looked at",
                "run `ringfence doctor`, which does that and says what is left; then look at the file",
            ),
        };
        return Err(CommandError::Input {
            message: format!("{who}, and `{}` was not there before: it may be its work", path.display()),
            hint: Some(hint),
        });
    }
    Ok(true)
}

fn replaced(path: &Path) -> CommandError {
    CommandError::Input {
        message: format!("`{}` was replaced while it was read", path.display()),
        hint: Some("stop what writes it, and try again"),
    }
}
