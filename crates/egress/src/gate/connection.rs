//! One connection, from its acceptance to its evidence.
//!
//! INVARIANT: the far side is dialled only after the target was admitted and the client's first words name it, and
//! by the grant in force at that moment.

use std::sync::Arc;

use ringfence_policy::Refusal;
use tokio::net::TcpStream;

use super::accept::reset;
use super::{Layout, Shared, farewell, opening, relay};
use crate::scope::{Ticket, Verdict, Watch};
use crate::{EgressError, Pinned};

/// A connection that was accepted and counted.
pub(super) struct Connection {
    pub(super) gate: Arc<Shared>,
    pub(super) ticket: Arc<Ticket>,
    pub(super) client: TcpStream,
}

/// What is spoken on a port.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Protocol {
    /// Requests that each name their host.
    Http,
    /// Anything; the far side may speak first.
    Opaque,
    /// Sessions whose first record names their host.
    Tls,
}

impl Protocol {
    pub(super) const fn of(port: u16, layout: &Layout) -> Self {
        if port == layout.tls {
            Self::Tls
        } else if port == layout.http {
            Self::Http
        } else {
            Self::Opaque
        }
    }
}

/// How a connection ended.
#[derive(Debug)]
pub(super) enum End {
    /// This side ended it while it was open.
    Cut(Refusal),
    /// Both sides said what they had to say, or the client hung up.
    Done,
    /// The far side could not be reached, or broke off.
    Failed(String),
    /// It was not let through, or said something that is not.
    Refused(Refusal),
    /// Its bytes are used up; what was let through is still delivered.
    Spent(Refusal),
}

impl Connection {
    /// Serves the connection to its end, and tells of it.
    pub(super) async fn serve(mut self, meant: Result<(), Refusal>, watch: Watch) {
        let protocol = Protocol::of(self.ticket.target().port, &self.gate.layout);
        let mut far = None;
        let end = match meant.and_then(|()| self.gate.scope.meter().request()) {
            Ok(()) => self.pass(protocol, watch, &mut far).await,
            Err(refusal) => End::Refused(refusal),
        };
        match end {
            End::Done => self.ticket.settle(Verdict::Done),
            End::Spent(refusal) => self.ticket.cut(refusal),
            End::Cut(refusal) => {
                self.ticket.cut(refusal);
                self.reset(far.as_ref());
            }
            End::Refused(refusal) => {
                self.ticket.refuse(&refusal);
                match &far {
                    None => farewell::refused(&mut self.client, protocol, &refusal.to_string()).await,
                    Some(_) => self.reset(far.as_ref()),
                }
            }
            End::Failed(message) => {
                match &far {
                    None => farewell::unreachable(&mut self.client, protocol, &message).await,
                    Some(_) => self.reset(None),
                }
                self.ticket.settle(Verdict::Failed { message });
            }
        }
        // INVARIANT: the sockets are closed before the ticket tells that they are.
        drop((self.client, far));
        drop(self.ticket);
    }

    fn reset(&self, far: Option<&TcpStream>) {
        reset(&self.client);
        if let Some(far) = far {
            reset(far);
        }
    }

    /// Judges, and then passes bytes until something ends it.
    async fn pass(&mut self, protocol: Protocol, watch: Watch, far: &mut Option<TcpStream>) -> End {
        // A connection that waits for a person's answer is neither silent nor old.
        if let Err(refusal) = self.gate.scope.admit(self.ticket.target()).await {
            return End::Refused(refusal);
        }
        self.ticket.touch();
        let broken = self.ticket.guard(watch).broken();
        tokio::select! {
            biased;
            broken = broken => End::Cut(broken.refusal()),
            end = self.relay(protocol, far) => end,
        }
    }

    async fn relay(&mut self, protocol: Protocol, far: &mut Option<TcpStream>) -> End {
        let opening = match opening::read(&mut self.client, protocol, self.ticket.target()).await {
            Ok(Some(opening)) => opening,
            Ok(None) => return End::Done,
            Err(refusal) => return End::Refused(refusal),
        };
        match self.dial().await {
            Ok(stream) => {
                let far = far.insert(stream);
                relay::relay(&self.gate, &self.ticket, &mut self.client, far, opening).await
            }
            Err(EgressError::Refused(refusal)) => End::Refused(refusal),
            Err(error) => End::Failed(error.to_string()),
        }
    }

    /// Dials by the grant in force now.
    async fn dial(&self) -> Result<TcpStream, EgressError> {
        let target = self.ticket.target();
        let grant = self.gate.scope.judge(target)?;
        let permits = self.gate.scope.lookup_permits();
        let Pinned { stream, address } = self.gate.dialer.dial_within(permits, &grant, target).await?;
        self.ticket.opened(address);
        // The grant may have changed while the far side was dialled.
        self.ticket.judge()?;
        Ok(stream)
    }
}
