//! What a gate needs inside the network namespace: routes that lead to ourselves, and sockets to take what comes.
//!
//! Pure: messages and addresses are laid out here as the kernel takes them, and sent by the clone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::op::Socket;
use crate::plan::{Openings, Prefix};

/// The interface's own address in the range that stands for names.
const OWN: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const OWN_LENGTH: u8 = 15;
/// Where names are asked for.
const DNS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 53);
/// The number of the loopback interface, the first in every namespace.
const LOOPBACK: u32 = 1;

/// Returns the messages that make addresses our own.
///
/// An address with a prefix on the loopback interface makes the whole prefix local, as 127.0.0.1/8 does.
pub(super) fn messages(openings: &Openings) -> Vec<Vec<u8>> {
    let routes = openings.addresses.iter().filter(|prefix| !is_loopback(prefix));
    std::iter::once(new_address()).chain(routes.map(new_route)).collect()
}

/// Returns the sockets: the one of DNS over UDP first, then the listeners.
pub(super) fn sockets(openings: &Openings) -> Vec<Socket> {
    let stream = |address| socket(libc::SOCK_STREAM, address);
    let mut all = vec![socket(libc::SOCK_DGRAM, DNS)];
    let has_v6 = openings.addresses.iter().any(|prefix| prefix.address.is_ipv6());
    for port in &openings.ports {
        all.push(stream(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), *port)));
        if has_v6 {
            all.push(stream(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), *port)));
        }
    }
    // A listener for every address takes what comes for this one too.
    if !openings.ports.contains(&DNS.port()) {
        all.push(stream(DNS));
    }
    all
}

fn is_loopback(prefix: &Prefix) -> bool {
    prefix.length > 0 && prefix.address.is_loopback()
}

fn socket(kind: i32, address: SocketAddr) -> Socket {
    let mut bytes = Vec::with_capacity(28);
    let family = match address.ip() {
        IpAddr::V4(_) => libc::AF_INET,
        IpAddr::V6(_) => libc::AF_INET6,
    };
    bytes.extend((family as u16).to_ne_bytes());
    bytes.extend(address.port().to_be_bytes());
    match address.ip() {
        // The address, then eight bytes of padding.
        IpAddr::V4(ip) => {
            bytes.extend(ip.octets());
            bytes.extend([0; 8]);
        }
        // Flow information, the address, the scope.
        IpAddr::V6(ip) => {
            bytes.extend([0; 4]);
            bytes.extend(ip.octets());
            bytes.extend([0; 4]);
        }
    }
    Socket { family, kind, address: bytes }
}

/// `RTM_NEWADDR`: `struct ifaddrmsg`, then the address twice.
fn new_address() -> Vec<u8> {
    let mut body = vec![libc::AF_INET as u8, OWN_LENGTH, 0, libc::RT_SCOPE_HOST];
    body.extend(LOOPBACK.to_ne_bytes());
    for kind in [libc::IFA_LOCAL, libc::IFA_ADDRESS] {
        attribute(&mut body, kind, &OWN.octets());
    }
    message(libc::RTM_NEWADDR, &body)
}

/// `RTM_NEWROUTE`: `struct rtmsg`, then where to and by which interface.
fn new_route(prefix: &Prefix) -> Vec<u8> {
    let (family, octets) = match prefix.address {
        IpAddr::V4(ip) => (libc::AF_INET, ip.octets().to_vec()),
        IpAddr::V6(ip) => (libc::AF_INET6, ip.octets().to_vec()),
    };
    let mut body = vec![
        family as u8,
        prefix.length,
        0,
        0,
        libc::RT_TABLE_LOCAL,
        libc::RTPROT_STATIC,
        libc::RT_SCOPE_HOST,
        libc::RTN_LOCAL,
    ];
    body.extend(0_u32.to_ne_bytes());
    if prefix.length > 0 {
        attribute(&mut body, libc::RTA_DST, &octets);
    }
    attribute(&mut body, libc::RTA_OIF, &LOOPBACK.to_ne_bytes());
    message(libc::RTM_NEWROUTE, &body)
}

fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    // Every value here has a length that needs no padding.
    body.extend((4 + value.len() as u16).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
}

fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE;
    let mut message = Vec::with_capacity(16 + body.len());
    message.extend((16 + body.len() as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend((flags as u16).to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    message.extend(body);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn openings(ports: &[u16], addresses: &[(&str, u8)]) -> Openings {
        let prefix =
            |(address, length): &(&str, u8)| Prefix { address: address.parse().unwrap(), length: *length };
        Openings { ports: ports.to_vec(), addresses: addresses.iter().map(prefix).collect() }
    }

    #[test]
    fn listens_on_the_ports_and_for_names() {
        let v4 = openings(&[80, 443], &[("10.0.0.5", 32)]);
        assert_eq!(sockets(&v4).len(), 4);
        assert_eq!(sockets(&v4)[0].kind, libc::SOCK_DGRAM);
        assert_eq!(sockets(&v4)[1].address[2..8], [0, 80, 0, 0, 0, 0]);
        assert_eq!(sockets(&openings(&[53, 80, 443], &[])).len(), 4); // one listener on 53, not two
        let v6 = openings(&[443], &[("2001:db8::1", 128)]);
        assert_eq!(sockets(&v6).iter().filter(|socket| socket.address.len() == 28).count(), 1);
    }

    #[test]
    fn routes_lead_to_ourselves() {
        let all = messages(&openings(&[443], &[("10.0.0.5", 32), ("127.0.0.1", 32), ("::", 0)]));
        assert_eq!(all.len(), 3); // the range for names, one address, everything of IPv6; 127.0.0.1 is ours anyway
        for message in &all {
            assert_eq!(message[..4], (message.len() as u32).to_ne_bytes());
            assert_eq!(message.len() % 4, 0);
        }
    }
}
