//! Calls: everything is decided by the pipeline, and what comes of it is written for the client.

use std::sync::{Arc, PoisonError};

use ringfence::policy::Code;
use ringfence::policy::explain::{explain_command, explain_line};
use ringfence::{Call, Failure, Outcome, Refusal, Report};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Session;
use super::list::TOOLBOX;
use super::park::Drive;
use crate::clean::{clean_answer, restored};
use crate::era::Era;
use crate::message::{Answer, Request, error_code, rpc_error, rpc_error_with};
use crate::outlet::Outlet;
use crate::raw::{Raw, RawObject, raw};
use crate::tie::{Question, TIE, Tie};
use crate::tool::{Asks, KEY};
use crate::upstream::Upstream;

impl Session {
    /// Answers `tools/call`, `prompts/get` and `resources/read`.
    pub(super) async fn call(self: &Arc<Self>, request: Request, era: Era, outlet: &Outlet) -> Answer {
        if let Some(why) = &self.broken {
            return Err(rpc_error(error_code::INTERNAL, why));
        }
        if era == Era::Modern
            && let Some(state) = request.params.text("requestState")
        {
            return self.resume(&state, &request, outlet).await;
        }
        let asks = match request.method.as_str() {
            "prompts/get" => Asks::Prompt,
            "resources/read" => Asks::Resource,
            _ => Asks::Tool,
        };
        let name = match self.called(asks, &request.params).await {
            Ok(name) => name,
            Err(answer) => return answer,
        };
        let arguments = match asks.arguments(&request.params) {
            Ok(arguments) => Arc::new(arguments),
            Err(refusal) => return self.refused(&name, asks, &refusal),
        };
        let key = request.params.object("_meta").and_then(|meta| meta.text(KEY));
        let (tie, questions) = self.tie(&request, era, outlet);
        let _set = tie.arguments.set(Arc::clone(&arguments));
        let mut call = Call::shared(name.as_str(), arguments).carrying(Arc::clone(&tie));
        if let Some(key) = key {
            // Agents do not share keys: what one was answered is not for another.
            let agent = &self.agent.name;
            call = call.idempotency_key(if agent.is_empty() { key } else { format!("{agent}/{key}") });
        }
        let session = Arc::clone(self);
        let own = Arc::clone(&tie);
        // Boxed at once: it is large, and would be moved several times.
        let work = Box::pin(async move {
            let _under_way = session.house.options.live.begin();
            let report = TIE.scope(Arc::clone(&own), session.registry.call(&session.run, call)).await;
            session.written(asks, &report, &own)
        });
        match questions {
            // A legacy client is asked by requests of our own, and the call goes on here.
            None => work.await,
            Some(questions) => Drive::new(work, questions, tie, &request).until_asked(self).await,
        }
    }

    /// Finds out under which name a call is decided.
    async fn called(self: &Arc<Self>, asks: Asks, params: &RawObject) -> Result<String, Answer> {
        let invalid = |message: &str| Err(Err(rpc_error(error_code::INVALID_PARAMS, message)));
        match asks {
            Asks::Tool => {
                let Some(name) = params.text("name") else { return invalid("the tool's name is missing") };
                self.know_tools_of(&name).await;
                let server = self.upstreams.iter().find(|own| is_tool_of(own, &name));
                if let Some(upstream) = server
                    && let Err(why) = upstream.judge_if_pins_changed(self).await
                {
                    let why = ringfence::text::clean(&why).text.into_owned();
                    return Err(Err(rpc_error(error_code::INTERNAL, &why)));
                }
                if let Some(upstream) = server
                    && self.registry.find(&name).is_some_and(|tool| tool.quarantine().is_some())
                    && let Err(why) = upstream.judge_again(self).await
                {
                    tracing::warn!("{why}");
                }
                let server = server.map_or(TOOLBOX, |upstream| upstream.spec.name.as_str());
                let is_other = Asks::OTHERS.iter().any(|other| {
                    self.upstreams.iter().any(|upstream| upstream.spec.own(&name) == Some(other.name()))
                });
                if is_other || !self.admits(server, &name) {
                    let data = json!({ "name": name });
                    return Err(Err(rpc_error_with(error_code::INVALID_PARAMS, "Unknown tool", &data)));
                }
                Ok(name)
            }
            Asks::Prompt => {
                let Some(name) = params.text("name") else { return invalid("the prompt's name is missing") };
                let place = self.prompt_place(&name);
                let Some(upstream) = place.and_then(|place| self.upstreams.get(place)) else {
                    return invalid("Unknown prompt");
                };
                let own = upstream.spec.own(&name).unwrap_or_default();
                if !self.admits_other(upstream, asks) {
                    return invalid("Unknown prompt");
                }
                if let Err(refusal) = self.withheld_prompt(upstream, own).await {
                    return Err(self.refused(&name, asks, &refusal));
                }
                self.know_tools_of(&name).await;
                Ok(upstream.spec.offered(asks.name()))
            }
            Asks::Resource => {
                let Some(uri) = params.text("uri") else { return invalid("the resource's URI is missing") };
                let server = self.resource_server(&uri).await;
                let Some(upstream) = server.filter(|own| self.admits_other(own, asks)) else {
                    let data = json!({ "uri": uri });
                    return Err(Err(rpc_error_with(error_code::INVALID_PARAMS, "Unknown resource", &data)));
                };
                self.know_tools_of(&upstream.spec.offered(asks.name())).await;
                Ok(upstream.spec.offered(asks.name()))
            }
        }
    }

    /// Writes what came of a call.
    fn written(&self, asks: Asks, report: &Report, tie: &Tie) -> Answer {
        let answer = tie.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        match &report.outcome {
            Outcome::Done(output) => {
                let whole = output.structured().filter(|value| value.is_object());
                match (whole, answer) {
                    // Nothing had to be cleaned: as the server wrote it.
                    (Some(_), Some(Ok(written))) if output.findings().is_empty() => Ok(written),
                    (Some(value), Some(Ok(written))) => {
                        let was: Value = serde_json::from_str(written.get()).unwrap_or_default();
                        Ok(raw(&restored(&was, value.clone())))
                    }
                    // A tool of the toolbox, or an answer that is given again.
                    (Some(value), _)
                        if value.get("content").is_some_and(Value::is_array) || asks != Asks::Tool =>
                    {
                        Ok(raw(value))
                    }
                    (Some(value), _) => {
                        Ok(raw(&json!({ "content": [text(output.text())], "structuredContent": value })))
                    }
                    (None, _) => Ok(raw(&json!({ "content": [text(output.text())] }))),
                }
            }
            Outcome::Failed(failure) => self.failed(report, asks, failure, answer),
            Outcome::Refused(refusal) if refusal.code == Code::ToolUnknown => {
                let data = json!({ "name": &*report.tool });
                Err(rpc_error_with(error_code::INVALID_PARAMS, "Unknown tool", &data))
            }
            Outcome::Refused(refusal) => {
                self.told(&report.tool, asks, refusal, &self.explained(report, refusal.code))
            }
        }
    }

    /// Returns what explains a call: its name in the audit where a person can look there, else its code.
    fn explained(&self, report: &Report, code: Code) -> String {
        if self.house.options.recorded {
            format!("{}/{}", self.run.id(), report.call)
        } else {
            code.as_str().to_owned()
        }
    }

    /// Writes why a tool that ran failed: in the server's own words, where it had any.
    fn failed(&self, report: &Report, asks: Asks, failure: &Failure, answer: Option<Answer>) -> Answer {
        // What the tool failed with for a reason of its own, no rule has decided.
        let explained = (failure.code != Code::ExecutionFailed).then(|| self.explained(report, failure.code));
        match answer {
            Some(answer) if failure.code == Code::ExecutionFailed => match clean_answer(&answer) {
                // A result that cannot be used is not passed on.
                Ok(result) if is_failure(&result) => Ok(result),
                Err(error) if answer.is_err() => Err(error),
                Ok(_) | Err(_) => not_done(asks, failure.code, &failure.message, None, None),
            },
            _ => {
                self.remember_refusal(&report.tool, failure.code, &failure.message);
                not_done(asks, failure.code, &failure.message, None, explained.as_deref())
            }
        }
    }

    /// Writes the refusal of something that never became a call, and has no record.
    pub(super) fn refused(&self, tool: &str, asks: Asks, refusal: &Refusal) -> Answer {
        self.told(tool, asks, refusal, refusal.code.as_str())
    }

    fn told(&self, tool: &str, asks: Asks, refusal: &Refusal, explained: &str) -> Answer {
        let refusal_text = refusal.to_string();
        self.remember_refusal(tool, refusal.code, &refusal_text);
        let nobody = refusal.code == Code::ApprovalRequired && self.house.people.is_none();
        let hint = if nobody { Some(NOBODY) } else { refusal.hint.as_deref() };
        not_done(asks, refusal.code, &refusal_text, hint, Some(explained))
    }
}

/// What helps where nobody can be asked.
const NOBODY: &str = "whoever runs this gives it a store with `--store FILE`, in which people decide, or a client that can show forms";

fn is_tool_of(upstream: &Upstream, name: &str) -> bool {
    let Some(own) = upstream.spec.own(name) else { return false };
    let listing = super::lock(&upstream.tools);
    listing.judged.iter().any(|one| one.key.strip_prefix("tool:") == Some(own))
}

fn is_failure(result: &Raw) -> bool {
    RawObject::parse(result)
        .is_ok_and(|result| result.get("isError").is_some_and(|says| says.get() == "true"))
}

/// A model sees why a tool did not do what it asked, so that it can correct itself; others get an error.
///
/// The last line is for the person behind the model, who can look at what decided; `explained` names what that is.
fn not_done(asks: Asks, code: Code, why: &str, hint: Option<&str>, explained: Option<&str>) -> Answer {
    let why = ringfence::text::clean(why).text.into_owned();
    let hint = hint.map(|hint| ringfence::text::clean(hint).text.into_owned());
    let mut about = json!({ "code": code.as_str() });
    if let (Some(hint), Some(about)) = (&hint, about.as_object_mut()) {
        about.insert("hint".into(), json!(hint));
    }
    if let (Some(explained), Some(about)) = (explained, about.as_object_mut()) {
        about.insert("explain".into(), json!(explain_command(explained)));
    }
    match asks {
        Asks::Tool => {
            let mut said = hint.map_or_else(|| why.clone(), |hint| format!("{why}\nhint: {hint}"));
            if let Some(explained) = explained {
                said.push('\n');
                said.push_str(&explain_line(explained));
            }
            Ok(raw(
                &json!({ "content": [text(&said)], "isError": true, "_meta": { "ringfence/refusal": about } }),
            ))
        }
        Asks::Prompt | Asks::Resource => {
            Err(rpc_error_with(error_code::INVALID_PARAMS, &why, &json!({ "ringfence/refusal": about })))
        }
    }
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Where questions to a modern client come from.
pub(super) type Questions = mpsc::UnboundedReceiver<Question>;
