//! Interceptors: code of the host that sees a call before it is dispatched.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ringfence_policy::{Risk, SafetyClass, ToolName};
use serde_json::Value;

use crate::run::Run;

/// A call that has passed policy and waits to be dispatched.
#[derive(Clone, Debug)]
pub struct PendingCall {
    /// The tool.
    pub tool: ToolName,
    /// Its class.
    pub class: SafetyClass,
    /// Its risk.
    pub risk: Risk,
    /// The arguments as they stand.
    pub arguments: Arc<Value>,
    /// The run.
    pub run: Run,
}

/// What an interceptor wants.
#[derive(Clone, Debug, PartialEq)]
pub enum Intercept {
    /// The call goes on.
    Proceed,
    /// The call is refused, with a reason for the model.
    Refuse(String),
    /// The call goes on with other arguments, which are judged from the start.
    Replace(Value),
    /// The tool does not run; this is its output, checked and cleaned like any other.
    Substitute(Value),
}

/// Sees calls before they are dispatched. The first that does not proceed decides.
pub trait Interceptor: Send + Sync {
    /// Returns what is to happen. An error or a panic is a refusal.
    fn before<'a>(&'a self, call: &'a PendingCall) -> BoxFuture<'a, Result<Intercept, String>>;
}
