//! The answer to a question, by the same judges that a call meets.

use std::path::Path;

use ringfence::policy::{
    Capabilities, Decision, JsonLimits, Reach, SafetyClass, ToolName, parse_json, resolve_capabilities,
};
use ringfence::{Code, Grant, HostFiles, Personality, Refusal, Schema, judge_arguments};
use serde_json::Value;

use super::admission::undecided;
use super::question::{DeclaredTool, Question, Subject, Want};
use super::{Desk, invalid};
use crate::desk::judge_reach;

/// What is answered where nothing is refused.
pub(super) struct Verdict {
    pub(super) decision: Decision,
    /// What is known only when the call is made.
    pub(super) undecided: Vec<&'static str>,
}

impl Desk<'_> {
    /// Judges a question.
    pub(super) fn judge(&self, question: Question) -> Result<Verdict, Refusal> {
        let expanded =
            question.personality.as_ref().map(|personality| personality.expand(&self.variables)).transpose();
        let inline = expanded.map_err(|error| invalid(format!("personality: {error}")))?;
        let cwd = question.cwd.as_deref().or(self.variables.workspace.as_deref()).map(Path::to_path_buf);
        let cwd = cwd.as_deref();
        let want = match question.want {
            Want::Reach(reach) => Wanted::Reach(reach),
            Want::Arguments(arguments) => Wanted::Call(arguments),
            Want::RawArguments(text) => Wanted::Call(
                parse_json(&text, JsonLimits::ARGUMENTS).map_err(|error| invalid(error.to_string()))?,
            ),
        };
        match (question.subject, want) {
            (Subject::Declared(declared), want) => {
                self.judge_declared(&declared, &inline.unwrap_or_default(), want, cwd)
            }
            (Subject::Named(tool), Wanted::Call(arguments)) => {
                let toolbox = self.toolbox()?;
                let open = toolbox.declaration(&tool).map(undecided).unwrap_or_default();
                let how = &question.circumstances;
                let decided = toolbox.admission.decide_call(&tool, arguments, how, cwd, inline.as_ref());
                decided.map(|decision| Verdict { decision, undecided: open })
            }
            (Subject::Named(tool), Wanted::Reach(reach)) => {
                let toolbox = self.toolbox()?;
                let personality = inline.as_ref().unwrap_or(&toolbox.loaded.personality);
                let declaration = toolbox
                    .declaration(&tool)
                    .ok_or_else(|| Refusal::new(Code::ToolUnknown, format!("no tool is named `{tool}`")))?;
                if !personality.permits_tool(&tool) {
                    return Err(not_in_toolset(&tool));
                }
                let capabilities = declaration.capabilities.clone().unwrap_or_default();
                let grant = granted(&capabilities, personality, &toolbox.files)?;
                judge_reach(&grant, &reach, &toolbox.files, cwd)?;
                toolbox.admission.withheld(&tool, question.circumstances.asker, inline.as_ref())?;
                Ok(Verdict { decision: Decision::Allow, undecided: Vec::new() })
            }
        }
    }

    /// Judges a tool that the question declares: what it may reach, its schemas, and the routes of its class.
    fn judge_declared(
        &self,
        declared: &DeclaredTool,
        personality: &Personality,
        want: Wanted,
        cwd: Option<&Path>,
    ) -> Result<Verdict, Refusal> {
        let capabilities = declared.capabilities.expand(&self.variables);
        let capabilities = capabilities.map_err(|error| invalid(format!("declare: {error}")))?;
        let schema = declared.input.as_ref().map(compile).transpose()?;
        declared.output.as_ref().map(compile).transpose()?;
        // The question is its own registration, so its roots are looked up now.
        let files = HostFiles::new();
        let grant = granted(&capabilities, personality, &files)?;
        let arguments = match want {
            Wanted::Reach(reach) => {
                judge_reach(&grant, &reach, &files, cwd)?;
                return Ok(Verdict { decision: Decision::Allow, undecided: Vec::new() });
            }
            Wanted::Call(arguments) => arguments,
        };
        if let Some(name) = declared.name.as_ref().filter(|name| !personality.permits_tool(name.as_str())) {
            return Err(not_in_toolset(name.as_str()));
        }
        judge_shape(&grant, &arguments, schema.as_ref(), cwd)?;
        let decision = route(declared, &capabilities, personality)?;
        Ok(Verdict { decision, undecided: Vec::new() })
    }
}

/// What a question is about, with its arguments read.
enum Wanted {
    Call(Value),
    Reach(Reach),
}

/// Returns who must agree to calls of a declared tool.
fn route(
    declared: &DeclaredTool,
    capabilities: &Capabilities,
    personality: &Personality,
) -> Result<Decision, Refusal> {
    let implied = capabilities.implied_class();
    let class: SafetyClass = declared.class.unwrap_or(implied);
    if class < implied {
        let (class, implied) = (class.as_str(), implied.as_str());
        let message = format!("class `{class}` is lower than the capabilities imply (`{implied}`)");
        return Err(Refusal::new(Code::ClassUnderstated, message));
    }
    let unnamed: ToolName = "declared".parse().map_err(|error| invalid(format!("{error}")))?;
    let name = declared.name.as_ref().unwrap_or(&unnamed);
    match personality.approvals.decision_with(class, capabilities, name) {
        Decision::Forbid => {
            let class = class.as_str();
            let message =
                format!("the personality's approvals deny tool `{name}`, which is of class `{class}`");
            Err(Refusal::new(Code::Forbidden, message))
        }
        decision => Ok(decision),
    }
}

fn granted(
    capabilities: &Capabilities,
    personality: &Personality,
    files: &HostFiles,
) -> Result<Grant, Refusal> {
    let mut grant = resolve_capabilities(capabilities, personality)?;
    if let Some(fs) = &mut grant.fs {
        *fs = files.named_both_ways(fs);
    }
    Ok(grant)
}

fn not_in_toolset(tool: &str) -> Refusal {
    Refusal::new(Code::ToolNotPermitted, format!("tool `{tool}` is not in the personality's toolset"))
}

fn compile(schema: &Value) -> Result<Schema, Refusal> {
    Schema::compile(schema).map_err(|error| invalid(error.to_string()))
}

fn judge_shape(
    grant: &Grant,
    arguments: &Value,
    schema: Option<&Schema>,
    cwd: Option<&Path>,
) -> Result<(), Refusal> {
    JsonLimits::ARGUMENTS.check(arguments).map_err(|error| invalid(format!("the arguments are {error}")))?;
    if let Some(schema) = schema {
        schema.check(arguments).map_err(|violation| invalid(violation.to_string()))?;
    }
    match &grant.fs {
        Some(fs) => judge_arguments(fs, arguments, schema, cwd),
        None => Ok(()),
    }
}
