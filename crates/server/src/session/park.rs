//! Calls of modern clients that wait for something only the client can give.
//!
//! The client is answered `input_required` and comes back with a new request. What it is given to bring back names the call and
//! is authenticated; the call itself stays here, with everything that was decided about it.
//!
//! INVARIANT: a state is good once, for the agent and the very request it was given for, and dies with the call.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::BoxFuture;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::call::Questions;
use super::{Session, lock};
use crate::message::{Answer, Request, error_code, rpc_error};
use crate::outlet::Outlet;
use crate::raw::{Raw, RawObject, raw};
use crate::tie::{Question, Tie};

/// How many calls of one session may wait for their client.
const MOST_PARKED: usize = 64;
/// How long questions that come together are collected.
const TOGETHER: Duration = Duration::from_millis(5);

/// Calls that wait for their client.
pub(super) type Parked = HashMap<[u8; 16], Waiting>;

/// A call that waits for its client.
pub(super) struct Waiting {
    drive: Drive,
    asked: Vec<(String, Question)>,
    until: Instant,
}

/// A call that goes on from request to request.
pub(super) struct Drive {
    work: BoxFuture<'static, Answer>,
    questions: Questions,
    tie: Arc<Tie>,
    /// What the first request was, so that a later one is recognised as the same.
    digest: [u8; 32],
    asked: u64,
}

impl Drive {
    pub(super) fn new(
        work: BoxFuture<'static, Answer>,
        questions: Questions,
        tie: Arc<Tie>,
        request: &Request,
    ) -> Self {
        Self { work, questions, tie, digest: digest(request), asked: 0 }
    }

    /// Goes on until the call is done or the client is needed.
    pub(super) async fn until_asked(mut self, session: &Arc<Session>) -> Answer {
        let first = tokio::select! {
            biased;
            answer = &mut self.work => return answer,
            question = self.questions.recv() => question,
        };
        let Some(first) = first else { return self.work.await };
        let mut asked = vec![first];
        let together = Instant::now() + TOGETHER;
        loop {
            tokio::select! {
                biased;
                answer = &mut self.work => return answer,
                question = self.questions.recv() => asked.extend(question),
                () = tokio::time::sleep_until(together) => break,
            }
            if asked.len() >= MOST_PARKED {
                break;
            }
        }
        let mut named: Vec<(String, Question)> = Vec::new();
        for question in asked.into_iter().filter(|question| !question.tell.is_closed()) {
            self.asked += 1;
            let own = question.name.clone().filter(|name| !named.iter().any(|(known, _)| known == name));
            named.push((own.unwrap_or_else(|| format!("ask-{}", self.asked)), question));
        }
        session.park(self, named)
    }
}

impl Session {
    fn park(&self, drive: Drive, asked: Vec<(String, Question)>) -> Answer {
        let mut id = [0; 16];
        if let Err(error) = getrandom::fill(&mut id) {
            return Err(rpc_error(error_code::INTERNAL, &format!("there are no random bytes: {error}")));
        }
        let mut requests = RawObject::default();
        for (name, question) in &asked {
            requests.set(name, raw(&json!({ "method": question.method, "params": question.params })));
        }
        let state = self.state(&id, &drive.digest);
        let until = Instant::now() + self.house.options.question;
        let mut parked = lock(&self.parked);
        parked.retain(|_, waiting| waiting.until > Instant::now());
        if parked.len() >= MOST_PARKED {
            return Err(rpc_error(error_code::INTERNAL, "too many calls wait for this client"));
        }
        parked.insert(id, Waiting { drive, asked, until });
        drop(parked);
        self.forget_later(id, until);
        let mut result = RawObject::default();
        result.set("resultType", raw("input_required"));
        result.set("inputRequests", requests.to_raw());
        result.set("requestState", raw(&state));
        Ok(result.to_raw())
    }

    /// Gives a call up whose client does not come back.
    fn forget_later(&self, id: [u8; 16], until: Instant) {
        let own = self.own.clone();
        tokio::spawn(async move {
            tokio::time::sleep_until(until).await;
            if let Some(session) = own.upgrade() {
                drop(lock(&session.parked).remove(&id));
            }
        });
    }

    /// Goes on with a call whose client has come back.
    pub(super) async fn resume(self: &Arc<Self>, state: &str, request: &Request, outlet: &Outlet) -> Answer {
        let invalid = |message: &str| Err(rpc_error(error_code::INVALID_PARAMS, message));
        let digest = digest(request);
        let Some(id) = self.opened(state, &digest) else {
            return invalid("the request state is not one that was given for this request");
        };
        let Some(waiting) = lock(&self.parked).remove(&id) else {
            return invalid("the request state was used already, or its call was given up");
        };
        let Waiting { drive, asked, until } = waiting;
        let responses = request.params.object("inputResponses").unwrap_or_default();
        let answered = |name: &str| responses.get(name).is_some_and(|raw| raw.get().starts_with('{'));
        if until <= Instant::now() {
            return invalid("the request state has expired");
        }
        if !asked.iter().all(|(name, _)| answered(name)) {
            // Asked again, in the same words.
            return self.park(drive, asked);
        }
        drive.tie.redirect(outlet.clone());
        for (name, question) in asked {
            if let Some(response) = responses.get(&name) {
                // Whoever asked may have given up.
                let _told: Result<(), Raw> = oneshot::Sender::send(question.tell, response.to_owned());
            }
        }
        drive.until_asked(self).await
    }

    /// Writes what a client is given to bring back.
    fn state(&self, id: &[u8; 16], digest: &[u8; 32]) -> String {
        let mut bytes = id.to_vec();
        bytes.extend(self.signature(id, digest).finalize().into_bytes());
        format!("rf1.{}", URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Reads what a client has brought back, if it is what it was given for this very request.
    fn opened(&self, state: &str, digest: &[u8; 32]) -> Option<[u8; 16]> {
        let bytes = URL_SAFE_NO_PAD.decode(state.strip_prefix("rf1.")?).ok()?;
        let (id, signature) = bytes.split_at_checked(16)?;
        let id: [u8; 16] = id.try_into().ok()?;
        self.signature(&id, digest).verify_slice(signature).ok()?;
        Some(id)
    }

    fn signature(&self, id: &[u8; 16], digest: &[u8; 32]) -> Hmac<Sha256> {
        // A key of 32 bytes is never refused.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.house.key).unwrap_or_else(|_| unreachable_key());
        mac.update(id);
        mac.update(digest);
        mac.update(self.agent.name.as_bytes());
        mac
    }
}

/// HMAC takes keys of every length; this is never called.
fn unreachable_key() -> Hmac<Sha256> {
    Hmac::<Sha256>::new(&hmac::digest::Key::<Hmac<Sha256>>::default())
}

/// What makes a later request the same one: its method and parameters, but for the answers and what the protocol adds.
fn digest(request: &Request) -> [u8; 32] {
    let mut params: Vec<(&str, String)> = Vec::new();
    for (name, value) in request.params.iter() {
        if matches!(name, "inputResponses" | "requestState" | "_meta") {
            continue;
        }
        let value: serde_json::Value = serde_json::from_str(value.get()).unwrap_or_default();
        // What has no canonical form is the same only where it is written the same.
        params.push((name, ringfence::json_digest(&value).unwrap_or_else(|_| value.to_string())));
    }
    params.sort_unstable();
    let mut hash = Sha256::new();
    hash.update(request.method.as_bytes());
    for (name, value) in &params {
        for part in [name.as_bytes(), value.as_bytes()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    hash.finalize().into()
}
