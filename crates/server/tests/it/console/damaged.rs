//! Requests of which some cannot be read, as a database has them that somebody has changed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use ringfence::{
    ApprovalError, ApprovalRequest, ApprovalStore, ApproverEntry, ApproverName, DamagedRequest, FiledRequest,
    ListedRequests, MemoryApprovals, Notice, PersonDecision, Principal, Proof, RequestFilter, Role, Standing,
    StoreError, TokenHash,
};

/// Requests in memory, and the names of those that cannot be read.
#[derive(Default)]
pub(crate) struct DamagedApprovals {
    pub(crate) readable: Arc<MemoryApprovals>,
    pub(crate) damaged: Mutex<Vec<DamagedRequest>>,
}

impl ApprovalStore for DamagedApprovals {
    fn requests<'a>(
        &'a self,
        filter: &'a RequestFilter,
    ) -> BoxFuture<'a, Result<Vec<FiledRequest>, StoreError>> {
        if self.damaged.lock().unwrap().is_empty() {
            return self.readable.requests(filter);
        }
        ready(Err(StoreError::Unreachable("a request cannot be read".to_owned()))).boxed()
    }

    fn list_requests<'a>(
        &'a self,
        filter: &'a RequestFilter,
    ) -> BoxFuture<'a, Result<ListedRequests, StoreError>> {
        // Those that cannot be read wait.
        let is_open = filter.state.is_none_or(|state| state == ringfence::RequestState::Open);
        let damaged = if is_open { self.damaged.lock().unwrap().clone() } else { Vec::new() };
        async move { Ok(ListedRequests { requests: self.readable.requests(filter).await?, damaged }) }.boxed()
    }

    fn file<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        expires: Duration,
    ) -> BoxFuture<'a, Result<String, StoreError>> {
        self.readable.file(request, expires)
    }

    fn take<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Standing, ApprovalError>> {
        self.readable.take(id)
    }

    fn leave<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.readable.leave(id)
    }

    fn adopt<'a>(
        &'a self,
        personality: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<FiledRequest>, StoreError>> {
        self.readable.adopt(personality, most)
    }

    fn request<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<FiledRequest>, StoreError>> {
        self.readable.request(id)
    }

    fn decide<'a>(
        &'a self,
        decision: &'a PersonDecision,
    ) -> BoxFuture<'a, Result<FiledRequest, ApprovalError>> {
        self.readable.decide(decision)
    }

    fn principal<'a>(&'a self, proof: &'a Proof) -> BoxFuture<'a, Result<Option<Principal>, StoreError>> {
        self.readable.principal(proof)
    }

    fn add_approver<'a>(
        &'a self,
        name: &'a ApproverName,
        token: TokenHash,
        role: Role,
    ) -> BoxFuture<'a, Result<(), ApprovalError>> {
        self.readable.add_approver(name, token, role)
    }

    fn revoke_approver<'a>(&'a self, name: &'a ApproverName) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.readable.revoke_approver(name)
    }

    fn approvers(&self) -> BoxFuture<'_, Result<Vec<ApproverEntry>, StoreError>> {
        self.readable.approvers()
    }

    fn notices<'a>(
        &'a self,
        channel: &'a str,
        pause: Duration,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Notice>, StoreError>> {
        self.readable.notices(channel, pause, most)
    }

    fn told<'a>(&'a self, channel: &'a str, id: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.readable.told(channel, id)
    }
}
