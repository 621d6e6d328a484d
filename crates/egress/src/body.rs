//! The body of a response: decoded as it streams, and never more than its limit.
//!
//! INVARIANT: the limit counts decoded bytes, and decoding goes on only as fast as they are taken, so that a small
//! message cannot unfold into a large one.

mod brotli;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_compression::tokio::bufread::{GzipDecoder, ZlibDecoder};
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, TryStreamExt};
use http::header::{self, HeaderMap};
use http_body_util::{BodyDataStream, BodyExt};
use hyper::body::{Body as _, Incoming};
use tokio::io::{AsyncBufRead, AsyncRead, AsyncReadExt, BufReader};
use tokio_util::io::StreamReader;

use self::brotli::BrotliDecoder;
use crate::EgressError;

/// How many encodings are undone, one inside the other.
const LAYERS: usize = 3;

/// What a decoder may take in beyond the limit: framing, and data that does not shrink.
const WIRE_SLACK: u64 = 64 * 1024;

const CHUNK: usize = 16 * 1024;

/// A body that is read piece by piece.
pub(crate) struct Body {
    source: Source,
    limit: u64,
    taken: u64,
}

enum Source {
    Decoded {
        reader: Pin<Box<dyn AsyncRead + Send>>,
        /// Whether anything came, be it an error: nothing at all is an empty body in every encoding.
        fed: Arc<AtomicBool>,
    },
    Plain(BodyDataStream<Incoming>),
}

impl Body {
    /// Takes the body over, and from the headers what is undone.
    pub(crate) fn new(incoming: Incoming, headers: &mut HeaderMap, limit: u64) -> Result<Self, EgressError> {
        let encodings = if incoming.is_end_stream() { Vec::new() } else { encodings(headers)? };
        let source = if encodings.is_empty() {
            Source::Plain(incoming.into_data_stream())
        } else {
            headers.remove(header::CONTENT_ENCODING);
            headers.remove(header::CONTENT_LENGTH);
            decoded(incoming, &encodings, limit)
        };
        Ok(Self { source, limit, taken: 0 })
    }

    /// Returns the next piece, or none at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, EgressError> {
        let chunk = match &mut self.source {
            Source::Decoded { reader, fed } => {
                let mut buffer = BytesMut::with_capacity(CHUNK);
                match reader.read_buf(&mut buffer).await {
                    Ok(0) => None,
                    Ok(_) => Some(buffer.freeze()),
                    Err(_) if !fed.load(Ordering::Relaxed) => None,
                    Err(error) => return Err(failed(error, self.limit)),
                }
            }
            Source::Plain(stream) => stream.next().await.transpose().map_err(EgressError::Exchange)?,
        };
        let Some(chunk) = chunk else { return Ok(None) };
        self.taken = self.taken.saturating_add(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
        if self.taken > self.limit {
            Err(EgressError::TooLarge { limit: self.limit })
        } else {
            Ok(Some(chunk))
        }
    }
}

#[derive(Clone, Copy)]
enum Encoding {
    Brotli,
    Gzip,
    Zlib,
}

/// Reads the encodings in the order they were applied. One that is not known leaves the whole body as it came.
fn encodings(headers: &HeaderMap) -> Result<Vec<Encoding>, EgressError> {
    let mut found = Vec::new();
    for value in headers.get_all(header::CONTENT_ENCODING) {
        let Ok(value) = value.to_str() else { return Ok(Vec::new()) };
        for name in value.split(',') {
            match name.trim().to_ascii_lowercase().as_str() {
                "br" => found.push(Encoding::Brotli),
                "gzip" | "x-gzip" => found.push(Encoding::Gzip),
                "deflate" => found.push(Encoding::Zlib),
                "" | "identity" => {}
                _ => return Ok(Vec::new()),
            }
        }
    }
    if found.len() > LAYERS { Err(EgressError::Encodings { limit: LAYERS }) } else { Ok(found) }
}

fn decoded(incoming: Incoming, encodings: &[Encoding], limit: u64) -> Source {
    let fed = Arc::new(AtomicBool::new(false));
    let feeding = Arc::clone(&fed);
    let mut left = limit.saturating_add(WIRE_SLACK);
    let stream = incoming.into_data_stream().inspect(move |_| feeding.store(true, Ordering::Relaxed));
    let wire = stream.map_err(io::Error::other).and_then(move |chunk| {
        let size = u64::try_from(chunk.len()).unwrap_or(u64::MAX);
        let fits = left.checked_sub(size);
        left = fits.unwrap_or(0);
        std::future::ready(fits.map(|_| chunk).ok_or_else(|| io::Error::other(Overflow)))
    });
    let mut reader: Pin<Box<dyn AsyncBufRead + Send>> = Box::pin(StreamReader::new(Box::pin(wire)));
    for encoding in encodings.iter().rev() {
        reader = match encoding {
            Encoding::Brotli => Box::pin(BufReader::new(BrotliDecoder::new(reader))),
            Encoding::Gzip => {
                let mut decoder = GzipDecoder::new(reader);
                decoder.multiple_members(true);
                Box::pin(BufReader::new(decoder))
            }
            Encoding::Zlib => Box::pin(BufReader::new(ZlibDecoder::new(reader))),
        };
    }
    Source::Decoded { reader, fed }
}

fn failed(error: io::Error, limit: u64) -> EgressError {
    match error.get_ref() {
        Some(inner) if inner.is::<Overflow>() => EgressError::TooLarge { limit },
        _ => EgressError::Body(error),
    }
}

/// Marks an input that went over its share before its output did.
#[derive(Debug, thiserror::Error)]
#[error("more was sent than may be decoded")]
struct Overflow;
