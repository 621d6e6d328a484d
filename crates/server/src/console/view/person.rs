//! People who may look or decide.

use ringfence::ApproverEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::fault::Fault;
use super::super::front::Front;
use super::time::Moment;

/// Which people are wanted.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct PersonQuery {
    /// A part of the name.
    pub(crate) text: Option<String>,
}

/// Somebody who may look or decide.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Person {
    /// The name.
    pub(crate) name: String,
    /// `viewer`, `approver` or `admin`.
    pub(crate) role: String,
    /// When they were added, in milliseconds since 1970.
    pub(crate) added_ms: u64,
    /// When they were revoked, in milliseconds since 1970; absent where they are not.
    pub(crate) revoked_ms: Option<u64>,
    /// How many sessions of this console they have now.
    pub(crate) sessions: u64,
}

/// What revokes somebody.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct RevocationSent {
    /// The name.
    pub(crate) name: String,
    /// When they were added, as it was shown: somebody who was added again since is somebody else.
    pub(crate) added_ms: u64,
}

impl Person {
    fn of(entry: &ApproverEntry, sessions: u64) -> Self {
        let millis = |at: std::time::Duration| u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
        Self {
            name: entry.name.to_string(),
            role: entry.role.as_str().to_owned(),
            added_ms: millis(entry.added),
            revoked_ms: entry.revoked.map(millis),
            sessions,
        }
    }

    /// Says whether they may still come in.
    pub(crate) const fn is_known(&self) -> bool {
        self.revoked_ms.is_none()
    }

    /// Returns when they were added.
    pub(crate) const fn added(&self) -> Moment {
        Moment(self.added_ms)
    }

    /// Returns when they were revoked.
    pub(crate) const fn revoked(&self) -> Option<Moment> {
        match self.revoked_ms {
            Some(at) => Some(Moment(at)),
            None => None,
        }
    }
}

/// Lists people: those who may come in first, then by name.
pub(crate) async fn people(front: &Front, query: &PersonQuery) -> Result<Vec<Person>, Fault> {
    let wanted = query.text.as_deref().unwrap_or_default().to_lowercase();
    let all = front.store.approvals.approvers().await?;
    let mut people: Vec<Person> = all
        .iter()
        .filter(|entry| entry.name.as_str().to_lowercase().contains(&wanted))
        .map(|entry| Person::of(entry, front.access.sessions.count_of(&entry.name)))
        .collect();
    people.sort_by(|one, other| {
        (one.revoked_ms.is_some(), &one.name).cmp(&(other.revoked_ms.is_some(), &other.name))
    });
    Ok(people)
}
