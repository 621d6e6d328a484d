//! A call on the network: one scope for everything it connects, told to observers and kept for its record.
//!
//! INVARIANT: a connection belongs to the call whose scope it was admitted by, and a scope ends with its call.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ringfence_egress::{Asker, Evidence, Scope, Tally, Verdict as EgressVerdict, Witness};
use ringfence_policy::{
    Code, Decision, NetworkCeiling, NetworkGrant, OnUnknown, Refusal, SafetyClass, Target, ToolName,
};

use crate::context::Parts as Call;
use crate::event::Event;
use crate::pipeline::{Answer, Patience, Question};
use crate::port::ApprovalRequest;
use crate::registry::Parts;
use crate::run::Run;
use crate::touch::Touches;

/// How many connections a record lists; what is beyond is counted.
const MOST_KEPT: usize = 1000;

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
            touches: call.touches.clone(),
            kept: Mutex::default(),
        });
        let mut scope = Scope::builder(grant.clone())
            .owner(&format!("tool {}", call.tool))
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
    touches: Touches,
    kept: Mutex<Connections>,
}

impl Witness for Ledger {
    fn saw(&self, evidence: &Evidence) {
        // The record of the call is written: what was cut by its end is an entry of its own.
        if self.touches.is_ended() {
            let refused = match &evidence.verdict {
                EgressVerdict::Refused { code, .. } => Some(*code),
                EgressVerdict::Cut { .. } | EgressVerdict::Done | EgressVerdict::Failed { .. } => None,
            };
            self.touches.note("host", &evidence.host, refused);
        }
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
    call: u64,
    tool: ToolName,
    tool_digest: Arc<str>,
    run: Run,
}

impl People {
    fn new(call: &Call) -> Self {
        Self {
            registry: Arc::clone(&call.registry),
            call: call.call,
            tool: call.tool.clone(),
            tool_digest: Arc::clone(&call.digest),
            run: call.run.as_run().clone(),
        }
    }

    /// Makes the request. It ends with the call: nobody goes on with it after a restart.
    fn request(&self, target: &Target) -> Result<ApprovalRequest, Refusal> {
        let request = ApprovalRequest {
            digest: String::new(),
            tool: self.tool.clone(),
            tool_digest: Arc::clone(&self.tool_digest),
            class: SafetyClass::Network,
            arguments: Arc::new(serde_json::json!({ "connect": target.to_string() })),
            run: Arc::clone(self.run.id()),
            session: Arc::clone(self.run.session()),
            proposer: Arc::clone(self.run.proposer()),
            needed: Decision::Ask,
            call: None,
        };
        request.digested().map_err(|error| Refusal::new(Code::InputInvalid, error))
    }

    async fn agreed(&self, target: &Target) -> Result<(), Refusal> {
        let subject = target.to_string();
        let question = Question {
            parts: &self.registry,
            call: self.call,
            request: self.request(target)?,
            subject: &subject,
            patience: Patience::UntilAnswered,
        };
        match question.ask().await? {
            Answer::Agreed => Ok(()),
            Answer::Changed(_) => {
                let message = format!("a person agreed to something else than {target}");
                Err(Refusal::new(Code::ApprovalDenied, message))
            }
        }
    }
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
