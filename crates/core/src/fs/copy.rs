//! Copying one file.

use std::path::Path;

use ringfence_policy::Direction;
use rustix::fs::{OFlags, fstat, ftruncate};

use super::error::{FsError, shown};
use super::scoped::ScopedFs;
use super::storage::Placement;

impl ScopedFs {
    /// Copies the content of a regular file to another, which is created where it is missing.
    ///
    /// # Errors
    ///
    /// The source is not granted for reading or the destination for writing, one of them is not a regular file, or
    /// both are the same.
    pub fn copy(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<u64, FsError> {
        let from = self.asked_file(from.as_ref(), Direction::Read, "read")?;
        let to = self.asked_file(to.as_ref(), Direction::Write, "write")?;
        if let Some(storage) = &self.storage {
            let content = self.read_stored(storage, &from)?;
            // Judged first, so that a file that may not be written is refused as that.
            self.in_storage("write", &to, Direction::Write, || Ok(()))?;
            if from == to {
                return Err(FsError::SameFile { path: shown(&to) });
            }
            self.write_stored(storage, &to, &content, Placement::Whole)?;
            return Ok(content.len() as u64);
        }
        let (mut source, stat) = self.open_to_read(&from)?;
        let mut target = self.open_to_write(&to, OFlags::empty())?;
        let other = fstat(&target).map_err(FsError::at("write", &to))?;
        if (stat.st_dev, stat.st_ino) == (other.st_dev, other.st_ino) {
            return Err(FsError::SameFile { path: shown(&to) });
        }
        ftruncate(&target, 0).map_err(FsError::at("write", &to))?;
        std::io::copy(&mut source, &mut target).map_err(|error| FsError::io("copy", &from, error))
    }
}
