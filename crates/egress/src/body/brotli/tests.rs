use std::io;

use bytes::Bytes;
use futures_util::StreamExt;
use proptest::prelude::*;
use tokio::io::AsyncReadExt;
use tokio_util::io::StreamReader;

use super::*;

/// What the reference encoder makes of [`text`], with words of its dictionary and copies.
#[rustfmt::skip]
const ENCODED: [u8; 76] = [
    0x1b, 0x6b, 0x0c, 0xa0, 0x9c, 0x09, 0x76, 0x2c, 0x64, 0x32, 0x8a, 0xb0, 0x43, 0x5e, 0x53, 0x95, 0xa1, 0xbd, 0x29,
    0x32, 0xb3, 0x06, 0x39, 0x9b, 0xc3, 0xd3, 0x20, 0x2c, 0x69, 0x73, 0x9d, 0x72, 0xe0, 0xd0, 0xd6, 0x3c, 0xc9, 0xcb,
    0x2e, 0xf8, 0x8b, 0xc3, 0xc1, 0x43, 0x96, 0xda, 0xa7, 0xd1, 0x50, 0x12, 0x1c, 0x1c, 0x51, 0x3e, 0x09, 0x3e, 0x00,
    0xbb, 0xaa, 0x0e, 0xdb, 0x57, 0x48, 0x8b, 0x09, 0x3e, 0x12, 0x8b, 0xd6, 0x0a, 0xa1, 0xe7, 0x1d, 0x00, 0x00, 0x01,
];

fn text() -> String {
    let line = "The quick brown fox jumps over the lazy dog, the time of the government and the information on this page. ";
    line.repeat(30)
}

/// Decodes what arrives in pieces of this length, with room for this much at a time.
fn decode(encoded: &[u8], piece: usize, room: usize) -> io::Result<Vec<u8>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let pieces: Vec<_> =
            encoded.chunks(piece).map(|piece| Ok::<_, io::Error>(Bytes::copy_from_slice(piece))).collect();
        // Each piece has to be waited for.
        let late = futures_util::stream::iter(pieces).then(async |piece| {
            tokio::task::yield_now().await;
            piece
        });
        let mut decoder = BrotliDecoder::new(StreamReader::new(Box::pin(late)));
        let (mut decoded, mut buffer) = (Vec::new(), vec![0; room]);
        loop {
            match decoder.read(&mut buffer).await? {
                0 => return Ok(decoded),
                count => decoded.extend_from_slice(&buffer[..count]),
            }
        }
    })
}

#[test]
fn a_stream_is_decoded_however_it_arrives() {
    for piece in [1, 2, 7, 75, 76] {
        for room in [1, 3, 1_000, 100_000] {
            assert_eq!(decode(&ENCODED, piece, room).unwrap(), text().as_bytes(), "{piece} {room}");
        }
    }
    assert_eq!(decode(&[0x3b], 1, 10).unwrap(), b"");
}

#[test]
fn what_follows_the_end_is_not_read() {
    let followed = [&ENCODED[..], b"more", &ENCODED].concat();
    assert_eq!(decode(&followed, 1_000, 1_000).unwrap(), text().as_bytes());
}

#[test]
fn a_stream_that_breaks_off_is_an_error() {
    for length in 0..ENCODED.len() {
        let error = decode(&ENCODED[..length], 10, 100_000).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{length}");
    }
}

#[test]
fn a_window_that_the_encoding_does_not_have_is_an_error() {
    // A large window of 2^25 octets, then the end.
    for window in [&[0x11, 0x19, 0x03][..], &[0x11, 0x1E, 0x03]] {
        assert_eq!(decode(window, 3, 10).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
    assert!(decode(&[0x3b; 4], 4, 10).is_ok());
}

proptest! {
    #[test]
    fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..300), piece in 1usize..50) {
        let whole = decode(&bytes, 300, 4_096).ok();
        prop_assert_eq!(whole, decode(&bytes, piece, 777).ok());
    }
}
