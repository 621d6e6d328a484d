//! Accepting a manifest.

use ringfence::Role;
use serde_json::json;

use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::view::AcceptanceSent;

/// Accepts the manifest that was looked at.
pub(crate) async fn accept(front: &Front, caller: &Caller, sent: AcceptanceSent) -> Result<(), Fault> {
    caller.at_least(Role::Admin)?;
    let hash = sent.hash;
    let page = front.ask(|desk| desk.manifest()).await?;
    if page.current != hash {
        return Err(Fault::conflict("the manifest is another one by now").hint("look at it again"));
    }
    let about = json!({ "manifest": hash, "before": page.accepted });
    front.keep(caller, "accepted manifest", about.clone()).await?;
    match front.ask(move |desk| desk.accept_manifest(&hash)).await {
        Ok(()) => Ok(()),
        Err(fault) => {
            // The audit says that it was meant to be done; now it says that it was not.
            front.keep(caller, "manifest not accepted", about).await?;
            Err(fault)
        }
    }
}
