//! The function of a tool: giving it finishes the builder, and what comes out runs it in this process.

use std::any::Any;
use std::future::Future;
use std::marker::PhantomData;

use futures_util::future::{BoxFuture, FutureExt, ready};
use ringfence_policy::{Declaration, Runtime};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Availability, Found, Reconcile, ToolBuildError, ToolBuilder};
use crate::context::Context;
use crate::error::ToolError;
use crate::handle::ScopedEnvironment;
use crate::tool::{Reconciled, Tool};

impl<I, O> ToolBuilder<I, O>
where
    I: DeserializeOwned + Send + 'static,
    O: Serialize + Send + 'static,
{
    /// Says how to find out what became of a call that was started and whose end nobody knows, after a crash for instance. The
    /// context has the idempotency key of that call. Give it after the input and the output.
    ///
    /// # Examples
    ///
    /// ```
    /// use ringfence::policy::IdempotencyMode;
    /// use ringfence::{Reconciled, tool};
    ///
    /// let pay = tool("pay")
    ///     .idempotency(IdempotencyMode::Required)
    ///     .input::<u64>()
    ///     .output::<String>()
    ///     .reconcile(|_cents, context| async move {
    ///         let key = context.idempotency_key().map(|(key, _fence)| key.to_owned());
    ///         // Ask the bank about `key`: was it paid, can it no longer be, or is that open?
    ///         Ok(match key.as_deref() {
    ///             Some("paid") => Reconciled::Done("receipt".to_owned()),
    ///             Some("rejected") => Reconciled::NotDone,
    ///             _ => Reconciled::Unknown,
    ///         })
    ///     })
    ///     .run(|_cents, _context| async move { Ok("receipt".to_owned()) })?;
    /// # Ok::<(), ringfence::ToolBuildError>(())
    /// ```
    pub fn reconcile<F, Fut>(mut self, function: F) -> Self
    where
        F: Fn(I, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Reconciled<O>, ToolError>> + Send + 'static,
    {
        let function = std::sync::Arc::new(function);
        self.reconcile = Some(Box::new(move |arguments, context| {
            let function = std::sync::Arc::clone(&function);
            async move {
                Ok(match function(typed(arguments)?, context).await? {
                    Reconciled::Done(output) => Reconciled::Done(untyped(output)?),
                    Reconciled::NotDone => Reconciled::NotDone,
                    Reconciled::Unknown => Reconciled::Unknown,
                })
            }
            .boxed()
        }));
        self
    }

    /// Finishes the tool with the function that runs when it is called.
    ///
    /// # Errors
    ///
    /// Every malformed name, host, path or ref that was given on the way.
    pub fn run<F, Fut>(self, function: F) -> Result<impl Tool + 'static, ToolBuildError>
    where
        F: Fn(I, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        let (declaration, available, reconcile) = self.finish(Runtime::Native)?;
        Ok(Native { declaration, available, reconcile, function, types: PhantomData::<fn(I) -> O> })
    }

    /// Finishes the tool with a function that blocks, and is run on threads that may be blocked.
    ///
    /// A blocking function that misses its deadline cannot be stopped: its call ends, its thread goes on.
    ///
    /// # Errors
    ///
    /// As [`ToolBuilder::run`].
    pub fn run_blocking<F>(self, function: F) -> Result<impl Tool + 'static, ToolBuildError>
    where
        F: Fn(I, Context) -> Result<O, ToolError> + Send + Sync + 'static,
    {
        let function = std::sync::Arc::new(function);
        self.run(move |input, context| {
            let function = std::sync::Arc::clone(&function);
            async move {
                match tokio::task::spawn_blocking(move || function(input, context)).await {
                    Ok(result) => result,
                    Err(error) => match error.try_into_panic() {
                        Ok(panic) => std::panic::resume_unwind(panic),
                        Err(_) => Err(ToolError::new("the runtime is shutting down")),
                    },
                }
            }
        })
    }

    /// Returns the declaration and the functions, or every fault.
    pub(super) fn finish(
        self,
        runtime: Runtime,
    ) -> Result<(Declaration, Option<Availability>, Option<Reconcile>), ToolBuildError> {
        let Some(name) = self.name.filter(|_| self.faults.is_empty()) else {
            return Err(ToolBuildError(self.faults));
        };
        let declaration = Declaration {
            name,
            title: self.title,
            description: self.description,
            input: self.input,
            output: self.output,
            capabilities: Some(self.capabilities),
            class: self.class,
            risk: self.risk,
            idempotency: self.idempotency,
            constraints: self.constraints,
            limits: self.limits,
            assurance: self.assurance,
            runtime,
        };
        Ok((declaration, self.available, self.reconcile))
    }
}

struct Native<I, O, F> {
    declaration: Declaration,
    available: Option<Availability>,
    reconcile: Option<Reconcile>,
    function: F,
    types: PhantomData<fn(I) -> O>,
}

impl<I, O, F, Fut> Tool for Native<I, O, F>
where
    I: DeserializeOwned + Send + 'static,
    O: Serialize + Send + 'static,
    F: Fn(I, Context) -> Fut + Send + Sync,
    Fut: Future<Output = Result<O, ToolError>> + Send,
{
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn is_available(&self, environment: &ScopedEnvironment) -> bool {
        self.available.as_ref().is_none_or(|available| available(environment))
    }

    fn call<'a>(&'a self, arguments: &'a Value, context: Context) -> BoxFuture<'a, Result<Value, ToolError>> {
        async move {
            // The schema was checked; what serde still refuses (a range, a format) is the caller's mistake too.
            let input = typed(arguments).map_err(|error| ToolError::new(error.to_string()).not_executed())?;
            let output = (self.function)(input, context).await?;
            Ok(untyped(output)?)
        }
        .boxed()
    }

    fn reconciles(&self) -> bool {
        self.reconcile.is_some()
    }

    fn reconcile<'a>(&'a self, arguments: &'a Value, context: Context) -> Found<'a> {
        match &self.reconcile {
            Some(reconcile) => reconcile(arguments, context),
            None => ready(Ok(Reconciled::Unknown)).boxed(),
        }
    }
}

/// Reads the arguments as the tool's type; a tool that takes JSON gets a copy.
pub(super) fn typed<I: DeserializeOwned + 'static>(arguments: &Value) -> Result<I, serde_json::Error> {
    let mut copy = None::<I>;
    match (&mut copy as &mut dyn Any).downcast_mut::<Option<Value>>() {
        Some(json) => *json = Some(arguments.clone()),
        None => copy = Some(I::deserialize(arguments)?),
    }
    copy.ok_or_else(|| serde::de::Error::custom("no value"))
}

/// Writes the output as JSON; a tool that returns JSON is done.
fn untyped<O: Serialize + 'static>(output: O) -> Result<Value, serde_json::Error> {
    let mut output = Some(output);
    match (&mut output as &mut dyn Any).downcast_mut::<Option<Value>>().and_then(Option::take) {
        Some(json) => Ok(json),
        None => serde_json::to_value(output),
    }
}
