//! Files below granted roots.
//!
//! [`ScopedFs`] is the handle a tool gets. Every operation goes the same way: the asked path is made absolute and
//! normalised by its text, judged by the grant, and opened without following any symbolic link (`openat2`, or a walk
//! by component with the same promise). So what is opened is exactly the path that was judged. Where a link is in the
//! way it is read through its handle, its target takes its place in the path, and the new path is judged again.
//!
//! Files may be kept elsewhere ([`FileStorage`]); the same paths are judged, and no system call is made.
//!
//! INVARIANT: no system call follows a symbolic link on behalf of a tool, and none is made for a path that the grant
//! does not admit; a refusal therefore tells nothing of what is outside.

mod check;
mod copy;
mod create;
mod error;
mod file;
mod host;
mod list;
mod memory;
mod metadata;
mod open;
mod read;
mod remove;
mod rename;
mod resolve;
mod scoped;
mod storage;
mod write;

pub use check::Access;
pub use error::FsError;
pub use file::{Create, LastLink, OpenMode, Opening};
pub use host::HostFiles;
pub use list::DirEntry;
pub use memory::MemoryFiles;
pub use metadata::{FileKind, Metadata};
pub use rename::Existing;
pub use scoped::ScopedFs;
pub use storage::FileStorage;
