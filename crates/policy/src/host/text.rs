//! Reading the text of hosts: the checks that names, patterns and authorities share.
//!
//! Odd spellings are resolved by the URL standard's host parser alone, never by rules of our own, so that what
//! is judged here is what a client would dial.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Host, HostError, HostName};

/// Reads a port: decimal digits, no sign, no leading zero, 1 to 65535.
pub(super) fn port(digits: &str, text: &str) -> Result<u16, HostError> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    match digits.parse() {
        Ok(number) if plain => Ok(number),
        _ => Err(HostError::Port { text: text.to_owned() }),
    }
}

/// Reads the inside of a pair of brackets: an IPv6 address in any spelling the URL standard knows.
pub(super) fn bracketed(inner: &str, text: &str) -> Result<Ipv6Addr, HostError> {
    if inner.contains('%') {
        return Err(HostError::Zone { text: text.to_owned() });
    }
    inner.parse().map_err(|_| HostError::Name { text: text.to_owned() })
}

/// Reads a name or an IPv4 address in any spelling the URL standard knows, without percent-decoding.
pub(super) fn host(host: &str, text: &str) -> Result<Host, HostError> {
    if host.is_empty() {
        return Err(HostError::Label { text: text.to_owned() });
    }
    reject_characters(host, text)?;
    match url::Host::parse(host) {
        Ok(parsed) => parsed_host(parsed, text),
        Err(_) => Err(HostError::Name { text: text.to_owned() }),
    }
}

/// Takes over what the URL standard's parser found.
pub(super) fn parsed_host<S: AsRef<str>>(parsed: url::Host<S>, text: &str) -> Result<Host, HostError> {
    match parsed {
        url::Host::Domain(domain) => HostName::from_domain(domain.as_ref(), text).map(Host::Name),
        url::Host::Ipv4(address) => Ok(Host::Address(IpAddr::V4(address))),
        url::Host::Ipv6(address) => Ok(Host::Address(IpAddr::V6(address))),
    }
}

/// Refuses an address in other than its canonical spelling.
pub(super) fn canonical(address: IpAddr, written: &str, text: &str) -> Result<IpAddr, HostError> {
    let same = match address {
        IpAddr::V4(_) => written.parse::<Ipv4Addr>().is_ok(),
        IpAddr::V6(address) => address.to_string() == written,
    };
    if same { Ok(address) } else { Err(HostError::OddAddress { text: text.to_owned(), canonical: address }) }
}

/// Refuses what would be cut off, decoded or skipped on the way to a host.
fn reject_characters(host: &str, text: &str) -> Result<(), HostError> {
    let wrong = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '%' | '[' | ']' | '\u{FEFF}');
    match host.chars().find(|&c| wrong(c)) {
        Some(found) => Err(HostError::Character { text: text.to_owned(), found }),
        None => Ok(()),
    }
}
