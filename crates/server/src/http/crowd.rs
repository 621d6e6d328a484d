//! Places for connections: whoever has shown who they are keeps theirs, and among strangers the newest has the best claim.
//!
//! INVARIANT: a connection that somebody vouched for is never ended to make room, and strangers alone cannot keep anybody out.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::rate::peer_key;

/// Which part of all places one agent or person can keep for itself.
const SHARE: usize = 4;

/// The places of a listener.
pub(super) struct Crowd {
    most: usize,
    places: Mutex<Places>,
    /// Told when a place is free again.
    freed: Notify,
}

#[derive(Default)]
struct Places {
    /// How many were given out so far: also the order in which they were.
    given: u64,
    /// The places of connections that nobody vouched for, by where they come from, oldest first.
    strangers: HashMap<IpAddr, BTreeSet<u64>>,
    /// What ends each of them.
    ends: HashMap<u64, CancellationToken>,
    /// How many places each name keeps.
    known: HashMap<String, usize>,
}

impl Places {
    fn taken(&self) -> usize {
        self.ends.len() + self.known.values().sum::<usize>()
    }

    fn leave(&mut self, number: u64, peer: IpAddr) -> Option<CancellationToken> {
        if let Some(all) = self.strangers.get_mut(&peer) {
            all.remove(&number);
            if all.is_empty() {
                self.strangers.remove(&peer);
            }
        }
        self.ends.remove(&number)
    }

    /// Ends the oldest connection of the address that has the most strangers. Returns whether there was one.
    fn make_room(&mut self) -> bool {
        let largest = self.strangers.iter().max_by_key(|(_, all)| all.len());
        let oldest = largest.and_then(|(peer, all)| Some((*peer, *all.first()?)));
        let Some((peer, number)) = oldest else { return false };
        let end = self.leave(number, peer);
        end.inspect(CancellationToken::cancel).is_some()
    }
}

impl Crowd {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, places: Mutex::default(), freed: Notify::new() })
    }

    /// Gives a connection its place. Where all are taken, a stranger loses theirs; where there is none, this waits.
    pub(super) async fn enter(self: &Arc<Self>, peer: SocketAddr) -> Arc<Place> {
        let peer = peer_key(peer.ip());
        loop {
            let freed = self.freed.notified();
            if let Some(place) = self.try_enter(peer) {
                return Arc::new(place);
            }
            freed.await;
        }
    }

    fn try_enter(self: &Arc<Self>, peer: IpAddr) -> Option<Place> {
        let mut places = self.places();
        if places.taken() >= self.most && !places.make_room() {
            return None;
        }
        places.given += 1;
        let number = places.given;
        let end = CancellationToken::new();
        places.strangers.entry(peer).or_default().insert(number);
        places.ends.insert(number, end.clone());
        Some(Place { crowd: Arc::clone(self), number, peer, end, owner: Mutex::default() })
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection.
pub(crate) struct Place {
    crowd: Arc<Crowd>,
    number: u64,
    peer: IpAddr,
    end: CancellationToken,
    /// Who was vouched for.
    owner: Mutex<Option<String>>,
}

impl Place {
    /// Returns when the place is given to somebody else.
    pub(super) async fn is_lost(&self) {
        self.end.cancelled().await;
    }

    /// Keeps the place for an agent or a person who has shown that they are it, as far as their share goes.
    pub(crate) fn vouch(&self, name: &str) {
        let mut owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        if owner.is_some() {
            return;
        }
        let mut places = self.crowd.places();
        let share = (self.crowd.most / SHARE).max(1);
        let kept = places.known.get(name).copied().unwrap_or_default();
        // A place that was lost meanwhile is somebody else's.
        if kept < share && places.leave(self.number, self.peer).is_some() {
            *places.known.entry(name.to_owned()).or_default() += 1;
            *owner = Some(name.to_owned());
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let owner = self.owner.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let mut places = self.crowd.places();
        match owner {
            None => drop(places.leave(self.number, self.peer)),
            Some(name) => {
                if let Some(kept) = places.known.get_mut(&name) {
                    *kept -= 1;
                    if *kept == 0 {
                        places.known.remove(&name);
                    }
                }
            }
        }
        drop(places);
        self.crowd.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(last: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, last], 1))
    }

    fn lost(place: &Place) -> bool {
        place.end.is_cancelled()
    }

    #[tokio::test]
    async fn the_oldest_stranger_of_the_largest_crowd_makes_room() {
        let crowd = Crowd::new(4);
        let lonely = crowd.enter(from(1)).await;
        let many = [crowd.enter(from(2)).await, crowd.enter(from(2)).await, crowd.enter(from(2)).await];
        let fifth = crowd.enter(from(3)).await;
        assert!(!lost(&lonely) && lost(&many[0]) && !lost(&many[1]) && !lost(&fifth));
        drop(many);
        let _sixth = crowd.enter(from(4)).await;
        let _seventh = crowd.enter(from(4)).await;
        assert!(!lost(&lonely) && !lost(&fifth), "what was lost and left frees no second place");
    }

    #[tokio::test]
    async fn whoever_was_vouched_for_stays_up_to_a_share() {
        let crowd = Crowd::new(4);
        let kept = crowd.enter(from(1)).await;
        kept.vouch("alice");
        let beyond = crowd.enter(from(1)).await;
        beyond.vouch("alice");
        let mut strangers = Vec::new();
        for _ in 0..10 {
            strangers.push(crowd.enter(from(9)).await);
        }
        assert!(!lost(&kept), "alice's share is one of four");
        let other = crowd.enter(from(9)).await;
        other.vouch("bob");
        for _ in 0..10 {
            strangers.push(crowd.enter(from(9)).await);
        }
        assert!(!lost(&other));
        assert!(strangers.iter().filter(|one| !lost(one)).count() <= 2);
    }

    #[tokio::test]
    async fn where_everybody_was_vouched_for_newcomers_wait() {
        let crowd = Crowd::new(2);
        let (one, two) = (crowd.enter(from(1)).await, crowd.enter(from(1)).await);
        one.vouch("alice");
        two.vouch("bob");
        assert!(crowd.try_enter(peer_key(from(2).ip())).is_none());
        let (third, ()) = tokio::join!(crowd.enter(from(2)), async {
            tokio::task::yield_now().await;
            drop(one);
        });
        assert!(!lost(&third) && !lost(&two));
        // A name that left has its share again.
        third.vouch("alice");
        assert!(crowd.try_enter(peer_key(from(2).ip())).is_none());
    }
}
