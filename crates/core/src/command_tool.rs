//! Tools that run one program in the sandbox, whoever declared them: a policy file or [`process_tool`](crate::process_tool).
//!
//! INVARIANT: the program is fixed when the tool is made. A call chooses arguments, never what is started.

use std::collections::BTreeMap;

use futures_util::future::{BoxFuture, FutureExt, ready};
use ringfence_policy::{Code, CommandTemplate, Declaration, NamePattern, Refusal, secret_variable};
use ringfence_sandbox::LimitName;
use serde_json::Value;

use crate::builder::{Availability, Found, Reconcile};
use crate::context::Context;
use crate::error::ToolError;
use crate::handle::{ScopedEnvironment, SpawnOptions};
use crate::port::{ProcessOutput, Secret};
use crate::tool::{Reconciled, Tool};

/// The exit code of a command that did nothing and may be tried again: `EX_TEMPFAIL` of sysexits.
const TRY_AGAIN: i32 = 75;

/// Makes the arguments of a program from the arguments of a call.
type RenderArguments = Box<dyn Fn(&Value) -> Result<Vec<String>, ToolError> + Send + Sync>;

/// A tool that runs a program.
pub(crate) struct CommandTool {
    declaration: Declaration,
    program: String,
    /// The image whose program it is; one of this machine where there is none.
    image: Option<String>,
    render: RenderArguments,
    available: Option<Availability>,
    reconcile: Option<Reconcile>,
}

impl CommandTool {
    /// Makes a tool whose arguments are a template.
    pub(crate) fn from_template(template: CommandTemplate, declaration: Declaration) -> Self {
        let program = template.program().to_owned();
        Self::new(declaration, program, move |arguments| {
            let empty = serde_json::Map::new();
            Ok(template.render(arguments.as_object().unwrap_or(&empty))?)
        })
    }

    /// Makes a tool whose arguments a function makes.
    pub(crate) fn new(
        declaration: Declaration,
        program: String,
        render: impl Fn(&Value) -> Result<Vec<String>, ToolError> + Send + Sync + 'static,
    ) -> Self {
        let render = Box::new(render);
        Self { declaration, program, image: None, render, available: None, reconcile: None }
    }

    /// Runs the program of an image.
    pub(crate) fn in_image(mut self, image: String) -> Self {
        self.image = Some(image);
        self
    }

    /// Adds what only a builder can give: when the tool is offered, and how to find out what became of a call.
    pub(crate) fn with_functions(
        mut self,
        available: Option<Availability>,
        reconcile: Option<Reconcile>,
    ) -> Self {
        self.available = available;
        self.reconcile = reconcile;
        self
    }

    async fn run(&self, arguments: &Value, context: Context) -> Result<Value, ToolError> {
        let arguments = (self.render)(arguments)?;
        let is_jailed = context.grant().fs.as_ref().is_some_and(|fs| fs.jail().is_some());
        let cwd = context.working_dir().filter(|_| !is_jailed).map(std::path::Path::to_path_buf);
        let options = SpawnOptions { cwd, env: granted_variables(&context)?, ..SpawnOptions::default() };
        let secrets = granted_secrets(&context).await?;
        let image = self.image.as_deref();
        let process = if image.is_some() { context.containers()? } else { context.process()? };
        let output = process.spawn_command(image, &self.program, &arguments, options, &secrets).await?;
        if output.exit_code != 0 {
            return Err(failure(&output, context.refused_connection()));
        }
        // A command that promises a structure writes it as JSON; any other output is its text.
        let wants_text = self.declaration.output.get("type").and_then(Value::as_str) == Some("string");
        match serde_json::from_str(&output.stdout) {
            Ok(value) if !wants_text => Ok(value),
            _ => Ok(Value::String(output.stdout)),
        }
    }
}

impl Tool for CommandTool {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn is_available(&self, environment: &ScopedEnvironment) -> bool {
        self.available.as_ref().is_none_or(|available| available(environment))
    }

    fn call<'a>(&'a self, arguments: &'a Value, context: Context) -> BoxFuture<'a, Result<Value, ToolError>> {
        self.run(arguments, context).boxed()
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

/// Says how a command failed: by a limit, or with what it wrote to standard error and what its gate refused.
fn failure(output: &ProcessOutput, refused: Option<String>) -> ToolError {
    let exceeded = output.confinement.iter().flat_map(|confinement| &confinement.exceeded);
    let deadly: Vec<String> =
        exceeded.filter(|limit| **limit != LimitName::Output).map(|limit| format!("`{limit}`")).collect();
    if !deadly.is_empty() {
        let message = format!("the command ran into its limit {}", deadly.join(", "));
        return Refusal::new(Code::LimitExceeded, message).into();
    }
    let head: String = output.stderr.chars().take(2_000).collect();
    let refused = refused.map(|refused| format!(" ({refused})")).unwrap_or_default();
    let failed = ToolError::new(format!("exit code {}: {}{refused}", output.exit_code, head.trim_end()));
    // A command that ends with this code says that it did nothing and may be tried again; any other would only end alike.
    if output.exit_code == TRY_AGAIN { failed.not_executed() } else { failed.permanent() }
}

/// Returns the granted variables that are set.
fn granted_variables(context: &Context) -> Result<BTreeMap<String, String>, ToolError> {
    let mut variables = BTreeMap::new();
    let Some(granted) = &context.grant().environment else { return Ok(variables) };
    let environment = context.environment()?;
    for pattern in granted.iter() {
        if let NamePattern::Exact(name) = pattern
            && let Some(value) = environment.get(name)?
        {
            variables.insert(name.to_string(), value.to_owned());
        }
    }
    Ok(variables)
}

/// Returns the granted secrets, each with the variable that is to hold it. One without a value is a refusal.
async fn granted_secrets(context: &Context) -> Result<Vec<(String, Secret)>, ToolError> {
    let mut found = Vec::new();
    let Some(granted) = &context.grant().secrets else { return Ok(found) };
    let secrets = context.secrets()?;
    for pattern in granted.iter() {
        if let NamePattern::Exact(name) = pattern {
            // Nothing was started.
            let secret =
                secrets.get(name).await.map_err(|refusal| ToolError::from(refusal).not_executed())?;
            found.push((secret_variable(name), secret));
        }
    }
    Ok(found)
}
