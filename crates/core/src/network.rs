//! A call on the network: one scope for everything it connects, told to observers and kept for its record.
//!
//! INVARIANT: a connection belongs to the call whose scope it was admitted by, and a scope ends with its call.

use std::collections::{BTreeMap, HashMap};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use ringfence_egress::{Asker, Evidence, Scope, Tally, Verdict as EgressVerdict, Witness};
use ringfence_policy::{
    Code, Decision, NetworkCeiling, NetworkGrant, OnUnknown, Refusal, SafetyClass, Target, ToolName,
};

use crate::context::Parts as Call;
use crate::digest::digest;
use crate::event::Event;
use crate::port::{ApprovalRequest, Verdict};
use crate::registry::Parts;

/// How many connections a record lists; what is beyond is counted.
const MOST_KEPT: usize = 1000;

/// How often people are asked again whether they have answered.
const PAUSE: Duration = Duration::from_millis(200);

/// What a call does on the network.
pub(crate) struct Reached {
    pub(crate) scope: Scope,
    ledger: Arc<Ledger>,
}

/// The connections of a call, as its record has them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections {
    pub(crate) listed: Vec<Evidence>,
    pub(crate) left_out: u64,
}

impl Reached {
    /// Opens the scope of a call. It can be narrowed from now on.
    pub(crate) fn new(call: &Call, grant: &NetworkGrant) -> Self {
        let ledger = Arc::new(Ledger {
            registry: Arc::clone(&call.registry),
            tool: call.tool.clone(),
            call: call.call,
            kept: Mutex::default(),
        });
        let mut scope = Scope::builder(grant.clone())
            .limits(call.limits)
            .witness(Arc::clone(&ledger) as Arc<dyn Witness>);
        if grant.on_unknown() == OnUnknown::Ask && call.registry.approver.is_some() {
            scope = scope.asker(Arc::new(People::new(call)));
        }
        let scope = scope.build();
        call.registry.live.add(call, &scope);
        Self { scope, ledger }
    }

    /// Returns the first refusal, as one sentence.
    pub(crate) fn first_refusal(&self) -> Option<String> {
        lock(&self.ledger.kept).listed.iter().find_map(|evidence| match &evidence.verdict {
            EgressVerdict::Refused { code, message } => Some(format!("{code}: {message}")),
            EgressVerdict::Cut { .. } | EgressVerdict::Done | EgressVerdict::Failed { .. } => None,
        })
    }

    /// Ends the scope and returns what it saw. What still is open is cut.
    pub(crate) fn end(&self) -> Connections {
        self.scope.revoke();
        std::mem::take(&mut *lock(&self.ledger.kept))
    }
}

/// Keeps what a scope saw, and tells observers.
struct Ledger {
    registry: Arc<Parts>,
    tool: ToolName,
    call: u64,
    kept: Mutex<Connections>,
}

impl Witness for Ledger {
    fn saw(&self, evidence: &Evidence) {
        let mut kept = lock(&self.kept);
        if kept.listed.len() < MOST_KEPT {
            kept.listed.push(evidence.clone());
        } else {
            kept.left_out += 1;
        }
        drop(kept);
        self.registry.tell(Event::Connected { tool: &self.tool, call: self.call, evidence });
    }
}

/// Asks people about hosts that nothing names.
struct People {
    registry: Arc<Parts>,
    tool: ToolName,
    tool_digest: Arc<str>,
    run: Arc<str>,
    proposer: Arc<str>,
}

impl People {
    fn new(call: &Call) -> Self {
        Self {
            registry: Arc::clone(&call.registry),
            tool: call.tool.clone(),
            tool_digest: Arc::clone(&call.digest),
            run: Arc::clone(call.run.id()),
            proposer: Arc::clone(call.run.proposer()),
        }
    }

    fn request(&self, target: &Target) -> Result<ApprovalRequest, Refusal> {
        let arguments = serde_json::json!({ "connect": target.to_string() });
        let subject = serde_json::json!({
            "tool": &*self.tool_digest,
            "arguments": &arguments,
            "run": &*self.run,
            "proposer": &*self.proposer,
        });
        let digest = digest(&subject).map_err(|error| Refusal::new(Code::InputInvalid, error))?;
        Ok(ApprovalRequest {
            digest,
            tool: self.tool.clone(),
            class: SafetyClass::Network,
            arguments: Arc::new(arguments),
            run: Arc::clone(&self.run),
            proposer: Arc::clone(&self.proposer),
            needed: Decision::Ask,
        })
    }

    async fn agreed(&self, target: &Target) -> Result<(), Refusal> {
        let Some(approver) = &self.registry.approver else { return Err(unanswered(target)) };
        let request = self.request(target)?;
        self.registry.tell(Event::Asked { tool: &self.tool, digest: &request.digest });
        loop {
            let verdict = AssertUnwindSafe(async { approver.decide(&request).await }).catch_unwind().await;
            return match verdict {
                Ok(Verdict::Pending) => {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                Ok(Verdict::Approved(people)) => {
                    let counts = |by: &str| *by != *self.proposer;
                    let agreed = people.iter().any(|one| one.digest == request.digest && counts(&one.by));
                    if agreed { Ok(()) } else { Err(unanswered(target)) }
                }
                Ok(Verdict::Denied { by, reason }) => {
                    Err(Refusal::new(Code::ApprovalDenied, format!("{by} refused {target}: {reason}")))
                }
                Err(_) => Err(unanswered(target)),
            };
        }
    }
}

fn unanswered(target: &Target) -> Refusal {
    Refusal::new(Code::ApprovalRequired, format!("a person must agree to {target}, and nobody has"))
}

impl Asker for People {
    fn ask<'a>(
        &'a self,
        target: &'a Target,
    ) -> Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send + 'a>> {
        Box::pin(self.agreed(target))
    }
}

/// The calls that are on the network, so that they can be narrowed while they run.
#[derive(Default)]
pub(crate) struct Live(Mutex<Calls>);

#[derive(Default)]
struct Calls {
    open: BTreeMap<u64, LiveCall>,
    /// What each tool is granted since the personality was changed; absent as long as it was not.
    granted: Option<HashMap<ToolName, NetworkGrant>>,
}

impl Live {
    fn add(&self, call: &Call, scope: &Scope) {
        let live = LiveCall {
            call: call.call,
            tool: call.tool.clone(),
            run: Arc::clone(call.run.id()),
            scope: scope.clone(),
        };
        let mut calls = lock(&self.0);
        // The personality may have changed between the call's admission and now.
        calls.narrow(&live);
        calls.open.insert(call.call, live);
    }

    pub(crate) fn remove(&self, call: u64) {
        lock(&self.0).open.remove(&call);
    }

    pub(crate) fn all(&self) -> Vec<LiveCall> {
        lock(&self.0).open.values().cloned().collect()
    }

    /// Narrows every call to what its tool is granted now.
    pub(crate) fn regrant(&self, granted: HashMap<ToolName, NetworkGrant>) {
        let mut calls = lock(&self.0);
        calls.granted = Some(granted);
        calls.open.values().for_each(|live| calls.narrow(live));
    }
}

impl Calls {
    fn narrow(&self, live: &LiveCall) {
        match self.granted.as_ref().map(|granted| granted.get(&live.tool)) {
            None => {}
            Some(Some(grant)) => live.scope.narrow(grant),
            Some(None) => live.scope.revoke(),
        }
    }
}

/// A call that is on the network now. What it may reach can be taken away while it runs.
#[derive(Clone)]
pub struct LiveCall {
    call: u64,
    tool: ToolName,
    run: Arc<str>,
    scope: Scope,
}

impl LiveCall {
    /// Returns the number of the call.
    pub const fn call(&self) -> u64 {
        self.call
    }

    /// Returns the tool.
    pub const fn tool(&self) -> &ToolName {
        &self.tool
    }

    /// Returns the run.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Returns what it may reach now.
    pub fn grant(&self) -> Arc<NetworkGrant> {
        self.scope.grant()
    }

    /// Returns what it has done so far.
    pub fn tally(&self) -> Tally {
        self.scope.tally()
    }

    /// Takes away everything that the ceiling does not admit; connections beyond it are cut.
    pub fn narrow(&self, ceiling: &NetworkCeiling) {
        self.scope.narrow(&NetworkGrant::meet(ceiling.hosts(), ceiling));
    }

    /// Takes away everything; every connection is cut.
    pub fn revoke(&self) {
        self.scope.revoke();
    }
}

impl std::fmt::Debug for LiveCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveCall").field("call", &self.call).field("tool", &self.tool).finish_non_exhaustive()
    }
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
