//! Which addresses are this machine's own.
//!
//! Only a machine's own addresses can be bound, so that the kernel is asked instead of a list that may be old. Where it
//! lets any address be bound (`ip_nonlocal_bind`), the address it would speak from tells.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use ringfence_policy::{NetworkGrant, Refusal, Target, is_public};

/// Judges a public address again if it is one of this machine's.
pub(crate) fn judge(grant: &NetworkGrant, target: &Target, address: IpAddr) -> Result<(), Refusal> {
    if is_public(address) && is_own(address) { grant.judge_own_address(target, address) } else { Ok(()) }
}

/// Tells whether an address leads back to this machine. No packet is sent.
fn is_own(address: IpAddr) -> bool {
    can_be_bound(address) && (!can_be_bound(nobody(address)) || speaks_from_itself(address))
}

fn can_be_bound(address: IpAddr) -> bool {
    UdpSocket::bind(SocketAddr::new(address, 0)).is_ok()
}

/// An address for examples in documents, which no machine has.
fn nobody(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    }
}

/// Tells whether what is sent to an address would come from it.
fn speaks_from_itself(address: IpAddr) -> bool {
    let any: IpAddr =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0));
    let local = socket.and_then(|socket| {
        socket.connect(SocketAddr::new(address, 9))?;
        socket.local_addr()
    });
    local.is_ok_and(|local| local.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_ours_and_the_world_is_not() {
        assert!(is_own([127, 0, 0, 1].into()));
        for address in ["192.0.2.7", "93.184.216.34", "1.1.1.1"] {
            assert!(!is_own(address.parse().unwrap()), "{address}");
        }
    }
}
