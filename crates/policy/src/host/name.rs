//! One concrete DNS name.
//!
//! INVARIANT: a [`HostName`] is IDNA-normalised lower-case ASCII of letters, digits, `-` and `_`, without a
//! trailing dot; its labels have 1 to 63 octets and it has at most 253; it is never an IP address.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{Host, HostError, text};

/// Top levels that are never delegated, or that stay inside one machine or one network.
///
/// All are whole top levels, so that a set of names below any suffix is public as a whole or not at all.
const INNER_TOP_LEVELS: &[&str] = &[
    "alt",
    "arpa",
    "corp",
    "example",
    "home",
    "internal",
    "intranet",
    "invalid",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "onion",
    "private",
    "test",
];

/// One normalised DNS name: what a request asks for, cheap to clone.
///
/// # Examples
///
/// ```
/// use ringfence_policy::HostName;
///
/// let name: HostName = "API.Bücher.example.".parse()?;
/// assert_eq!(name.as_str(), "api.xn--bcher-kva.example");
/// assert!("0x7f.1".parse::<HostName>().is_err()); // an address, however it is spelled
/// # Ok::<(), ringfence_policy::HostError>(())
/// ```
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct HostName(Arc<str>);

impl HostName {
    /// Returns the name as DNS and TLS take it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether the public DNS could know the name: two labels or more, below a delegated top level.
    pub fn is_public(&self) -> bool {
        match self.0.rsplit_once('.') {
            Some((_, top)) => is_delegated(top),
            None => false,
        }
    }

    /// Tells whether the name lies strictly below `apex`.
    pub fn is_below(&self, apex: &HostName) -> bool {
        self.0.strip_suffix(&*apex.0).is_some_and(|head| head.ends_with('.'))
    }

    /// Tells whether names below this one may be public.
    pub(super) fn has_public_children(&self) -> bool {
        let top = self.0.rsplit_once('.').map_or(&*self.0, |(_, top)| top);
        is_delegated(top)
    }

    /// Takes over a domain that the URL standard's parser has already mapped to ASCII.
    pub(super) fn from_domain(domain: &str, text: &str) -> Result<Self, HostError> {
        let name = domain.strip_suffix('.').unwrap_or(domain);
        if name.len() > 253 {
            return Err(HostError::Length { length: name.len() });
        }
        if name.split('.').any(|label| label.is_empty() || label.len() > 63) {
            return Err(HostError::Label { text: text.to_owned() });
        }
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
        match name.chars().find(|&c| !plain(c)) {
            Some(found) => Err(HostError::Character { text: text.to_owned(), found }),
            None => Ok(Self(name.into())),
        }
    }
}

/// Tells whether the public DNS could delegate a top level. None begins with a digit or a hyphen, so that something
/// that is nearly an address (`1.2.3.4a`) is no public name.
fn is_delegated(top: &str) -> bool {
    !INNER_TOP_LEVELS.contains(&top) && top.starts_with(|first: char| first.is_ascii_alphabetic())
}

impl FromStr for HostName {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        if text.is_empty() {
            return Err(HostError::Empty);
        }
        match text::host(text, text)? {
            Host::Address(_) => Err(HostError::Address { text: text.to_owned() }),
            Host::Name(name) => Ok(name),
        }
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
