//! Hosts: the names that were asked for, those that were reached, and bare addresses.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use ringfence::egress::{Evidence, Verdict, Via};
use serde::Serialize;

use super::learnt::{Learnt, Review};

/// A host that was asked for.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(super) struct Sought {
    /// A name or an address.
    pub(super) host: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) port: Option<u16>,
    pub(super) times: u64,
    /// Whether the command was let through to it.
    pub(super) given: bool,
}

/// Joins what the gate saw with the addresses that the command named.
pub(super) fn sought(evidence: &[Evidence], addresses: &[(SocketAddr, u64)]) -> Vec<Sought> {
    let mut all: BTreeMap<(String, Option<u16>, bool), u64> = BTreeMap::new();
    for one in evidence {
        let refused = matches!(one.verdict, Verdict::Refused { .. });
        // A name that was let through is told of again when it is connected to.
        if refused || one.via != Via::Dns {
            *all.entry((one.host.clone(), one.port, !refused)).or_default() += 1;
        }
    }
    let gate: BTreeSet<String> = evidence.iter().map(|one| one.host.clone()).collect();
    for (address, times) in addresses {
        let host = address.ip().to_string();
        if !is_inside(*address) && !gate.contains(&host) {
            *all.entry((host, Some(address.port()), false)).or_default() += times;
        }
    }
    all.into_iter().map(|((host, port, given), times)| Sought { host, port, times, given }).collect()
}

/// Tells whether an address is one of the sandbox itself: its loopback, or one that stands for a name.
fn is_inside(address: SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    let stands_for_a_name = matches!(ip, IpAddr::V4(ip) if matches!(ip.octets(), [198, 18 | 19, ..]));
    ip.is_loopback() || ip.is_unspecified() || stands_for_a_name || address.port() == 0
}

impl Learnt {
    /// Adds what was reached, and what was asked for in vain.
    pub(super) fn add_hosts(&mut self, sought: &[Sought]) {
        for one in sought {
            let host = match one.port {
                Some(port) if one.host.contains(':') => format!("[{}]:{port}", one.host),
                Some(port) => format!("{}:{port}", one.host),
                None => one.host.clone(),
            };
            if one.given {
                self.hosts.push(host);
            } else {
                let why = "no host is given that was not named; `--host` lets it while learning".into();
                self.review.push(Review { verb: "reach", what: host, why });
            }
        }
        self.hosts.sort();
        self.hosts.dedup();
        self.review.sort();
        self.review.dedup();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ringfence::policy::Code;

    use super::*;

    fn seen(host: &str, port: Option<u16>, via: Via, verdict: Verdict) -> Evidence {
        let duration = Duration::ZERO;
        Evidence { host: host.into(), port, address: None, via, sent: 0, received: 0, duration, verdict }
    }

    #[test]
    fn only_what_was_let_through_is_learnt() {
        let refused = || Verdict::Refused { code: Code::HostNotAllowed, message: String::new() };
        let evidence = [
            seen("api.acme.io", None, Via::Dns, Verdict::Done),
            seen("api.acme.io", Some(443), Via::Gate, Verdict::Done),
            seen("collect.example", None, Via::Dns, refused()),
            seen("collect.example", None, Via::Dns, refused()),
        ];
        let addresses = [
            ("198.18.0.7:443".parse().unwrap(), 1),
            ("127.0.0.1:53".parse().unwrap(), 4),
            ("203.0.113.9:443".parse().unwrap(), 2),
        ];
        let mut learnt = Learnt::default();
        let found = sought(&evidence, &addresses);
        learnt.add_hosts(&found);
        assert_eq!(learnt.hosts, ["api.acme.io:443"]);
        let review: Vec<&str> = learnt.review.iter().map(|review| review.what.as_str()).collect();
        assert_eq!(review, ["203.0.113.9:443", "collect.example"]);
        assert!(found.iter().any(|one| one.host == "collect.example" && one.times == 2 && !one.given));
    }
}
