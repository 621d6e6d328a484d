//! The last stage: one outcome becomes one record, told to the audit and then to observers.

use std::sync::Arc;
use std::time::Instant;

use ringfence_policy::{Code, Refusal, Risk};
use serde_json::Value;

use super::admit::{Admission, Checks, Desk, used_declared};
use super::output::RawOutput;
use super::registered::{Fit, Registered};
use crate::event::{Event, Record};
use crate::outcome::{Failure, Outcome};
use crate::registry::{Call, Report};
use crate::run::Reservation;

/// Takes a call from admission to its record.
pub(crate) struct Settling<'a> {
    pub(crate) desk: Desk<'a>,
    pub(crate) call: Call,
    pub(crate) registered: Option<(&'a Arc<Registered>, &'a Fit)>,
}

impl Settling<'_> {
    /// Runs the call to its end. Whatever happens, there is one outcome and one record.
    pub(crate) async fn settle(self) -> Report {
        let Self { desk, mut call, registered } = self;
        let started = Instant::now();
        let mut arguments = call.take_arguments();
        let outcome = match desk.admit(&call, &mut arguments, registered).await {
            Admission::Refused(refusal) => Outcome::Refused(refusal),
            Admission::Replayed(output) => Outcome::Done(output),
            Admission::Substituted { output, registered, reservation } => {
                finish(Ok((output, Checks::of(registered))), reservation)
            }
            Admission::Admitted { call: admitted, mut reservation, key } => {
                reservation.dispatch();
                let outcome = finish(admitted.run().await, reservation);
                if let Some(key) = key {
                    match &outcome {
                        Outcome::Done(output) => {
                            desk.parts.idempotency.commit(call.tool(), &key, Arc::clone(output)).await;
                        }
                        Outcome::Failed(Failure { executed: false, .. }) => {
                            desk.parts.idempotency.release(call.tool(), &key).await;
                        }
                        // The tool ran, so nobody knows how far it came.
                        Outcome::Failed(_) | Outcome::Refused(_) => {
                            desk.parts.idempotency.doubt(call.tool(), &key).await;
                        }
                    }
                }
                outcome
            }
        };
        let record =
            record(&desk, &call, registered.map(|(registered, _)| registered), arguments, outcome, started);
        desk.keep(record)
    }
}

fn finish(ran: Result<(RawOutput, Checks), Failure>, reservation: Reservation) -> Outcome {
    let passed = ran.and_then(|(raw, checks)| checks.pass(raw.clean()));
    match passed {
        Ok(output) => {
            reservation.complete();
            Outcome::Done(Arc::new(output))
        }
        Err(failure) => Outcome::Failed(cleaned(failure)),
    }
}

/// A failure's text comes from the tool, so it is cleaned like an output.
fn cleaned(mut failure: Failure) -> Failure {
    let message = RawOutput::new(Value::String(std::mem::take(&mut failure.message))).clean();
    message.text().clone_into(&mut failure.message);
    failure
}

fn record(
    desk: &Desk<'_>,
    call: &Call,
    registered: Option<&Arc<Registered>>,
    arguments: Arc<Value>,
    outcome: Outcome,
    started: Instant,
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
        class: registered.map(|registered| registered.class),
        risk: declaration.map_or(Risk::Unknown, |declaration| declaration.risk),
        asker: call.asker(),
        arguments,
        outcome,
        duration: started.elapsed(),
        used_declared_capability,
    }
}

impl Desk<'_> {
    /// Keeps the record, then tells observers. An outcome that cannot be kept is withheld.
    fn keep(&self, mut record: Record) -> Report {
        if let Some(audit) = &self.parts.audit
            && let Err(error) = audit.record(&record)
        {
            let message = format!("the outcome could not be recorded, so it is withheld: {error}");
            record.outcome = Outcome::Failed(Failure::coded(Code::AuditFailed, message));
        }
        self.parts.tell(match &record.outcome {
            Outcome::Done(_) => Event::Called(&record),
            Outcome::Failed(_) => Event::Failed(&record),
            Outcome::Refused(_) => Event::Refused(&record),
        });
        Report { call: record.call, tool: record.tool, outcome: record.outcome, duration: record.duration }
    }
}
