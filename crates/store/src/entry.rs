//! Entries of the audit log as a database hands them out, how they are asked for, and how long their outputs stay.

use std::time::Duration;

/// How long the raw outputs of tools are kept, which may hold credentials. The records of them always stay.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum KeepRaw {
    /// Until they are forgotten by hand.
    #[default]
    Always,
    /// For this long after their call. Somebody must have the database open for them to go.
    For(Duration),
    /// They are not even written.
    Never,
}

/// Which entries to return: those that fit everything that is given.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Filter {
    /// `approval`, `approver`, `call`, `connection`, `policy` or `settlement`.
    pub kind: Option<String>,
    /// The run.
    pub run: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// The code of what was not done.
    pub code: Option<String>,
    /// From when on, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// Until before when, in milliseconds since 1970.
    pub until_ms: Option<u64>,
}

/// One entry as it is stored.
///
/// The tree is over `record` alone. The fields beside it are for finding it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Stored {
    /// Its place in the log.
    pub index: u64,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// `approval`, `approver`, `call`, `connection`, `policy` or `settlement`.
    pub kind: String,
    /// The run it belongs to.
    pub run: Option<String>,
    /// The tool it is about.
    pub tool: Option<String>,
    /// The code of what was not done.
    pub code: Option<String>,
    /// The record, as one line of JSON.
    pub record: String,
    /// What the tool returned, if cleaning changed it and it is still kept. It may hold credentials.
    pub raw: Option<String>,
    /// What the caller saw.
    pub clean: Option<String>,
}
