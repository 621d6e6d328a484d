//! The connection limit of a listener. An authenticated connection keeps its slot; when all slots are taken, a new connection evicts
//! the oldest unauthenticated one of the address that has the most.
//!
//! INVARIANT: an authenticated connection is never evicted, and unauthenticated ones alone cannot fill the listener.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::rate::peer_key;

/// Which part of all places one agent or person can keep for itself.
const SHARE: usize = 4;

/// The places of a listener.
pub(super) struct ConnectionSlots {
    most: usize,
    places: Mutex<SlotTable>,
    /// Told when a place is free again.
    freed: Notify,
}

#[derive(Default)]
struct SlotTable {
    /// How many were given out so far: also the order in which they were.
    given: u64,
    /// The places of connections that nobody vouched for, by where they come from, oldest first.
    strangers: HashMap<IpAddr, BTreeSet<u64>>,
    /// What ends each of them.
    ends: HashMap<u64, CancellationToken>,
    /// How many places each name keeps.
    known: HashMap<String, usize>,
}

impl SlotTable {
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

impl ConnectionSlots {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, places: Mutex::default(), freed: Notify::new() })
    }

    /// Gives a connection its place. Where all are taken, a stranger loses theirs; where there is none, this waits.
    pub(super) async fn enter(self: &Arc<Self>, peer: SocketAddr) -> Arc<ConnectionSlot> {
        let peer = peer_key(peer.ip());
        loop {
            let freed = self.freed.notified();
            if let Some(place) = self.try_enter(peer) {
                return Arc::new(place);
            }
            freed.await;
        }
    }

    fn try_enter(self: &Arc<Self>, peer: IpAddr) -> Option<ConnectionSlot> {
        let mut places = self.places();
        if places.taken() >= self.most && !places.make_room() {
            return None;
        }
        places.given += 1;
        let number = places.given;
        let end = CancellationToken::new();
        places.strangers.entry(peer).or_default().insert(number);
        places.ends.insert(number, end.clone());
        Some(ConnectionSlot {
            connection_slots: Arc::clone(self),
            number,
            peer,
            end,
            owner: Mutex::default(),
        })
    }

    fn places(&self) -> MutexGuard<'_, SlotTable> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection.
pub(crate) struct ConnectionSlot {
    connection_slots: Arc<ConnectionSlots>,
    number: u64,
    peer: IpAddr,
    end: CancellationToken,
    /// Who was vouched for.
    owner: Mutex<Option<String>>,
}

impl ConnectionSlot {
    /// Returns when the place is given to somebody else.
    pub(super) async fn evicted(&self) {
        self.end.cancelled().await;
    }

    /// Keeps the place for an agent or a person who has shown that they are it, as far as their share goes.
    pub(crate) fn authenticate(&self, name: &str) {
        let mut owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        if owner.is_some() {
            return;
        }
        let mut places = self.connection_slots.places();
        let share = (self.connection_slots.most / SHARE).max(1);
        let kept = places.known.get(name).copied().unwrap_or_default();
        // A place that was lost meanwhile is somebody else's.
        if kept < share && places.leave(self.number, self.peer).is_some() {
            *places.known.entry(name.to_owned()).or_default() += 1;
            *owner = Some(name.to_owned());
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let owner = self.owner.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let mut places = self.connection_slots.places();
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
        self.connection_slots.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(last: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, last], 1))
    }

    fn lost(place: &ConnectionSlot) -> bool {
        place.end.is_cancelled()
    }

    #[tokio::test]
    async fn the_oldest_stranger_of_the_largest_crowd_makes_room() {
        let connection_slots = ConnectionSlots::new(4);
        let lonely = connection_slots.enter(from(1)).await;
        let many = [
            connection_slots.enter(from(2)).await,
            connection_slots.enter(from(2)).await,
            connection_slots.enter(from(2)).await,
        ];
        let fifth = connection_slots.enter(from(3)).await;
        assert!(!lost(&lonely) && lost(&many[0]) && !lost(&many[1]) && !lost(&fifth));
        drop(many);
        let _sixth = connection_slots.enter(from(4)).await;
        let _seventh = connection_slots.enter(from(4)).await;
        assert!(!lost(&lonely) && !lost(&fifth), "what was lost and left frees no second place");
    }

    #[tokio::test]
    async fn whoever_was_vouched_for_stays_up_to_a_share() {
        let connection_slots = ConnectionSlots::new(4);
        let kept = connection_slots.enter(from(1)).await;
        kept.authenticate("alice");
        let beyond = connection_slots.enter(from(1)).await;
        beyond.authenticate("alice");
        let mut strangers = Vec::new();
        for _ in 0..10 {
            strangers.push(connection_slots.enter(from(9)).await);
        }
        assert!(!lost(&kept), "alice's share is one of four");
        let other = connection_slots.enter(from(9)).await;
        other.authenticate("bob");
        for _ in 0..10 {
            strangers.push(connection_slots.enter(from(9)).await);
        }
        assert!(!lost(&other));
        assert!(strangers.iter().filter(|one| !lost(one)).count() <= 2);
    }

    #[tokio::test]
    async fn where_everybody_was_vouched_for_newcomers_wait() {
        let connection_slots = ConnectionSlots::new(2);
        let (one, two) = (connection_slots.enter(from(1)).await, connection_slots.enter(from(1)).await);
        one.authenticate("alice");
        two.authenticate("bob");
        assert!(connection_slots.try_enter(peer_key(from(2).ip())).is_none());
        let (third, ()) = tokio::join!(connection_slots.enter(from(2)), async {
            tokio::task::yield_now().await;
            drop(one);
        });
        assert!(!lost(&third) && !lost(&two));
        // A name that left has its share again.
        third.authenticate("alice");
        assert!(connection_slots.try_enter(peer_key(from(2).ip())).is_none());
    }
}
