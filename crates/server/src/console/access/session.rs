//! Sessions of people who have logged in.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ringfence::{ApproverName, Principal};
use tokio_util::sync::CancellationToken;

use super::{hash, same, secret};

/// How long a session lives when nothing is asked.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// How long a session lives at most.
const LIVES: Duration = Duration::from_secs(12 * 60 * 60);
/// How many sessions there may be.
const MOST: usize = 256;

/// The sessions there are, by the hashes of their names.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<[u8; 32], Session>>);

struct Session {
    name: ApproverName,
    /// Since when its person is known: somebody who was revoked and added again is somebody else.
    since: Duration,
    form: String,
    /// Cancelled when it ends, so that its streams do.
    over: CancellationToken,
    began: Instant,
    used: Instant,
}

/// A session that was found.
#[derive(Clone, Debug)]
pub(crate) struct Entered {
    /// Whose it is.
    pub(crate) name: ApproverName,
    /// Since when that person is known.
    pub(crate) since: Duration,
    /// Cancelled when it ends.
    pub(crate) over: CancellationToken,
    /// What its forms must bring along.
    pub(crate) form: String,
}

impl Sessions {
    /// Begins a session for somebody, and returns its secret name.
    pub(crate) fn begin(&self, person: Principal) -> String {
        let (own, now) = (secret(), Instant::now());
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| session.is_alive(now));
        if sessions.len() >= MOST {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.used).map(|(key, _)| *key);
            oldest.and_then(|key| sessions.remove(&key));
        }
        let Principal { name, since, .. } = person;
        let over = CancellationToken::new();
        sessions.insert(hash(&own), Session { name, since, form: secret(), over, began: now, used: now });
        own
    }

    /// Finds a session that is alive.
    pub(crate) fn find(&self, own: &str) -> Option<Entered> {
        self.find_at(own, Instant::now())
    }

    fn find_at(&self, own: &str, now: Instant) -> Option<Entered> {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.get_mut(&hash(own)).filter(|session| session.is_alive(now))?;
        session.used = now;
        let (name, form, over) = (session.name.clone(), session.form.clone(), session.over.clone());
        Some(Entered { name, since: session.since, over, form })
    }

    /// Returns how many sessions are alive.
    pub(crate) fn count(&self) -> usize {
        let now = Instant::now();
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.values().filter(|session| session.is_alive(now)).count()
    }

    /// Returns how many sessions of somebody are alive.
    pub(crate) fn count_of(&self, name: &ApproverName) -> u64 {
        let now = Instant::now();
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.values().filter(|session| session.name == *name && session.is_alive(now)).count() as u64
    }

    /// Ends every session of somebody.
    pub(crate) fn end_of(&self, name: &ApproverName) {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| {
            let is_theirs = session.name == *name;
            if is_theirs {
                session.over.cancel();
            }
            !is_theirs
        });
    }

    /// Ends a session.
    pub(crate) fn end(&self, own: &str) {
        let ended = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&hash(own));
        if let Some(session) = ended {
            session.over.cancel();
        }
    }
}

impl Session {
    fn is_alive(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.used) < IDLE && now.saturating_duration_since(self.began) < LIVES
    }
}

impl Entered {
    /// Says whether this is still the person who has logged in.
    pub(crate) fn is_of(&self, person: &Principal) -> bool {
        self.name == person.name && self.since == person.since
    }

    /// Says whether a form brought along what it must.
    pub(crate) fn owns_form(&self, brought: &str) -> bool {
        same(self.form.as_bytes(), brought.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use ringfence::Role;

    use super::*;

    fn person(name: &str) -> Principal {
        Principal { name: name.parse().unwrap(), role: Role::Viewer, since: Duration::from_secs(7) }
    }

    #[test]
    fn a_session_is_found_by_its_name_until_it_ends() {
        let sessions = Sessions::default();
        let (one, other) = (sessions.begin(person("ada")), sessions.begin(person("bob")));
        assert_ne!(one, other);
        let entered = sessions.find(&one).unwrap();
        assert_eq!(entered.name.as_str(), "ada");
        assert!(entered.owns_form(&entered.form.clone()));
        assert!(!entered.owns_form(&sessions.find(&other).unwrap().form), "a form of another session");
        assert!(!entered.owns_form(""));
        assert!(sessions.find("").is_none());
        assert!(entered.is_of(&person("ada")) && !entered.is_of(&person("bob")));
        let again = Principal { since: Duration::from_secs(8), ..person("ada") };
        assert!(!entered.is_of(&again), "who was added again is somebody else");
        sessions.end(&one);
        assert!(entered.over.is_cancelled());
        assert!(sessions.find(&one).is_none());
        assert!(sessions.find(&other).is_some());
        let (third, bob) = (sessions.begin(person("ada")), "bob".parse().unwrap());
        assert_eq!(sessions.count_of(&bob), 1);
        let streaming = sessions.find(&other).unwrap().over;
        sessions.end_of(&bob);
        assert!(
            streaming.is_cancelled() && sessions.find(&other).is_none() && sessions.find(&third).is_some()
        );
    }

    #[test]
    fn a_session_ends_when_its_time_is_up() {
        let sessions = Sessions::default();
        let own = sessions.begin(person("ada"));
        let mut now = Instant::now();
        let end = now + LIVES;
        while now + IDLE / 2 < end {
            now += IDLE / 2;
            assert!(sessions.find_at(&own, now).is_some());
        }
        assert!(sessions.find_at(&own, end).is_none(), "used all the time, and still over");
        let own = sessions.begin(person("ada"));
        assert!(sessions.find_at(&own, Instant::now() + IDLE).is_none());
    }

    #[test]
    fn no_more_than_so_many() {
        let sessions = Sessions::default();
        for _ in 0..MOST + 10 {
            sessions.begin(person("ada"));
        }
        assert_eq!(sessions.0.lock().unwrap().len(), MOST);
    }
}
