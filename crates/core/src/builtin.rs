//! The tools that ringfence brings along, and the tools of a toolbox that start a program.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use ringfence_policy::{
    Builtin, Code, CommandTemplate, Declaration, NamePattern, Refusal, Runtime, secret_variable,
};
use ringfence_sandbox::LimitName;
use serde_json::Value;

use crate::context::Context;
use crate::error::ToolError;
use crate::handle::SpawnOptions;
use crate::port::{ProcessOutput, Secret};
use crate::tool::Tool;

/// The exit code of a command that did nothing and may be tried again: `EX_TEMPFAIL` of sysexits.
const TRY_AGAIN: i32 = 75;

/// Makes the tool that a declaration of a toolbox describes.
///
/// # Errors
///
/// The declaration's runtime is code of this process, which a file cannot bring, or its command is malformed.
pub fn declared_tool(declaration: Declaration) -> Result<Arc<dyn Tool>, ToolError> {
    match &declaration.runtime {
        Runtime::Builtin(builtin) => Ok(Arc::new(BuiltinTool { builtin: *builtin, declaration })),
        Runtime::Command(command) => {
            let template = CommandTemplate::parse(command)?;
            Ok(Arc::new(CommandTool { template, image: None, declaration }))
        }
        Runtime::Container { image, command } => {
            let template = CommandTemplate::parse(command)?;
            Ok(Arc::new(CommandTool { template, image: Some(image.clone()), declaration }))
        }
        Runtime::Native | Runtime::Server { .. } | Runtime::Wasm { .. } => {
            Err(ToolError::new("the declaration says nothing of what runs when it is called"))
        }
    }
}

struct BuiltinTool {
    builtin: Builtin,
    declaration: Declaration,
}

impl Tool for BuiltinTool {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn call<'a>(&'a self, arguments: &'a Value, context: Context) -> BoxFuture<'a, Result<Value, ToolError>> {
        async move {
            let text = |name: &str| {
                let value = arguments.get(name).and_then(Value::as_str).map(str::to_owned);
                value.ok_or_else(|| {
                    ToolError::new(format!("the argument `{name}` must be a string")).not_executed()
                })
            };
            match self.builtin {
                Builtin::FetchUrl => {
                    let response = context.fetch()?.get(&text("url")?).await?;
                    let status = response.status();
                    let body = response.text().await?;
                    if status.is_success() {
                        Ok(Value::String(body))
                    } else {
                        let failed = ToolError::new(format!("the server answered {status}"));
                        let passes = status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429);
                        Err(if passes { failed } else { failed.permanent() })
                    }
                }
                Builtin::ListFiles => {
                    let (fs, path) = (context.fs()?, text("path")?);
                    let names = blocking(move || fs.list(path)).await?;
                    Ok(names.into_iter().map(|entry| entry.name.to_string_lossy().into_owned()).collect())
                }
                Builtin::ReadFile => {
                    let (fs, path) = (context.fs()?, text("path")?);
                    blocking(move || fs.read(path)).await.map(Value::String)
                }
                Builtin::WriteFile => {
                    let (fs, path, content) = (context.fs()?, text("path")?, text("content")?);
                    let length = content.len();
                    blocking(move || fs.write(path, content)).await?;
                    Ok(Value::String(format!("wrote {length} bytes")))
                }
            }
        }
        .boxed()
    }
}

/// Runs file work on a thread that may be blocked.
async fn blocking<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, ToolError>
where
    T: Send + 'static,
    E: Into<ToolError> + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        // A file that is not there now is not there in a moment either.
        Ok(result) => result.map_err(|error| error.into().permanent()),
        Err(_) => Err(ToolError::new("the runtime is shutting down")),
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

struct CommandTool {
    template: CommandTemplate,
    /// The image whose program it is; one of this machine where there is none.
    image: Option<String>,
    declaration: Declaration,
}

impl Tool for CommandTool {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn call<'a>(&'a self, arguments: &'a Value, context: Context) -> BoxFuture<'a, Result<Value, ToolError>> {
        async move {
            let empty = serde_json::Map::new();
            let arguments = self.template.render(arguments.as_object().unwrap_or(&empty))?;
            let program = self.template.program();
            let is_jailed = context.grant().fs.as_ref().is_some_and(|fs| fs.jail().is_some());
            let cwd = context.working_dir().filter(|_| !is_jailed).map(std::path::Path::to_path_buf);
            let options = SpawnOptions { cwd, env: granted_variables(&context)?, ..SpawnOptions::default() };
            let secrets = granted_secrets(&context).await?;
            let process = if self.image.is_some() { context.containers()? } else { context.process()? };
            let image = self.image.as_deref();
            let output = process.spawn_command(image, program, &arguments, options, &secrets).await?;
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
        .boxed()
    }
}
