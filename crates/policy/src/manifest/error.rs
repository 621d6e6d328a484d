//! Why there is no manifest.

use super::diff::ChangeCode;

/// Why a manifest was not made or not read.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ManifestError {
    /// Somebody edited it, or it was cut off and repaired.
    #[error("the stored hash of {place} is not that of its content")]
    Hash {
        /// Whose hash it is: `the manifest` or `tool `x``.
        place: String,
    },
    /// Two integers would share a digest.
    #[error("integer {number} is beyond ±(2^53−1) and has no canonical form")]
    Integer {
        /// The integer.
        number: String,
    },
    /// It is not JSON, or it is too large.
    #[error("not a manifest: {message}")]
    Json {
        /// What is wrong, and where.
        message: String,
    },
    /// A schema, a command or a name of the toolbox cannot be recorded.
    #[error("{place}: {message}")]
    Source {
        /// What it is about.
        place: String,
        /// What is wrong.
        message: String,
    },
    /// It is JSON and has fields that a manifest has not, or lacks some.
    #[error("not a manifest: {message}")]
    Shape {
        /// What is wrong.
        message: String,
    },
    /// Another program wrote it.
    #[error("the manifest is of version `{found}`, and this program knows version 1")]
    Version {
        /// The version that it has.
        found: String,
    },
}

impl ManifestError {
    /// Returns the code under which a comparison tells it, where it is one.
    pub const fn code(&self) -> Option<ChangeCode> {
        match self {
            Self::Hash { .. } => Some(ChangeCode::ManifestHashMismatch),
            Self::Version { .. } => Some(ChangeCode::ManifestVersionChanged),
            Self::Integer { .. } | Self::Json { .. } | Self::Shape { .. } | Self::Source { .. } => None,
        }
    }

    pub(super) fn unwritable(error: &impl ToString) -> Self {
        Self::Shape { message: error.to_string() }
    }
}
