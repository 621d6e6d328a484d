//! Where clouds hand out the credentials of a machine: known in this one place, and asked about by every judge of addresses.
//!
//! INVARIANT: no name, no suffix and no range admits such an address; only that very address, granted as an address, does.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::address::{AddressClass, classify};
use crate::host::Host;

/// Names under which clouds answer.
const NAMES: &[&str] = &[
    "metadata.google.internal",
    "metadata.goog",
    "metadata",
    "instance-data",
    "instance-data.ec2.internal",
    "metadata.azure.internal",
    "metadata.tencentyun.com",
    "metadata.packet.net",
    "metadata.platformequinix.com",
];

/// Addresses outside of the ranges that [`classify`] knows: Alibaba, Oracle and Azure.
const V4: &[Ipv4Addr] =
    &[Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192), Ipv4Addr::new(168, 63, 129, 16)];

/// The same of IPv6: Amazon's machines, containers and time, Google and Scaleway.
const V6: &[Ipv6Addr] = &[
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x253),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
];

/// Tells whether a cloud may answer there with the credentials of the machine, so that nobody is advised to let a tool reach it.
pub fn is_metadata(host: &Host) -> bool {
    match host {
        Host::Address(address) => is_metadata_address(*address),
        Host::Name(name) => NAMES.contains(&name.as_str()),
    }
}

/// Tells whether an address is one at which clouds answer, also where it stands inside another address.
///
/// The whole of the link-local ranges counts: each cloud has picked its own there.
pub fn is_metadata_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_metadata_v4(address),
        IpAddr::V6(own) => {
            V6.contains(&own)
                || matches!(classify(address), AddressClass::LinkLocal | AddressClass::Metadata)
                || inner(own).into_iter().flatten().any(is_metadata_v4)
        }
    }
}

fn is_metadata_v4(address: Ipv4Addr) -> bool {
    V4.contains(&address)
        || matches!(classify(address.into()), AddressClass::LinkLocal | AddressClass::Metadata)
}

/// The IPv4 addresses that may stand inside one of IPv6, if it is of a kind that carries any.
fn inner(address: Ipv6Addr) -> [Option<Ipv4Addr>; 3] {
    if classify(address.into()) != AddressClass::Translated {
        return [None; 3];
    }
    let [_, first, second, third, fourth, fifth, high, low] = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    let last = v4(high, low);
    match address.segments() {
        // Teredo: the client's address stands inverted at the end, and its server's at the beginning.
        [0x2001, 0, ..] => [Some(v4(second, third)), Some(v4(!high, !low)), None],
        // 6to4, in front.
        [0x2002, ..] => [Some(v4(first, second)), None, None],
        // The prefix for networks' own translators may be 48, 64 or 96 bits long; bits 64 to 71 are left out.
        [0x64, 0xff9b, 1, ..] => {
            let next = (fourth & 0xff) << 8 | fifth >> 8;
            let middle = v4(third, next);
            let later = v4(next, (fifth & 0xff) << 8 | high >> 8);
            [Some(last), Some(middle), Some(later)]
        }
        // Mapped, compatible, translated, the well-known prefix, and ISATAP.
        _ => [Some(last), None, None],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_every_spelling() {
        #[rustfmt::skip]
        let yes = [
            "169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.42.42", "169.254.0.23", "168.63.129.16",
            "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42", "fe80::a9fe:a9fe",
            "::ffff:169.254.169.254", "::169.254.169.254", "::ffff:0:169.254.169.254", "64:ff9b::169.254.169.254",
            "64:ff9b:1::169.254.169.254", "64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1:0:a9:fea9:fe00:0", "2002:a9fe:a9fe::1",
            "2001:0:a9fe:a9fe::1", "2001::5601:5601", "2a00::5efe:a9fe:a9fe", "::ffff:100.100.100.200", "::ffff:168.63.129.16",
            "64:ff9b::192.0.0.192", "2a00:1450::a9fe:a9fe",
        ];
        for text in yes {
            assert!(is_metadata_address(text.parse().unwrap()), "{text}");
        }
        #[rustfmt::skip]
        let no = [
            "1.1.1.1", "10.0.0.1", "127.0.0.1", "100.100.100.201", "192.0.0.191", "168.63.129.17", "192.168.1.254", "2a00::1",
            "fd00::1", "fd00:ec2::255", "::ffff:10.0.0.1", "64:ff9b::1.1.1.1", "64:ff9b:1::10.0.0.1", "2002:a00:1::1", "::1",
        ];
        for text in no {
            assert!(!is_metadata_address(text.parse().unwrap()), "{text}");
        }
        for name in ["metadata.google.internal", "METADATA.goog.", "instance-data"] {
            assert!(is_metadata(&Host::Name(name.parse().unwrap())), "{name}");
        }
        assert!(!is_metadata(&Host::Name("metadata.acme.io".parse().unwrap())));
    }
}
