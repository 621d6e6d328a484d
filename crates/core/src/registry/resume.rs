//! Going on with calls that waited for people when their process ended.

use std::sync::Arc;

use futures_util::future::join_all;

use super::Registry;
use crate::call::{Call, Report};
use crate::port::{FiledRequest, StoreError};
use crate::run::Run;

/// How many calls are gone on with at once.
const MOST: usize = 256;

impl Registry {
    /// Goes on with calls that waited for people when their process ended, and waits for them to end.
    ///
    /// Nobody is there any more to be told their outcome: it is in the audit, and under their idempotency key. A call whose
    /// caller has made it again is not run twice, because an approval is taken once.
    ///
    /// # Errors
    ///
    /// The store of the approver cannot be read. Without one there is nothing to go on with.
    pub async fn resume(&self) -> Result<Vec<Report>, StoreError> {
        let Some(store) = self.parts.approver.as_ref().and_then(|approver| approver.store()) else {
            return Ok(Vec::new());
        };
        let personality = self.policy().personality_id.clone();
        let waiting = store.adopt(personality.as_deref(), MOST).await?;
        Ok(join_all(waiting.iter().map(|filed| self.go_on(filed))).await)
    }

    async fn go_on(&self, filed: &FiledRequest) -> Report {
        let request = &filed.request;
        let waiting = request.call.clone().unwrap_or_default();
        let mut call = Call::new(request.tool.as_str(), (*request.arguments).clone()).asked_by(waiting.asker);
        if let Some(key) = &waiting.key {
            call = call.idempotency_key(key);
        }
        if let Some(deadline) = waiting.deadline() {
            call = call.deadline(deadline);
        }
        let mut run = Run::builder(Arc::clone(&request.run), Arc::clone(&request.session))
            .proposed_by(Arc::clone(&request.proposer))
            .counted(&waiting.counts);
        if let Some(directory) = waiting.directory {
            run = run.in_directory(directory);
        }
        self.call(&run.start(), call).await
    }
}
