//! Both directions of a connection, until both are at their end.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::sleep;

use super::connection::End;
use super::lane::{Direction, Fault, Lane};
use super::opening::Opening;
use super::request::{Judge, refusal};
use super::{Phase, Shared};
use crate::Scope;
use crate::scope::Ticket;

/// How long the far side of a closing gate may take to hang up, once it was sent everything.
const GRACE: Duration = Duration::from_millis(250);

/// Passes bytes both ways until both sides have ended, or something ends them.
pub(super) async fn relay(
    gate: &Arc<Shared>,
    ticket: &Ticket,
    client: &mut TcpStream,
    far: &mut TcpStream,
    opening: Opening,
) -> End {
    let (from_client, to_client) = client.split();
    let (from_far, to_far) = far.split();
    let up = Lane::new(from_client, to_far, ticket, &gate.pipes, Direction::Sent);
    let down = Lane::new(from_far, to_client, ticket, &gate.pipes, Direction::Received);
    let mut pump = Pump::new(up, down, opening, &gate.scope);
    let mut phases = gate.phases.clone();
    tokio::select! {
        biased;
        end = poll_fn(|cx| pump.poll(cx, Until::BothEnd)) => return end,
        () = phases.reach(Phase::Closing) => {}
    }
    // The client is gone, or as good as gone: what it said is delivered, what it would hear is not waited for.
    let end = poll_fn(|cx| pump.poll(cx, Until::ClientEnds)).await;
    let mut rest = pin!(sleep(GRACE));
    if !matches!(end, End::Done) || pump.is_done() {
        return end;
    }
    tokio::select! {
        biased;
        end = poll_fn(|cx| pump.poll(cx, Until::BothEnd)) => end,
        () = &mut rest => End::Done,
    }
}

/// How long a pump works.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Until {
    BothEnd,
    ClientEnds,
}

/// Both directions.
struct Pump<'a> {
    up: Lane<'a>,
    down: Lane<'a>,
    judge: Option<Box<Judge>>,
    scope: &'a Scope,
}

impl<'a> Pump<'a> {
    fn new(mut up: Lane<'a>, down: Lane<'a>, opening: Opening, scope: &'a Scope) -> Self {
        let judge = match opening {
            Opening::Http(judge) => Some(judge),
            Opening::Raw(words) => {
                up.hold(words);
                None
            }
        };
        Self { up, down, judge, scope }
    }

    const fn is_done(&self) -> bool {
        self.up.is_done() && self.down.is_done()
    }

    fn poll(&mut self, cx: &mut Context<'_>, until: Until) -> Poll<End> {
        if let Poll::Ready(Err(fault)) = self.poll_up(cx) {
            return Poll::Ready(client_to_far(fault));
        }
        if let Poll::Ready(Err(fault)) = self.poll_down(cx) {
            return Poll::Ready(far_to_client(fault));
        }
        if self.down.is_done() && self.judge.as_ref().is_some_and(|judge| judge.is_waiting()) {
            // The far side has hung up without the answer that the client's next words depend on.
            self.up.finish();
        }
        let ended = match until {
            Until::BothEnd => self.is_done(),
            Until::ClientEnds => self.up.is_done(),
        };
        if ended { Poll::Ready(End::Done) } else { Poll::Pending }
    }

    fn poll_up(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        match &mut self.judge {
            Some(judge) => judge.poll(cx, &mut self.up, self.scope),
            None => self.up.poll(cx),
        }
    }

    fn poll_down(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        match &mut self.judge {
            Some(judge) if judge.is_waiting() => {
                let polled = self.down.poll_heard(cx, |bytes| {
                    judge.hear(bytes).map_err(|fault| Fault::Refused(refusal(&fault)))
                });
                if !judge.is_waiting() {
                    // The other direction may go on, and nothing else would wake it.
                    cx.waker().wake_by_ref();
                }
                polled
            }
            Some(_) | None => self.down.poll(cx),
        }
    }
}

fn client_to_far(fault: Fault) -> End {
    match fault {
        Fault::From(_) => End::Done,
        Fault::Refused(refusal) => End::Refused(refusal),
        Fault::Spent(refusal) => End::Spent(refusal),
        Fault::To(error) => End::Failed(broke_off(&error)),
    }
}

fn far_to_client(fault: Fault) -> End {
    match fault {
        Fault::From(error) => End::Failed(broke_off(&error)),
        Fault::Refused(refusal) => End::Failed(format!("the far side broke off: {}", refusal.message)),
        Fault::Spent(refusal) => End::Spent(refusal),
        Fault::To(_) => End::Done,
    }
}

fn broke_off(error: &io::Error) -> String {
    format!("the far side broke off: {error}")
}
