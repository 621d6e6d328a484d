//! Why a script could not be looked at.

use std::path::PathBuf;

/// What stopped the analysis of a script.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// There is nothing to look at.
    #[error("no {what} was found in `{}`", path.display())]
    Absent {
        /// What was looked for.
        what: &'static str,
        /// Where.
        path: PathBuf,
    },
    /// A file that the analysis rests on cannot be understood.
    #[error("`{}` cannot be understood: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file or a folder cannot be read.
    #[error("`{}` cannot be read: {source}", path.display())]
    Read {
        /// What cannot be read.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The thread that reads the files ended early or could not start.
    #[error("the thread that reads the scripts failed: {0}")]
    Thread(String),
    /// There is more than the analysis is made for.
    #[error("{what} in `{}` are more than {limit}", path.display())]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// How much is looked at.
        limit: usize,
    },
    /// The flow of values did not settle in the steps that it may take.
    #[error("the flow of values did not settle within {0} steps")]
    Unsettled(usize),
}
