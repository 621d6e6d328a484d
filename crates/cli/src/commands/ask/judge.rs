//! The answer to a question, by the same judges that a call meets.

use std::path::Path;

use ringfence::policy::{Capabilities, JsonLimits, parse_json, resolve_capabilities};
use ringfence::{Code, Grant, HostFiles, Personality, Refusal, Schema, judge_arguments};
use serde_json::Value;

use super::question::{Question, Subject, Want};
use super::{Desk, invalid};
use crate::desk::judge_reach;

impl Desk<'_> {
    /// Judges a question.
    pub(super) fn judge(&self, question: Question) -> Result<(), Refusal> {
        let expanded =
            question.personality.map(|personality| personality.expand(&self.variables)).transpose();
        let inline = expanded.map_err(|error| invalid(format!("personality: {error}")))?;
        let subject = match question.subject {
            Subject::Declared(capabilities, input, output) => Judged {
                capabilities: capabilities
                    .expand(&self.variables)
                    .map_err(|error| invalid(format!("declare: {error}")))?,
                personality: inline.unwrap_or_default(),
                input,
                output,
                // The question is its own registration, so its roots are looked up now.
                files: HostFiles::new(),
            },
            Subject::Named(tool) => self.named(&tool, inline)?,
        };
        let schema = match &subject.input {
            Some(schema) => Some(compile(schema)?),
            None => None,
        };
        if let Some(output) = &subject.output {
            compile(output)?;
        }
        let mut grant = resolve_capabilities(&subject.capabilities, &subject.personality)?;
        if let Some(fs) = &mut grant.fs {
            *fs = subject.files.named_both_ways(fs);
        }
        let cwd = question.cwd.as_deref().or(self.variables.workspace.as_deref());
        match question.want {
            Want::Reach(reach) => judge_reach(&grant, &reach, &subject.files, cwd),
            Want::Arguments(arguments) => judged(&grant, &arguments, schema.as_ref(), cwd),
            Want::RawArguments(text) => {
                let arguments =
                    parse_json(&text, JsonLimits::ARGUMENTS).map_err(|error| invalid(error.to_string()))?;
                judged(&grant, &arguments, schema.as_ref(), cwd)
            }
        }
    }

    fn named(&self, name: &str, personality: Option<Personality>) -> Result<Judged, Refusal> {
        let (loaded, files) = self.toolbox.as_ref().ok_or_else(|| invalid("there is no toolbox"))?;
        let personality = personality.unwrap_or_else(|| loaded.personality.clone());
        let tool = loaded.declarations.iter().find(|tool| tool.name.as_str() == name);
        let tool =
            tool.ok_or_else(|| Refusal::new(Code::ToolUnknown, format!("no tool is named `{name}`")))?;
        if !personality.permits_tool(name) {
            let message = format!("tool `{name}` is not in the personality's toolset");
            return Err(Refusal::new(Code::ToolNotPermitted, message));
        }
        Ok(Judged {
            capabilities: tool.capabilities.clone().unwrap_or_default(),
            personality,
            input: Some(tool.input.clone()),
            output: None,
            files: files.clone(),
        })
    }
}

struct Judged {
    capabilities: Capabilities,
    personality: Personality,
    input: Option<Value>,
    output: Option<Value>,
    files: HostFiles,
}

fn compile(schema: &Value) -> Result<Schema, Refusal> {
    Schema::compile(schema).map_err(|error| invalid(error.to_string()))
}

fn judged(
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
