//! `ringfence ask`

mod admission;
mod judge;
pub(super) mod line;
mod question;

use std::collections::BTreeSet;
use std::io::{BufReader, BufWriter, Write};

use ringfence::policy::explain::explain_line;
use ringfence::policy::{Decision, Declaration, Variables};
use ringfence::{Code, HostFiles, Refusal};
use serde_json::{Value, json};

use self::admission::Admission;
use crate::error::{CommandError, Exit};
use crate::load::{Loaded, Place};

/// Answer policy questions in bulk, without running anything
///
/// Reads JSON lines and answers each with a JSON line `{"id", "decision", "code", "message"}`. A question names a
/// `tool` of the toolbox, or declares one inline with `declare` and `personality`, and says what it wants:
/// `{"url"}`, `{"connect"}`, `{"read"}`, `{"write"}`, `{"list"}`, `{"exists"}`, `{"secret"}`, `{"binary"}`, `{"env"}`,
/// `{"args"}` or `{"args_raw"}`. Paths are judged on the real file system without changing it; the network is not
/// touched. A malformed line is answered with a deny and the next one still works.
///
/// `args` are decided by the code that admits calls: toolset, quarantine, constraints, schema, paths, approvals. The run
/// is a new one; name what has completed in it with `"after": ["tool"]`. `"asked_by": "code"` and `"idempotency_key"` are
/// taken too. Where people must agree the decision is `ask` or `ask-two`. What only the call itself can show is listed under
/// `undecided`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  echo '{\"id\": 1, \"tool\": \"read_file\", \"want\": {\"read\": \"/etc/passwd\"}}' | ringfence ask
  ringfence ask --policy examples/demo/ringfence.toml < questions.jsonl")]
pub(crate) struct AskArgs {}

/// What questions are judged with.
struct Desk<'a> {
    place: &'a Place,
    variables: Variables,
    toolbox: Option<Toolbox>,
}

/// The policy file, the roots as they were when it was read, and what admits calls of its tools.
struct Toolbox {
    loaded: Loaded,
    files: HostFiles,
    admission: Admission,
}

impl Toolbox {
    fn declaration(&self, tool: &str) -> Option<&Declaration> {
        self.loaded.declarations.iter().find(|own| own.name.as_str() == tool)
    }
}

pub(crate) fn run(_args: &AskArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let mut desk = Desk { place, variables: place.variables(), toolbox: None };
    // Who names a policy is told before any answer that it cannot be used. Another is read when the first question needs it.
    if place.is_named {
        desk.load()?;
    }
    let mut input = BufReader::with_capacity(1 << 16, std::io::stdin().lock());
    let mut out = BufWriter::new(out);
    let mut denied = BTreeSet::new();
    while let Some(line) = line::next(&mut input).map_err(|error| CommandError::Input {
        message: format!("cannot read standard input: {error}"),
        hint: None,
    })? {
        if let Some(answer) = answer(&mut desk, line) {
            denied.extend(answer.get("code").and_then(Value::as_str).map(str::to_owned));
            serde_json::to_writer(&mut out, &answer).map_err(std::io::Error::from)?;
            out.write_all(b"\n")?;
        }
        // Whoever asks one question at a time gets its answer before asking the next.
        if input.buffer().is_empty() {
            out.flush()?;
        }
    }
    out.flush()?;
    // The answers are for programs; the person who started this reads the error stream.
    for code in &denied {
        let _told = writeln!(crate::print::errors(), "{}", explain_line(code));
    }
    Ok(Exit::Done)
}

impl Desk<'_> {
    /// Reads the toolbox, unless that is done.
    fn load(&mut self) -> Result<(), CommandError> {
        if self.toolbox.is_none() {
            let loaded = self.place.load()?.sound()?;
            let admission = Admission::new(&loaded, self.place.held(&loaded)?)?;
            self.toolbox = Some(Toolbox { loaded, files: HostFiles::new(), admission });
        }
        Ok(())
    }

    fn toolbox(&self) -> Result<&Toolbox, Refusal> {
        self.toolbox.as_ref().ok_or_else(|| invalid("there is no toolbox"))
    }
}

/// Answers one line; blank lines have no answer. Without a toolbox that can be used, nothing of its tools is allowed.
fn answer(desk: &mut Desk<'_>, line: line::Line) -> Option<Value> {
    let (id, verdict) = match line {
        line::Line::Blank => return None,
        line::Line::Malformed { id, message } => (id, Err(invalid(message))),
        line::Line::Question(value) => {
            let id = value.get("id").cloned().unwrap_or(Value::Null);
            let question = question::Question::read(value);
            let verdict = question.and_then(|question| {
                if matches!(question.subject, question::Subject::Named(_)) {
                    desk.load().map_err(|error| invalid(error.to_string()))?;
                }
                desk.judge(question)
            });
            (id, verdict)
        }
    };
    Some(match verdict {
        Ok(verdict) => {
            let (code, message) = match verdict.decision {
                Decision::Allow | Decision::Forbid => (None, "allowed"),
                Decision::Ask => (Some(Code::ApprovalRequired.as_str()), "one person must agree first"),
                Decision::AskTwo => (Some(Code::ApprovalRequired.as_str()), "two people must agree first"),
            };
            let mut answer =
                json!({"id": id, "decision": verdict.decision, "code": code, "message": message});
            if let (false, Some(answer)) = (verdict.undecided.is_empty(), answer.as_object_mut()) {
                answer.insert("undecided".into(), verdict.undecided.into());
            }
            answer
        }
        Err(refusal) => {
            let mut answer = json!({"id": id, "decision": "deny", "code": refusal.code.as_str(), "message": refusal.message});
            if let (Some(hint), Some(answer)) = (refusal.hint, answer.as_object_mut()) {
                answer.insert("hint".into(), Value::String(hint.into_owned()));
            }
            answer
        }
    })
}

/// A question that cannot be understood is a deny.
fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(Code::InputInvalid, message.into())
}
