//! How many streams one person has open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How many streams one person may have open.
const MOST: usize = 24;

/// The people who follow, with how many streams each.
#[derive(Clone, Default)]
pub(crate) struct Guests(Arc<Mutex<HashMap<String, usize>>>);

/// One stream of one person. Dropping it frees its place.
pub(crate) struct Guest {
    guests: Guests,
    name: String,
}

impl Guests {
    /// Takes a place for somebody, where they have one left.
    pub(crate) fn enter(&self, name: &str) -> Option<Guest> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = all.entry(name.to_owned()).or_default();
        if *own >= MOST {
            return None;
        }
        *own += 1;
        Some(Guest { guests: self.clone(), name: name.to_owned() })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut all = self.guests.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = all.get_mut(&self.name) {
            *own -= 1;
            if *own == 0 {
                all.remove(&self.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_every_place() {
        let guests = Guests::default();
        let mut held: Vec<_> = (0..MOST).map(|_| guests.enter("ada").unwrap()).collect();
        assert!(guests.enter("ada").is_none());
        let other = guests.enter("bob").unwrap();
        held.pop();
        assert!(guests.enter("ada").is_some());
        drop((held, other));
        assert!(guests.0.lock().unwrap().is_empty());
    }
}
