//! The name server of a namespace.
//!
//! INVARIANT: no question of a client makes this side look anything up. A name is looked up only when a connection
//! to it is dialled.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use ringfence_policy::{Code, Host, HostName, Refusal, Target};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::{sleep, timeout};

use super::names::Standing;
use super::{Phase, Phases, Shared};
use crate::scope::exceeded;
use crate::wire::dns::{Asked, Query};

/// For how many seconds a client may keep an answer.
const TTL: u32 = 5;

/// How long a message may be.
const LONGEST: usize = 4_096;

/// How long a connection may be silent.
const IDLE: Duration = Duration::from_secs(10);

/// How long to wait when the socket fails.
const PAUSE: Duration = Duration::from_millis(50);

/// Answers datagrams until the gate closes.
pub(super) async fn datagrams(gate: Arc<Shared>, socket: UdpSocket, mut phases: Phases) {
    let mut buffer = vec![0; LONGEST];
    loop {
        tokio::select! {
            biased;
            () = phases.reach(Phase::Closing) => return,
            received = socket.recv_from(&mut buffer) => match received {
                Ok((count, from)) => {
                    let message = buffer.get(..count).unwrap_or_default();
                    if let Some(answer) = gate.answer(message) {
                        // A client that cannot be answered asks again.
                        let _sent = socket.try_send_to(&answer, from);
                    }
                }
                Err(_) => sleep(PAUSE).await,
            },
        }
    }
}

/// Answers the messages of one connection, until it is silent or says what is no question.
pub(super) async fn stream(gate: Arc<Shared>, mut stream: TcpStream) {
    let mut message = Vec::new();
    while let Ok(Ok(Some(()))) = timeout(IDLE, read(&mut stream, &mut message)).await {
        let Some(answer) = gate.answer(&message) else { return };
        let Ok(length) = u16::try_from(answer.len()) else { return };
        let framed = [&length.to_be_bytes(), answer.as_slice()].concat();
        if !matches!(timeout(IDLE, stream.write_all(&framed)).await, Ok(Ok(()))) {
            return;
        }
    }
}

/// Reads one message with its length before it; none where the connection ends or the message is too long.
async fn read(stream: &mut TcpStream, message: &mut Vec<u8>) -> io::Result<Option<()>> {
    let length = usize::from(stream.read_u16().await?);
    if length > LONGEST {
        return Ok(None);
    }
    message.resize(length, 0);
    stream.read_exact(message).await?;
    Ok(Some(()))
}

impl Shared {
    /// Answers a message, unless it is one that no server answers.
    fn answer(&self, message: &[u8]) -> Option<Vec<u8>> {
        let query = Query::read(message)?;
        let refused = |shown: &str, refusal: &Refusal| {
            self.scope.name_refused(shown, refusal);
            query.refused()
        };
        Some(match query.asked() {
            Asked::Address(name) => match self.address(name) {
                Ok(Some(address)) => query.address(address, TTL),
                Ok(None) => {
                    let refusal = exceeded("no more names are given addresses".to_owned());
                    self.scope.name_refused(name.as_str(), &refusal);
                    query.overloaded()
                }
                Err(refusal) => refused(name.as_str(), &refusal),
            },
            Asked::Nothing(name) => match self.standing(name) {
                Ok(_) => query.empty(),
                Err(refusal) => refused(name.as_str(), &refusal),
            },
            Asked::Unnamed => {
                let shown = query.shown_name();
                let refusal =
                    Refusal::new(Code::HostNotAllowed, format!("`{shown}` is not the name of a host"));
                refused(&shown, &refusal)
            }
        })
    }

    /// Returns the address that stands for a name.
    fn address(&self, name: &HostName) -> Result<Option<Ipv4Addr>, Refusal> {
        let standing = self.standing(name)?;
        if standing == Standing::Granted {
            self.scope.count_name(&self.scope.grant(), name)?;
        }
        Ok(self.names.address(name, standing))
    }

    fn standing(&self, name: &HostName) -> Result<Standing, Refusal> {
        let grant = self.scope.grant();
        let host = Host::Name(name.clone());
        if grant.hosts().admits_host(&host) {
            return Ok(Standing::Granted);
        }
        if self.scope.asker(&host).is_some() {
            return Ok(Standing::Unknown);
        }
        // No port of the name is granted, so that any one yields the sentence for all.
        grant.judge(&Target::new(host, self.layout.tls)).map(|()| Standing::Granted)
    }
}
