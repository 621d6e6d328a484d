//! What a guest is told when a file operation does not succeed.

use ringfence::{FileKind, FsError};
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use crate::state::Refusals;

/// Returns the code of an error, and remembers it where it is a refusal. The interface has no room for a sentence.
pub(super) fn code(error: &FsError, refused: &Refusals) -> ErrorCode {
    match error {
        FsError::Io { source, .. } => ErrorCode::from(source),
        FsError::Links { .. } => ErrorCode::Loop,
        FsError::NotText { .. } => ErrorCode::IllegalByteSequence,
        FsError::Refused(refusal) => {
            refused.note(refusal);
            ErrorCode::NotPermitted
        }
        FsError::SameFile { .. } => ErrorCode::Invalid,
        FsError::TooLarge { .. } => ErrorCode::FileTooLarge,
        FsError::WrongKind { wanted: FileKind::Directory, .. } => ErrorCode::NotDirectory,
        FsError::WrongKind { found: FileKind::Directory, .. } => ErrorCode::IsDirectory,
        _ => ErrorCode::NotPermitted,
    }
}
