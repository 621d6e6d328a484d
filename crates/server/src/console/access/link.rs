//! Login links: each lets one person in, once, for a while.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ringfence::Principal;

use super::{hash, same, secret};

/// How long a link works.
const LIVES: Duration = Duration::from_secs(15 * 60);
/// How many links there may be.
const MOST: usize = 16;

/// The links that nobody has used yet.
#[derive(Default)]
pub(crate) struct Links(Mutex<Vec<Link>>);

struct Link {
    hash: [u8; 32],
    person: Principal,
    until: Instant,
}

impl Links {
    /// Makes the code of a link for somebody.
    pub(crate) fn add(&self, person: Principal) -> String {
        let code = secret();
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|link| link.until > Instant::now());
        if links.len() >= MOST {
            links.remove(0);
        }
        links.push(Link { hash: hash(&code), person, until: Instant::now() + LIVES });
        code
    }

    /// Says for whom a code is, without using it up.
    pub(crate) fn owner(&self, code: &str) -> Option<Principal> {
        self.find(code, false)
    }

    /// Uses a code up.
    pub(crate) fn take(&self, code: &str) -> Option<Principal> {
        self.find(code, true)
    }

    fn find(&self, code: &str, take: bool) -> Option<Principal> {
        let (wanted, now) = (hash(code), Instant::now());
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|link| link.until > now);
        let place = links.iter().position(|link| same(&link.hash, &wanted))?;
        if take { Some(links.remove(place).person) } else { links.get(place).map(|link| link.person.clone()) }
    }
}

#[cfg(test)]
mod tests {
    use ringfence::Role;

    use super::*;

    fn ada() -> Principal {
        Principal { name: "ada".parse().unwrap(), role: Role::Admin, since: Duration::from_secs(7) }
    }

    #[test]
    fn a_link_works_once() {
        let links = Links::default();
        let code = links.add(ada());
        assert_eq!(links.owner(&code).unwrap().name.as_str(), "ada");
        assert_eq!(links.owner(&code).unwrap().name.as_str(), "ada", "looking uses nothing up");
        assert!(links.take(&format!("{code}x")).is_none());
        assert!(links.take("").is_none());
        assert_eq!(links.take(&code).unwrap().name.as_str(), "ada");
        assert!(links.take(&code).is_none());
        assert!(links.owner(&code).is_none());
    }

    #[test]
    fn old_links_give_way() {
        let links = Links::default();
        let codes: Vec<String> = (0..=MOST).map(|_| links.add(ada())).collect();
        assert!(links.take(&codes[0]).is_none());
        assert!(links.take(&codes[MOST]).is_some());
    }
}
