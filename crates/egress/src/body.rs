//! The body of a response: decoded as it streams, and never more than its limit.
//!
//! INVARIANT: the limit counts decoded bytes, and decoding goes on only as fast as they are taken, so that a small
//! message cannot unfold into a large one. What is between the wire and the decoded bytes is held to the limit too.

mod brotli;
mod meter;

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
use tokio::io::{AsyncRead, AsyncReadExt, BufReader};
use tokio_util::io::StreamReader;

use self::brotli::BrotliDecoder;
use self::meter::{LayerReader, Overflow, Turn, TurnReader};
use crate::EgressError;

/// How many encodings are undone, one inside the other.
const LAYERS: usize = 3;

/// How many bytes a layer may have beyond the limit: framing, and data that does not shrink.
const LAYER_SLACK: u64 = 64 * 1024;

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

#[derive(Clone, Copy, Debug)]
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
    let stream = incoming.into_data_stream().inspect(move |_| feeding.store(true, Ordering::Relaxed));
    let wire = StreamReader::new(Box::pin(stream.map_err(io::Error::other)));
    Source::Decoded { reader: layered(Box::pin(wire), encodings, limit), fed }
}

/// Puts a decoder for each encoding above the wire. Every layer is limited, and all of them yield together.
fn layered(
    wire: Pin<Box<dyn AsyncRead + Send>>,
    encodings: &[Encoding],
    limit: u64,
) -> Pin<Box<dyn AsyncRead + Send>> {
    let turn = Arc::new(Turn::default());
    let metered = |reader| LayerReader::new(reader, limit.saturating_add(LAYER_SLACK), Arc::clone(&turn));
    let mut reader = wire;
    for encoding in encodings.iter().rev() {
        let input = BufReader::new(metered(reader));
        reader = match encoding {
            Encoding::Brotli => Box::pin(BrotliDecoder::new(input)),
            Encoding::Gzip => {
                let mut decoder = GzipDecoder::new(input);
                decoder.multiple_members(true);
                Box::pin(decoder)
            }
            Encoding::Zlib => Box::pin(ZlibDecoder::new(input)),
        };
    }
    Box::pin(TurnReader::new(metered(reader), Arc::clone(&turn)))
}

fn failed(error: io::Error, limit: u64) -> EgressError {
    match error.get_ref() {
        Some(inner) if inner.is::<Overflow>() => EgressError::TooLarge { limit },
        _ => EgressError::Body(error),
    }
}

#[cfg(test)]
mod tests;
