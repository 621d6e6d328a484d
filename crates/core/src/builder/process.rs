//! Tools that run a program, declared in Rust: the same enforcement as a `command` of a policy file.

use ringfence_policy::{BinarySet, CommandTemplate, Process, Runtime, validate_declaration};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::native::typed;
use super::{Missing, ToolBuildError, ToolBuilder, tool};
use crate::command_tool::CommandTool;
use crate::error::ToolError;
use crate::tool::Tool;

/// Starts a tool that runs a program in the sandbox and returns what the program writes.
///
/// Finish it with [`command`](ToolBuilder::command) or [`arguments`](ToolBuilder::arguments). Without a
/// [launcher](crate::Backends::launcher) every call is refused `NOT_AVAILABLE`: nothing runs outside a sandbox. The
/// output is text unless [`output`](ToolBuilder::output) says otherwise; then the program writes JSON.
///
/// # Examples
///
/// ```
/// use ringfence::process_tool;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Search {
///     pattern: String,
/// }
///
/// let grep = process_tool("grep")
///     .description("Search the data")
///     .read(["/data"])
///     .input::<Search>()
///     .command(["rg", "--", "{pattern}", "/data"])?;
///
/// // The same, with arguments that a function makes.
/// let grep = process_tool("grep")
///     .description("Search the data")
///     .read(["/data"])
///     .input::<Search>()
///     .arguments("rg", |search| Ok(vec!["--".into(), search.pattern, "/data".into()]))?;
/// # Ok::<(), ringfence::ToolBuildError>(())
/// ```
pub fn process_tool(name: &str) -> ToolBuilder<Missing, String> {
    tool(name).output::<String>()
}

impl<I, O> ToolBuilder<I, O>
where
    I: DeserializeOwned + Send + 'static,
    O: Serialize + Send + 'static,
{
    /// Finishes the tool with a program and its arguments. `{name}` is the value of that argument of the call, `{{` a brace.
    ///
    /// No shell is involved: a value is one argument, and one that begins with `-` is refused unless a `--` stands before it.
    /// The program is declared in `process` unless [`binaries`](ToolBuilder::binaries) says otherwise.
    ///
    /// # Errors
    ///
    /// The command is no template, or anything that was malformed on the way.
    pub fn command<'a>(
        mut self,
        command: impl IntoIterator<Item = &'a str>,
    ) -> Result<impl Tool + 'static, ToolBuildError> {
        let command: Vec<String> = command.into_iter().map(str::to_owned).collect();
        let template = self.kept(CommandTemplate::parse(&command));
        if let Some(template) = &template {
            self.declare_program(template.program());
        }
        let (declaration, available, reconcile) = self.finish(Runtime::Command(command))?;
        // A command that is no template was a fault, which `finish` has returned.
        let template = template.ok_or_else(|| ToolBuildError(Vec::new()))?;
        Ok(CommandTool::from_template(template, declaration).with_functions(available, reconcile))
    }

    /// Finishes the tool with a program and a function that makes its arguments.
    ///
    /// Put `"--"` before a value of the call: the function alone decides what the program reads as a flag. It is Rust code of
    /// this process, and the manifest says so; what it makes runs in the sandbox.
    ///
    /// # Errors
    ///
    /// The tool declares what a program cannot be given, or anything that was malformed on the way.
    pub fn arguments<F>(mut self, program: &str, function: F) -> Result<impl Tool + 'static, ToolBuildError>
    where
        F: Fn(I) -> Result<Vec<String>, ToolError> + Send + Sync + 'static,
    {
        self.declare_program(program);
        // A brace in a program's name would be a placeholder.
        let literal = program.replace('{', "{{").replace('}', "}}");
        let (mut declaration, available, reconcile) = self.finish(Runtime::Command(vec![literal]))?;
        // Judged as the command it is, with all that a command cannot be given.
        let gaps = validate_declaration(&declaration);
        if !gaps.is_empty() {
            let say = |gap: &ringfence_policy::Gap| format!("{}: {}", gap.capability, gap.message);
            return Err(ToolBuildError(gaps.iter().map(say).collect()));
        }
        declaration.runtime = Runtime::Native;
        let render = move |arguments: &serde_json::Value| {
            let input = typed(arguments).map_err(|error| ToolError::new(error.to_string()).not_executed())?;
            // Nothing was started yet.
            function(input).map_err(ToolError::not_executed)
        };
        let tool = CommandTool::new(declaration, program.to_owned(), render);
        Ok(tool.with_functions(available, reconcile))
    }

    fn declare_program(&mut self, program: &str) {
        if self.capabilities.process.is_none() {
            let binaries = self.kept(BinarySet::new([program]));
            self.capabilities.process = binaries.map(|allowed_binaries| Process { allowed_binaries });
        }
    }
}
