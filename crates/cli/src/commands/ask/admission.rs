//! The admission of the tools of a policy file: a registry that decides about calls and runs none.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt, ready};
use ringfence::policy::{Capabilities, Decision, Declaration, IdempotencyMode, ToolName};
use ringfence::{
    Asker, Backends, Call, Code, Context, Environment, HostFiles, Launch, Launcher, MemoryStore, Personality,
    ProcessOutput, Refusal, Registry, Run, Secret, SecretError, SecretSource, Tool, ToolError,
};
use serde_json::Value;

use crate::error::CommandError;
use crate::held::Held;
use crate::load::Loaded;

/// How a call is made, beside its arguments.
#[derive(Default)]
pub(super) struct Circumstances {
    /// Who asks.
    pub(super) asker: Asker,
    /// The tools that have completed in the run, in their order.
    pub(super) after: Vec<ToolName>,
    /// The idempotency key of the call.
    pub(super) key: Option<String>,
}

/// Decides about calls with the code that admits them.
pub(super) struct Admission {
    registry: Registry,
    personality: Personality,
}

impl Admission {
    /// Registers what a policy file declares, under the pins and the manifest that people have accepted.
    pub(super) fn new(loaded: &Loaded, held: Held) -> Result<Self, CommandError> {
        let personality = loaded.personality.clone();
        // Whether they are there is another question, which the answer leaves open.
        let backends = Backends::none()
            .files(HostFiles::new())
            .network(ringfence::egress::Client::builder().build())
            .secrets(Arc::new(Assumed))
            .environment(Environment::default())
            .store(Arc::new(MemoryStore::default()))
            .launcher(Arc::new(Assumed))
            .containers(Arc::new(Assumed));
        let mut builder =
            Registry::builder().personality(personality.clone()).backends(backends).manifest(held.in_force);
        if let Some(pins) = held.pins {
            builder = builder.pins(pins);
        }
        let registry = builder.build();
        for declaration in &loaded.declarations {
            registry.register(Declared(declaration.clone())).map_err(|error| CommandError::Input {
                message: format!("tool `{}`: {error}", declaration.name),
                hint: None,
            })?;
        }
        Ok(Self { registry, personality })
    }

    /// Decides about a call, in a run in which nothing but `after` has happened.
    pub(super) fn decide_call(
        &self,
        tool: &str,
        arguments: Value,
        circumstances: &Circumstances,
        directory: Option<&Path>,
        personality: Option<&Personality>,
    ) -> Result<Decision, Refusal> {
        let mut run = Run::builder("ask", "ask");
        if let Some(directory) = directory {
            run = run.in_directory(directory);
        }
        let run = run.start();
        for before in &circumstances.after {
            run.recall(before, true);
        }
        let mut call = Call::new(tool, arguments).asked_by(circumstances.asker);
        if let Some(key) = &circumstances.key {
            call = call.idempotency_key(key);
        }
        self.under(personality, || self.registry.review(&run, &call).decision)
    }

    /// Returns why a tool can be called with no arguments at all, where that is so.
    pub(super) fn withheld(
        &self,
        tool: &str,
        asker: Asker,
        personality: Option<&Personality>,
    ) -> Result<(), Refusal> {
        let run = Run::new("ask", "ask");
        let call = Call::new(tool, Value::Null).asked_by(asker);
        self.under(personality, || self.registry.review_tool(&run, &call).map(drop))
    }

    /// Does something under another personality.
    fn under<T>(&self, personality: Option<&Personality>, act: impl FnOnce() -> T) -> T {
        let Some(other) = personality else { return act() };
        self.registry.set_personality(other);
        let done = act();
        self.registry.set_personality(&self.personality);
        done
    }
}

/// Returns what an answer of `allow` leaves open: what is known only when the call is made.
pub(super) fn undecided(declaration: &Declaration) -> Vec<&'static str> {
    let nothing = Capabilities::default();
    let capabilities = declaration.capabilities.as_ref().unwrap_or(&nothing);
    let constraints = &declaration.constraints;
    [
        (capabilities.process.is_some(), "whether a sandbox is there"),
        (capabilities.secrets.is_some(), "whether the secrets have values"),
        (capabilities.storage.is_some(), "whether the call has a store"),
        (
            constraints.max_invocations.is_some() || !constraints.only_after.is_empty(),
            "what else has run in the run",
        ),
        (
            matches!(
                declaration.idempotency.mode,
                Some(IdempotencyMode::Optional | IdempotencyMode::Required)
            ),
            "what the idempotency key was used for",
        ),
    ]
    .into_iter()
    .filter_map(|(is_open, what)| is_open.then_some(what))
    .collect()
}

/// What a policy file declares, without what would run.
struct Declared(Declaration);

impl Tool for Declared {
    fn declaration(&self) -> &Declaration {
        &self.0
    }

    fn call<'a>(&'a self, _: &'a Value, _: Context) -> BoxFuture<'a, Result<Value, ToolError>> {
        ready(Err(never())).boxed()
    }
}

/// A backend that is taken to be there, and does nothing.
struct Assumed;

impl Launcher for Assumed {
    fn launch(&self, _: Launch) -> BoxFuture<'_, Result<ProcessOutput, ToolError>> {
        ready(Err(never())).boxed()
    }
}

impl SecretSource for Assumed {
    fn describe(&self) -> String {
        "nowhere".to_owned()
    }

    fn secret<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Secret>, SecretError>> {
        ready(Ok(None)).boxed()
    }
}

fn never() -> ToolError {
    Refusal::new(Code::NotAvailable, "`ringfence ask` runs nothing").into()
}
