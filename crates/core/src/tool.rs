//! What a tool is: a declaration, and code that runs with exactly the reach it declared.

use futures_util::future::BoxFuture;
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
}
