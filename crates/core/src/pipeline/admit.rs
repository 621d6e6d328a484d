//! Stage two: everything that is decided before a tool runs.
//!
//! Order: lookup · toolset · constraints · input schema · argument gate · class → approval · interceptors ·
//! backends · grant · idempotency claim. An interceptor that replaces the arguments sends them round again.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::poll_immediate;
use ringfence_policy::{Capabilities, Code, Decision, Grant, JsonLimits, Refusal, Surface, ToolName};
use serde_json::Value;

use super::claim::{Claimed, HeldKey, claim};
use super::output::{CleanOutput, RawOutput};
use super::registered::{Fit, Registered};
use crate::audit::{ApprovalStep, AuditEntry};
use crate::call::{Asker, Call};
use crate::context::{self, Context};
use crate::digest::digest;
use crate::event::Event;
use crate::gate::{GateMode, judge_arguments};
use crate::handle::ScopedEnvironment;
use crate::interceptor::{Intercept, PendingCall};
use crate::outcome::Failure;
use crate::port::{ApprovalRequest, Verdict};
use crate::registry::{Parts, Policy, panic_text};
use crate::run::{Reservation, Run};

/// A call that may run, with everything it needs. Only [`Desk::admit`] makes one.
pub(crate) struct Admitted {
    registered: Arc<Registered>,
    arguments: Arc<Value>,
    context: Context,
    deadline: Duration,
    checks: Checks,
}

/// What came of asking to be admitted.
pub(crate) enum Admission {
    /// The tool is to run.
    Admitted { call: Admitted, reservation: Reservation, key: Option<HeldKey> },
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
}

impl Desk<'_> {
    /// Decides whether a call may run. `arguments` is updated when an interceptor replaces them.
    pub(crate) async fn admit(
        &self,
        call: &Call,
        arguments: &mut Arc<Value>,
        registered: Option<(&Arc<Registered>, &Fit)>,
    ) -> Admission {
        match self.decide(call, arguments, registered).await {
            Ok(admission) => admission,
            Err(refusal) => Admission::Refused(refusal),
        }
    }

    async fn decide(
        &self,
        call: &Call,
        arguments: &mut Arc<Value>,
        registered: Option<(&Arc<Registered>, &Fit)>,
    ) -> Result<Admission, Refusal> {
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
        let declaration = registered.declaration();
        if declaration.constraints.forbidden && call.asker() == Asker::Model {
            let message = format!("tool `{name}` may be called by code, never by a model");
            return Err(Refusal::new(Code::ConstraintViolated, message));
        }
        let reservation = self.run.reserve(&declaration.name, &declaration.constraints)?;

        self.judge(registered, fit, arguments).await?;
        for interceptor in &self.parts.interceptors {
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
                    self.judge(registered, fit, arguments).await?;
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

        if let Some(missing) = &fit.missing {
            return Err(missing.clone());
        }
        let grant = Arc::clone(fit.grant.as_ref().map_err(Clone::clone)?);
        self.available(registered, &grant)?;
        let idempotency = &declaration.idempotency;
        let key = match claim(
            &self.parts.idempotency,
            call,
            self.policy.personality_id.as_deref(),
            idempotency,
            arguments,
        )
        .await?
        {
            Claimed::Key(key) => Some(key),
            Claimed::None => None,
            Claimed::Replay(output) => return Ok(Admission::Replayed(output)),
        };
        let wall =
            fit.limits.wall.map_or(self.parts.deadline, |wall| wall.duration().min(self.parts.deadline));
        let admitted = Admitted {
            registered: Arc::clone(registered),
            arguments: Arc::clone(arguments),
            deadline: call.deadline_or(wall).min(wall),
            checks: Checks::of(registered, fit),
            context: Context::new(context::Parts {
                tool: declaration.name.clone(),
                call: self.id,
                run: self.run.clone(),
                personality: self.policy.personality_id.clone(),
                grant,
                digest: Arc::clone(&registered.digest),
                registry: Arc::clone(self.parts),
                limits: fit.limits,
                processes: Mutex::default(),
                reached: OnceLock::new(),
            }),
        };
        Ok(Admission::Admitted { call: admitted, reservation, key })
    }

    /// Judges arguments: size, schema, paths, and who must agree to them.
    async fn judge(&self, registered: &Registered, fit: &Fit, arguments: &Arc<Value>) -> Result<(), Refusal> {
        JsonLimits::ARGUMENTS.check(arguments).map_err(|error| {
            Refusal::new(Code::InputInvalid, format!("the arguments are {}", error.message))
        })?;
        registered
            .input
            .check(arguments)
            .map_err(|violation| Refusal::new(Code::InputInvalid, violation.to_string()))?;
        self.gate(registered, fit, arguments)?;
        match fit.decision {
            Decision::Allow => Ok(()),
            Decision::Forbid => {
                let message = format!("the personality refuses every `{}` tool", registered.class.as_str());
                Err(Refusal::new(Code::Forbidden, message))
            }
            Decision::Ask | Decision::AskTwo => self.ask(registered, fit.decision, arguments).await,
        }
    }

    fn gate(&self, registered: &Registered, fit: &Fit, arguments: &Value) -> Result<(), Refusal> {
        if self.parts.gate == GateMode::Off {
            return Ok(());
        }
        let Some(fs) = fit.grant.as_ref().ok().and_then(|grant| grant.fs.as_ref()) else { return Ok(()) };
        match judge_arguments(fs, arguments, Some(&registered.input), self.run.working_dir()) {
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
        registered: &Registered,
        needed: Decision,
        arguments: &Arc<Value>,
    ) -> Result<(), Refusal> {
        let tool = &registered.declaration().name;
        let subject = serde_json::json!({
            "tool": &*registered.digest,
            "arguments": &**arguments,
            "run": &**self.run.id(),
            "proposer": &**self.run.proposer(),
        });
        let digest = digest(&subject).map_err(|error| {
            Refusal::new(Code::InputInvalid, format!("the arguments cannot be approved: {error}"))
        })?;
        let required = || {
            let people = if needed == Decision::AskTwo { "two people" } else { "a person" };
            Refusal::new(Code::ApprovalRequired, format!("{people} must agree to this call of `{tool}`"))
                .hint(format!("approve digest {digest}"))
        };
        let Some(approver) = &self.parts.approver else { return Err(required()) };
        let request = ApprovalRequest {
            digest: digest.clone(),
            tool: tool.clone(),
            class: registered.class,
            arguments: Arc::clone(arguments),
            run: Arc::clone(self.run.id()),
            proposer: Arc::clone(self.run.proposer()),
            needed,
        };
        self.parts.tell(Event::Asked { tool, digest: &digest });
        self.approval_step(tool, &digest, "asked", Vec::new(), None).await?;
        let verdict = AssertUnwindSafe(async { approver.decide(&request).await }).catch_unwind();
        let verdict = self.unless_cancelled(verdict).await?;
        let (step, by, reason) = match &verdict {
            Ok(Verdict::Approved(approvals)) => {
                ("approved", approvals.iter().map(|approval| approval.by.clone()).collect(), None)
            }
            Ok(Verdict::Denied { by, reason }) => ("denied", vec![by.clone()], Some(reason.clone())),
            Ok(Verdict::Pending) | Err(_) => ("pending", Vec::new(), None),
        };
        self.approval_step(tool, &digest, step, by, reason).await?;
        match verdict {
            Ok(Verdict::Approved(approvals)) => {
                let mut people: Vec<&str> = approvals
                    .iter()
                    .filter(|approval| approval.digest == digest && *approval.by != **self.run.proposer())
                    .map(|approval| approval.by.as_str())
                    .collect();
                people.sort_unstable();
                people.dedup();
                if people.len() >= needed.approvals() { Ok(()) } else { Err(required()) }
            }
            Ok(Verdict::Denied { by, reason }) => {
                Err(Refusal::new(Code::ApprovalDenied, format!("{by} refused the call: {reason}")))
            }
            Ok(Verdict::Pending) | Err(_) => Err(required()),
        }
    }

    /// Keeps a step on the way to an approval. One that cannot be kept stops the call.
    async fn approval_step(
        &self,
        tool: &ToolName,
        digest: &str,
        step: &'static str,
        by: Vec<String>,
        reason: Option<String>,
    ) -> Result<(), Refusal> {
        let step = ApprovalStep {
            at: self.parts.clock.now(),
            call: self.id,
            run: Arc::clone(self.run.id()),
            tool: tool.to_string(),
            digest: digest.to_owned(),
            step,
            by,
            reason,
        };
        let kept = self.parts.append(std::iter::once(AuditEntry::Approval(&step))).await;
        kept.map_err(|error| {
            Refusal::new(Code::AuditFailed, format!("the approval could not be recorded: {error}"))
        })
    }

    /// Waits for other people's code no longer than the run lasts.
    async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Refusal> {
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = self.run.cancellation().cancelled() => Err(cancelled()),
        }
    }

    fn available(&self, registered: &Registered, grant: &Arc<Grant>) -> Result<(), Refusal> {
        let environment = self.parts.backends.environment.clone().unwrap_or_default();
        let environment = ScopedEnvironment::new(Arc::clone(grant), environment);
        let check = AssertUnwindSafe(|| registered.tool.is_available(&environment));
        if std::panic::catch_unwind(check).unwrap_or(false) {
            return Ok(());
        }
        let name = &registered.declaration().name;
        Err(Refusal::new(Code::NotAvailable, format!("Tool {name} says that it cannot work here")))
    }
}

impl Admitted {
    /// Runs the tool. A panic, a missed deadline or a cancelled run is a failure like any other.
    /// Returns the context that the tool gets.
    pub(crate) fn context(&self) -> Context {
        self.context.clone()
    }

    pub(crate) async fn run(self) -> Result<(RawOutput, Checks), Failure> {
        let Self { registered, arguments, context, deadline, checks } = self;
        let run = context.run().clone();
        // Inside a block, because a tool may panic before it returns its future.
        let work = AssertUnwindSafe(async { registered.tool.call(&arguments, context).await }).catch_unwind();
        let mut work = std::pin::pin!(work);
        // Many tools are done at once and need neither a timer nor a place in the run's list of waiters.
        let ended = match poll_immediate(&mut work).await {
            Some(ended) => Ok(ended),
            None => tokio::select! {
                biased;
                ended = tokio::time::timeout(deadline, work) => ended,
                () = run.cancellation().cancelled() => {
                    return Err(Failure::coded(Code::Cancelled, "the run was cancelled"));
                }
            },
        };
        match ended {
            Err(_) => {
                let seconds = deadline.as_secs_f64();
                Err(Failure::coded(
                    Code::DeadlineExceeded,
                    format!("the tool did not end within {seconds} seconds"),
                ))
            }
            Ok(Err(panic)) => Err(Failure {
                code: Code::ExecutionFailed,
                message: format!("the tool panicked: {}", panic_text(&*panic)),
                executed: true,
            }),
            Ok(Ok(Err(error))) => Err(Failure {
                code: error.code().unwrap_or(Code::ExecutionFailed),
                message: error.to_string(),
                executed: error.was_executed(),
            }),
            Ok(Ok(Ok(value))) => Ok((RawOutput::new(value), checks)),
        }
    }
}

/// What a clean output still has to pass.
pub(crate) struct Checks {
    registered: Arc<Registered>,
    limit: Option<usize>,
}

impl Checks {
    fn of(registered: &Arc<Registered>, fit: &Fit) -> Self {
        let limit = fit.limits.output.map(|size| usize::try_from(size.bytes()).unwrap_or(usize::MAX));
        Self { registered: Arc::clone(registered), limit }
    }

    /// Measures the output, cleans it, checks it against its schema, and cuts it to its limit.
    pub(crate) fn pass(&self, raw: RawOutput) -> Result<CleanOutput, Failure> {
        raw.measure()
            .map_err(|error| Failure::coded(Code::LimitExceeded, format!("the output is {error}")))?;
        let output = raw.clean();
        self.registered
            .output
            .check(output.value())
            .map_err(|violation| Failure::coded(Code::OutputInvalid, violation))?;
        Ok(match self.limit {
            Some(limit) => output.limited(limit),
            None => output,
        })
    }
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

fn cancelled() -> Refusal {
    Refusal::new(Code::Cancelled, "the run was cancelled")
}

fn shown(name: &str) -> String {
    name.chars().take(80).flat_map(char::escape_debug).collect()
}
