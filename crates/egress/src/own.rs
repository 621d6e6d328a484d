//! Which addresses are this machine's own.
//!
//! Only a machine's own addresses can be bound, so that the kernel is asked instead of a list that may be old. Where it
//! lets any address be bound (`ip_nonlocal_bind`), the address it would speak from tells.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use ringfence_policy::{Code, NetworkGrant, Refusal, Target, is_public};

/// Judges a public address again if it is one of this machine's. Refuses it where the kernel cannot be asked.
pub(crate) fn judge(grant: &NetworkGrant, target: &Target, address: IpAddr) -> Result<(), Refusal> {
    if !is_public(address) {
        return Ok(());
    }
    match is_own(address) {
        Ok(true) => grant.judge_own_address(target, address),
        Ok(false) => Ok(()),
        Err(error) => Err(Refusal::new(
            Code::HostNotAllowed,
            format!("{target}: whether {address} is this machine's own address is unknown: {error}"),
        )),
    }
}

/// Tells whether an address leads back to this machine. No packet is sent.
fn is_own(address: IpAddr) -> io::Result<bool> {
    Ok(can_be_bound(address)? && (!can_be_bound(nobody(address))? || speaks_from_itself(address)?))
}

fn can_be_bound(address: IpAddr) -> io::Result<bool> {
    was_bound(UdpSocket::bind(SocketAddr::new(address, 0)))
}

/// Tells by how binding to an address ended whether this machine has it. Any other error tells nothing.
fn was_bound<T>(bound: io::Result<T>) -> io::Result<bool> {
    match bound {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => Ok(false),
        // Without this family of addresses no address of it can be this machine's, nor be reached.
        Err(error) if is_unsupported(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::AFNOSUPPORT)
}

/// An address for examples in documents, which no machine has.
fn nobody(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    }
}

/// Tells whether what is sent to an address would come from it.
fn speaks_from_itself(address: IpAddr) -> io::Result<bool> {
    let any: IpAddr =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
    // An address to which no route leads is not this machine's.
    let connected = socket.connect(SocketAddr::new(address, 9));
    Ok(connected.is_ok() && socket.local_addr()?.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_ours_and_the_world_is_not() {
        assert!(is_own([127, 0, 0, 1].into()).unwrap());
        for address in ["192.0.2.7", "93.184.216.34", "1.1.1.1"] {
            assert!(!is_own(address.parse().unwrap()).unwrap(), "{address}");
        }
    }

    #[test]
    fn only_an_address_that_is_not_there_is_not_ours() {
        use rustix::io::Errno;
        assert!(was_bound(Ok(())).unwrap());
        for errno in [Errno::ADDRNOTAVAIL, Errno::AFNOSUPPORT] {
            assert!(!was_bound(Err::<(), _>(errno.into())).unwrap(), "{errno}");
        }
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOBUFS, Errno::ACCESS, Errno::PERM] {
            assert!(was_bound(Err::<(), _>(errno.into())).is_err(), "{errno}");
        }
    }
}
