//! The network part of a personality, and the grant it yields with a declaration.
//!
//! INVARIANT: a [`NetworkGrant`] admits a target only if the declaration and the ceiling both do, and lets a
//! name go to a non-public address only if the ceiling says so; and to where clouds hand out credentials only if that very
//! address is granted.

mod private;

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::address::{AddressClass, classify};
use crate::host::{Host, HostPattern, HostSet, HostShape, Target};
use crate::metadata::{is_metadata, is_metadata_address};
use crate::{Code, Refusal};

pub use private::Private;

/// What becomes of a host that nothing names.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnUnknown {
    /// A person is asked, and the connection waits for the answer.
    Ask,
    /// It is refused.
    #[default]
    Refuse,
}

impl OnUnknown {
    fn is_refuse(&self) -> bool {
        *self == Self::Refuse
    }
}

/// What an operator lets a personality reach: nothing by default.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "Written", into = "Written")]
pub struct NetworkCeiling {
    allow: HostSet,
    private: Private,
    on_unknown: OnUnknown,
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
    #[serde(alias = "onUnknown", alias = "on-unknown", skip_serializing_if = "OnUnknown::is_refuse")]
    on_unknown: OnUnknown,
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
        Self { allow, private, on_unknown: OnUnknown::Refuse, effective }
    }

    /// Sets what becomes of a host that nothing names.
    #[must_use]
    pub const fn with_on_unknown(mut self, on_unknown: OnUnknown) -> Self {
        self.on_unknown = on_unknown;
        self
    }

    /// Returns the patterns of `allow`, with `*` read as every public host.
    pub const fn allow(&self) -> &HostSet {
        &self.allow
    }

    /// Returns the list of `private`.
    pub const fn private(&self) -> &Private {
        &self.private
    }

    /// Returns what becomes of a host that nothing names.
    pub const fn on_unknown(&self) -> OnUnknown {
        self.on_unknown
    }

    /// Returns everything the ceiling admits.
    pub const fn hosts(&self) -> &HostSet {
        &self.effective
    }
}

impl From<Written> for NetworkCeiling {
    fn from(written: Written) -> Self {
        Self::new(written.allow, written.private).with_on_unknown(written.on_unknown)
    }
}

impl From<NetworkCeiling> for Written {
    fn from(ceiling: NetworkCeiling) -> Self {
        Self { allow: ceiling.allow, private: ceiling.private, on_unknown: ceiling.on_unknown }
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
    #[serde(skip_serializing_if = "OnUnknown::is_refuse")]
    on_unknown: OnUnknown,
    /// What was declared and what the ceiling admits: a pattern with a port may be lost in one that needs none.
    #[serde(skip)]
    named: [HostSet; 2],
}

/// The ports of http and https, on which a gate looks at what is said.
pub(crate) const WEB_PORTS: [u16; 2] = [80, 443];

impl NetworkGrant {
    /// Computes what is both declared and permitted.
    pub fn meet(declared: &HostSet, ceiling: &NetworkCeiling) -> Self {
        let hosts = declared.meet(&ceiling.effective);
        Self {
            hosts,
            private: ceiling.private.clone(),
            on_unknown: ceiling.on_unknown,
            named: [declared.clone(), ceiling.effective.clone()],
        }
    }

    /// Returns what is left when only what `other` admits too may be reached. Nothing is ever added.
    #[must_use]
    pub fn narrowed(&self, other: &Self) -> Self {
        let on_unknown = match (self.on_unknown, other.on_unknown) {
            (OnUnknown::Ask, OnUnknown::Ask) => OnUnknown::Ask,
            (OnUnknown::Refuse, _) | (_, OnUnknown::Refuse) => OnUnknown::Refuse,
        };
        Self {
            hosts: self.hosts.meet(&other.hosts),
            private: self.private.meet(&other.private),
            on_unknown,
            named: self.named.clone(),
        }
    }

    /// Returns the grant with one more target, which a person agreed to. The address floor holds for it as before.
    #[must_use]
    pub fn with_target(&self, target: &Target) -> Self {
        let shape = match &target.host {
            Host::Address(address) => HostShape::Address(*address),
            Host::Name(name) => HostShape::Name(name.clone()),
        };
        let added = HostPattern::new(shape, Some(target.port));
        Self { hosts: self.hosts.iter().cloned().chain([added]).collect(), ..self.clone() }
    }

    /// Returns what becomes of a host that nothing names.
    pub const fn on_unknown(&self) -> OnUnknown {
        self.on_unknown
    }

    /// Returns the ports a gate has to listen on: those of the web, and those that patterns name.
    pub fn ports(&self) -> BTreeSet<u16> {
        let named = self.named.iter().flat_map(|set| set.iter()).filter_map(HostPattern::port);
        let admits = |port: &u16| self.hosts.iter().any(|own| own.port().is_none_or(|only| only == *port));
        named.filter(admits).chain(WEB_PORTS).collect()
    }

    /// Returns what is reached on other ports than those of the web although its pattern names none: a port that any pattern names
    /// is opened, without a look at what is said there, for every host that is granted on all ports.
    pub fn opened(&self) -> Vec<HostPattern> {
        let everywhere: Vec<_> = self.hosts.iter().filter(|own| own.port().is_none()).collect();
        let mut opened = Vec::new();
        for port in self.ports().into_iter().filter(|port| !WEB_PORTS.contains(port)) {
            let on_port = everywhere.iter().map(|own| HostPattern::new(own.shape().clone(), Some(port)));
            let is_named = |pattern: &HostPattern| {
                self.hosts.iter().any(|own| own.port() == Some(port) && own.covers(pattern))
            };
            opened.extend(on_port.filter(|pattern| !is_named(pattern)));
        }
        opened
    }

    /// Says whether nothing can be reached, whoever is asked.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.on_unknown == OnUnknown::Refuse
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
            host if is_metadata(host) => refusal.hint(unadvised(host)),
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
        // A name lifts the floor for what it resolves to, except for where clouds hand out credentials.
        let lifted = || match &target.host {
            Host::Name(name) => self.private.covers_name(name) && !is_metadata_address(address),
            Host::Address(_) => false,
        };
        if (class == AddressClass::Public && !is_metadata_address(address))
            || lifted()
            || self.private.covers_address(address)
            || self.hosts.admits(&Target::new(Host::Address(address), target.port))
        {
            return Ok(());
        }
        Err(below_the_floor(&target.host, address, &class.to_string()))
    }

    /// Judges an address of this machine itself, to be asked about every public one: what listens here may be guarded from
    /// outside only. It is reached as a private one is: when it, its name or its range is named.
    pub fn judge_own_address(&self, target: &Target, address: IpAddr) -> Result<(), Refusal> {
        let is_named = self.private.covers_address(address)
            || self.hosts.iter().any(|own| {
                *own.shape() == HostShape::Address(address)
                    && own.port().is_none_or(|port| port == target.port)
            })
            || matches!(&target.host, Host::Name(name) if self.private.covers_name(name));
        if is_named {
            Ok(())
        } else {
            Err(below_the_floor(&target.host, address, "an address of this machine"))
        }
    }
}

fn below_the_floor(host: &Host, address: IpAddr, class: &str) -> Refusal {
    let what = match host {
        Host::Address(_) => format!("{address} is {class}"),
        Host::Name(name) => format!("{name} resolves to {address}, {class}"),
    };
    let refusal = refusal(format!("{what}, and the personality's `private` does not list it"));
    if is_metadata(host) || is_metadata(&Host::Address(address)) {
        return refusal.hint(unadvised(&address));
    }
    refusal.hint(format!("add `{host}`, `{address}` or its range to the personality's `network.private`"))
}

fn unadvised(what: &dyn fmt::Display) -> String {
    format!("no change is advised: at `{what}` clouds hand out the credentials of this machine")
}

fn refusal(message: String) -> Refusal {
    Refusal::new(Code::HostNotAllowed, message)
}

#[cfg(test)]
mod tests;
