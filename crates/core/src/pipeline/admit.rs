//! Stage two: everything that is decided before a tool runs.
//!
//! Order: lookup · toolset · constraints · input schema · argument gate · class → approval · interceptors ·
//! backends · grant · idempotency claim. An interceptor that replaces the arguments sends them round again.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures_util::FutureExt;
use ringfence_policy::{Capabilities, Code, Decision, Grant, JsonLimits, Refusal, Surface};
use serde_json::Value;

use super::ask::{Answer, Patience, Question};
use super::claim::{HeldKeys, kept_for};
use super::output::{CleanOutput, RawOutput};
use super::reconcile::Claim;
use super::registered::{Fit, Registered};
use super::run::{Admitted, Checks};
use super::stage::{Stage, Stages};
use crate::call::{Asker, Call};
use crate::context::{self, Context};
use crate::durable_run::DurableRun;
use crate::event::Event;
use crate::gate::{GateMode, judge_each};
use crate::handle::ScopedEnvironment;
use crate::interceptor::{Intercept, PendingCall};
use crate::late::LateUses;
use crate::port::{ApprovalRequest, Fence, WaitingCall};
use crate::registry::{Parts, Policy, panic_text};
use crate::run::{Reservation, Run, RunInfo};
use crate::touch::Touches;

/// How often people may change the arguments of one call.
const MOST_CHANGES: usize = 8;
/// What came of asking to be admitted.
pub(crate) enum Admission {
    /// The tool is to run.
    Admitted { call: Admitted, reservation: Reservation, key: Option<HeldKeys> },
    /// The output is already there: replayed by its key.
    Replayed(Arc<CleanOutput>),
    /// An interceptor gave an output in the tool's place.
    Substituted { output: RawOutput, checks: Checks, reservation: Reservation },
    /// The call is refused.
    Refused(Refusal),
}

/// Where calls are admitted: the parts of a registry and the policy in force.
pub(crate) struct Desk<'a> {
    pub(crate) parts: &'a Arc<Parts>,
    pub(crate) policy: &'a Policy,
    pub(crate) run: &'a Run,
    pub(crate) id: u64,
    /// What the call touches and is refused.
    pub(crate) touches: Touches,
}

impl Desk<'_> {
    /// Decides whether a call may run. `arguments` is updated when an interceptor replaces them.
    pub(crate) async fn admit(
        &self,
        call: &Call,
        arguments: &mut Arc<Value>,
        registered: Option<(&Arc<Registered>, &Fit)>,
        stages: &mut Stages,
    ) -> Admission {
        match self.decide(call, arguments, registered, stages).await {
            Ok(admission) => admission,
            Err(refusal) => Admission::Refused(refusal),
        }
    }

    async fn decide(
        &self,
        call: &Call,
        arguments: &mut Arc<Value>,
        registered: Option<(&Arc<Registered>, &Fit)>,
        stages: &mut Stages,
    ) -> Result<Admission, Refusal> {
        let (registered, fit) = self.permitted(call, registered)?;
        let declaration = registered.declaration();
        let durable = self.durable_run();
        if let Some(durable) = &durable {
            durable.load(self.run, &declaration.name, &declaration.constraints, &self.policy.forced).await?;
        }
        let reservation =
            self.run.reserve(&declaration.name, &declaration.constraints, &self.policy.forced)?;

        if let Some(output) = self.judge(call, registered, fit, arguments, stages).await? {
            return Ok(Admission::Replayed(output));
        }
        for interceptor in &self.parts.interceptors {
            stages.enter(Stage::Interceptors);
            let pending = PendingCall {
                tool: declaration.name.clone(),
                class: registered.class,
                risk: declaration.risk,
                arguments: Arc::clone(arguments),
                run: self.run.clone(),
            };
            let answer = AssertUnwindSafe(async { interceptor.before(&pending).await }).catch_unwind();
            let answer = self.unless_cancelled(answer).await?;
            let answer = answer.unwrap_or_else(|panic| Err(format!("it panicked: {}", panic_text(&*panic))));
            match answer {
                Ok(Intercept::Proceed) => {}
                Ok(Intercept::Refuse(reason)) => return Err(Refusal::new(Code::Intercepted, reason)),
                Ok(Intercept::Replace(replaced)) => {
                    *arguments = Arc::new(replaced);
                    if let Some(output) = self.judge(call, registered, fit, arguments, stages).await? {
                        return Ok(Admission::Replayed(output));
                    }
                }
                Ok(Intercept::Substitute(output)) => {
                    let (output, checks) = (RawOutput::new(output), Checks::of(registered, fit));
                    return Ok(Admission::Substituted { output, checks, reservation });
                }
                Err(error) => {
                    return Err(Refusal::new(Code::Intercepted, format!("an interceptor failed: {error}")));
                }
            }
        }

        stages.enter(Stage::Grant);
        let grant = self.granted(registered, fit)?;
        if declaration.idempotency.mode.is_some() {
            stages.enter(Stage::Claim);
        }
        let started = match &durable {
            Some(durable) => {
                let forced = &self.policy.forced;
                Some(durable.start(&declaration.name, &declaration.constraints, forced).await?)
            }
            None => None,
        };
        let claimed = self.claim(call, registered, fit, arguments).await;
        // A call that does not run is not counted.
        if let (Some(durable), Some(started), Err(_) | Ok(Claim::Replay(_))) = (&durable, &started, &claimed)
        {
            durable.take_back(started).await;
        }
        let key = match claimed? {
            Claim::Held(key) => Some(key),
            Claim::None => None,
            Claim::Replay(output) => return Ok(Admission::Replayed(output)),
        };
        crate::fail_point::hit("claimed");
        let admitted = Admitted {
            registered: Arc::clone(registered),
            arguments: Arc::clone(arguments),
            deadline: self.deadline(call, fit),
            checks: Checks::of(registered, fit),
            context: self.context(call, registered, fit, grant, key.as_ref().and_then(HeldKeys::name)),
            keep: kept_for(registered.class, self.parts.keep_keys),
        };
        Ok(Admission::Admitted { call: admitted, reservation, key })
    }

    /// Returns the counters of the run in a store, where there is one and a tool needs them.
    pub(super) fn durable_run(&self) -> Option<DurableRun<'_>> {
        let store = self.parts.runs.as_ref().filter(|_| self.policy.counts_runs)?;
        Some(DurableRun::new(store, self.run))
    }

    /// Decides what does not depend on the arguments: the tool is there, in the toolset, not in quarantine, and may be asked
    /// for by whoever asks.
    pub(super) fn permitted<'r>(
        &self,
        call: &Call,
        registered: Option<(&'r Arc<Registered>, &'r Fit)>,
    ) -> Result<(&'r Arc<Registered>, &'r Fit), Refusal> {
        let name = call.tool();
        let Some((registered, fit)) = registered else {
            return Err(Refusal::new(Code::ToolUnknown, format!("no tool is named `{}`", shown(name))));
        };
        if self.run.cancellation().is_cancelled() {
            return Err(cancelled());
        }
        if let Some(refusal) = fit.not_permitted(name).filter(|_| !fit.in_toolset || self.parts.refuses_gaps)
        {
            return Err(refusal);
        }
        if let Some(quarantine) = registered.quarantine() {
            return Err(quarantine.refusal.clone());
        }
        if registered.declaration().constraints.forbidden && call.asker() == Asker::Model {
            let message = format!("tool `{name}` may be called by code, never by a model");
            return Err(Refusal::new(Code::ConstraintViolated, message));
        }
        Ok((registered, fit))
    }

    /// Returns the grant of a call whose backends are there.
    pub(super) fn granted(&self, registered: &Registered, fit: &Fit) -> Result<Arc<Grant>, Refusal> {
        if let Some(missing) = &fit.missing {
            return Err(missing.clone());
        }
        let grant = Arc::clone(fit.grant.as_ref().map_err(Clone::clone)?);
        self.available(registered, &grant)?;
        Ok(grant)
    }

    /// Returns how long the tool may take.
    pub(super) fn deadline(&self, call: &Call, fit: &Fit) -> Duration {
        let wall =
            fit.limits.wall.map_or(self.parts.deadline, |wall| wall.duration().min(self.parts.deadline));
        call.deadline_or(wall).min(wall)
    }

    /// Makes what the tool's code receives.
    pub(super) fn context(
        &self,
        call: &Call,
        registered: &Registered,
        fit: &Fit,
        grant: Arc<Grant>,
        key: Option<(&str, Fence)>,
    ) -> Context {
        Context::new(context::Parts {
            tool: registered.declaration().name.clone(),
            call: self.id,
            run: RunInfo::new(self.run.clone()),
            cancellation: OnceLock::new(),
            personality: self.policy.personality_id.clone(),
            grant,
            digest: Arc::clone(&registered.digest),
            registry: Arc::clone(self.parts),
            limits: fit.limits,
            assurance: registered.declaration().assurance.unwrap_or_default(),
            key: key.map(|(key, fence)| (key.to_owned(), fence)),
            carried: call.carried(),
            processes: Mutex::default(),
            reached: OnceLock::new(),
            touches: self.touches.clone(),
        })
    }

    /// Judges arguments: size, schema, paths, and who must agree to them. Returns an output where the call turns out to
    /// be done already, so that nobody is asked about it again.
    async fn judge(
        &self,
        call: &Call,
        registered: &Arc<Registered>,
        fit: &Fit,
        arguments: &mut Arc<Value>,
        stages: &mut Stages,
    ) -> Result<Option<Arc<CleanOutput>>, Refusal> {
        // Whose arguments they are: a fault in an approver's is not to be blamed on whoever called.
        let mut whose: fn(Refusal) -> Refusal = std::convert::identity;
        for _ in 0..MOST_CHANGES {
            stages.judge(Stage::Schema);
            shaped(registered, arguments).map_err(whose)?;
            stages.judge(Stage::Arguments);
            self.gate(registered, fit, arguments).map_err(whose)?;
            match fit.decision {
                Decision::Allow => return Ok(None),
                Decision::Forbid => return Err(denied(registered)),
                Decision::Ask | Decision::AskTwo => {}
            }
            stages.enter(Stage::Approval);
            if let Some(output) = self.known(call, registered, fit, arguments).await? {
                return Ok(Some(output));
            }
            match self.ask(call, registered, fit.decision, arguments).await? {
                Answer::Agreed => return Ok(None),
                Answer::Changed(changed) => {
                    *arguments = Arc::new(changed);
                    whose = of_approver;
                }
            }
        }
        let message = format!("the arguments were changed {MOST_CHANGES} times");
        Err(Refusal::new(Code::ApprovalDenied, message))
    }

    /// Judges arguments by themselves: size, schema, paths.
    pub(super) fn fitting(
        &self,
        registered: &Registered,
        fit: &Fit,
        arguments: &Value,
    ) -> Result<(), Refusal> {
        shaped(registered, arguments)?;
        self.gate(registered, fit, arguments)
    }

    fn gate(&self, registered: &Registered, fit: &Fit, arguments: &Value) -> Result<(), Refusal> {
        if self.parts.gate == GateMode::Off {
            return Ok(());
        }
        let Some(fs) = fit.grant.as_ref().ok().and_then(|grant| grant.fs.as_ref()) else { return Ok(()) };
        let mut refused = |direction, text: &str| {
            if self.parts.gate == GateMode::Enforce {
                self.touches.file(direction, text.as_ref(), Some(Code::PathNotReachable));
            }
        };
        let schema = Some(&registered.input);
        match judge_each(fs, arguments, schema, self.run.working_dir(), &mut refused) {
            Err(refusal) if self.parts.gate == GateMode::Observe => {
                let tool = &registered.declaration().name;
                self.parts.tell(Event::Observed { tool, refusal: &refusal });
                Ok(())
            }
            verdict => verdict,
        }
    }

    async fn ask(
        &self,
        call: &Call,
        registered: &Registered,
        needed: Decision,
        arguments: &Arc<Value>,
    ) -> Result<Answer, Refusal> {
        let tool = &registered.declaration().name;
        let request = ApprovalRequest {
            digest: String::new(),
            tool: tool.clone(),
            tool_digest: Arc::clone(&registered.digest),
            class: registered.class,
            arguments: Arc::clone(arguments),
            run: Arc::clone(self.run.id()),
            session: Arc::clone(self.run.session()),
            proposer: Arc::clone(self.run.proposer()),
            needed,
            call: Some(WaitingCall {
                personality: self.policy.personality_id.clone(),
                asker: call.asker(),
                key: call.key().map(str::to_owned),
                deadline_ms: call.own_deadline().map(|own| own.as_millis().try_into().unwrap_or(u64::MAX)),
                directory: self.run.working_dir().map(Into::into),
                counts: self.run.counts(tool),
            }),
        };
        let request = request.digested().map_err(|error| {
            Refusal::new(Code::InputInvalid, format!("the arguments cannot be approved: {error}"))
        })?;
        let subject = format!("this call of `{tool}`");
        let question = Question {
            parts: self.parts,
            call: self.id,
            request,
            subject: &subject,
            patience: Patience::Once,
        };
        self.unless_cancelled(question.ask()).await?
    }

    /// Waits for other people's code no longer than the run lasts.
    pub(super) async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Refusal> {
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = self.run.cancellation().cancelled() => Err(cancelled()),
        }
    }

    fn available(&self, registered: &Registered, grant: &Arc<Grant>) -> Result<(), Refusal> {
        let environment = self.parts.backends.environment.clone().unwrap_or_default();
        let touches = Touches::default();
        let environment = ScopedEnvironment::new(Arc::clone(grant), environment, touches.clone());
        let check = AssertUnwindSafe(|| registered.tool.is_available(&environment));
        let is_available = std::panic::catch_unwind(check).unwrap_or(false);
        let name = &registered.declaration().name;
        // The handle was for this question.
        let (parts, run) = (Arc::clone(self.parts), Arc::clone(self.run.id()));
        touches.end(&[], LateUses::new(parts, self.id, run, name.as_str().into()));
        if is_available {
            return Ok(());
        }
        Err(Refusal::new(Code::NotAvailable, format!("Tool {name} says that it cannot work here")))
    }
}

/// Says that not the call's own arguments were refused, but those that an approver put in their place.
fn of_approver(refusal: Refusal) -> Refusal {
    let Refusal { code, message, .. } = refusal;
    let message = format!("the arguments that an approver gave instead of the call's are refused: {message}");
    Refusal::new(code, message).hint(
        "the call itself is not at fault: make it in another run, and have somebody agree to it as it is or with arguments that fit",
    )
}

/// Judges the size and the schema of arguments.
fn shaped(registered: &Registered, arguments: &Value) -> Result<(), Refusal> {
    JsonLimits::ARGUMENTS
        .check(arguments)
        .map_err(|error| Refusal::new(Code::InputInvalid, format!("the arguments are {}", error.message)))?;
    let checked = registered.input.check(arguments);
    checked.map_err(|violation| Refusal::new(Code::InputInvalid, violation.to_string()))
}

/// Says whether a refusal came from a surface that the tool had declared.
pub(crate) fn used_declared(code: Code, capabilities: Option<&Capabilities>) -> bool {
    let surface = match code {
        Code::BinaryNotAllowed => Surface::Process,
        Code::EnvironmentNotDeclared => Surface::Environment,
        Code::HostNotAllowed => Surface::Network,
        Code::PathNotReachable => Surface::FsReach,
        Code::SecretNotDeclared => Surface::Secrets,
        _ => return false,
    };
    capabilities.is_some_and(|capabilities| capabilities.surfaces().any(|declared| declared == surface))
}

pub(super) fn denied(registered: &Registered) -> Refusal {
    let (tool, class) = (&registered.declaration().name, registered.class.as_str());
    let message = format!("the personality's approvals deny tool `{tool}`, which is of class `{class}`");
    Refusal::new(Code::Forbidden, message)
}

fn cancelled() -> Refusal {
    Refusal::new(Code::Cancelled, "the run was cancelled")
}

fn shown(name: &str) -> String {
    name.chars().take(80).flat_map(char::escape_debug).collect()
}
