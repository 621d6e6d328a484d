//! How it is known that a grant is enforced.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How it is known that what runs a tool enforces its grant. Ordered: more is better known.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Assurance {
    /// Somebody says so.
    #[default]
    Claimed,
    /// Forbidden acts were tried through it on this machine, and failed.
    Probed,
}

impl fmt::Display for Assurance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Claimed => "claimed",
            Self::Probed => "probed",
        })
    }
}
