use std::sync::atomic::AtomicUsize;

use async_compression::tokio::bufread::{GzipEncoder, ZlibEncoder};

use super::*;

/// How many bytes of nothing are decoded.
const SILENT: usize = 1 << 18;

/// Returns a stream of at least [`SILENT`] bytes that stands for nothing.
fn silence(encoding: Encoding) -> Vec<u8> {
    match encoding {
        Encoding::Brotli => {
            // A small window, then a block of metadata, which is skipped, then the last block, which is empty.
            let length = u32::try_from(SILENT - 1).unwrap();
            [&(0x6c | length << 7).to_le_bytes()[..], &vec![0; SILENT], &[0x03]].concat()
        }
        Encoding::Gzip => {
            let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
            let member = [&head[..], &[0x03, 0x00], &[0; 8]].concat();
            member.repeat(SILENT.div_ceil(member.len()))
        }
        Encoding::Zlib => {
            // Stored blocks without content; the last one, and the checksum of nothing.
            let blocks = [0x00, 0x00, 0x00, 0xff, 0xff].repeat(SILENT.div_ceil(5));
            [&[0x78, 0x01][..], &blocks, &[0x01, 0x00, 0x00, 0xff, 0xff], &[0, 0, 0, 1]].concat()
        }
    }
}

async fn encode(encoding: Encoding, plain: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    match encoding {
        // Blocks that are not compressed: there is no encoder here.
        Encoding::Brotli => {
            // One bit for a window of 64 KiB, and metadata of no length, so that the first block begins at a byte.
            encoded.push(0x0c);
            for block in plain.chunks(1 << 16) {
                let length = u32::try_from(block.len() - 1).unwrap();
                encoded.extend(&(length << 3 | 1 << 19).to_le_bytes()[..3]);
                encoded.extend(block);
            }
            encoded.push(0x03);
        }
        Encoding::Gzip => {
            GzipEncoder::new(plain).read_to_end(&mut encoded).await.unwrap();
        }
        Encoding::Zlib => {
            ZlibEncoder::new(plain).read_to_end(&mut encoded).await.unwrap();
        }
    }
    encoded
}

async fn decode(wire: Vec<u8>, encodings: &[Encoding], limit: u64) -> io::Result<Vec<u8>> {
    let mut reader = layered(Box::pin(io::Cursor::new(wire)), encodings, limit);
    let mut decoded = Vec::new();
    reader.read_to_end(&mut decoded).await.map(|_| decoded)
}

/// Text that no encoding makes shorter.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(length).collect()
}

const ALL: [Encoding; 3] = [Encoding::Brotli, Encoding::Gzip, Encoding::Zlib];

#[tokio::test]
async fn a_layer_between_is_held_to_the_limit() {
    for inner in ALL {
        let silent = silence(inner);
        for outer in [Encoding::Gzip, Encoding::Zlib] {
            let bomb = encode(outer, &silent).await;
            assert!(bomb.len() < SILENT / 50, "{}", bomb.len());
            let within = decode(bomb.clone(), &[inner, outer], SILENT as u64).await;
            assert_eq!(within.unwrap(), b"", "{inner:?} {outer:?}");

            let mut reader = layered(Box::pin(io::Cursor::new(bomb)), &[inner, outer], 1_000);
            for _ in 0..2 {
                let error = reader.read_to_end(&mut Vec::new()).await.unwrap_err();
                assert!(matches!(failed(error, 1_000), EgressError::TooLarge { limit: 1_000 }));
            }
        }
    }
}

#[tokio::test]
async fn what_is_encoded_more_than_once_may_be_as_long_as_the_limit() {
    // Longer than what a layer may have beyond the limit.
    let plain = noise(100_000);
    for first in ALL {
        for second in ALL {
            let encodings = [first, second, Encoding::Brotli];
            let mut wire = plain.clone();
            for encoding in encodings {
                wire = encode(encoding, &wire).await;
            }
            let decoded = decode(wire, &encodings, plain.len() as u64).await;
            assert!(decoded.unwrap() == plain, "{encodings:?}");
        }
    }
}

/// Counts how often another task of the same thread runs meanwhile.
async fn turns_of_others<T>(work: impl Future<Output = T>) -> (T, usize) {
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&turns);
    let other = tokio::spawn(async move {
        loop {
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    let done = work.await;
    other.abort();
    (done, turns.load(Ordering::Relaxed))
}

#[tokio::test]
async fn other_tasks_run_while_a_decoder_works_without_output() {
    for encoding in ALL {
        let (decoded, turns) = turns_of_others(decode(silence(encoding), &[encoding], SILENT as u64)).await;
        assert_eq!(decoded.unwrap(), b"");
        // A turn is 16 KiB, and the last read of it may go beyond.
        assert!(turns >= SILENT / (24 * 1024), "{encoding:?}: {turns}");
    }
}

#[tokio::test]
async fn other_tasks_run_while_a_decoder_yields_a_byte_now_and_then() {
    let nothing = silence(Encoding::Gzip);
    let one = encode(Encoding::Gzip, b"1").await;
    // Before every end of a turn there is some output, which the decoder returns and does not wait.
    let some = [&nothing[..8 * 1024 / 20 * 20], &one].concat();
    let wire = encode(Encoding::Zlib, &some.repeat(SILENT / some.len())).await;
    let work = decode(wire, &[Encoding::Gzip, Encoding::Zlib], SILENT as u64);
    let (decoded, turns) = turns_of_others(work).await;
    assert_eq!(decoded.unwrap(), vec![b'1'; SILENT / some.len()]);
    assert!(turns >= SILENT / (32 * 1024), "{turns}");
}
