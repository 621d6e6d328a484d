//! What an IP address is for: the floor under every name that resolves.
//!
//! INVARIANT: only [`AddressClass::Public`] is reachable without being named; an address that is not known to
//! be globally reachable unicast, or that carries another address inside it, is never `Public`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is for, after the IANA special-purpose registries.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum AddressClass {
    /// For measuring network devices.
    Benchmark,
    /// Everyone on the local network.
    Broadcast,
    /// For examples in documents.
    Documentation,
    /// One link only; cloud metadata services live here.
    LinkLocal,
    /// This machine.
    Loopback,
    /// A cloud's own service on an otherwise public address.
    Metadata,
    /// A group of receivers.
    Multicast,
    /// Inside an organisation.
    Private,
    /// Globally reachable.
    Public,
    /// Set aside, or not handed out.
    Reserved,
    /// Between a provider and its customers.
    SharedCgnat,
    /// An address that stands for another one behind a translator or a tunnel.
    Translated,
    /// This host on this network; Linux connects it to loopback.
    Unspecified,
}

/// Returns what the address is for.
pub fn classify(address: IpAddr) -> AddressClass {
    match address {
        IpAddr::V4(address) => classify_v4(address),
        IpAddr::V6(address) => classify_v6(address),
    }
}

/// Tells whether the address is globally reachable.
pub fn is_public(address: IpAddr) -> bool {
    classify(address) == AddressClass::Public
}

fn classify_v4(address: Ipv4Addr) -> AddressClass {
    match address.octets() {
        [0, ..] => AddressClass::Unspecified,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressClass::Private,
        [100, 64..=127, ..] => AddressClass::SharedCgnat,
        [127, ..] => AddressClass::Loopback,
        // The Azure wire server answers only from inside, on an address that looks public.
        [168, 63, 129, 16] => AddressClass::Metadata,
        [169, 254, ..] => AddressClass::LinkLocal,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => AddressClass::Documentation,
        [198, 18..=19, ..] => AddressClass::Benchmark,
        [224..=239, ..] => AddressClass::Multicast,
        [255, 255, 255, 255] => AddressClass::Broadcast,
        [192, 0, 0, _] | [192, 88, 99, _] | [240..=255, ..] => AddressClass::Reserved,
        _ => AddressClass::Public,
    }
}

fn classify_v6(address: Ipv6Addr) -> AddressClass {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressClass::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressClass::Loopback,
        // v4-compatible, v4-mapped and v4-translated; both NAT64 prefixes; Teredo; 6to4.
        [0, 0, 0, 0, 0, 0 | 0xffff, ..]
        | [0, 0, 0, 0, 0xffff, 0, ..]
        | [0x64, 0xff9b, 0, 0, 0, 0, ..]
        | [0x64, 0xff9b, 1, ..]
        | [0x2001, 0, ..]
        | [0x2002, ..] => AddressClass::Translated,
        [0xff00..=0xffff, ..] => AddressClass::Multicast,
        [0xfe80..=0xfebf, ..] => AddressClass::LinkLocal,
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => AddressClass::Private,
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressClass::Documentation,
        [0x2001, 0..=0x1ff, ..] => AddressClass::Reserved,
        // ISATAP puts an IPv4 address into the interface identifier, below any prefix.
        [_, _, _, _, 0 | 0x100 | 0x200 | 0x300, 0x5efe, ..] => AddressClass::Translated,
        // A translator may have a prefix of its own; behind any of them this is 169.254.169.254.
        [.., 0xa9fe, 0xa9fe] => AddressClass::Metadata,
        [0x2000..=0x3fff, ..] => AddressClass::Public,
        _ => AddressClass::Reserved,
    }
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Benchmark => "a benchmarking address",
            Self::Broadcast => "the broadcast address",
            Self::Documentation => "a documentation address",
            Self::LinkLocal => "a link-local address",
            Self::Loopback => "a loopback address",
            Self::Metadata => "a cloud metadata address",
            Self::Multicast => "a multicast address",
            Self::Private => "a private address",
            Self::Public => "a public address",
            Self::Reserved => "a reserved address",
            Self::SharedCgnat => "a shared carrier address",
            Self::Translated => "a translated address",
            Self::Unspecified => "an unspecified address",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_end_at_their_boundaries() {
        use AddressClass::*;
        #[rustfmt::skip]
        let cases = [
            ("0.255.255.255", Unspecified),   ("1.0.0.0", Public),
            ("9.255.255.255", Public),        ("10.0.0.0", Private),
            ("10.255.255.255", Private),      ("11.0.0.0", Public),
            ("100.63.255.255", Public),       ("100.64.0.0", SharedCgnat),
            ("100.100.100.200", SharedCgnat), ("100.127.255.255", SharedCgnat),
            ("100.128.0.0", Public),          ("126.255.255.255", Public),
            ("127.255.255.254", Loopback),    ("128.0.0.0", Public),
            ("168.63.129.15", Public),        ("168.63.129.16", Metadata),
            ("169.253.255.255", Public),      ("169.254.169.254", LinkLocal),
            ("169.255.0.0", Public),          ("172.15.255.255", Public),
            ("172.16.0.0", Private),          ("172.31.255.255", Private),
            ("172.32.0.0", Public),           ("191.255.255.255", Public),
            ("192.0.0.192", Reserved),        ("192.0.1.0", Public),
            ("192.0.2.1", Documentation),     ("192.88.98.255", Public),
            ("192.88.99.1", Reserved),        ("192.167.255.255", Public),
            ("192.168.255.255", Private),     ("192.169.0.0", Public),
            ("198.17.255.255", Public),       ("198.18.0.0", Benchmark),
            ("198.19.255.255", Benchmark),    ("198.20.0.0", Public),
            ("198.51.100.1", Documentation),  ("203.0.113.1", Documentation),
            ("223.255.255.255", Public),      ("224.0.0.0", Multicast),
            ("239.255.255.255", Multicast),   ("240.0.0.0", Reserved),
            ("255.255.255.254", Reserved),    ("255.255.255.255", Broadcast),
            ("::", Unspecified),              ("::1", Loopback),
            ("::2", Translated),              ("::127.0.0.1", Translated),
            ("::ffff:10.0.0.1", Translated),  ("::ffff:0:10.0.0.1", Translated),
            ("64:ff9b::1.1.1.1", Translated), ("64:ff9b:1::1", Translated),
            ("64:ff9b:2::1", Reserved),       ("100::1", Reserved),
            ("1fff:ffff::", Reserved),        ("2000::", Public),
            ("2001::1", Translated),          ("2001:2::1", Reserved),
            ("2001:1ff::1", Reserved),        ("2001:200::1", Public),
            ("2001:db7::1", Public),          ("2001:db8::1", Documentation),
            ("2001:db9::1", Public),          ("2002:a00:1::", Translated),
            ("2003::1", Public),              ("2a00::5efe:a00:1", Translated),
            ("2a00::200:5efe:a00:1", Translated), ("2a00::5eff:a00:1", Public),
            ("2a00::a9fe:a9fe", Metadata),    ("2a00::a9fe:a9ff", Public),
            ("3fff::1", Documentation),       ("3fff:1000::1", Public),
            ("4000::1", Reserved),            ("5f00::1", Reserved),
            ("fbff::1", Reserved),            ("fd00:ec2::254", Private),
            ("fe00::1", Reserved),            ("fe80::1", LinkLocal),
            ("febf::1", LinkLocal),           ("fec0::1", Private),
            ("ff02::1", Multicast),
        ];
        for (text, class) in cases {
            assert_eq!(classify(text.parse().unwrap()), class, "{text}");
        }
    }
}
