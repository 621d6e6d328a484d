//! Reading files that somebody else wrote: regular ones, of a bounded size, and never waiting.

use std::fs::{File, OpenOptions};
use std::io::{Error, Read as _, Result};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Opens a file for reading. A pipe is not waited for, and a device is not read.
///
/// # Errors
///
/// It cannot be opened, or is not a regular file.
pub fn open_regular(path: &Path) -> Result<File> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(Error::other("it is not a regular file"));
    }
    Ok(file)
}

/// Reads a file that is at most so many bytes long.
///
/// # Errors
///
/// It cannot be read, is not a regular file, or is larger.
pub fn read_small(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Error::other(format!("it is larger than {most} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_and_devices_are_neither_waited_for_nor_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("plain"), "text").unwrap();
        std::os::unix::fs::symlink("plain", at("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o700.into(), 0)
            .unwrap();
        assert_eq!(read_small(&at("plain"), 4).unwrap(), b"text");
        assert_eq!(read_small(&at("link"), 4).unwrap(), b"text");
        read_small(&at("plain"), 3).unwrap_err();
        for odd in ["zero", "pipe", "missing"] {
            read_small(&at(odd), 4).unwrap_err();
            open_regular(&at(odd)).unwrap_err();
        }
    }
}
