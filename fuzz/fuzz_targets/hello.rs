//! The first words of TLS: never a panic, and one verdict however they are cut and whatever follows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringfence_egress::wire::hello::{Hello, HelloFault, HelloReader};

fuzz_target!(|bytes: &[u8]| {
    let whole = HelloReader::new().take(bytes);
    for seed in 0..3 {
        assert_eq!(pieces(bytes, seed), whole);
    }
    if whole != Ok(Hello::More) {
        let mut longer = bytes.to_vec();
        longer.extend([0x17, 3, 3, 0, 1, 0]);
        assert_eq!(HelloReader::new().take(&longer), whole);
    }
});

/// Takes the bytes in pieces whose lengths they say themselves.
fn pieces(mut bytes: &[u8], seed: usize) -> Result<Hello, HelloFault> {
    let mut reader = HelloReader::new();
    let mut verdict = Ok(Hello::More);
    while let Some(&first) = bytes.first() {
        let length = if seed == 0 { 1 } else { 1 + usize::from(first) * seed % 97 };
        let (piece, rest) = bytes.split_at(length.min(bytes.len()));
        verdict = reader.take(piece);
        bytes = rest;
    }
    verdict
}
