//! The registry under the demo's policy, over a real store.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::Arc;

use ringfence::{
    ApprovalStore, ApproverToken, Backends, Call, Code, HostFiles, Outcome, PersonDecision, Proof, Registry,
    Report, RequestFilter, RequestState, Role, Run, SandboxLauncher, StoreApprover, Word,
};
use ringfence_server::console::Live;
use ringfence_store::{Database, Filter, KeepRaw};
use serde::Serialize;

use super::scene::{How, Scene, Step};
use super::{first_words, tools};
use crate::commands::explain::{Decided, decided_by};
use crate::error::CommandError;
use crate::load::Place;
use crate::sandbox::{BackendChoice, choose};
use crate::store::{Opening, StoreName};

/// The name of whoever is asked.
const MARIA: &str = "maria";

pub(super) struct Stage {
    pub(super) place: Place,
    pub(super) store: Arc<dyn Database>,
    pub(super) live: Arc<Live>,
    registry: Registry,
    run: Run,
}

/// What came of a step.
#[derive(Debug, Serialize)]
pub(super) struct Played {
    /// `allowed`, `refused`, `failed` or `died`.
    #[serde(rename = "outcome")]
    pub(super) verdict: &'static str,
    /// The code of a refusal.
    pub(super) code: Option<Code>,
    /// The line that decided, where one did.
    rule: Option<Decided>,
    /// The first words of what came back, where it was not refused.
    said: Option<String>,
}

impl Played {
    fn said(verdict: &'static str, said: impl Into<String>) -> Self {
        Self { verdict, code: None, rule: None, said: Some(said.into()) }
    }

    /// Returns what decided it, or what came back.
    pub(super) fn why(&self) -> String {
        let code = self.code.map(|code| code.to_string());
        let rule = self.rule.as_ref().map(ToString::to_string);
        code.into_iter().chain(rule).chain(self.said.clone()).collect::<Vec<_>>().join(" ")
    }
}

impl Stage {
    /// Registers the tools. `dies` is for the process that shows what a crash leaves behind.
    pub(super) async fn new(scene: &Scene, dies: bool) -> Result<Self, CommandError> {
        let input = |message: String| CommandError::Input { message, hint: None };
        let workspace = scene.workspace();
        let place = Place { policy: scene.policy(), is_named: true, workspace: Some(workspace.clone()) };
        let loaded = place.load()?.sound()?;
        let store = StoreName::File(scene.store()).open(Opening::Make(KeepRaw::Always)).await?;
        let live = Arc::new(Live::default());
        let mut backends = Backends::none()
            .files(HostFiles::new())
            .network(ringfence::egress::Client::builder().build())
            .secrets(Arc::new(tools::DemoSecrets));
        // Without one a program is refused, and the table says so.
        if let Ok(sandbox) = choose(BackendChoice::Auto, loaded.text()) {
            backends = backends.launcher(Arc::new(SandboxLauncher::new(sandbox)));
        }
        let tools = loaded.tools()?;
        let registry = Registry::builder()
            .personality(loaded.personality)
            .backends(backends)
            .audit(Arc::clone(&store) as _)
            .idempotency(Arc::clone(&store) as _)
            .observer(Arc::clone(&live) as _)
            .approver(Arc::new(StoreApprover::new(Arc::clone(&store) as _)))
            .build();
        for tool in &tools {
            registry.register_shared(tool).map_err(|error| input(error.to_string()))?;
        }
        tools::register(&registry, tools::Ledger { path: scene.ledger(), dies }).map_err(input)?;
        let run = Run::builder("demo", "demo").proposed_by("agent").in_directory(workspace).start();
        Ok(Self { place, store, live, registry, run })
    }

    /// Plays a step.
    pub(super) async fn play(&self, step: &Step, scene: &Scene) -> Result<Played, CommandError> {
        if step.how != How::Dying {
            let report = self.made(step).await?;
            return self.verdict(&report).await;
        }
        self.agreed(&step.call).await?;
        let ended = die(scene)?;
        Ok(match ended.signal() {
            Some(9) => Played::said("died", "after the money had left"),
            _ => Played::said("failed", format!("the other process did not die: {ended}")),
        })
    }

    async fn made(&self, step: &Step) -> Result<Report, CommandError> {
        if step.how == How::Agreed {
            self.agreed(&step.call).await?;
        }
        Ok(self.registry.call(&self.run, step.call.clone()).await)
    }

    /// Makes the call, so that it is filed, and lets Maria agree to it.
    async fn agreed(&self, call: &Call) -> Result<(), CommandError> {
        let report = self.registry.call(&self.run, call.clone()).await;
        if !matches!(&report.outcome, Outcome::Refused(refusal) if refusal.code == Code::ApprovalRequired) {
            return Ok(());
        }
        let start = |why: String| CommandError::Start(std::io::Error::other(why));
        let name = MARIA.parse().map_err(|_| start(format!("`{MARIA}` is no name")))?;
        let by = Proof::Named(name);
        if self.store.principal(&by).await?.is_none() {
            let token = ApproverToken::generate().map_err(start)?;
            let Proof::Named(name) = &by else { return Ok(()) };
            self.store.add_approver(name, token.hash(), Role::Approver).await?;
        }
        let filter = RequestFilter { state: Some(RequestState::Open), ..RequestFilter::default() };
        for filed in ApprovalStore::requests(&*self.store, &filter).await? {
            let reason = "the demo's script says so".to_owned();
            let decision =
                PersonDecision { id: filed.id, by: by.clone(), word: Word::Approve, changed: None, reason };
            self.store.decide(&decision).await?;
        }
        Ok(())
    }

    /// Returns how a call ended, and the line that decided, which its record tells.
    async fn verdict(&self, report: &Report) -> Result<Played, CommandError> {
        let code = match &report.outcome {
            Outcome::Done(output) => return Ok(Played::said("allowed", first_words(output.text()))),
            Outcome::Failed(failure) if failure.code == Code::ExecutionFailed => {
                return Ok(Played::said("failed", first_words(&failure.message)));
            }
            // Where the tool's code ran, a handle refused what it tried.
            Outcome::Failed(failure) => failure.code,
            Outcome::Refused(refusal) => refusal.code,
        };
        let calls = Filter { kind: Some("call".to_owned()), ..Filter::default() };
        let newest = self.store.newest(&calls, 1).await?.pop();
        let rule = newest.and_then(|stored| decided_by(&stored.record, &self.place));
        Ok(Played { verdict: "refused", code: Some(code), rule, said: None })
    }

    /// Makes one call and dies in it.
    pub(super) async fn pay_and_die(&self, call: Call) {
        let _dead = self.registry.call(&self.run, call).await;
    }
}

/// Starts this program again, which pays and dies.
#[expect(clippy::disallowed_methods, reason = "it is this program, playing the part that dies")]
fn die(scene: &Scene) -> Result<std::process::ExitStatus, CommandError> {
    let own = std::env::current_exe().map_err(CommandError::Start)?;
    let mut command = std::process::Command::new(own);
    command.arg("demo").arg("--dying").arg(scene.root()).stdin(Stdio::null()).stdout(Stdio::null());
    command.status().map_err(CommandError::Start)
}
