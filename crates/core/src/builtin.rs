//! The tools that a declaration alone describes: those that ringfence brings along, and commands.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use ringfence_policy::{Builtin, CommandTemplate, Declaration, Runtime};
use serde_json::Value;

use crate::command_tool::CommandTool;
use crate::context::Context;
use crate::error::ToolError;
use crate::tool::Tool;

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
            Ok(Arc::new(CommandTool::from_template(template, declaration)))
        }
        Runtime::Container { image, command } => {
            let template = CommandTemplate::parse(command)?;
            let image = image.clone();
            Ok(Arc::new(CommandTool::from_template(template, declaration).in_image(image)))
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
