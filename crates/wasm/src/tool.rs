//! A component as a tool of a registry.

use futures_util::future::{BoxFuture, FutureExt};
use ringfence::policy::{JsonLimits, parse_json};
use ringfence::{Code, Context, Declaration, Refusal, Tool, ToolError};
use serde_json::Value;

use crate::Host;
use crate::bindings::ToolPre;
use crate::call::call;
use crate::limit::Budget;
use crate::state::State;

/// A component that was compiled, compared with its declaration, and asked.
pub(crate) struct WasmTool {
    pub(crate) host: Host,
    pub(crate) component: ToolPre<State>,
    pub(crate) declaration: Declaration,
}

impl Tool for WasmTool {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn call<'a>(&'a self, arguments: &'a Value, context: Context) -> BoxFuture<'a, Result<Value, ToolError>> {
        async move {
            let budget = Budget::of(context.limits(), context.grant())
                .map_err(|refusal| ToolError::from(refusal).not_executed())?;
            let arguments = arguments.to_string();
            let output = call(&self.host, &self.component, &arguments, context, &budget).await?;
            let bytes = usize::try_from(budget.output).unwrap_or(usize::MAX);
            let limits = JsonLimits { bytes, ..JsonLimits::DOCUMENT };
            parse_json(&output, limits).map_err(|error| {
                let message = format!("the component did not return JSON: {error}");
                ToolError::from(Refusal::new(Code::OutputInvalid, message)).permanent()
            })
        }
        .boxed()
    }
}
