//! The people: what each may do, and how they are told apart.
//!
//! INVARIANT: a role is ordered by what it may do: whoever may do more may do everything that is less.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ApprovalError;
use super::token::{ApproverName, TokenHash};

/// What a person may do. Ordered: later may do more.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Looks at everything and decides nothing.
    Viewer,
    /// Decides about calls.
    Approver,
    /// Also changes what is accepted and who may decide.
    Admin,
}

/// A word that is no role.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a role is `viewer`, `approver` or `admin`")]
pub struct RoleError;

impl Role {
    /// Every role, the one that may do least first.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Approver, Self::Admin];

    /// Returns the role as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Approver => "approver",
            Self::Admin => "admin",
        }
    }
}

impl FromStr for Role {
    type Err = RoleError;

    fn from_str(text: &str) -> Result<Self, RoleError> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or(RoleError)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How it is known who somebody is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Proof {
    /// By a name. It is for a console that has let the person in: whoever passes it vouches for it.
    Named(ApproverName),
    /// By the hash of the person's token.
    Token(TokenHash),
}

impl Proof {
    /// Returns why it proves nothing, where nobody is found by it.
    pub fn refused(&self) -> ApprovalError {
        match self {
            Self::Named(name) => ApprovalError::Nobody { name: name.clone() },
            Self::Token(_) => ApprovalError::Token,
        }
    }
}

/// Somebody who is known, and not revoked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Principal {
    /// The name.
    pub name: ApproverName,
    /// What they may do.
    pub role: Role,
    /// Since when they are known, since 1970. Somebody who was revoked and added again is somebody else.
    pub since: Duration,
}

impl Principal {
    /// Refuses somebody who may only look.
    ///
    /// # Errors
    ///
    /// [`ApprovalError::Role`].
    pub fn deciding(self) -> Result<ApproverName, ApprovalError> {
        match self.role {
            Role::Viewer => Err(ApprovalError::Role { by: self.name }),
            Role::Approver | Role::Admin => Ok(self.name),
        }
    }
}

/// Somebody who is or was known.
#[derive(Clone, Debug)]
pub struct ApproverEntry {
    /// The name.
    pub name: ApproverName,
    /// What they may do.
    pub role: Role,
    /// When they were added, since 1970.
    pub added: Duration,
    /// When they were revoked, since 1970.
    pub revoked: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_read_as_they_are_written() {
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
            assert_eq!(serde_json::to_value(role).unwrap(), role.as_str());
        }
        for text in ["", "Admin", "owner", "viewer "] {
            assert_eq!(text.parse::<Role>(), Err(RoleError), "{text:?}");
        }
        assert!(Role::Viewer < Role::Approver && Role::Approver < Role::Admin);
    }
}
