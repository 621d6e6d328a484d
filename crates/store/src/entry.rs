//! How long the outputs of entries stay.

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
