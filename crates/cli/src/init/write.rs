//! Writing the files, and saying which.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use ringfence::policy::form;

use super::{Draft, SCHEMA};
use crate::backup::back_up;
use crate::book::replace;
use crate::error::CommandError;
use crate::load::read_text;

/// Writes the policy, the schema and what goes beside them. A policy that is there is kept as a backup.
pub(crate) fn files(policy: &Path, draft: &Draft) -> Result<Vec<String>, CommandError> {
    let mut told = Vec::new();
    let schema = policy.with_file_name(SCHEMA);
    // First, because it can be refused.
    let writes_schema = schema_is_ours(&schema)?;
    if policy.symlink_metadata().is_ok() {
        let before = read_text(policy, Some("move it away, or name another file with --policy FILE"))?;
        let backup = back_up(policy, &before)?;
        replace(policy, &draft.text)?;
        told.push(format!("wrote {}; what it said before is in {}", policy.display(), backup.display()));
    } else {
        create(policy, &draft.text)?;
        told.push(format!("wrote {}", policy.display()));
    }
    if writes_schema {
        replace(&schema, schema_text())?;
        told.push(format!("wrote {}, from which editors complete", schema.display()));
    }
    for (path, text) in &draft.beside {
        if path.symlink_metadata().is_err() {
            create(path, text)?;
            told.push(format!("wrote {}", path.display()));
        }
    }
    Ok(told)
}

/// The schema as a file.
pub(crate) fn schema_text() -> String {
    // A value of ours is always written.
    let mut text = serde_json::to_string_pretty(&form::schema()).unwrap_or_default();
    text.push('\n');
    text
}

/// Says whether the schema is to be written: it is not there, or an older one of ours is.
fn schema_is_ours(path: &Path) -> Result<bool, CommandError> {
    if path.symlink_metadata().is_err() {
        return Ok(true);
    }
    let text = read_text(path, Some("move it away"))?;
    let id = |text: &str| {
        serde_json::from_str::<serde_json::Value>(text).ok()?.get("$id")?.as_str().map(str::to_owned)
    };
    if id(&text).as_deref() == Some(SCHEMA) {
        return Ok(text != schema_text());
    }
    Err(CommandError::Input {
        message: format!("`{}` is there already, and is not ours", path.display()),
        hint: Some("move it away, or write the policy elsewhere with --policy FILE"),
    })
}

/// Writes a file that is not there yet.
fn create(path: &Path, text: &str) -> Result<(), CommandError> {
    let failed = |error: std::io::Error| {
        let hint = match error.kind() {
            std::io::ErrorKind::NotFound => "make the folder first",
            std::io::ErrorKind::PermissionDenied => {
                "choose a folder that you may write to, with --policy FILE"
            }
            _ => "name another file with --policy FILE",
        };
        CommandError::File { verb: "write", path: path.to_path_buf(), error, hint: Some(hint) }
    };
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
}
