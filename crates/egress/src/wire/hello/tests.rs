use std::sync::Arc;

use proptest::prelude::*;
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::*;

const HANDSHAKE: u8 = 0x16;

/// An extension of a hello.
fn extension(kind: u16, body: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes(), &u16::try_from(body.len()).unwrap().to_be_bytes(), body].concat()
}

/// The extension that names a server, with a list of names of a type each.
fn names(entries: &[(u8, &[u8])]) -> Vec<u8> {
    let mut list = Vec::new();
    for (kind, name) in entries {
        list.push(*kind);
        list.extend(u16::try_from(name.len()).unwrap().to_be_bytes());
        list.extend(*name);
    }
    extension(0, &[&u16::try_from(list.len()).unwrap().to_be_bytes(), &*list].concat())
}

fn name(name: &[u8]) -> Vec<u8> {
    names(&[(0, name)])
}

/// The extension without which the TLS library takes a hello for an old one.
fn signatures() -> Vec<u8> {
    extension(13, &[0, 2, 4, 3])
}

/// A hello as one handshake message.
fn message(version: u16, extensions: &[Vec<u8>]) -> Vec<u8> {
    let extensions = extensions.concat();
    let mut body = version.to_be_bytes().to_vec();
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0xC0, 0x2F, 1, 0]);
    body.extend(u16::try_from(extensions.len()).unwrap().to_be_bytes());
    body.extend(extensions);
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&[1], &length[1..], &*body].concat()
}

fn record(kind: u8, payload: &[u8]) -> Vec<u8> {
    [&[kind, 3, 1], &u16::try_from(payload.len()).unwrap().to_be_bytes()[..], payload].concat()
}

/// A hello of TLS 1.2 in one record, with what a server must have and these extensions.
fn hello(extensions: &[Vec<u8>]) -> Vec<u8> {
    let extensions: Vec<_> = extensions.iter().cloned().chain([signatures()]).collect();
    record(HANDSHAKE, &message(0x0303, &extensions))
}

/// The hello of a real client that offers a post-quantum exchange first.
fn real(server: &str) -> Vec<u8> {
    let mut provider = aws_lc_rs::default_provider();
    provider.kx_groups.insert(0, aws_lc_rs::kx_group::X25519MLKEM768);
    let builder = ClientConfig::builder_with_provider(Arc::new(provider));
    let config = builder.with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
    let server = server.to_owned().try_into().unwrap();
    let mut bytes = Vec::new();
    ClientConnection::new(Arc::new(config), server).unwrap().write_tls(&mut bytes).unwrap();
    bytes
}

fn whole(bytes: &[u8]) -> Result<Hello, HelloFault> {
    HelloReader::new().take(bytes)
}

/// Takes the bytes in pieces of these lengths, over and over, and returns the first verdict.
fn pieces(mut bytes: &[u8], lengths: &[usize]) -> Result<Hello, HelloFault> {
    let mut reader = HelloReader::new();
    for length in lengths.iter().cycle() {
        let (piece, rest) = bytes.split_at((*length).clamp(1, bytes.len()));
        bytes = rest;
        match reader.take(piece) {
            Ok(Hello::More) if !bytes.is_empty() => {}
            verdict => return verdict,
        }
    }
    Ok(Hello::More)
}

fn for_name(name: &str) -> Result<Hello, HelloFault> {
    Ok(Hello::Name(name.parse().unwrap()))
}

/// Hellos and what is to become of them.
fn cases() -> Vec<(&'static str, Vec<u8>, Result<Hello, HelloFault>)> {
    let ech = [&[0, 0, 1, 0, 1, 7, 0, 32], &[8; 32][..], &[0, 144], &[9; 144][..]].concat();
    let ech = extension(0xFE0D, &ech);
    let versions = extension(43, &[2, 3, 4]);
    let plain = message(0x0303, &[name(b"acme.io"), signatures()]);
    let in_records =
        |size: usize| plain.chunks(size).flat_map(|part| record(HANDSHAKE, part)).collect::<Vec<u8>>();
    let (first, second) = plain.split_at(plain.len() / 2);
    let interleaved = [record(HANDSHAKE, first), record(0x15, &[1, 0]), record(HANDSHAKE, second)].concat();
    let early = [hello(&[name(b"acme.io")]), record(0x17, &[9; 9000]), record(0x14, &[1])].concat();
    let followed = record(HANDSHAKE, &[plain.clone(), plain.clone()].concat());
    let large = extension(0x0A0A, &[0; 20_000]);
    let long = message(0x0303, &[extension(0x0A0A, &[0; 60_000]), name(b"acme.io"), signatures()]);
    let long: Vec<u8> = long.chunks(16_000).flat_map(|part| record(HANDSHAKE, part)).collect();
    let slow: Vec<u8> =
        [1, 0, 0xFF, 0xFF].iter().chain(&[0; 20_000]).flat_map(|&byte| record(HANDSHAKE, &[byte])).collect();
    let mut cut = hello(&[name(b"acme.io")]);
    cut.truncate(cut.len() - 1);
    let nameless = Ok(Hello::Nameless);
    let malformed = Err(HelloFault::Malformed);
    vec![
        ("a name", hello(&[name(b"acme.io")]), for_name("acme.io")),
        ("a real client", real("api.acme.io"), for_name("api.acme.io")),
        ("a real client of an address", real("10.0.0.1"), nameless.clone()),
        ("upper case and a trailing dot", hello(&[name(b"API.Acme.IO.")]), for_name("api.acme.io")),
        ("no name", hello(&[versions]), nameless.clone()),
        ("no extensions but one", hello(&[]), nameless.clone()),
        ("an address", hello(&[name(b"10.0.0.1")]), nameless.clone()),
        ("an address of version 6", hello(&[name(b"::1")]), nameless),
        ("the outer name of an encrypted hello", hello(&[name(b"outer.io"), ech]), for_name("outer.io")),
        ("a large hello", hello(&[extension(0x0A0A, &[0; 12_000]), name(b"acme.io")]), for_name("acme.io")),
        ("records of one byte", in_records(1), for_name("acme.io")),
        ("records of seven bytes", in_records(7), for_name("acme.io")),
        ("the name in a second record", in_records(50), for_name("acme.io")),
        ("a hello in four records", long, for_name("acme.io")),
        ("early data behind it", early, for_name("acme.io")),
        ("garbage behind it", [hello(&[name(b"acme.io")]), vec![0xFF; 70_000]].concat(), for_name("acme.io")),
        ("the last byte missing", cut, Ok(Hello::More)),
        ("nothing", Vec::new(), Ok(Hello::More)),
        ("two extensions with names", hello(&[name(b"acme.io"), name(b"evil.net")]), malformed.clone()),
        ("two names", hello(&[names(&[(0, b"acme.io"), (0, b"evil.net")])]), malformed.clone()),
        ("a name of another type first", hello(&[names(&[(1, b"x"), (0, b"acme.io")])]), malformed.clone()),
        ("an empty name", hello(&[name(b"")]), malformed.clone()),
        ("an empty list", hello(&[names(&[])]), malformed.clone()),
        ("NUL", hello(&[name(b"acme.io\0.evil.net")]), malformed.clone()),
        ("a space", hello(&[name(b"acme.io ")]), malformed.clone()),
        ("a port", hello(&[name(b"acme.io:443")]), malformed.clone()),
        ("a wildcard", hello(&[name(b"*.acme.io")]), malformed.clone()),
        ("percent", hello(&[name(b"acme%2eio")]), malformed.clone()),
        ("other than ASCII", hello(&[name("bücher.de".as_bytes())]), malformed.clone()),
        ("no valid punycode", hello(&[name(b"xn--a-.io")]), malformed.clone()),
        ("an odd address", hello(&[name(b"0x7f.1")]), malformed.clone()),
        ("too long a label", hello(&[name(&[b'a'; 64])]), malformed.clone()),
        ("a second message in the record", followed, malformed.clone()),
        ("an alert in the midst of it", interleaved, malformed.clone()),
        ("a record that is too large", hello(&[large]), malformed.clone()),
        ("an empty record", record(HANDSHAKE, &[]), malformed.clone()),
        ("a server's hello", record(HANDSHAKE, &[2, 0, 0, 2, 3, 3]), malformed.clone()),
        ("an empty hello", record(HANDSHAKE, &[1, 0, 0, 0]), malformed.clone()),
        (
            "another protocol in a second record",
            [record(HANDSHAKE, &[1]), b"GET /".to_vec()].concat(),
            malformed,
        ),
        ("TLS 1.0", record(HANDSHAKE, &message(0x0301, &[name(b"acme.io")])), Err(HelloFault::Outdated)),
        ("endless", slow, Err(HelloFault::TooLong)),
        ("a promise of too much", record(HANDSHAKE, &[1, 1, 0, 0, 3, 3]), Err(HelloFault::TooLong)),
        ("SSL 2", vec![0x80, 0x2E, 1, 0, 2, 0, 0x15], Err(HelloFault::NotTls)),
        ("HTTP", b"GET / HTTP/1.1\r\nHost: acme.io\r\n\r\n".to_vec(), Err(HelloFault::NotTls)),
        ("SSH", b"SSH-2.0-OpenSSH_9\r\n".to_vec(), Err(HelloFault::NotTls)),
        ("an alert", record(0x15, &[2, 40]), Err(HelloFault::NotTls)),
        ("a version from nowhere", vec![HANDSHAKE, 4, 0, 0, 1, 0], Err(HelloFault::NotTls)),
    ]
}

#[test]
fn a_hello_is_judged_however_it_is_cut() {
    for (what, bytes, expected) in cases() {
        assert_eq!(whole(&bytes), expected, "{what}");
        for lengths in [[1, 1], [2, 3], [5, 1], [4096, 4096]] {
            if !bytes.is_empty() {
                assert_eq!(pieces(&bytes, &lengths), expected, "{what}, in pieces of {lengths:?}");
            }
        }
    }
}

#[test]
fn a_hello_may_be_cut_in_two_anywhere() {
    let bytes = real("api.acme.io");
    assert!(bytes.len() > 1_200, "the key of the post-quantum exchange is large");
    for place in 1..bytes.len() {
        let (first, second) = bytes.split_at(place);
        let mut reader = HelloReader::new();
        assert_eq!(reader.take(first), Ok(Hello::More));
        assert_eq!(reader.take(second), for_name("api.acme.io"), "cut at {place}");
    }
}

#[test]
fn a_verdict_is_final() {
    let mut reader = HelloReader::new();
    assert_eq!(reader.take(&hello(&[name(b"acme.io")])), for_name("acme.io"));
    assert_eq!(reader.take(&hello(&[name(b"evil.net")])), for_name("acme.io"));
    let mut reader = HelloReader::new();
    assert_eq!(reader.take(b"GET"), Err(HelloFault::NotTls));
    assert_eq!(reader.take(&hello(&[name(b"acme.io")])), Err(HelloFault::NotTls));
}

proptest! {
    #[test]
    fn any_cut_of_a_damaged_hello_gives_one_verdict(
        case in 0..cases().len(),
        damage in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        lengths in prop::collection::vec(1..3_000_usize, 1..8),
    ) {
        let (_, mut bytes, _) = cases().swap_remove(case);
        bytes.push(0);
        if let Some((place, value)) = damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        prop_assert_eq!(pieces(&bytes, &lengths), whole(&bytes));
    }
}
