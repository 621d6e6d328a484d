//! DNS queries: never a panic, an answer has the id and the question of its query, and only an uncompressed name is a host.
#![no_main]

use std::net::Ipv4Addr;

use libfuzzer_sys::fuzz_target;
use ringfence_egress::wire::dns::{Asked, Query};

fuzz_target!(|message: &[u8]| {
    let Some(query) = Query::read(message) else { return };
    assert!(query.shown_name().chars().count() <= 256);
    let address = query.address(Ipv4Addr::new(198, 18, 0, 2), 5);
    for answer in [&address, &query.empty(), &query.refused(), &query.overloaded()] {
        assert_eq!(answer[..2], message[..2], "the id");
        assert!(answer.len() <= 512);
        assert!(Query::read(answer).is_none(), "an answer is no query");
        if query.shown_name().is_empty() {
            assert_eq!(answer.len(), 12, "a header without a question");
            assert_eq!(query.asked(), &Asked::Unnamed);
        } else {
            let mut again = answer.clone();
            again[2] &= 0x7F;
            let again = Query::read(&again).expect("an answer has a question");
            assert_eq!(again.asked(), query.asked());
            assert_eq!(again.shown_name(), query.shown_name());
        }
    }
    assert_eq!(u16::from_be_bytes([address[6], address[7]]) == 1, query.is_address_question());
    let refused = query.refused();
    assert_eq!(refused[12..], message[12..refused.len()], "the question is repeated to the letter");
    let named = labels(&message[12..]);
    if let Asked::Address(name) | Asked::Nothing(name) = query.asked() {
        let labels = named.expect("only an uncompressed name is a host");
        assert!(labels.join(&b'.').eq_ignore_ascii_case(name.as_str().as_bytes()));
    } else if named.is_none() {
        assert!(query.shown_name().is_empty(), "what is no name is not repeated");
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
