//! Sets of host patterns: a declaration's `allowedHosts`, a personality's `allow`, a grant's hosts.
//!
//! INVARIANT: the result of [`HostSet::meet`] is sorted and no entry covers another, so that equal meets compare
//! equal. A set that was written down keeps the writer's entries and order.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Host, HostPattern, HostShape, Target};

/// A set of hosts, as the union of its patterns; empty by default, cheap to clone.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(transparent)]
pub struct HostSet(Arc<[HostPattern]>);

impl HostSet {
    /// Returns the patterns.
    pub fn iter(&self) -> std::slice::Iter<'_, HostPattern> {
        self.0.iter()
    }

    /// Tells whether no host is admitted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns how many patterns there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Tells whether some pattern admits the target.
    pub fn admits(&self, target: &Target) -> bool {
        self.iter().any(|pattern| pattern.matches(target))
    }

    /// Tells whether some pattern admits the host on some port: enough to answer for its name, not to dial it.
    pub fn admits_host(&self, host: &Host) -> bool {
        self.iter().any(|pattern| pattern.matches_host(host))
    }

    /// Tells whether some pattern admits everything that `pattern` admits.
    pub fn covers(&self, pattern: &HostPattern) -> bool {
        self.iter().any(|own| own.covers(pattern))
    }

    /// Reads the set as a personality means it: `*` is every public host.
    #[must_use]
    pub fn into_ceiling(self) -> Self {
        if self.iter().any(|pattern| matches!(pattern.shape(), HostShape::Everything)) {
            self.iter().cloned().map(HostPattern::into_ceiling).collect()
        } else {
            self
        }
    }

    /// Returns the set of exactly what both admit.
    #[must_use]
    pub fn meet(&self, other: &HostSet) -> HostSet {
        // A declaration mostly lies within its ceiling, and then it is the meet.
        if self.is_reduced() && self.iter().all(|pattern| other.covers(pattern)) {
            return self.clone();
        }
        let mut met: Vec<HostPattern> = Vec::with_capacity(self.len().max(other.len()));
        for own in self {
            for others in other {
                let Some(pattern) = own.meet(others) else { continue };
                if met.iter().any(|kept| kept.covers(&pattern)) {
                    continue;
                }
                met.retain(|kept| !pattern.covers(kept));
                met.push(pattern);
            }
        }
        if met.is_empty() {
            return Self::default();
        }
        met.sort_unstable();
        Self(met.into())
    }

    /// Tells whether the set is as a meet leaves it: sorted, and no pattern covers another.
    fn is_reduced(&self) -> bool {
        let mut rest = self.iter();
        while let Some(pattern) = rest.next() {
            if rest.clone().any(|later| later <= pattern || later.covers(pattern) || pattern.covers(later)) {
                return false;
            }
        }
        true
    }
}

impl FromIterator<HostPattern> for HostSet {
    fn from_iter<I: IntoIterator<Item = HostPattern>>(patterns: I) -> Self {
        Self(patterns.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a HostSet {
    type Item = &'a HostPattern;
    type IntoIter = std::slice::Iter<'a, HostPattern>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
