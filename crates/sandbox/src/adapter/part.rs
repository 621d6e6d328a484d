//! The parts of a plan, by name.

use std::collections::BTreeSet;
use std::fmt;

use crate::limit::LimitName;
use crate::plan::{Entry, Network, Plan};

/// A part of a plan that somebody has to enforce.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Part {
    /// Only the paths of the plan exist inside, and only those that may be written can be.
    Files,
    /// Granted hosts are reached through the egress gate, and nothing else is.
    Hosts,
    /// The programs are those of one image, known by its digest.
    Image,
    /// A limit.
    Limit(LimitName),
    /// There is no way out.
    Network,
    /// The report says which system calls were refused.
    Observing,
    /// It has no privileges and gains none.
    Privileges,
    /// Only the programs of the plan can be started, and they are this machine's.
    Programs,
    /// The report says which paths and addresses were named.
    Recording,
    /// System calls are held to the plan's profile.
    SystemCalls,
    /// It has a terminal of its own.
    Terminal,
    /// What it writes cannot be started.
    Written,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Files => "`files`: only granted paths exist inside",
            Self::Hosts => "`hosts`: granted hosts and no others",
            Self::Image => "`image`: the programs of an image",
            Self::Limit(limit) => return write!(f, "the limit `{limit}`"),
            Self::Network => "`network`: no way out",
            Self::Observing => "`observing`: which system calls were refused",
            Self::Privileges => "`privileges`: none, for good",
            Self::Programs => "`programs`: only the granted programs of this machine",
            Self::Recording => "`recording`: which paths and addresses were named",
            Self::SystemCalls => "`system calls`: only those of the plan",
            Self::Terminal => "`terminal`: one of its own",
            Self::Written => "`written`: what is written cannot be started",
        })
    }
}

impl Plan {
    /// Says whether a part is there because somebody asked for it, and not by default.
    pub(crate) const fn insists_on(&self, part: Part) -> bool {
        !matches!(part, Part::Limit(LimitName::Scratch)) || self.asked.scratch.is_some()
    }

    /// Returns every part that has to be enforced for this plan to hold.
    pub fn parts(&self) -> BTreeSet<Part> {
        let mut parts = BTreeSet::from([Part::Files, Part::Network, Part::Privileges, Part::SystemCalls]);
        parts.insert(if self.image.is_some() { Part::Image } else { Part::Programs });
        if let Network::Gated(_) = self.network {
            parts.insert(Part::Hosts);
        }
        let is_written =
            |entry: &Entry| matches!(entry, Entry::Bind { access, .. } if access.write && !access.execute);
        if self.root.iter().any(is_written) {
            parts.insert(Part::Written);
        }
        if self.seccomp.observe {
            parts.insert(Part::Observing);
        }
        if self.recorded {
            parts.insert(Part::Recording);
        }
        if self.terminal {
            parts.insert(Part::Terminal);
        }
        parts.extend(LimitName::ALL.into_iter().filter(|name| self.is_limited(*name)).map(Part::Limit));
        parts
    }
}
