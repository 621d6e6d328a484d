//! A hash for small numbers: much faster than the default one, and not to be used for what others choose.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are numbers of our own.
pub(super) type Quick<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

/// Mixes numbers by multiplication.
#[derive(Debug, Default)]
pub(super) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        // The best bits of a product are the high ones, and a table looks at the low ones.
        self.0.rotate_left(26)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = self.0.wrapping_add(number).wrapping_mul(0xf135_7aea_2e62_a9c5);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}
