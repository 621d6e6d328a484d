//! Reading files that somebody else wrote: regular ones, of bounded size, and never waiting.

use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Whether the last part of a path may be a link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Links {
    /// It may.
    Followed,
    /// It may not: whoever may write there could point it anywhere.
    Refused,
}

/// Reads a text file. A pipe, a device or a file that is longer than `limit` is an error.
pub(crate) fn read_text(path: &Path, limit: u64, links: Links) -> io::Result<String> {
    let mut flags = rustix::fs::OFlags::NONBLOCK;
    if links == Links::Refused {
        flags |= rustix::fs::OFlags::NOFOLLOW;
    }
    // The numbers are those of the system, which are small.
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let known = file.metadata()?;
    if !known.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    file.take(limit + 1).read_to_string(&mut text)?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > limit {
        return Err(io::Error::other(format!("it is longer than {} MiB", limit >> 20)));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_a_bounded_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("plain"), "text").unwrap();
        std::os::unix::fs::symlink("plain", at("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        assert_eq!(read_text(&at("plain"), 4, Links::Refused).unwrap(), "text");
        assert_eq!(read_text(&at("link"), 4, Links::Followed).unwrap(), "text");
        read_text(&at("plain"), 3, Links::Followed).unwrap_err();
        read_text(&at("link"), 4, Links::Refused).unwrap_err();
        for odd in ["zero", "pipe"] {
            read_text(&at(odd), 1 << 20, Links::Followed).unwrap_err();
        }
    }
}
