//! The corpus cases of what a client says, as the gate would hear it.
//!
//! The gate speaks no proxy protocol. A case that goes through one is played as a client without a proxy does the
//! same: it asks DNS for the name, connects to the port, and speaks. The proxy's own greeting is refused.

use std::net::IpAddr;

use ringfence_egress::wire::dns::{Asked, Query};
use ringfence_egress::wire::hello::{Hello, HelloReader};
use ringfence_egress::wire::http::Requests;
use ringfence_policy::{Host, HostName, NetworkGrant, Target};

/// Tells whether there is a granted connection on which the whole text passes.
pub(super) fn raw(grant: &NetworkGrant, request: &str) -> bool {
    let named = request.split("\r\n").filter_map(|line| match line.split_once(':') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("host") => Some(value.trim()),
        _ => line.split_once("http://")?.1.split(['/', ' ']).next(),
    });
    let listed = grant.hosts().iter().map(ToString::to_string);
    let candidates: Vec<String> = named.map(str::to_owned).chain(listed).collect();
    let targets = candidates.iter().filter_map(|text| {
        Target::from_authority(text).or_else(|_| Target::from_authority(&format!("{text}:80"))).ok()
    });
    targets.filter(|target| opens(grant, target)).any(|target| passes(target, request.as_bytes()))
}

/// Tells whether a client that reaches the authority may say what it says. What it says inside TLS nobody hears, so a
/// case that turns on that is not for the gate.
pub(super) fn tunnel(
    grant: &NetworkGrant,
    authority: &str,
    sni: Option<&str>,
    inner_host: Option<&str>,
) -> Option<bool> {
    assert!(!passes(
        Target::from_authority("acme.io:80").unwrap(),
        format!("CONNECT {authority} HTTP/1.1\r\nHost: acme.io\r\n\r\n").as_bytes()
    ));
    let Ok(target) = Target::from_authority(authority) else { return Some(false) };
    if !opens(grant, &target) {
        return Some(false);
    }
    match (target.port, inner_host) {
        (443, None) => {
            let said = match sni.map(|sni| sni.strip_prefix("(not TLS: ").ok_or(sni)) {
                Some(Ok(other)) => other.as_bytes().to_vec(),
                // Of an encrypted hello only the outer name can be read.
                Some(Err(name)) => hello(Some(name.split(" (ECH outer)").next().unwrap_or_default())),
                None => hello(None),
            };
            Some(match (HelloReader::new().take(&said), target.host) {
                (Ok(Hello::Name(name)), Host::Name(host)) => name == host,
                (Ok(Hello::Nameless), Host::Address(_)) => true,
                _ => false,
            })
        }
        (443, Some(_)) => None,
        (80, host) => {
            let host = host.map(|host| format!("Host: {host}\r\n")).unwrap_or_default();
            Some(passes(target, format!("GET / HTTP/1.1\r\n{host}\r\n").as_bytes()))
        }
        _ => Some(true),
    }
}

/// Tells whether a client that asks DNS for the very octets of the name may connect to it.
pub(super) fn socks(grant: &NetworkGrant, kind: &str, host: &str, port: Option<u16>) -> bool {
    let greeting = [5, 1, 0];
    assert!(!passes(Target::from_authority("acme.io:80").unwrap(), &greeting));
    assert!(HelloReader::new().take(&greeting).is_err());
    let host = match (kind, host.parse::<IpAddr>()) {
        ("domain", _) => resolvable(host).map(Host::Name),
        (_, Ok(address)) => Some(Host::Address(address)),
        (_, Err(_)) => None,
    };
    host.is_some_and(|host| opens(grant, &Target::new(host, port.unwrap_or(443))))
}

/// Tells whether the gate listens where the target is, and the grant admits it.
fn opens(grant: &NetworkGrant, target: &Target) -> bool {
    grant.judge(target).is_ok() && grant.ports().contains(&target.port)
}

fn passes(target: Target, bytes: &[u8]) -> bool {
    let mut requests = Requests::new(target);
    requests.judge(bytes).is_ok_and(|judged| judged.forward == bytes.len()) && requests.ended()
}

/// Returns the name that the gate hears when the octets of a text are asked for.
fn resolvable(host: &str) -> Option<HostName> {
    let mut message = vec![0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in host.split('.') {
        message.push(u8::try_from(label.len()).ok().filter(|length| *length < 64)?);
        message.extend(label.bytes());
    }
    message.extend([0, 0, 1, 0, 1]);
    match Query::read(&message)?.asked() {
        Asked::Address(name) => Some(name.clone()),
        Asked::Nothing(_) | Asked::Unnamed => None,
    }
}

/// Writes the hello of a client, with the octets of a name or without one.
fn hello(name: Option<&str>) -> Vec<u8> {
    let sized = |bytes: &[u8]| [&u16::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat();
    let extension = |kind: u8, body: &[u8]| [&[0, kind], &*sized(body)].concat();
    let name = name.map(|name| extension(0, &sized(&[&[0], &*sized(name.as_bytes())].concat())));
    let extensions = [name.unwrap_or_default(), extension(13, &[0, 2, 4, 3])].concat();
    let body = [&[3, 3], &[7; 32][..], &[0, 0, 2, 0xC0, 0x2F, 1, 0], &sized(&extensions)].concat();
    let message = [&[1, 0], &*sized(&body)].concat();
    [&[0x16, 3, 1], &*sized(&message)].concat()
}

#[test]
fn what_is_granted_can_be_said() {
    let grant = crate::it::server::grant(&["acme.io", "10.0.0.1"], &[]);
    assert!(raw(&grant, "GET http://acme.io/ HTTP/1.1\r\nHost: acme.io\r\n\r\n"));
    assert!(!raw(&grant, "GET / HTTP/1.1\r\nHost: evil.net\r\n\r\n"));
    assert!(socks(&grant, "domain", "acme.io", None));
    assert!(!socks(&grant, "domain", "acme.io", Some(22)), "the gate does not listen there");
    assert!(socks(&grant, "ipv4", "10.0.0.1", None));
    #[rustfmt::skip]
    let cases = [
        ("acme.io:443",  Some("acme.io"),  None,             Some(true)),
        ("acme.io:443",  Some("evil.net"), None,             Some(false)),
        ("acme.io:443",  None,             None,             Some(false)),
        ("10.0.0.1:443", None,             None,             Some(true)),
        ("acme.io:443",  Some("acme.io"),  Some("evil.net"), None),
        ("acme.io:80",   None,             Some("acme.io"),  Some(true)),
        ("acme.io:80",   None,             Some("evil.net"), Some(false)),
    ];
    for (authority, sni, inner_host, expected) in cases {
        assert_eq!(
            tunnel(&grant, authority, sni, inner_host),
            expected,
            "{authority} {sni:?} {inner_host:?}"
        );
    }
}
