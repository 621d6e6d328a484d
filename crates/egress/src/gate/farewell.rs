//! Telling a client that it is refused, in its own language.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::accept::reset;
use super::buffer;
use super::connection::Protocol;
use crate::wire::{hello, http};

/// How long a client may take to hear it.
const PATIENCE: Duration = Duration::from_secs(1);

/// How much of what a client says meanwhile is read and dropped; closing on unread bytes would drop the answer.
const DRAINED: usize = 256 * 1024;

/// Says that the connection was refused, and closes it.
pub(super) async fn refused(client: &mut TcpStream, protocol: Protocol, message: &str) {
    match protocol {
        Protocol::Http => say(client, &http::forbidden(message)).await,
        Protocol::Opaque => reset(client),
        Protocol::Tls => say(client, hello::alert()).await,
    }
}

/// Says that the far side could not be reached, and closes the connection.
pub(super) async fn unreachable(client: &mut TcpStream, protocol: Protocol, message: &str) {
    match protocol {
        Protocol::Http => say(client, &bad_gateway(message)).await,
        Protocol::Opaque | Protocol::Tls => reset(client),
    }
}

fn bad_gateway(message: &str) -> Vec<u8> {
    let length = message.len();
    format!(
        "HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {length}\r\n\r\n{message}"
    )
    .into_bytes()
}

async fn say(client: &mut TcpStream, words: &[u8]) {
    let saying = async {
        client.write_all(words).await?;
        client.shutdown().await?;
        let mut left = DRAINED;
        while left > 0 {
            client.readable().await?;
            match buffer::lend(|buffer| client.try_read(buffer)) {
                Ok(0) => break,
                Ok(count) => left = left.saturating_sub(count),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    };
    // A client that does not listen is not waited for.
    let _said = timeout(PATIENCE, saying).await;
}
