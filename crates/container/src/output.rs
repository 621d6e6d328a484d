//! What a command writes, on its way from the engine: two streams in one, in pieces with a header of eight bytes.

use ringfence_sandbox::Stream;
use tokio::io::{AsyncRead, AsyncReadExt};

const PIECE: usize = 32 << 10;
const HEADER: usize = 8;

/// The output of a command.
#[derive(Debug)]
pub(crate) struct Output<R> {
    from: R,
    /// The header as far as it was read, so that giving up waiting loses nothing.
    header: [u8; HEADER],
    filled: usize,
    /// Which stream the rest of this piece belongs to, and how long it is.
    rest: (Option<Stream>, u64),
    piece: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Output<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, header: [0; HEADER], filled: 0, rest: (None, 0), piece: vec![0; PIECE] }
    }

    /// Waits for more; nothing when there is no more. Can be given up and asked again.
    pub(crate) async fn next(&mut self) -> std::io::Result<Option<(Stream, &[u8])>> {
        loop {
            let (stream, left) = self.rest;
            if left > 0 {
                let most = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
                let read = self.from.read(self.piece.get_mut(..most).unwrap_or_default()).await?;
                if read == 0 {
                    return Err(broken_off());
                }
                self.rest.1 -= read as u64;
                // What came from the input is not output.
                if let Some(stream) = stream {
                    return Ok(Some((stream, self.piece.get(..read).unwrap_or_default())));
                }
                continue;
            }
            let read = self.from.read(self.header.get_mut(self.filled..).unwrap_or_default()).await?;
            self.filled += read;
            match (read, self.filled) {
                (0, 0) => return Ok(None),
                (0, _) => return Err(broken_off()),
                (_, HEADER) => {
                    self.rest = read_header(self.header)?;
                    self.filled = 0;
                }
                _ => {}
            }
        }
    }
}

fn read_header(header: [u8; HEADER]) -> std::io::Result<(Option<Stream>, u64)> {
    let [kind, _, _, _, a, b, c, d] = header;
    let stream = match kind {
        0 => None,
        1 => Some(Stream::Output),
        2 => Some(Stream::Error),
        _ => return Err(std::io::Error::other("the output is not in pieces")),
    };
    Ok((stream, u32::from_be_bytes([a, b, c, d]).into()))
}

fn broken_off() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::UnexpectedEof, "the output broke off in the middle of a piece")
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(bytes: &[u8]) -> std::io::Result<Vec<(Stream, Vec<u8>)>> {
        let mut output = Output::new(bytes);
        let mut pieces = Vec::new();
        while let Some((stream, piece)) = output.next().await? {
            pieces.push((stream, piece.to_vec()));
        }
        Ok(pieces)
    }

    #[tokio::test]
    async fn takes_the_streams_apart() {
        let bytes = b"\x01\0\0\0\0\0\0\x02hi\x02\0\0\0\0\0\0\x01e\0\0\0\0\0\0\0\x01x\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\x01!";
        assert_eq!(
            all(bytes).await.unwrap(),
            [
                (Stream::Output, b"hi".to_vec()),
                (Stream::Error, b"e".to_vec()),
                (Stream::Output, b"!".to_vec())
            ]
        );
    }

    #[tokio::test]
    async fn does_not_take_a_broken_stream_for_an_ended_one() {
        for bytes in
            [b"\x01\0\0\0\0\0\0\x02h".as_slice(), b"\x01\0\0", b"plain text", b"\x01\0\0\0\0\0\0\x02"]
        {
            assert!(all(bytes).await.is_err(), "{bytes:?}");
        }
    }

    #[tokio::test]
    async fn a_large_piece_comes_in_parts() {
        let mut bytes = b"\x01\0\0\0\0\x02\0\0".to_vec();
        bytes.extend(vec![7; 2 << 16]);
        let pieces = all(&bytes).await.unwrap();
        assert!(pieces.len() >= 4 && pieces.iter().all(|(_, piece)| piece.len() <= PIECE));
        assert_eq!(pieces.iter().map(|(_, piece)| piece.len()).sum::<usize>(), 2 << 16);
    }
}
