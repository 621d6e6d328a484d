//! Accepting or rejecting a definition.

use ringfence::Role;
use serde_json::json;

use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::port::{DefinitionId, Judgement};
use super::super::view::JudgementSent;

/// Accepts or rejects the definition that was looked at, and returns its name.
pub(crate) async fn judge(
    front: &Front,
    caller: &Caller,
    sent: JudgementSent,
) -> Result<DefinitionId, Fault> {
    caller.at_least(Role::Admin)?;
    let JudgementSent { server, key, digest, judgement } = sent;
    let id = DefinitionId::read(server, key);
    let asked = id.clone();
    let found = front.ask(move |desk| desk.definition(&asked)).await?;
    let found = found.ok_or_else(|| missing(&id))?;
    if found.definition.digest != digest {
        return Err(Fault::conflict("the definition is another one by now").hint("look at it again"));
    }
    let action = match judgement {
        Judgement::Accept => "accepted definition",
        Judgement::Reject => "rejected definition",
    };
    let about = json!({ "server": id.server, "key": id.key, "digest": digest });
    front.keep(caller, action, about.clone()).await?;
    let asked = id.clone();
    match front.ask(move |desk| desk.judge(&asked, &digest, judgement)).await {
        Ok(()) => Ok(id),
        Err(fault) => {
            // The audit says that it was meant to be done; now it says that it was not.
            front.keep(caller, "definition not judged", about).await?;
            Err(fault)
        }
    }
}

/// Says that there is no such definition.
pub(crate) fn missing(id: &DefinitionId) -> Fault {
    let server = id.server.as_deref().map(|server| format!(" of the server `{server}`"));
    Fault::missing(format!("there is no definition `{}`{}", id.key, server.unwrap_or_default()))
        .hint("the page of the tools lists those there are")
}
