//! The network part of a personality, and the grant it yields with a declaration.
//!
//! INVARIANT: a [`NetworkGrant`] admits a target only if the declaration and the ceiling both do, and lets a
//! name go to a non-public address only if the ceiling says so.

mod private;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::address::{AddressClass, classify};
use crate::host::{Host, HostPattern, HostSet, HostShape, Target};
use crate::{Code, Refusal};

pub use private::Private;

/// What an operator lets a personality reach: nothing by default.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "Written", into = "Written")]
pub struct NetworkCeiling {
    allow: HostSet,
    private: Private,
    /// `allow`, and the entries of `private` where `allow` holds a `*`.
    effective: HostSet,
}

/// The ceiling as a policy file has it.
#[derive(Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Written {
    allow: HostSet,
    private: Private,
}

impl NetworkCeiling {
    /// Makes a ceiling; a `*` in `allow` means every public host, and every host listed in `private`.
    pub fn new(allow: HostSet, private: Private) -> Self {
        let allow = allow.into_ceiling();
        let mut effective = allow.clone();
        if !private.is_empty() {
            let stars = allow.iter().filter(|pattern| matches!(pattern.shape(), HostShape::Public));
            let lifted = stars.flat_map(|star| {
                private.iter().map(|entry| HostPattern::new(entry.shape().clone(), star.port()))
            });
            effective = allow.iter().cloned().chain(lifted).collect();
        }
        Self { allow, private, effective }
    }

    /// Returns the patterns of `allow`, with `*` read as every public host.
    pub const fn allow(&self) -> &HostSet {
        &self.allow
    }

    /// Returns the list of `private`.
    pub const fn private(&self) -> &Private {
        &self.private
    }

    /// Returns everything the ceiling admits.
    pub const fn hosts(&self) -> &HostSet {
        &self.effective
    }
}

impl From<Written> for NetworkCeiling {
    fn from(written: Written) -> Self {
        Self::new(written.allow, written.private)
    }
}

impl From<NetworkCeiling> for Written {
    fn from(ceiling: NetworkCeiling) -> Self {
        Self { allow: ceiling.allow, private: ceiling.private }
    }
}

/// The hosts that one call may reach: declared and permitted.
///
/// # Examples
///
/// ```
/// use ringfence_policy::{HostSet, NetworkCeiling, NetworkGrant, Private, Target};
///
/// let declared: HostSet = ["api.github.com".parse()?, "api.stripe.com".parse()?].into_iter().collect();
/// let ceiling = NetworkCeiling::new(["*.github.com".parse()?].into_iter().collect(), Private::default());
/// let grant = NetworkGrant::meet(&declared, &ceiling);
///
/// assert!(grant.judge(&Target::from_url("https://api.github.com/")?).is_ok());
/// let refusal = grant.judge(&Target::from_url("https://api.stripe.com/")?).unwrap_err();
/// assert_eq!(refusal.to_string(), "HOST_NOT_ALLOWED: api.stripe.com is not in the declared allowedHosts");
/// # Ok::<(), ringfence_policy::HostError>(())
/// ```
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq, Serialize)]
pub struct NetworkGrant {
    hosts: HostSet,
    private: Private,
}

impl NetworkGrant {
    /// Computes what is both declared and permitted.
    pub fn meet(declared: &HostSet, ceiling: &NetworkCeiling) -> Self {
        let hosts = declared.meet(&ceiling.effective);
        Self { hosts, private: ceiling.private.clone() }
    }

    /// Returns the granted hosts.
    pub const fn hosts(&self) -> &HostSet {
        &self.hosts
    }

    /// Returns what the ceiling lets through the address floor.
    pub const fn private(&self) -> &Private {
        &self.private
    }

    /// Judges the name or literal address of a target; nothing is resolved.
    pub fn judge(&self, target: &Target) -> Result<(), Refusal> {
        if self.hosts.admits(target) {
            return Ok(());
        }
        let asked =
            if self.hosts.admits_host(&target.host) { target.to_string() } else { target.host.to_string() };
        let refusal = refusal(format!("{asked} is not in the declared allowedHosts"));
        let list = "to the tool's `allowedHosts` and to the personality's `network.allow`";
        Err(match &target.host {
            Host::Address(address) if classify(*address) != AddressClass::Public => {
                let class = classify(*address);
                refusal.hint(format!("`{asked}` is {class}, which `*` leaves out; add it literally {list}"))
            }
            Host::Address(_) | Host::Name(_) => refusal.hint(format!("add `{asked}` {list}")),
        })
    }

    /// Judges an address that the name of a granted target resolved to.
    pub fn judge_address(&self, target: &Target, address: IpAddr) -> Result<(), Refusal> {
        let class = classify(address);
        let lifted = || match &target.host {
            Host::Name(name) => self.private.covers_name(name),
            Host::Address(_) => false,
        };
        if class == AddressClass::Public
            || lifted()
            || self.private.covers_address(address)
            || self.hosts.admits(&Target::new(Host::Address(address), target.port))
        {
            return Ok(());
        }
        let host = &target.host;
        Err(refusal(format!(
            "{host} resolves to {address}, {class}, and the personality's `private` does not list it"
        ))
        .hint(format!("add `{host}`, `{address}` or its range to the personality's `network.private`")))
    }
}

fn refusal(message: String) -> Refusal {
    Refusal::new(Code::HostNotAllowed, message)
}
