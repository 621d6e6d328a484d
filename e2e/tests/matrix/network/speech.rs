//! Protocols other than HTTP, as far as a client needs them to believe.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

use super::far::Shared;
use super::http::Pages;

/// How a server speaks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Speech {
    /// Speaks first, as SSH does, and then says everything back.
    Banner,
    /// As PostgreSQL does: no encryption, no password, and the token for every query.
    Postgres,
    /// Says nothing and counts what comes.
    Sink,
    /// Sends this many bytes to whoever connects.
    Source(usize),
}

impl Speech {
    pub(crate) async fn speak(self, stream: TcpStream, log: &Shared, pages: &Pages) {
        // Whoever hangs up early ends the conversation; what was said is in the log.
        let _ended = match self {
            Self::Banner => banner(stream, log, pages).await,
            Self::Postgres => postgres(stream, log, pages).await,
            Self::Sink => sink(stream, log).await,
            Self::Source(bytes) => source(stream, bytes).await,
        };
    }
}

async fn banner(mut stream: TcpStream, log: &Shared, pages: &Pages) -> std::io::Result<()> {
    stream.write_all(format!("SSH-2.0-far_{}\r\n", pages.token).as_bytes()).await?;
    let mut block = [0; 4096];
    while let count @ 1.. = stream.read(&mut block).await? {
        log.lock().unwrap().bytes += count as u64;
        stream.write_all(&block[..count]).await?;
    }
    Ok(())
}

async fn postgres(mut stream: TcpStream, log: &Shared, pages: &Pages) -> std::io::Result<()> {
    const ENCRYPT: u32 = 80_877_103;
    loop {
        let length = stream.read_u32().await?;
        let mut startup = vec![0; usize::try_from(length).unwrap_or(0).clamp(4, 1024) - 4];
        stream.read_exact(&mut startup).await?;
        if startup[..4] != ENCRYPT.to_be_bytes() {
            break;
        }
        stream.write_all(b"N").await?;
    }
    stream.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").await?;
    while let Ok(b'Q') = stream.read_u8().await {
        let length = stream.read_u32().await?;
        let mut query = vec![0; usize::try_from(length).unwrap_or(0).clamp(4, 1024) - 4];
        stream.read_exact(&mut query).await?;
        log.lock().unwrap().bytes += query.len() as u64;
        let value = pages.token.as_bytes();
        let size = u32::try_from(value.len()).unwrap();
        let mut answer = b"T\0\0\0\x1a\0\x01a\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0D".to_vec();
        answer.extend((size + 10).to_be_bytes());
        answer.extend(1_u16.to_be_bytes());
        answer.extend(size.to_be_bytes());
        answer.extend(value);
        answer.extend(b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I");
        stream.write_all(&answer).await?;
    }
    Ok(())
}

async fn sink(mut stream: TcpStream, log: &Shared) -> std::io::Result<()> {
    let mut block = vec![0; 64 << 10];
    while let count @ 1.. = stream.read(&mut block).await? {
        log.lock().unwrap().bytes += count as u64;
    }
    Ok(())
}

async fn source(mut stream: TcpStream, mut bytes: usize) -> std::io::Result<()> {
    let block = vec![b'x'; 64 << 10];
    while bytes > 0 {
        let count = bytes.min(block.len());
        stream.write_all(&block[..count]).await?;
        bytes -= count;
    }
    stream.shutdown().await
}

/// Answers every datagram with the token.
pub(crate) async fn datagrams(socket: UdpSocket, log: Shared, pages: std::sync::Arc<Pages>) {
    let mut block = [0; 2048];
    while let Ok((_, from)) = socket.recv_from(&mut block).await {
        log.lock().unwrap().datagrams += 1;
        let _sent = socket.send_to(pages.token.as_bytes(), from).await;
    }
}
