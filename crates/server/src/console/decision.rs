//! What a person says about a request, from a form or over the API.
//!
//! INVARIANT: the store decides whether a word counts, and keeps it in the audit under the person's name, both or neither. What is
//! refused here could not have counted.

use ringfence::policy::{JsonLimits, parse_json};
use ringfence::{FiledRequest, PersonDecision, Proof, Role, Word};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::enter::encode;
use super::fault::{Fault, Problem};
use super::front::{Caller, Front};
use super::view::{Request, find_request};

/// How long a reason may be, in characters.
const REASON: usize = 4000;

/// What a person says about a request.
#[derive(Clone, Debug)]
pub(crate) struct Say {
    /// Agree, refuse, agree to other arguments, or withdraw an approval.
    pub(crate) word: Word,
    /// Why.
    pub(crate) reason: String,
    /// The other arguments as JSON text.
    pub(crate) arguments: Option<String>,
    /// The digest of what was shown; where it is given, nothing else is decided.
    pub(crate) digest: Option<String>,
}

/// How many requests are decided at once.
pub(crate) const AT_ONCE: usize = 100;

/// A request of several, with the digest of what was shown.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct Pick {
    /// The request.
    pub(crate) id: String,
    /// Its digest, as it was shown.
    pub(crate) digest: String,
}

/// What became of one of several decisions.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub(crate) struct Decided {
    /// The request.
    pub(crate) id: String,
    /// The request as it stands now; absent where nothing was decided.
    pub(crate) request: Option<Request>,
    /// Why nothing was decided.
    pub(crate) problem: Option<Problem>,
}

impl Decided {
    /// Writes the request so that it can stand in an address.
    pub(crate) fn id_encoded(&self) -> String {
        encode(&self.id)
    }
}

/// Says the same word about several requests, one after the other. Each is decided or not for itself.
pub(crate) async fn decide_all(
    front: &Front,
    caller: &Caller,
    picks: Vec<Pick>,
    word: Word,
    reason: &str,
) -> Result<Vec<Decided>, Fault> {
    caller.at_least(Role::Approver)?;
    if word == Word::Change {
        return Err(Fault::input("several requests are approved or denied")
            .hint("open a request to edit its arguments"));
    }
    if picks.is_empty() {
        return Err(Fault::input("no request is selected").hint("go back and select at least one"));
    }
    if picks.len() > AT_ONCE {
        return Err(Fault::input(format!("at most {AT_ONCE} requests are decided at once")));
    }
    check_reason(word, reason.trim())?;
    let mut all = Vec::new();
    for Pick { id, digest } in picks {
        let say = Say { word, reason: reason.to_owned(), arguments: None, digest: Some(digest) };
        let (request, problem) = match decide(front, caller, &id, say).await {
            Ok(filed) => (Some(Request::of(&filed)), None),
            Err(fault) => (None, Some(fault.problem)),
        };
        all.push(Decided { id, request, problem });
    }
    Ok(all)
}

fn check_reason(word: Word, reason: &str) -> Result<(), Fault> {
    if reason.chars().count() > REASON {
        return Err(Fault::input(format!("a reason has at most {REASON} characters")));
    }
    if word == Word::Deny && reason.is_empty() {
        return Err(Fault::input("a refusal needs a reason").hint("say what the agent should do instead"));
    }
    Ok(())
}

/// Says a word about a request, and returns what it led to.
pub(crate) async fn decide(
    front: &Front,
    caller: &Caller,
    id: &str,
    say: Say,
) -> Result<FiledRequest, Fault> {
    caller.at_least(Role::Approver)?;
    let reason = say.reason.trim().to_owned();
    check_reason(say.word, &reason)?;
    let filed = find_request(front, id).await?;
    if say.digest.is_some_and(|digest| digest != filed.request.digest) {
        return Err(Fault::conflict("the request is not the one that was shown")
            .hint("open the request again to see what it asks for"));
    }
    let changed = match (say.word, say.arguments) {
        (Word::Change, Some(arguments)) => Some(changed(&filed, &arguments)?),
        (Word::Change, None) => return Err(Fault::input("the other arguments are missing")),
        (Word::Approve | Word::Deny | Word::Withdraw, _) => None,
    };
    let by = Proof::Named(caller.principal.name.clone());
    let decision = PersonDecision { id: filed.id, by, word: say.word, changed, reason };
    let decided = front.store.approvals.decide(&decision).await;
    decided.map_err(|error| Fault::from(error).hint("open the request again to see where it stands"))
}

/// Makes the request with the other arguments.
fn changed(filed: &FiledRequest, arguments: &str) -> Result<ringfence::ApprovalRequest, Fault> {
    let arguments = parse_json(arguments, JsonLimits::ARGUMENTS).map_err(|error| {
        Fault::input(format!("the arguments are not JSON: {error}"))
            .hint("go back, mend them and send them again; nothing was decided")
    })?;
    let changed = filed.request.with_arguments(arguments).map_err(Fault::input)?;
    if changed.digest == filed.request.digest {
        return Err(Fault::input("these are the arguments that the call has")
            .hint("approve the call to agree to it as it is"));
    }
    Ok(changed)
}

/// Reads a word.
pub(crate) fn word(text: &str) -> Result<Word, Fault> {
    match text {
        "approve" => Ok(Word::Approve),
        "change" => Ok(Word::Change),
        "deny" => Ok(Word::Deny),
        "withdraw" => Ok(Word::Withdraw),
        _ => Err(Fault::input("the word is `approve`, `change`, `deny` or `withdraw`")),
    }
}
