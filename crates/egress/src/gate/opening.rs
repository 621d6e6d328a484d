//! The first words of a client, where they name the host.
//!
//! INVARIANT: nothing of them is sent on before they are judged, and they must come within a fixed time however
//! slowly they drip.

use std::io;
use std::time::Duration;

use ringfence_policy::{Code, Host, Refusal, Target};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::buffer;
use super::connection::Protocol;
use super::request::Judge;
use crate::wire::hello::{Hello, HelloReader};

/// How long the first words may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a client has said so far, and how the rest is judged.
#[derive(Debug)]
pub(super) enum Opening {
    /// Requests, each of which is judged.
    Http(Box<Judge>),
    /// Bytes that may be sent on, and everything after them.
    Raw(Vec<u8>),
}

/// Reads the first words; none where the client hangs up before they are complete.
pub(super) async fn read(
    client: &mut TcpStream,
    protocol: Protocol,
    target: &Target,
) -> Result<Option<Opening>, Refusal> {
    let reading = async {
        match protocol {
            Protocol::Http => http(client, target).await,
            Protocol::Opaque => Ok(Some(Opening::Raw(Vec::new()))),
            Protocol::Tls => tls(client, target).await,
        }
    };
    if protocol == Protocol::Opaque {
        return reading.await;
    }
    timeout(PATIENCE, reading).await.unwrap_or_else(|_| {
        let message = format!("the first words for {target} did not come within {} s", PATIENCE.as_secs());
        Err(Refusal::new(Code::DeadlineExceeded, message))
    })
}

async fn tls(client: &TcpStream, target: &Target) -> Result<Option<Opening>, Refusal> {
    let mut reader = HelloReader::new();
    let mut words = Vec::new();
    loop {
        let before = words.len();
        if !more(client, &mut words).await {
            return Ok(None);
        }
        match reader.take(words.get(before..).unwrap_or_default()) {
            Ok(Hello::More) => {}
            Ok(Hello::Name(name)) if target.host == Host::Name(name.clone()) => break,
            Ok(Hello::Name(name)) => return Err(mismatch(target, &format!("`{name}`"))),
            Ok(Hello::Nameless) if matches!(target.host, Host::Address(_)) => break,
            Ok(Hello::Nameless) => return Err(mismatch(target, "no host")),
            Err(fault) => return Err(Refusal::new(Code::HostNotAllowed, fault.to_string())),
        }
    }
    words.shrink_to_fit();
    Ok(Some(Opening::Raw(words)))
}

fn mismatch(target: &Target, named: &str) -> Refusal {
    let host = &target.host;
    let message = format!("the TLS hello names {named} and the connection goes to `{host}`");
    Refusal::new(Code::HostNotAllowed, message)
}

async fn http(client: &TcpStream, target: &Target) -> Result<Option<Opening>, Refusal> {
    let mut judge = Judge::new(target.clone());
    loop {
        let mut words = Vec::new();
        if !more(client, &mut words).await {
            return Ok(None);
        }
        judge.add(&words);
        if judge.first()? {
            return Ok(Some(Opening::Http(Box::new(judge))));
        }
    }
}

/// Adds what the client says next; false where it has hung up.
async fn more(client: &TcpStream, words: &mut Vec<u8>) -> bool {
    loop {
        if client.readable().await.is_err() {
            return false;
        }
        let read = buffer::lend(|buffer| {
            let count = client.try_read(buffer)?;
            words.extend_from_slice(buffer.get(..count).unwrap_or_default());
            Ok::<_, io::Error>(count)
        });
        match read {
            Ok(count) => return count > 0,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return false,
        }
    }
}
