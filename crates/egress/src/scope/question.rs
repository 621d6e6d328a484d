//! Asking about targets that nothing names.
//!
//! INVARIANT: a target has at most one open question, whoever waits for it; a yes is added to the grant before
//! anybody hears of it; a no, and no answer in time, hold as long as the scope.

use std::collections::HashMap;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, Weak};

use ringfence_policy::{Code, Refusal, Target};
use tokio::sync::watch;
use tokio::time::timeout;

use super::meter::exceeded;
use super::{Scope, locked};

/// How many questions may be open at the same time.
const OPEN: usize = 16;

/// How many targets may be asked about in all.
const ASKED: usize = 256;

/// Asks somebody whether a target may be reached.
pub trait Asker: Send + Sync {
    /// Asks about the target. The future is dropped when nobody waits for the answer any more.
    fn ask<'a>(
        &'a self,
        target: &'a Target,
    ) -> Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send + 'a>>;
}

type Answer = Result<(), Refusal>;
type Teller = watch::Sender<Option<Answer>>;

/// Every question of a scope.
#[derive(Debug, Default)]
pub(super) struct Questions(Mutex<HashMap<Target, State>>);

#[derive(Debug)]
enum State {
    No(Refusal),
    Open(Weak<Teller>),
}

impl Questions {
    /// Waits for the answer about a target; asks unless somebody has.
    pub(super) async fn answer(&self, scope: &Scope, asker: Arc<dyn Asker>, target: &Target) -> Answer {
        let Some(mut heard) = self.join(scope, asker, target)? else { return Ok(()) };
        match heard.wait_for(Option::is_some).await {
            Ok(answer) => answer.clone().unwrap_or_else(|| Err(unanswered(target))),
            Err(_) => Err(unanswered(target)),
        }
    }

    /// Joins the open question about a target, or opens one; none when the grant has come to admit it.
    fn join(
        &self,
        scope: &Scope,
        asker: Arc<dyn Asker>,
        target: &Target,
    ) -> Result<Option<watch::Receiver<Option<Answer>>>, Refusal> {
        let mut states = locked(&self.0);
        if scope.judge(target).is_ok() {
            return Ok(None);
        }
        match states.get(target) {
            Some(State::No(refusal)) => return Err(refusal.clone()),
            Some(State::Open(teller)) => {
                if let Some(teller) = teller.upgrade() {
                    return Ok(Some(teller.subscribe()));
                }
            }
            None => {}
        }
        let open = states.values().filter(|state| matches!(state, State::Open(_))).count();
        if open >= OPEN || states.len() >= ASKED {
            return Err(exceeded(format!(
                "{target} is not asked about: there are too many questions already"
            )));
        }
        let (teller, heard) = watch::channel(None);
        let teller = Arc::new(teller);
        states.insert(target.clone(), State::Open(Arc::downgrade(&teller)));
        tokio::spawn(ask(scope.clone(), asker, target.clone(), teller));
        Ok(Some(heard))
    }

    /// Takes the answer down. A yes comes too late where the grant no longer lets anybody be asked.
    fn settle(&self, scope: &Scope, target: &Target, answer: Answer) -> Answer {
        let mut states = locked(&self.0);
        let answer = answer.and_then(|()| if scope.add(target) { Ok(()) } else { Err(withdrawn(target)) });
        match &answer {
            Ok(()) => states.remove(target),
            Err(refusal) => states.insert(target.clone(), State::No(refusal.clone())),
        };
        answer
    }

    /// Takes a question back for which nobody waits, or says that somebody does again.
    fn abandon(&self, target: &Target, teller: &Teller) -> bool {
        let mut states = locked(&self.0);
        let alone = teller.receiver_count() == 0;
        if alone {
            states.remove(target);
        }
        alone
    }
}

async fn ask(scope: Scope, asker: Arc<dyn Asker>, target: Target, teller: Arc<Teller>) {
    let questions = &scope.0.questions;
    let mut asking = pin!(timeout(scope.0.patience, asker.ask(&target)));
    let answer = loop {
        tokio::select! {
            answer = &mut asking => break answer.unwrap_or_else(|_| Err(unanswered(&target))),
            () = scope.asking_ended() => break Err(withdrawn(&target)),
            () = teller.closed() => if questions.abandon(&target, &teller) { return },
        }
    };
    teller.send_replace(Some(questions.settle(&scope, &target, answer)));
}

fn unanswered(target: &Target) -> Refusal {
    Refusal::new(Code::ApprovalRequired, format!("nobody answered in time whether {target} may be reached"))
}

fn withdrawn(target: &Target) -> Refusal {
    Refusal::new(Code::HostNotAllowed, format!("{target} may no longer be asked about"))
}
