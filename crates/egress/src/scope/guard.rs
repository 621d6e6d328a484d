//! Watching over an open connection: the live grant, silence and age.

use std::sync::Arc;

use ringfence_policy::Refusal;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::meter::exceeded;
use super::{State, Ticket};

/// Ends when a connection may no longer go on.
#[derive(Debug)]
pub(crate) struct Guard {
    ticket: Arc<Ticket>,
    state: watch::Receiver<State>,
}

/// Why a connection may no longer go on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Broken {
    /// It lasted as long as it may.
    Aged,
    /// Nothing passed for as long as that may be.
    Silent,
    /// The grant no longer admits it.
    Withdrawn(Refusal),
}

impl Guard {
    pub(super) const fn new(ticket: Arc<Ticket>, state: watch::Receiver<State>) -> Self {
        Self { ticket, state }
    }

    /// Waits until the connection may no longer go on.
    pub(crate) async fn broken(mut self) -> Broken {
        loop {
            let due = match self.due() {
                Ok(due) => due,
                Err(broken) => return broken,
            };
            tokio::select! {
                biased;
                // The sender lives in the scope, which the ticket holds, so that there is no error to heed.
                _changed = self.state.changed() => if let Err(refusal) = self.ticket.judge() {
                    return Broken::Withdrawn(refusal);
                },
                () = sleep_until(due) => {}
            }
        }
    }

    /// Returns when to look at the clock again.
    fn due(&self) -> Result<Instant, Broken> {
        let meter = self.ticket.scope().meter();
        let (started, active) = self.ticket.times();
        let now = Instant::now();
        let silent = active + meter.idle;
        let aged = meter.longest.map(|longest| started + longest);
        if aged.is_some_and(|aged| aged <= now) {
            return Err(Broken::Aged);
        }
        if silent <= now {
            return Err(Broken::Silent);
        }
        Ok(aged.map_or(silent, |aged| aged.min(silent)))
    }
}

impl Broken {
    /// Returns why, with the code of a limit or of the grant.
    pub(crate) fn refusal(self) -> Refusal {
        match self {
            Self::Aged => exceeded("the connection lasted as long as it may".to_owned()),
            Self::Silent => exceeded("nothing passed for as long as that may be".to_owned()),
            Self::Withdrawn(refusal) => {
                Refusal::new(refusal.code, format!("the grant was narrowed: {}", refusal.message))
            }
        }
    }
}
