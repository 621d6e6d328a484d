//! To be filled.

mod fs;

pub use fs::{Access, DirEntry, Existing, FileKind, FsError, HostFiles, Metadata, ScopedFs};
