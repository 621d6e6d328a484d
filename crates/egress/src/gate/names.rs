//! The addresses that stand for names inside a namespace.
//!
//! INVARIANT: an address stands for one name as long as the gate lives, and is never given to another: a client may
//! keep it for as long as it likes.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Mutex;

use ringfence_policy::HostName;

use crate::scope::locked;

/// How many names a gate gives addresses to.
const MOST: usize = 4_096;

/// How many of them may be names that nothing grants and somebody would be asked about.
const MOST_UNKNOWN: usize = 256;

/// The network's own address and the interface's come first.
const FIRST: u32 = 2;

/// A range of addresses, none of which is ever routed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Range {
    first: u32,
    size: u32,
}

impl Range {
    /// Makes the range of the addresses that share their first `prefix` bits with `network`.
    pub const fn new(network: Ipv4Addr, prefix: u32) -> Self {
        let size = match 1u32.checked_shl(32_u32.saturating_sub(prefix)) {
            Some(size) => size,
            None => u32::MAX,
        };
        Self { first: network.to_bits() & !(size.wrapping_sub(1)), size }
    }

    fn offset(self, address: IpAddr) -> Option<u32> {
        let IpAddr::V4(address) = address else { return None };
        address.to_bits().checked_sub(self.first).filter(|offset| *offset < self.size)
    }

    fn at(self, offset: u32) -> Option<Ipv4Addr> {
        // The last address is the network's broadcast.
        let inside = offset < self.size.saturating_sub(1);
        inside.then(|| self.first.checked_add(offset)).flatten().map(Ipv4Addr::from_bits)
    }
}

/// Why a name is asked for an address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Standing {
    /// The grant admits it on some port.
    Granted,
    /// Nothing names it, and somebody would be asked about its connections.
    Unknown,
}

/// What an address inside the namespace stands for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Meaning {
    /// Itself.
    Literal,
    /// A name.
    Name(HostName),
    /// No name was given this address.
    Nothing,
}

/// The names that were given addresses.
#[derive(Debug)]
pub(super) struct Names {
    range: Range,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    offsets: HashMap<HostName, u32>,
    /// In the order of their offsets.
    names: Vec<HostName>,
    unknown: usize,
}

impl Names {
    pub(super) fn new(range: Range) -> Self {
        Self { range, table: Mutex::default() }
    }

    /// Returns the address of a name, and gives it one if there is one left.
    pub(super) fn address(&self, name: &HostName, standing: Standing) -> Option<Ipv4Addr> {
        let mut table = locked(&self.table);
        if let Some(offset) = table.offsets.get(name) {
            return self.range.at(*offset);
        }
        let over = standing == Standing::Unknown && table.unknown >= MOST_UNKNOWN;
        if over || table.names.len() >= MOST {
            return None;
        }
        let offset = u32::try_from(table.names.len()).ok()?.checked_add(FIRST)?;
        let address = self.range.at(offset)?;
        table.offsets.insert(name.clone(), offset);
        table.names.push(name.clone());
        table.unknown += usize::from(standing == Standing::Unknown);
        Some(address)
    }

    /// Returns what an address stands for.
    pub(super) fn meaning(&self, address: IpAddr) -> Meaning {
        let Some(offset) = self.range.offset(address) else { return Meaning::Literal };
        let index = offset.checked_sub(FIRST).and_then(|index| usize::try_from(index).ok());
        match index.and_then(|index| locked(&self.table).names.get(index).cloned()) {
            Some(name) => Meaning::Name(name),
            None => Meaning::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: Range = Range::new(Ipv4Addr::new(198, 18, 0, 0), 15);

    fn name(text: &str) -> HostName {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_stands_for_one_name() {
        let names = Names::new(RANGE);
        let one = names.address(&name("one.acme.io"), Standing::Granted).unwrap();
        let two = names.address(&name("two.acme.io"), Standing::Unknown).unwrap();
        assert_eq!((one, two), (Ipv4Addr::new(198, 18, 0, 2), Ipv4Addr::new(198, 18, 0, 3)));
        assert_eq!(names.address(&name("one.acme.io"), Standing::Granted), Some(one));
        #[rustfmt::skip]
        let cases = [
            ("198.18.0.2",       Meaning::Name(name("one.acme.io"))),
            ("198.18.0.3",       Meaning::Name(name("two.acme.io"))),
            ("198.18.0.0",       Meaning::Nothing),
            ("198.18.0.1",       Meaning::Nothing),
            ("198.18.0.4",       Meaning::Nothing),
            ("198.19.255.255",   Meaning::Nothing),
            ("198.20.0.0",       Meaning::Literal),
            ("198.17.255.255",   Meaning::Literal),
            ("127.0.0.1",        Meaning::Literal),
            ("::1",              Meaning::Literal),
        ];
        for (address, meaning) in cases {
            assert_eq!(names.meaning(address.parse().unwrap()), meaning, "{address}");
        }
    }

    #[test]
    fn there_are_only_so_many() {
        let names = Names::new(RANGE);
        let ask = |index: usize, standing| names.address(&name(&format!("n{index}.acme.io")), standing);
        assert_eq!((0..1_000).filter_map(|index| ask(index, Standing::Unknown)).count(), MOST_UNKNOWN);
        assert_eq!(
            (1_000..9_000).filter_map(|index| ask(index, Standing::Granted)).count(),
            MOST - MOST_UNKNOWN
        );
        let small = Names::new(Range::new(Ipv4Addr::new(127, 77, 0, 0), 30));
        assert!(small.address(&name("a.acme.io"), Standing::Granted).is_some());
        assert!(small.address(&name("b.acme.io"), Standing::Granted).is_none());
    }
}
