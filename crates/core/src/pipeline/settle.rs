//! The last stage: one outcome becomes one record, told to the audit and then to observers.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use ringfence_policy::{Code, Refusal, Risk};
use serde_json::Value;

use super::admit::{Admission, Desk, used_declared};
use super::output::{CleanOutput, cleaned_text};
use super::registered::{Fit, Registered};
use super::stage::{Stage, Stages};
use crate::call::{Call, Report};
use crate::context::Context;
use crate::event::{Event, Record, Trail};
use crate::fail_point;
use crate::late::LateUses;
use crate::network::Connections;
use crate::outcome::{Failure, Outcome};
use crate::registry::{Parts, panic_text};
use crate::touch::Touched;

/// Takes a call from admission to its record.
pub(crate) struct Settling<'a> {
    pub(crate) desk: Desk<'a>,
    pub(crate) call: Call,
    pub(crate) registered: Option<(&'a Arc<Registered>, &'a Fit)>,
}

impl Settling<'_> {
    /// Runs the call to its end. Whatever happens, there is one outcome and one record.
    pub(crate) async fn settle(self) -> Report {
        let Self { desk, call, registered } = self;
        let arguments = call.arguments();
        let mut open = Open {
            desk,
            call,
            registered,
            arguments,
            stages: Stages::begin(),
            ended: false,
            context: None,
            trail: Trail::default(),
        };
        let outcome = AssertUnwindSafe(open.outcome()).catch_unwind().await;
        let outcome = outcome.unwrap_or_else(|panic| {
            let message = format!("a part of the registry panicked: {}", panic_text(&*panic));
            Outcome::Failed(Failure { code: Code::ExecutionFailed, message, executed: true, again: false })
        });
        let record = open.end(outcome);
        keep(Arc::clone(open.desk.parts), record).await
    }
}

/// A call without an outcome. One that is given up, because its future is dropped, leaves a record all the same.
struct Open<'a> {
    desk: Desk<'a>,
    call: Call,
    registered: Option<(&'a Arc<Registered>, &'a Fit)>,
    arguments: Arc<Value>,
    stages: Stages,
    ended: bool,
    /// What the tool was given, once it was.
    context: Option<Context>,
    trail: Trail,
}

impl Open<'_> {
    async fn outcome(&mut self) -> Outcome {
        fail_point::hit("admit");
        // Who cannot keep even that it was started does not start anything.
        if let Err(error) = self.desk.parts.keep_policies().await {
            let message = format!("the personality in force could not be recorded: {error}");
            return Outcome::Refused(Refusal::new(Code::AuditFailed, message));
        }
        match self.desk.admit(&self.call, &mut self.arguments, self.registered, &mut self.stages).await {
            Admission::Refused(refusal) => Outcome::Refused(self.clean_refusal(refusal)),
            Admission::Replayed(output) => {
                self.trail.replayed = true;
                Outcome::Done(output)
            }
            Admission::Substituted { output, checks, reservation } => {
                // The tool did not run: nothing is counted, and nothing that waits for it may go ahead.
                drop(reservation);
                self.stages.enter(Stage::Clean);
                self.finished(checks.pass(output))
            }
            Admission::Admitted { call: admitted, mut reservation, key } => {
                reservation.dispatch();
                let context = admitted.context();
                self.trail.key = context.idempotency_key().map(|(key, fence)| (key.to_owned(), fence));
                self.context = Some(context);
                let (passed, attempts) = admitted.run(key.as_ref(), &mut self.stages).await;
                fail_point::hit("ran");
                self.trail.attempts = attempts;
                let mut outcome = self.finished(passed);
                if let Some(key) = key {
                    self.stages.enter(Stage::Settle);
                    outcome = key.settle(outcome, admitted.keep()).await;
                }
                fail_point::hit("settled");
                if outcome.is_done() {
                    if let (Some(durable), Some((registered, _))) = (self.desk.durable_run(), self.registered)
                    {
                        durable.complete(&registered.declaration().name).await;
                    }
                    reservation.complete();
                }
                outcome
            }
        }
    }

    fn finished(&mut self, passed: Result<CleanOutput, Failure>) -> Outcome {
        match passed {
            Ok(output) => Outcome::Done(Arc::new(output)),
            // A failure's text comes from the tool, so it is cleaned like an output.
            Err(failure) => {
                Outcome::Failed(Failure { message: self.clean_error(failure.message), ..failure })
            }
        }
    }

    /// A refusal may quote an interceptor, a person or the arguments.
    fn clean_refusal(&mut self, refusal: Refusal) -> Refusal {
        match refusal.message {
            Cow::Borrowed(_) => refusal,
            Cow::Owned(message) => Refusal { message: self.clean_error(message).into(), ..refusal },
        }
    }

    /// Cleans an error text. What was said is kept for the audit where that is something else.
    fn clean_error(&mut self, said: String) -> String {
        let clean = cleaned_text(said.clone());
        if clean != said {
            self.trail.raw_error = Some(Value::String(said));
        }
        clean
    }

    fn end(&mut self, outcome: Outcome) -> Record {
        self.ended = true;
        let registered = self.registered.map(|(registered, _)| registered);
        let mut record = record(
            &self.desk,
            &self.call,
            registered,
            Arc::clone(&self.arguments),
            outcome,
            &mut self.stages,
        );
        record.trail = std::mem::take(&mut self.trail);
        if let Some(context) = &self.context {
            record.processes = context.take_processes();
            record.connections = context.take_connections();
        }
        let (parts, run) = (Arc::clone(self.desk.parts), Arc::clone(self.desk.run.id()));
        let late = LateUses::new(parts, self.desk.id, run, self.call.tool_arc());
        record.touched = self.desk.touches.end(&record.connections.listed, late);
        record
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let given_up = Failure::coded(Code::Cancelled, "the call was given up before it ended");
            let record = self.end(Outcome::Failed(given_up));
            let mut keeping = Box::pin(keep(Arc::clone(self.desk.parts), record));
            // An audit in memory is done at once; another goes on in the background, where there is a runtime for it.
            if keeping.as_mut().now_or_never().is_none()
                && let Ok(runtime) = tokio::runtime::Handle::try_current()
            {
                runtime.spawn(keeping);
            }
        }
    }
}

fn record(
    desk: &Desk<'_>,
    call: &Call,
    registered: Option<&Arc<Registered>>,
    arguments: Arc<Value>,
    outcome: Outcome,
    stages: &mut Stages,
) -> Record {
    let declaration = registered.map(|registered| registered.declaration());
    let capabilities = declaration.and_then(|declaration| declaration.capabilities.as_ref());
    let used_declared_capability = match &outcome {
        Outcome::Refused(Refusal { code, .. }) => used_declared(*code, capabilities),
        Outcome::Done(_) | Outcome::Failed(_) => false,
    };
    Record {
        call: desk.id,
        at: desk.parts.clock.now(),
        run: Arc::clone(desk.run.id()),
        session: Arc::clone(desk.run.session()),
        tool: call.tool_arc(),
        digest: registered.map(|registered| Arc::clone(&registered.digest)),
        description: registered.map(|registered| Arc::clone(&registered.description)),
        class: registered.map(|registered| registered.class),
        risk: declaration.map_or(Risk::Unknown, |declaration| declaration.risk),
        asker: call.asker(),
        arguments,
        outcome,
        duration: stages.end(),
        stages: stages.clone(),
        touched: Touched::default(),
        used_declared_capability,
        processes: Vec::new(),
        connections: Connections::default(),
        proposer: Arc::clone(desk.run.proposer()),
        personality: desk.policy.personality_id.clone(),
        policy: Arc::clone(&desk.policy.digest),
        manifest: desk.parts.in_force.hash.clone(),
        trail: Trail::default(),
    }
}

/// Keeps the record, then tells observers. An outcome that cannot be kept is withheld.
async fn keep(parts: Arc<Parts>, mut record: Record) -> Report {
    fail_point::hit("keep");
    if let Err(error) = parts.keep(&record).await {
        let message = format!("the outcome could not be recorded, so it is withheld: {error}");
        record.outcome = Outcome::Failed(Failure::coded(Code::AuditFailed, message));
    }
    fail_point::hit("kept");
    parts.tell(match &record.outcome {
        Outcome::Done(_) => Event::Called(&record),
        Outcome::Failed(_) => Event::Failed(&record),
        Outcome::Refused(_) => Event::Refused(&record),
    });
    Report { call: record.call, tool: record.tool, outcome: record.outcome, duration: record.duration }
}
