//! A console that runs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ringfence::policy::{Decision, SafetyClass};
use ringfence::{
    ApprovalRequest, ApprovalStore as _, ApproverToken, FiledRequest, MemoryApprovals, MemoryIdempotency,
    Role, WaitingCall,
};
use ringfence_server::console::{Console, ConsoleConfig, ConsoleParts, ConsoleStore, Live};
use serde_json::Value;
use tokio::sync::oneshot;

use super::log::both;
use super::{Browser, DamagedApprovals, TestDesk, TestLog};

/// Who proposes calls.
pub(crate) const AGENT: &str = "agent-7";

/// A console that runs, and what stands behind it.
pub(crate) struct Scene {
    pub(crate) address: SocketAddr,
    pub(crate) approvals: Arc<MemoryApprovals>,
    /// The same, and the names of those that cannot be read.
    pub(crate) all_approvals: Arc<DamagedApprovals>,
    pub(crate) keys: Arc<MemoryIdempotency>,
    pub(crate) log: Arc<TestLog>,
    pub(crate) desk: Arc<TestDesk>,
    pub(crate) live: Arc<Live>,
    _stop: oneshot::Sender<()>,
}

/// Who there is, and what they may.
const PEOPLE: [(&str, Role); 5] = [
    ("vera", Role::Viewer),
    ("ada", Role::Approver),
    ("bob", Role::Approver),
    ("root", Role::Admin),
    (AGENT, Role::Approver),
];

impl Scene {
    /// A viewer `vera`, the approvers `ada` and `bob`, an admin `root`, and a person of the agent's name.
    pub(crate) async fn new() -> Self {
        Self::with(ConsoleConfig::default()).await
    }

    /// The same with a configuration of the test.
    pub(crate) async fn with(config: ConsoleConfig) -> Self {
        let (approvals, keys) =
            (Arc::new(MemoryApprovals::default()), Arc::new(MemoryIdempotency::default()));
        for (name, role) in PEOPLE {
            let token = ApproverToken::new(&token(name)).hash();
            approvals.add_approver(&name.parse().unwrap(), token, role).await.unwrap();
        }
        let (log, desk) = (Arc::new(TestLog::default()), Arc::new(TestDesk::default()));
        let live = Arc::new(Live::default());
        let (sink, reading) = both(&log);
        let readable = approvals.clone();
        let all_approvals = Arc::new(DamagedApprovals { readable, ..DamagedApprovals::default() });
        let store = ConsoleStore { approvals: all_approvals.clone(), keys: keys.clone(), sink, log: reading };
        let parts = ConsoleParts { store, desk: desk.clone(), live: live.clone(), access: Arc::default() };
        let console = Console::bind("127.0.0.1:0".parse().unwrap(), config, parts).await.unwrap();
        let address = console.address();
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(console.run(async move {
            let _told = stopped.await;
        }));
        Self { address, approvals, all_approvals, keys, log, desk, live, _stop: stop }
    }

    /// Lets somebody in.
    pub(crate) async fn login(&self, name: &str) -> Browser {
        Browser::enter(self.address, &token(name)).await
    }

    /// Files a request for a call.
    pub(crate) async fn file(&self, request: &ApprovalRequest, expires: Duration) -> FiledRequest {
        let id = self.approvals.file(request, expires).await.unwrap();
        self.approvals.request(&id).await.unwrap().unwrap()
    }
}

/// Returns the token of somebody.
pub(crate) fn token(name: &str) -> String {
    format!("rfa_{name}")
}

/// Makes a request as the pipeline would.
pub(crate) fn request(tool: &str, arguments: Value, needed: Decision) -> ApprovalRequest {
    let request = ApprovalRequest {
        digest: String::new(),
        tool: tool.parse().unwrap(),
        tool_digest: "d0d0".into(),
        class: if needed == Decision::AskTwo { SafetyClass::Privileged } else { SafetyClass::Financial },
        arguments: Arc::new(Value::Null),
        run: "run-1".into(),
        session: "session-1".into(),
        proposer: AGENT.into(),
        needed,
        call: Some(WaitingCall::default()),
    };
    request.with_arguments(arguments).unwrap()
}
