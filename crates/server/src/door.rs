//! What an edge needs to know of what stands behind it: a door that opens rooms, one for each client.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::message::Message;
use crate::outlet::Outlet;

/// Who connects, and how far their token goes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Agent {
    /// The name in the policy, and in the audit.
    pub name: String,
    /// The servers it may use, and `toolbox` for the tools of the policy file itself; absent: every one.
    pub servers: Option<Vec<String>>,
    /// The tools it may use, by the names it sees; absent: every one of its servers.
    pub tools: Option<Vec<String>>,
    /// Whether there is a person at the client who may agree to calls that need one.
    pub approves: bool,
}

/// Opens rooms.
pub trait Door: Send + Sync {
    /// Opens a room for one session of an agent. Nothing is started until somebody asks for it.
    fn open(&self, agent: &Agent) -> Arc<dyn Room>;
}

/// One session: what one client says is heard here, and nowhere else.
pub trait Room: Send + Sync {
    /// Takes one message. Everything that belongs to it goes to `outlet`, the answer last; whoever drops the future gives the
    /// request up.
    fn handle(self: Arc<Self>, message: Message, outlet: Outlet) -> BoxFuture<'static, ()>;

    /// Sets where messages go that belong to no request; what comes while there is none is lost.
    fn attach(&self, outlet: Outlet);

    /// Returns the input schema of a tool that is offered here.
    fn input_schema(&self, tool: &str) -> Option<Value>;

    /// Ends the session: calls are given up, and what was started for it ends.
    fn close(self: Arc<Self>) -> BoxFuture<'static, ()>;
}
