//! DNS queries: never a panic, and an answer has the id and the question of its query.
#![no_main]

use std::net::Ipv4Addr;

use libfuzzer_sys::fuzz_target;
use ringfence_egress::wire::dns::{Asked, Query};

fuzz_target!(|message: &[u8]| {
    let Some(query) = Query::read(message) else { return };
    assert!(query.shown_name().chars().count() <= 256);
    assert!(!query.kind_name().is_empty());
    let address = query.address(Ipv4Addr::new(198, 18, 0, 2), 5);
    for answer in [&address, &query.empty(), &query.refused(), &query.overloaded()] {
        assert_eq!(answer[..2], message[..2], "the id");
        assert!(answer.len() <= 512);
        assert!(Query::read(answer).is_none(), "an answer is no query");
        if query.shown_name().is_empty() {
            assert_eq!(answer.len(), 12, "a header without a question");
        } else {
            let mut again = answer.clone();
            again[2] &= 0x7F;
            let again = Query::read(&again).expect("an answer has a question");
            assert_eq!(again.asked(), query.asked());
            assert_eq!(again.shown_name(), query.shown_name());
            assert_eq!(again.kind_name(), query.kind_name());
        }
    }
    assert_eq!(u16::from_be_bytes([address[6], address[7]]) == 1, query.is_address_question());
    if let (Asked::Address(name) | Asked::Nothing(name), Some(labels)) =
        (query.asked(), labels(&message[12..]))
    {
        assert!(labels.join(&b'.').eq_ignore_ascii_case(name.as_str().as_bytes()));
    }
});

/// Reads the labels of an uncompressed name.
fn labels(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut labels = Vec::new();
    loop {
        let (&length, rest) = bytes.split_first()?;
        match length {
            0 => return Some(labels),
            64.. => return None,
            _ => {
                let (label, rest) = rest.split_at_checked(length.into())?;
                labels.push(label);
                bytes = rest;
            }
        }
    }
}
