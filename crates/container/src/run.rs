//! One command in one container, from its image to its removal.
//!
//! INVARIANT: whatever happens, nothing of it is left at the engine when this returns, or something still tries to remove it.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::Method;
use ringfence_sandbox::render::oci_seccomp;
use ringfence_sandbox::{
    Ending, Enforcer, Input, LimitName, Network, Part, Plan, Profile, Ran, SandboxError, Session, Step,
    Usage, gate_namespace,
};
use serde::Deserialize;
use tokio::io::ReadHalf;
use tokio::sync::watch;

use crate::body::{Around, Body};
use crate::client::{Duplex, Question};
use crate::engine::{NAME, Parts};
use crate::error::ContainerError;
use crate::guard::Guard;
use crate::hidden::Hidden;
use crate::image::Reference;
use crate::inside::{self, Held};
use crate::nature::{Make, Nature};
use crate::output::Output;
use crate::pinned::Pinned;
use crate::watch::{Reasons, Spent, Use, Why, watch};

/// How long an engine that was told to kill a command may take to say that it has ended.
const GRACE: Duration = Duration::from_secs(5);
const FIRST_LOOK: Duration = Duration::from_millis(5);
const LAST_LOOK: Duration = Duration::from_millis(200);
/// What a killed process exits with.
const KILLED: i64 = 128 + 9;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Inspected {
    state: State,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct State {
    running: bool,
    #[serde(default)]
    exit_code: i64,
    #[serde(default, rename = "OOMKilled")]
    out_of_memory: bool,
}

/// Runs a plan to its end.
pub(crate) async fn run(engine: &Parts, plan: &Plan, session: &mut Session<'_>) -> Result<Ran, SandboxError> {
    let failed = |error: ContainerError| error.into_sandbox(&plan.program);
    let mut reasons = Reasons::new(leash(session).map_err(failed)?, session.deadline()).map_err(failed)?;
    let nature = engine.nature().await.map_err(failed)?;
    check(nature, plan)?;
    let _held = Held::new(plan)?;
    let image = Reference::parse(plan.image.as_deref().unwrap_or_default()).map_err(failed)?;
    // A namespace lives as long as somebody holds it.
    let namespace = match &plan.network {
        Network::Loopback => None,
        Network::Gated(openings) => {
            let (namespace, sockets) = gate_namespace(openings)?;
            let gate = |error| SandboxError::Step { step: Step::Gate, path: None, error };
            session.open_gate(sockets).map_err(gate)?;
            Some(Pinned::descriptor(namespace))
        }
    };
    let input = session.input();
    let client = engine.client.hiding(Hidden::of(&plan.environment));
    let guard = Guard::new(engine.runtime.clone(), client, nature.api.clone(), name());
    let making = async {
        let made = make(engine, nature, plan, &image, namespace.as_ref(), &input, &guard).await;
        let stream = made.map_err(failed)?;
        inside::compare(plan, &guard).await.map(|()| stream)
    };
    let made = tokio::select! {
        made = making => made,
        why = reasons.wait() => {
            guard.remove().await.map_err(failed)?;
            return Ok(ran(plan, nature, ended(why), Spent::nothing(), exceeded_by(why)));
        }
    };
    let stream = match made {
        Ok(stream) => stream,
        Err(error) => {
            // What made it fail is worth more than what came of removing it, which is tried again anyway.
            let _removed = guard.remove().await;
            return Err(error);
        }
    };
    let outcome = attend(nature, plan, session, reasons, input, stream, &guard).await;
    let removed = guard.remove().await;
    let ran = outcome.map_err(failed)?;
    removed.map_err(failed)?;
    Ok(ran)
}

/// What cannot be enforced was refused before; an engine that answers only now is judged now.
fn check(nature: &Nature, plan: &Plan) -> Result<(), SandboxError> {
    let mut missing = plan.parts();
    missing.remove(&Part::Limit(LimitName::Output));
    let enforced = nature.enforces(plan);
    let missing: Vec<String> = missing.difference(&enforced).map(ToString::to_string).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(SandboxError::Inexpressible { what: format!("with `{NAME}`: {}", missing.join("; ")) })
}

fn leash(session: &Session<'_>) -> Result<Option<OwnedFd>, ContainerError> {
    let here = |error| ContainerError::Here { place: "watching whoever waits for the command", error };
    session.leash().map(|leash| leash.try_clone_to_owned()).transpose().map_err(here)
}

/// A name that nothing else has, and that tells nothing.
fn name() -> String {
    format!("ringfence-{:016x}", RandomState::new().build_hasher().finish())
}

/// Makes the container and everything it needs, and attaches to its streams. Nothing of the command has run then.
async fn make(
    engine: &Parts,
    nature: &Nature,
    plan: &Plan,
    image: &Reference,
    namespace: Option<&Pinned>,
    input: &Input,
    guard: &Guard,
) -> Result<Box<dyn Duplex>, ContainerError> {
    let image = image.find(guard.client(), &nature.api).await?;
    // The engine's control groups count all memory.
    let profile = Profile { counted_memory: plan.limits.memory.is_some(), ..plan.seccomp };
    let architecture = nature.seccomp.ok_or(ContainerError::Untold { what: "a seccomp profile".into() })?;
    let profile = oci_seccomp(profile, architecture);
    let kept = match nature.make {
        Make::Docker => None,
        Make::Podman => Some(Pinned::text(&profile)?),
    };
    let reads_input = !matches!(input, Input::Nothing);
    let body = Body::of(
        plan,
        &Around {
            nature,
            image: &image,
            seccomp: &kept.as_ref().map_or(profile, Pinned::path),
            network: &namespace.map_or_else(|| "none".into(), |namespace| format!("ns:{}", namespace.path())),
            owner: &engine.owner,
            call: engine.calls.fetch_add(1, Ordering::Relaxed),
            user: (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()),
            reads_input,
        },
    )?;
    let place = "making the container";
    let body = serde_json::to_vec(&body)
        .map_err(|error| ContainerError::Garbled { place, why: error.to_string() })?;
    let question = Question { body: Some(body), ..guard.creation(place) };
    guard.client().tell(question).await?;
    let streams = if reads_input { "&stdin=true" } else { "" };
    let what = format!("/attach?stream=true&stdout=true&stderr=true{streams}");
    let stream =
        guard.client().upgrade(guard.question("attaching to the container", Method::POST, &what)).await?;
    Ok(stream)
}

/// Starts the command, passes its streams on and sees how it ends.
async fn attend(
    nature: &Nature,
    plan: &Plan,
    session: &mut Session<'_>,
    reasons: Reasons,
    input: Input,
    stream: Box<dyn Duplex>,
    guard: &Guard,
) -> Result<Ran, ContainerError> {
    guard.client().tell(guard.question("starting the container", Method::POST, "/start")).await?;
    let (told, mut why) = watch::channel(None);
    let (spending, spent) = watch::channel(Spent::nothing());
    let usage = Use::new(plan, nature.processors, guard);
    let watching =
        tokio::spawn(watch((guard.client().clone(), guard.killer()), reasons, usage, told.clone(), spending));
    let (from, to) = tokio::io::split(stream);
    let feeding = tokio::spawn(crate::input::feed(input, to));
    let passed = pass_on(session, from, &mut why).await;
    if let Ok(Passed::Enough) = passed {
        let _nobody_left = told.send(Some(Why::Cancelled));
        guard.killer().kill().await;
    }
    let state = match passed {
        Ok(_) => look(guard, &mut why).await,
        Err(error) => {
            Err(ContainerError::Garbled { place: "reading the command's output", why: error.to_string() })
        }
    };
    watching.abort();
    feeding.abort();
    let (why, spent) = (*why.borrow(), *spent.borrow());
    let state = match (state, why) {
        (Ok(state), _) => state,
        // It was ended, and removing it makes sure of that.
        (Err(_), Some(_)) => State { running: false, exit_code: KILLED, out_of_memory: false },
        (Err(error), None) => return Err(error),
    };
    let ending = why.map_or_else(|| read_code(state.exit_code), ended);
    let mut exceeded = why.map(exceeded_by).unwrap_or_default();
    exceeded.extend(why.is_none().then(|| guess(plan, nature, &state, spent)).flatten());
    Ok(ran(plan, nature, ending, spent, exceeded))
}

/// How passing the output on came to an end.
#[derive(Debug, Eq, PartialEq)]
enum Passed {
    /// There is no more of it.
    All,
    /// Nobody wants more of it.
    Enough,
}

async fn pass_on(
    session: &mut Session<'_>,
    from: ReadHalf<Box<dyn Duplex>>,
    why: &mut watch::Receiver<Option<Why>>,
) -> std::io::Result<Passed> {
    let mut output = Output::new(from);
    let given_up = async {
        let _told = why.wait_for(Option::is_some).await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::pin!(given_up);
    loop {
        let piece = tokio::select! {
            piece = output.next() => piece?,
            () = &mut given_up => return Ok(Passed::All),
        };
        match piece {
            None => return Ok(Passed::All),
            Some((stream, bytes)) => {
                if session.write(stream, bytes).is_break() {
                    return Ok(Passed::Enough);
                }
            }
        }
    }
}

/// Looks until the container does not run any more. A command may close its streams and go on.
async fn look(guard: &Guard, why: &mut watch::Receiver<Option<Why>>) -> Result<State, ContainerError> {
    let mut pause = FIRST_LOOK;
    let ended = async {
        loop {
            let question = guard.question("looking how the command ended", Method::GET, "/json");
            let found: Inspected = guard.client().ask(question).await?;
            if !found.state.running {
                return Ok(found.state);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LAST_LOOK);
        }
    };
    let given_up = async {
        let _told = why.wait_for(Option::is_some).await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        state = ended => state,
        () = given_up => Err(ContainerError::Late { place: "ending the command", seconds: GRACE.as_secs() }),
    }
}

/// An engine says 128 and the number of a signal, as a shell does.
fn read_code(code: i64) -> Ending {
    match i32::try_from(code).unwrap_or(i32::MAX) {
        code @ 129..=192 => Ending::Signalled(code - 128),
        code => Ending::Exited(code),
    }
}

const fn ended(why: Why) -> Ending {
    match why {
        Why::TimedOut => Ending::TimedOut,
        Why::Cancelled | Why::OutOfCpu => Ending::Signalled(9),
    }
}

fn exceeded_by(why: Why) -> Vec<LimitName> {
    match why {
        Why::Cancelled => Vec::new(),
        Why::OutOfCpu => vec![LimitName::Cpu],
        Why::TimedOut => vec![LimitName::Wall],
    }
}

/// Which limit a command ran into that was killed, and not by us. Nothing inside can kill the first process of a container, so that it
/// was the kernel: for processor time, or for memory.
fn guess(plan: &Plan, nature: &Nature, state: &State, spent: Spent) -> Option<LimitName> {
    const OVER_FILE_SIZE: i64 = 128 + 25;
    const OVER_CPU: i64 = 128 + 24;
    let memory = plan.limits.memory.map(|_| LimitName::Memory);
    let limit = plan.limits.cpu.map(ringfence_policy::Span::duration);
    let may_be_cpu = limit.is_some_and(|limit| spent.most_cpu(nature.processors) >= limit);
    // An engine can take the end of a control group for a lack of memory; whoever used little had enough.
    let used_much = plan.limits.memory.is_some_and(|limit| spent.memory >= limit.bytes() / 2);
    match state.exit_code {
        _ if state.out_of_memory && (used_much || !may_be_cpu) => memory,
        OVER_FILE_SIZE => plan.limits.file_size.map(|_| LimitName::FileSize),
        OVER_CPU => plan.limits.cpu.map(|_| LimitName::Cpu),
        KILLED => {
            if may_be_cpu {
                Some(LimitName::Cpu)
            } else {
                memory
            }
        }
        _ => None,
    }
}

fn ran(plan: &Plan, nature: &Nature, ending: Ending, spent: Spent, exceeded: Vec<LimitName>) -> Ran {
    let enforcers = [
        (LimitName::Cpu, Enforcer::Supervisor),
        (LimitName::FileSize, Enforcer::PerProcess),
        (LimitName::Memory, nature.groups),
        (LimitName::OpenFiles, Enforcer::PerProcess),
        (LimitName::Processes, nature.groups),
        (LimitName::Scratch, Enforcer::Mount),
        (LimitName::Wall, Enforcer::Supervisor),
    ];
    let parts = plan.parts();
    let is_set = |(limit, _): &(LimitName, Enforcer)| parts.contains(&Part::Limit(*limit));
    Ran {
        ending,
        // The wall clock is the session's.
        usage: Usage { cpu: spent.cpu, peak_memory: spent.memory, ..Usage::default() },
        limits: BTreeMap::from_iter(enforcers.into_iter().filter(is_set)),
        exceeded,
    }
}
