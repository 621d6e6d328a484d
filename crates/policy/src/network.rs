//! The network part of a personality, and the grant it yields with a declaration.
//!
//! INVARIANT: a [`NetworkGrant`] admits a target only if the declaration and the ceiling both do, and lets a
//! name go to a non-public address only if the ceiling says so.

mod private;

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::address::{AddressClass, classify};
use crate::host::{Host, HostPattern, HostSet, HostShape, Target};
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
const WEB_PORTS: [u16; 2] = [80, 443];

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
    refusal(format!("{what}, and the personality's `private` does not list it"))
        .hint(format!("add `{host}`, `{address}` or its range to the personality's `network.private`"))
}

fn refusal(message: String) -> Refusal {
    Refusal::new(Code::HostNotAllowed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Declared, allowed, private, asked for, admitted.
    type Case =
        (&'static [&'static str], &'static [&'static str], &'static [&'static str], &'static str, bool);

    fn grant(declared: &[&str], allow: &[&str], private: &[&str]) -> NetworkGrant {
        let set = |patterns: &[&str]| patterns.iter().map(|text| text.parse().unwrap()).collect::<HostSet>();
        let private = Private::parse(private.iter().copied()).unwrap();
        NetworkGrant::meet(&set(declared), &NetworkCeiling::new(set(allow), private))
    }

    #[test]
    fn private_space_is_reached_only_when_named() {
        #[rustfmt::skip]
        let cases: &[Case] = &[
            // declared       allow             private            target             admitted
            (&["*"],          &["*"],           &[],               "10.0.0.5:80",     false),
            (&["10.0.0.5"],   &["*"],           &[],               "10.0.0.5:80",     false),
            (&["10.0.0.5"],   &["10.0.0.5"],    &[],               "10.0.0.5:80",     true),
            (&["*"],          &["10.0.0.5"],    &[],               "10.0.0.5:80",     true),
            (&["*"],          &["*"],           &["10.0.0.0/8"],   "10.0.0.5:80",     true),
            (&["10.0.0.5"],   &["*"],           &["10.0.0.0/8"],   "10.0.0.5:80",     true),
            (&["10.0.0.6"],   &["*"],           &["10.0.0.0/8"],   "10.0.0.5:80",     false),
            (&["*"],          &["*:443"],       &["10.0.0.0/8"],   "10.0.0.5:80",     false),
            (&["*"],          &["*:443"],       &["10.0.0.0/8"],   "10.0.0.5:443",    true),
            (&["*"],          &["*.acme.io"],   &["10.0.0.0/8"],   "10.0.0.5:80",     false),
            (&["*"],          &["*"],           &["10.0.0.0/8"],   "192.168.0.1:80",  false),
            (&["*"],          &["*"],           &["*.lan"],        "nas.lan:80",      true),
            (&["*"],          &["*"],           &["nas.lan"],      "tv.lan:80",       false),
            (&["*"],          &["*", "nas.lan"], &[],              "nas.lan:80",      true),
            (&["*"],          &[],              &["nas.lan"],      "nas.lan:80",      false),
            (&[],             &["*"],           &["nas.lan"],      "nas.lan:80",      false),
            (&["*"],          &["*"],           &["fd00::/8"],     "[fd12::1]:80",    true),
            (&["*"],          &["*"],           &["fd00::/8"],     "[fe80::1]:80",    false),
        ];
        for (declared, allow, private, target, admitted) in cases {
            let judged = grant(declared, allow, private).judge(&Target::from_authority(target).unwrap());
            assert_eq!(judged.is_ok(), *admitted, "{declared:?} {allow:?} {private:?} ~ {target}");
        }
    }

    #[test]
    fn narrowing_only_takes_away() {
        let wide = grant(&["*"], &["*.acme.io", "10.0.0.5"], &["10.0.0.0/8"]);
        let narrow = grant(&["*"], &["one.acme.io", "evil.net"], &["10.0.0.0/16", "192.168.0.0/16"]);
        let left = wide.narrowed(&narrow);
        let admits = |target| left.judge(&Target::from_authority(target).unwrap()).is_ok();
        assert!(admits("one.acme.io:443"));
        assert!(!admits("two.acme.io:443") && !admits("evil.net:443") && !admits("10.0.0.5:80"));
        let target = Target::from_authority("one.acme.io:443").unwrap();
        for (answer, admitted) in [("10.0.1.1", true), ("10.9.1.1", false), ("192.168.1.1", false)] {
            let judged = left.judge_address(&target, answer.parse().unwrap());
            assert_eq!(judged.is_ok(), admitted, "{answer}");
        }
    }

    #[test]
    fn what_a_person_adds_is_one_target_above_the_floor() {
        let target = Target::from_authority("new.acme.io:443").unwrap();
        let grant = grant(&["one.acme.io"], &["one.acme.io"], &[]).with_target(&target);
        assert!(grant.judge(&target).is_ok());
        assert!(grant.judge(&Target::from_authority("new.acme.io:80").unwrap()).is_err());
        assert!(grant.judge_address(&target, [10, 0, 0, 5].into()).is_err());
    }

    #[test]
    fn this_machine_is_reached_only_when_named() {
        let own: IpAddr = [93, 184, 216, 34].into();
        #[rustfmt::skip]
        let cases: &[(&[&str], &[&str], &str, bool)] = &[
            // allow                       private              asked for                admitted
            (&["one.acme.io"],             &[],                 "one.acme.io:80",        false),
            (&["one.acme.io"],             &["one.acme.io"],    "one.acme.io:80",        true),
            (&["one.acme.io"],             &["93.184.216.34"],  "one.acme.io:80",        true),
            (&["*"],                       &[],                 "93.184.216.34:80",      false),
            (&["93.184.216.34"],           &[],                 "93.184.216.34:80",      true),
            (&["93.184.216.34:443"],       &[],                 "93.184.216.34:80",      false),
        ];
        for (allow, private, asked, admitted) in cases {
            let grant = grant(allow, allow, private);
            let judged = grant.judge_own_address(&Target::from_authority(asked).unwrap(), own);
            assert_eq!(judged.is_ok(), *admitted, "{allow:?} {private:?} {asked}");
        }
        let star = grant(&["*"], &["*"], &[]);
        let literal = Target::from_authority("93.184.216.34:80").unwrap();
        assert_eq!(
            star.judge_own_address(&literal, own).unwrap_err().message,
            "93.184.216.34 is an address of this machine, and the personality's `private` does not list it"
        );
    }

    #[test]
    fn a_gate_listens_where_a_pattern_may_be_reached() {
        let ports = |hosts: &[&str]| grant(hosts, hosts, &[]).ports().into_iter().collect::<Vec<_>>();
        assert_eq!(ports(&["acme.io"]), [80, 443]);
        assert_eq!(ports(&["acme.io:22", "db.acme.io:5432"]), [22, 80, 443, 5432]);
        assert_eq!(ports(&["*.acme.io", "db.acme.io:5432"]), [80, 443, 5432]); // admitted by both
        let declared = |hosts: &[&str], allow: &[&str]| grant(hosts, allow, &[]).ports();
        assert!(declared(&["db.acme.io:5432"], &["*"]).contains(&5432));
        assert!(declared(&["*"], &["db.acme.io:5432"]).contains(&5432));
        assert!(!declared(&["db.acme.io:22"], &["db.acme.io:5432"]).contains(&5432));
    }

    #[test]
    fn asking_is_off_until_the_operator_says_so() {
        let read = |text: &str| serde_json::from_str::<NetworkCeiling>(text);
        let ceiling = read(r#"{"on_unknown": "ask"}"#).unwrap();
        assert_eq!(NetworkGrant::meet(&HostSet::default(), &ceiling).on_unknown(), OnUnknown::Ask);
        assert_eq!(read("{}").unwrap(), NetworkCeiling::default());
        assert!(NetworkGrant::default().is_empty());
        assert!(read(r#"{"on_unknown": "allow"}"#).is_err());
    }

    #[test]
    fn answers_below_the_floor_are_refused_unless_lifted() {
        #[rustfmt::skip]
        let cases: &[(&[&str], &[&str], &str, bool)] = &[
            // allow                     private            answer               admitted
            (&["db.acme.io"],            &[],               "1.1.1.1",           true),
            (&["db.acme.io"],            &[],               "10.0.0.5",          false),
            (&["db.acme.io"],            &[],               "64:ff9b::1.1.1.1",  false),
            (&["db.acme.io"],            &["db.acme.io"],   "10.0.0.5",          true),
            (&["db.acme.io"],            &["*.acme.io"],    "10.0.0.5",          true),
            (&["db.acme.io"],            &["api.acme.io"],  "10.0.0.5",          false),
            (&["db.acme.io"],            &["10.0.0.0/24"],  "10.0.0.5",          true),
            (&["db.acme.io"],            &["10.0.0.0/24"],  "10.0.1.5",          false),
            (&["db.acme.io", "10.0.0.5"], &[],              "10.0.0.5",          true),
            (&["db.acme.io", "10.0.0.5:9"], &[],            "10.0.0.5",          false),
        ];
        let target = Target::from_authority("db.acme.io:443").unwrap();
        for (allow, private, answer, admitted) in cases {
            let judged = grant(&["*"], allow, private).judge_address(&target, answer.parse().unwrap());
            assert_eq!(judged.is_ok(), *admitted, "{allow:?} {private:?} ~ {answer}");
        }
    }

    #[test]
    fn refusals_say_what_would_permit_them() {
        let grant = grant(&["api.acme.io:443", "db.acme.io"], &["*"], &[]);
        let judge = |authority| grant.judge(&Target::from_authority(authority).unwrap()).unwrap_err();

        let host = judge("API.stripe.com:443");
        assert_eq!(host.to_string(), "HOST_NOT_ALLOWED: api.stripe.com is not in the declared allowedHosts");
        assert_eq!(
            host.hint.unwrap(),
            "add `api.stripe.com` to the tool's `allowedHosts` and to the personality's `network.allow`"
        );
        assert_eq!(judge("api.acme.io:80").message, "api.acme.io:80 is not in the declared allowedHosts");
        assert!(judge("127.0.0.1:80").hint.unwrap().contains("is a loopback address"));

        let target = Target::from_authority("db.acme.io:443").unwrap();
        let address = grant.judge_address(&target, [169, 254, 169, 254].into()).unwrap_err();
        assert_eq!(
            address.message,
            "db.acme.io resolves to 169.254.169.254, a link-local address, \
             and the personality's `private` does not list it"
        );
    }

    #[test]
    fn ceilings_are_read_strictly_and_written_back() {
        let text = r#"{"allow":["*","nas.lan:80"],"private":["*.lan","10.0.0.0/8"]}"#;
        let ceiling: NetworkCeiling = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&ceiling).unwrap(), text);
        assert_eq!(serde_json::from_str::<NetworkCeiling>("{}").unwrap(), NetworkCeiling::default());
        #[rustfmt::skip]
        let refused = [
            (r#"{"deny":[]}"#,                  "unknown field `deny`"),
            (r#"{"allow":["a b"]}"#,            "U+0020"),
            (r#"{"private":["*"]}"#,            "`*` in `private`"),
            (r#"{"private":["nas.lan:80"]}"#,   "has a port"),
            (r#"{"private":["10.0.0.5/8"]}"#,   "not a range of addresses in canonical form"),
            (r#"{"private":["nas.lan/8"]}"#,    "not a range of addresses in canonical form"),
        ];
        for (text, part) in refused {
            let error = serde_json::from_str::<NetworkCeiling>(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
