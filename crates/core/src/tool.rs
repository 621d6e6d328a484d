//! What a tool is: a declaration, and code that runs with exactly the reach it declared.

use futures_util::future::{BoxFuture, FutureExt, ready};
use ringfence_policy::Declaration;
use serde_json::Value;

use crate::context::Context;
use crate::error::ToolError;
use crate::handle::ScopedEnvironment;

/// A tool. Most are made with [`tool`](crate::tool()); implement this for tools of another making.
pub trait Tool: Send + Sync {
    /// Returns what the tool says of itself. It must not change after registration.
    fn declaration(&self) -> &Declaration;

    /// Says whether the tool can work here at all, from the declared environment variables alone.
    fn is_available(&self, environment: &ScopedEnvironment) -> bool {
        let _ = environment;
        true
    }

    /// Runs the tool. `arguments` fit the input schema; what is returned must fit the output schema.
    fn call<'a>(&'a self, arguments: &'a Value, context: Context) -> BoxFuture<'a, Result<Value, ToolError>>;

    /// Returns the part of an output that the output schema describes: all of it, unless the tool's outputs come wrapped in
    /// something. `None` where there is nothing to check.
    fn described<'v>(&self, output: &'v Value) -> Option<&'v Value> {
        Some(output)
    }

    /// Says whether [`Tool::reconcile`] can find anything out.
    fn reconciles(&self) -> bool {
        false
    }

    /// Finds out what became of an earlier call with the same arguments and idempotency key, which was started and has not
    /// ended as far as anybody knows. The context names the key and that call's fence.
    fn reconcile<'a>(
        &'a self,
        arguments: &'a Value,
        context: Context,
    ) -> BoxFuture<'a, Result<Reconciled<Value>, ToolError>> {
        let _ = (arguments, context);
        ready(Ok(Reconciled::Unknown)).boxed()
    }
}

/// What a tool found out about an earlier call of its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reconciled<T> {
    /// It took effect, and this is what it returned.
    Done(T),
    /// It did not take effect, and no longer can. The call runs again.
    NotDone,
    /// That cannot be said. The call stays in doubt.
    Unknown,
}
