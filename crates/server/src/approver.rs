//! Asking for approval where a call comes from: the person at the client, and whoever decides elsewhere.
//!
//! INVARIANT: only an answer of the client to a question of ours counts, and only for the very call that asked. What a model
//! writes into a call is never read as one.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use ringfence::policy::Decision;
use ringfence::{Approval, ApprovalRequest, ApprovalStore, Approver, Verdict};
use serde_json::{Value, json};

use crate::house::House;
use crate::raw::{RawObject, raw};
use crate::session::Session;
use crate::tie::{TIE, Tie};

/// How often a client is told that its call still waits.
const PAUSE: Duration = Duration::from_secs(5);
/// How much of the arguments a question shows.
const MOST_SHOWN: usize = 2000;

/// Asks the person at the client, and whoever decides elsewhere, and takes the first answer.
pub(crate) struct FrontApprover {
    pub(crate) house: Arc<House>,
    pub(crate) session: Weak<Session>,
}

impl FrontApprover {
    async fn ask(&self, request: &ApprovalRequest) -> Verdict {
        let tie = TIE.try_with(Arc::clone).ok();
        let agent = self.session.upgrade().map(|session| session.agent().clone()).unwrap_or_default();
        let can_ask = tie.as_ref().is_some_and(|tie| can_be_asked(tie));
        // Two people are two: the one at the client cannot be told from the one who decides elsewhere.
        let one_is_enough = request.needed == Decision::Ask;
        let asks_client = self.house.options.client_approves && agent.approves && can_ask && one_is_enough;
        let client = async {
            match &tie {
                Some(tie) if asks_client => ask_client(tie, request, &agent.name).await,
                _ => std::future::pending().await,
            }
        };
        let elsewhere = async {
            match &self.house.people {
                Some(people) => match people.decide(request).await {
                    // The client may still answer.
                    Verdict::Pending | Verdict::Unreachable(_) if asks_client => std::future::pending().await,
                    verdict => verdict,
                },
                None if asks_client => std::future::pending().await,
                None => Verdict::Pending,
            }
        };
        let told = async {
            match &tie {
                Some(tie) => tell_waiting(tie, request).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            verdict = elsewhere => verdict,
            verdict = client => verdict,
            never = told => match never {},
            () = tokio::time::sleep(self.house.options.question) => Verdict::Pending,
        }
    }
}

impl Approver for FrontApprover {
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Verdict> {
        self.ask(request).boxed()
    }

    fn store(&self) -> Option<&Arc<dyn ApprovalStore>> {
        self.house.people.as_ref().and_then(|people| people.store())
    }
}

fn can_be_asked(tie: &Tie) -> bool {
    let Some(elicitation) = tie.capabilities.object("elicitation") else { return false };
    // Without any mode a client has forms.
    elicitation.get("form").is_some() || elicitation.get("url").is_none()
}

async fn ask_client(tie: &Arc<Tie>, request: &ApprovalRequest, agent: &str) -> Verdict {
    let arguments = serde_json::to_string_pretty(&request.arguments).unwrap_or_default();
    let cut = arguments.len() > MOST_SHOWN;
    let shown: String = arguments.chars().take(MOST_SHOWN).collect();
    let shown = visible(&shown);
    let rest = if cut { "\n… (the rest is not shown: refuse if you cannot judge it)" } else { "" };
    let (tool, class) = (&request.tool, request.class.as_str());
    let message = format!("ringfence asks: allow this call of `{tool}` (class `{class}`)?\n\n{shown}{rest}");
    let params = json!({
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {
                "approve": { "type": "boolean", "title": "Allow this call", "default": false },
                "reason": { "type": "string", "title": "Reason", "maxLength": 500 },
            },
            "required": ["approve"],
        },
        "_meta": { "ringfence/approval": request.digest },
    });
    let by = if agent.is_empty() { "client".to_owned() } else { format!("client:{agent}") };
    let Ok(answer) = tie.ask(None, "elicitation/create", raw(&params)).await else { return Verdict::Pending };
    let answer = RawObject::parse(&answer).unwrap_or_default();
    let content: Value = answer
        .get("content")
        .and_then(|content| serde_json::from_str(content.get()).ok())
        .unwrap_or_default();
    let reason = content.get("reason").and_then(Value::as_str).unwrap_or_default();
    let reason: String = reason.chars().take(500).collect();
    match (answer.text("action").as_deref(), content.get("approve")) {
        (Some("accept"), Some(Value::Bool(true))) => {
            Verdict::Approved(vec![Approval { by, digest: request.digest.clone() }])
        }
        (Some("accept" | "decline"), _) => {
            let reason = if reason.is_empty() { "no reason was given".to_owned() } else { reason };
            Verdict::Denied { by, reason }
        }
        // Closed without an answer: nobody has decided.
        _ => Verdict::Pending,
    }
}

/// Writes out what could not be seen, so that a person agrees to what is there and not to what it looks like.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if ringfence::text::is_invisible(character) || character == '\t' {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Tells the client now and then that its call waits, where it wants to hear of progress.
async fn tell_waiting(tie: &Arc<Tie>, request: &ApprovalRequest) -> std::convert::Infallible {
    let Some(token) = tie.progress_token() else { return std::future::pending().await };
    let mut step = 0_u32;
    loop {
        let message =
            format!("waits for a person to agree: `ringfence approvals approve {}`", request.digest);
        let mut params = RawObject::default();
        params.set("progressToken", token.clone());
        // A server that tells progress itself begins at nothing, and progress never goes back.
        params.set("progress", raw(&(f64::from(step) / 1e6)));
        params.set("message", raw(&message));
        tie.notify("notifications/progress", Some(&params.to_raw())).await;
        step += 1;
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_agrees_to_is_what_they_see() {
        #[rustfmt::skip]
        let cases = [
            ("plain\n  text é 漢",              "plain\n  text é 漢"),
            ("DE\u{200b}89\u{202e}XYZ",        "DE\\u{200b}89\\u{202e}XYZ"),
            ("a\u{e0041}b\u{1b}[31m",          "a\\u{e0041}b\\u{1b}[31m"),
            ("a\u{3164}\u{115f}\u{1160}\u{ffa0}b", "a\\u{3164}\\u{115f}\\u{1160}\\u{ffa0}b"),
            ("ghp_0123456789012345678901234567890123456", "ghp_0123456789012345678901234567890123456"),
        ];
        for (text, shown) in cases {
            assert_eq!(visible(text), shown, "{text:?}");
        }
    }
}
