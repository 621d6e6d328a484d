//! How a command ends: exit codes by meaning, and errors with a place and a hint.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;

use ringfence::{ApprovalError, Code, StoreError};
use ringfence_store::{DatabaseError, SqliteError};

use crate::shown::one_line;

/// The exit codes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Exit {
    /// 0: done.
    Done,
    /// 1: it ran and failed.
    Failed,
    /// 2: the command line or its input is wrong.
    Usage,
    /// 3: refused by policy.
    Refused,
    /// 4: findings.
    Findings,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Refused => 3,
            Exit::Findings => 4,
        })
    }
}

/// Why a command did nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// A request for approval or an approver was left as it was.
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    /// It was tried and did not come out.
    #[error("{message}")]
    Failed { message: String, hint: Option<&'static str> },
    /// A file of ours cannot be read or written.
    #[error("cannot {verb} `{}`: {error}", path.display())]
    File { verb: &'static str, path: PathBuf, error: std::io::Error, hint: Option<&'static str> },
    /// An argument or what came through standard input is wrong.
    #[error("{message}")]
    Input { message: String, hint: Option<&'static str> },
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] std::io::Error),
    /// The store did not do what was asked.
    #[error(transparent)]
    Port(#[from] StoreError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] DatabaseError),
    /// The toolbox has problems, already told.
    #[error("`{}` has {count} problem{}", path.display(), if *count == 1 { "" } else { "s" })]
    Toolbox { path: PathBuf, count: usize, details: String },
    /// The machine does not give us what we need.
    #[error("cannot start: {0}")]
    Start(std::io::Error),
}

impl CommandError {
    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::Approval(error) => match error.code() {
                Code::InputInvalid => Exit::Usage,
                Code::Forbidden => Exit::Refused,
                _ => Exit::Failed,
            },
            Self::Failed { .. }
            | Self::File { .. }
            | Self::Output(_)
            | Self::Port(_)
            | Self::Start(_)
            | Self::Store(_) => Exit::Failed,
            Self::Input { .. } => Exit::Usage,
            Self::Toolbox { .. } => Exit::Findings,
        }
    }

    /// Returns what to do about it.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Failed { hint, .. } | Self::Input { hint, .. } => *hint,
            Self::File { hint, verb, error, .. } => hint.or_else(|| file_hint(verb, error.kind())),
            Self::Approval(ApprovalError::Token) => {
                Some("the token is what `ringfence approver add` printed, unless it was revoked since")
            }
            Self::Store(DatabaseError::Sqlite(SqliteError::File { why: ErrorKind::NotFound, .. })) => Some(
                "nothing has made this store yet: `ringfence approver add`, `ringfence call --store` or `ringfence store migrate` makes one; another is named with --store STORE or in the variable RINGFENCE_STORE",
            ),
            Self::Store(DatabaseError::Sqlite(SqliteError::Older { .. })) => {
                Some("bring it up to date with `ringfence store migrate`")
            }
            Self::Store(DatabaseError::Sqlite(error)) => sqlite_hint(error),
            Self::Store(error) => crate::postgres::hint(error),
            Self::Output(error) => match error.kind() {
                ErrorKind::StorageFull => Some("make room where the output goes"),
                _ => Some("look where standard output leads"),
            },
            Self::Start(error) => match error.kind() {
                ErrorKind::PermissionDenied => Some("look who may start or write it"),
                _ => Some("`ringfence doctor` tries what this machine can do"),
            },
            Self::Approval(_) | Self::Port(_) => None,
            Self::Toolbox { .. } => Some("`ringfence check` shows the same list"),
        }
    }

    /// Returns the lines for standard error.
    pub(crate) fn report(&self) -> String {
        let mut report = match self {
            Self::Toolbox { details, .. } => details.clone(),
            _ => String::new(),
        };
        // Writing to a string cannot fail.
        // What a server or a file says is not to drive the terminal.
        let _written = writeln!(report, "error: {}", one_line(&self.to_string()));
        match (self, self.hint()) {
            // Without a name the command would look at another file.
            (Self::Toolbox { path, .. }, _) => {
                let path = one_line(&path.display().to_string());
                let _written =
                    writeln!(report, "  hint: `ringfence check --policy {path}` shows the same list");
            }
            (_, Some(hint)) => {
                let _written = writeln!(report, "  hint: {hint}");
            }
            (_, None) => {}
        }
        report
    }
}

/// What to do about a file, where nobody who asked for it knows better.
fn file_hint(verb: &str, kind: ErrorKind) -> Option<&'static str> {
    match kind {
        // What is only looked at needs no folder to be made.
        ErrorKind::NotFound if verb == "use" || verb.starts_with("read") => {
            Some("look whether its name and its folder are right")
        }
        ErrorKind::NotFound => Some("make its folder first"),
        ErrorKind::PermissionDenied => Some("you may not: change who may, or name a place of your own"),
        ErrorKind::AlreadyExists => Some("name another file, or move this one away"),
        ErrorKind::StorageFull => Some("make room on the disk"),
        ErrorKind::ReadOnlyFilesystem => Some("name a place that can be written to"),
        ErrorKind::IsADirectory => Some("name a file in it"),
        _ => None,
    }
}

fn sqlite_hint(error: &SqliteError) -> Option<&'static str> {
    match error {
        SqliteError::Busy { .. } | SqliteError::Locked { .. } => {
            Some("another ringfence uses it: wait for it to end, or name another store")
        }
        SqliteError::Exists { .. } => Some("name a file that is not there yet"),
        SqliteError::File { why: ErrorKind::PermissionDenied, .. } => {
            Some("you may not use it: change who may, or name a store of your own with --store STORE")
        }
        SqliteError::Folder { .. } => {
            Some("take that right away from others (`chmod go-w`), or keep the store in a folder of your own")
        }
        SqliteError::Foreign { .. } => Some("name the store with --store STORE; this file is something else"),
        SqliteError::Permissions { .. } => Some(
            "let nobody else read or write it (`chmod 600`), if it is a store; name another with --store STORE",
        ),
        SqliteError::Full { .. } => Some("make room on the disk"),
        SqliteError::Newer { .. } => Some("a newer ringfence made it: use that one"),
        // What SQLite says of a file that belongs to somebody else.
        SqliteError::Database { why, .. } if why.contains("unable to open") => {
            Some("look who may read it and its folder, or name a store of your own with --store STORE")
        }
        SqliteError::MarkDamaged { .. }
        | SqliteError::MarkMissing { .. }
        | SqliteError::Replaced { .. }
        | SqliteError::WentBack { .. } => Some(
            "see what is missing with `ringfence store accept`, which changes nothing without --by and --reason",
        ),
        SqliteError::Corrupt { .. } => Some("look with `ringfence store check`, and go back to a backup"),
        SqliteError::Diverged { .. } => {
            Some("see what differs with `ringfence audit verify --trust KEY`, and go back to a backup")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_read_needs_no_folder() {
        for verb in ["read", "read the audit file", "use"] {
            let hint = file_hint(verb, ErrorKind::NotFound);
            assert_eq!(hint, Some("look whether its name and its folder are right"), "{verb}");
        }
        assert_eq!(file_hint("write", ErrorKind::NotFound), Some("make its folder first"));
    }

    #[test]
    fn a_store_of_somebody_else_has_a_hint() {
        let error = |why: &str| SqliteError::Database { path: "/x.db".into(), why: why.to_owned() };
        let hint = sqlite_hint(&error("Error code 14: unable to open database file"));
        assert!(hint.is_some_and(|hint| hint.contains("who may read it")));
        assert_eq!(sqlite_hint(&error("Error code 10: disk I/O error")), None);
    }
}
