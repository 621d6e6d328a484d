//! What a person says about a request, from a form or over the API.
//!
//! INVARIANT: the store decides whether a word counts, and keeps it in the audit under the person's name, both or neither. What is
//! refused here could not have counted.

use ringfence::policy::{JsonLimits, parse_json};
use ringfence::{FiledRequest, PersonDecision, Proof, Role, Word};

use super::fault::Fault;
use super::front::{Caller, Front};
use super::view::find_request;

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
    if reason.chars().count() > REASON {
        return Err(Fault::input(format!("a reason has at most {REASON} characters")));
    }
    if say.word == Word::Deny && reason.is_empty() {
        return Err(Fault::input("a refusal needs a reason").hint("say what the agent should do instead"));
    }
    let filed = find_request(front, id).await?;
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
