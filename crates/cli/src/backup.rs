//! Keeping what a file said before it is written over.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::CommandError;

/// Keeps the original beside the file, under a name that is not taken, for the same eyes only.
pub(crate) fn back_up(target: &Path, text: &str) -> Result<PathBuf, CommandError> {
    let failed = |path: &Path, error| CommandError::File {
        verb: "write",
        path: path.to_path_buf(),
        error,
        hint: Some("make room for a backup beside the file, or write elsewhere"),
    };
    let mode = target.metadata().map_err(|error| failed(target, error))?.permissions().mode() & 0o777;
    for number in 1..1000 {
        let mut name = target.as_os_str().to_owned();
        name.push(".bak-ringfence");
        if number > 1 {
            name.push(format!(".{number}"));
        }
        let path = PathBuf::from(name);
        let opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path);
        match opened.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all())) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&path, error)),
        }
    }
    Err(failed(target, std::io::Error::other("there are too many backups")))
}
