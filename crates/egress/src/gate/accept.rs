//! Accepting connections, whatever comes.
//!
//! INVARIANT: no error of one connection, and no shortage of this side, ends a listener or makes it spin.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ringfence_policy::{Code, Host, Refusal, Target};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use super::connection::Connection;
use super::names::Meaning;
use super::{Phase, Phases, Shared, dns};
use crate::scope::{Ticket, Via};

/// How long to wait when this side is short of something.
const PAUSE: Duration = Duration::from_millis(50);

/// Accepts until the gate closes, and then what had connected before.
pub(super) async fn accept(gate: Arc<Shared>, listener: TcpListener, mut phases: Phases) {
    loop {
        tokio::select! {
            biased;
            () = phases.reach(Phase::Closing) => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => gate.take(stream),
                Err(error) if is_of_one_connection(&error) => {}
                Err(_) => {
                    gate.scope.count_unaccepted();
                    sleep(PAUSE).await;
                }
            },
        }
    }
    if phases.now() == Phase::Closing
        && let Ok(listener) = listener.into_std()
    {
        while let Ok((stream, _)) = listener.accept() {
            if let Ok(stream) = nonblocking(stream) {
                gate.take(stream);
            }
        }
    }
}

fn nonblocking(stream: std::net::TcpStream) -> io::Result<TcpStream> {
    stream.set_nonblocking(true)?;
    TcpStream::from_std(stream)
}

/// Tells whether only the connection is lost, and the next one may be fine.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

impl Shared {
    /// Begins to serve a connection.
    fn take(self: &Arc<Self>, stream: TcpStream) {
        let Ok(local) = stream.local_addr() else { return };
        let local = SocketAddr::new(local.ip().to_canonical(), local.port());
        if local == self.layout.dns {
            if let Ok(permit) = Arc::clone(&self.dns_streams).try_acquire_owned() {
                let gate = Arc::clone(self);
                self.spawn(async move {
                    dns::stream(gate, stream).await;
                    drop(permit);
                });
            }
            return;
        }
        let watch = self.scope.watch();
        let (target, meant) = self.target(local);
        let (ticket, entered) = Ticket::enter(&self.scope, target, Via::Gate);
        if entered.is_err() {
            reset(&stream);
            return;
        }
        let connection = Connection { gate: Arc::clone(self), ticket: Arc::new(ticket), client: stream };
        self.spawn(connection.serve(meant, watch));
    }

    /// Returns what a client meant that connected to `local`, or that it can have meant nothing.
    fn target(&self, local: SocketAddr) -> (Target, Result<(), Refusal>) {
        let literal = Target::new(Host::Address(local.ip()), local.port());
        match self.names.meaning(local.ip()) {
            Meaning::Literal => (literal, Ok(())),
            Meaning::Name(name) => (Target::new(Host::Name(name), local.port()), Ok(())),
            Meaning::Nothing => {
                let refusal =
                    Refusal::new(Code::HostNotAllowed, format!("{} stands for no name", local.ip()));
                (literal, Err(refusal))
            }
        }
    }
}

/// Makes closing the connection a reset.
pub(super) fn reset(stream: &TcpStream) {
    // Where it cannot be set, closing is as good.
    let _set = stream.set_zero_linger();
}
