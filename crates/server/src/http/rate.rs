//! How often somebody may do something: a bucket that fills steadily, for each of a bounded number of somebodies.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How many somebodies are remembered.
const MOST: usize = 4096;

/// A bucket for each somebody. Whoever is not remembered has a full one.
pub(crate) struct Rate<K> {
    per_minute: f64,
    buckets: Mutex<HashMap<K, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl<K: Copy + Eq + Hash> Rate<K> {
    pub(crate) fn new(per_minute: u32) -> Self {
        Self { per_minute: f64::from(per_minute), buckets: Mutex::default() }
    }

    /// Takes so many out of the bucket, or says how long to wait until they are there.
    pub(crate) fn take(&self, who: K, count: u32) -> Result<(), Duration> {
        self.take_at(who, count, Instant::now())
    }

    fn take_at(&self, who: K, count: u32, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if buckets.len() >= MOST && !buckets.contains_key(&who) {
            self.forget(&mut buckets, now);
        }
        let full = Bucket { left: self.per_minute, at: now };
        let bucket = buckets.entry(who).or_insert(full);
        bucket.left = self.left(bucket, now);
        bucket.at = now;
        let count = f64::from(count);
        // Nobody can save up for more than a bucket holds, so that much is always enough.
        let needed = count.max(1.0).min(self.per_minute);
        if bucket.left < needed {
            return Err(Duration::from_secs_f64((needed - bucket.left) * 60.0 / self.per_minute));
        }
        bucket.left = (bucket.left - count).max(0.0);
        Ok(())
    }

    fn left(&self, bucket: &Bucket, now: Instant) -> f64 {
        let since = now.saturating_duration_since(bucket.at).as_secs_f64();
        (bucket.left + since * self.per_minute / 60.0).min(self.per_minute)
    }

    /// Forgets those whose bucket is full again; where that frees nothing, the one that was seen longest ago.
    fn forget(&self, buckets: &mut HashMap<K, Bucket>, now: Instant) {
        buckets.retain(|_, bucket| self.left(bucket, now) < self.per_minute);
        if buckets.len() >= MOST {
            let oldest = buckets.iter().min_by_key(|(_, bucket)| bucket.at).map(|(who, _)| *who);
            oldest.and_then(|who| buckets.remove(&who));
        }
    }
}

/// Returns what a peer is remembered by: whoever has one IPv6 address has its whole network.
pub(crate) fn peer_key(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_empties_and_fills_again() {
        let rate = Rate::new(60);
        let start = Instant::now();
        for _ in 0..60 {
            assert_eq!(rate.take_at(1, 1, start), Ok(()));
        }
        assert_eq!(rate.take_at(1, 1, start), Err(Duration::from_secs(1)));
        assert_eq!(rate.take_at(1, 0, start), Err(Duration::from_secs(1)));
        assert_eq!(rate.take_at(2, 1, start), Ok(()), "another one's bucket is its own");
        assert_eq!(rate.take_at(1, 1, start + Duration::from_secs(1)), Ok(()));
        assert!(rate.take_at(1, 2, start + Duration::from_secs(2)).is_err());
        assert_eq!(
            rate.take_at(1, 1000, start + Duration::from_secs(100)),
            Ok(()),
            "a full bucket is enough"
        );
        assert!(rate.take_at(1, 1, start + Duration::from_secs(100)).is_err());
    }

    #[test]
    fn no_more_than_so_many_are_remembered() {
        let rate = Rate::new(60);
        let start = Instant::now();
        for who in 0..MOST + 100 {
            assert_eq!(rate.take_at(who, 1, start), Ok(()));
        }
        assert!(rate.buckets.lock().unwrap().len() <= MOST);
    }

    #[test]
    fn a_network_is_one_peer() {
        #[rustfmt::skip]
        let cases = [
            ("2001:db8::1",      "2001:db8::ffff", true),
            ("2001:db8::1",      "2001:db8:0:1::1", false),
            ("::ffff:192.0.2.1", "192.0.2.1",      true),
            ("192.0.2.1",        "192.0.2.2",      false),
            ("::1",              "::2",            false),
        ];
        for (one, other, same) in cases {
            let key = |text: &str| peer_key(text.parse().unwrap());
            assert_eq!(key(one) == key(other), same, "{one} {other}");
        }
    }
}
