//! Requests for approval and the people who decide them.
//!
//! What only looks is answered by the readers: a call that waits asks again and again, and must not cost a commit each
//! time. What changes something is looked at again in the turn that changes it.
//!
//! INVARIANT: a request is taken in the transaction that finds it approved, and a decision is kept in the transaction
//! that appends its entry to the audit.

mod person;
mod request;
mod row;

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ringfence::{
    ApprovalError, ApprovalRequest, ApprovalStore, ApproverEntry, ApproverName, FiledRequest, ListedRequests,
    Notice, PersonDecision, Principal, Proof, RequestFilter, RequestState, Role, Standing, StoreError,
    TokenHash,
};
use rusqlite::Connection;

pub(super) use self::person::count_damaged as count_damaged_people;
pub(super) use self::request::sweep;
pub(super) use self::row::count_damaged as count_damaged_requests;
use super::SqliteStore;
use super::error::SqliteError;
use super::turn::Turn;

impl ApprovalStore for SqliteStore {
    fn file<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        expires: Duration,
    ) -> BoxFuture<'a, Result<String, StoreError>> {
        async move {
            let (request, instance) = (request.clone(), self.own_instance()?);
            self.writing(move |turn| request::file(turn, &request, expires, &instance)).await
        }
        .boxed()
    }

    fn take<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Standing, ApprovalError>> {
        async move {
            let name = id.to_owned();
            let looked = self.read(move |store, connection| {
                let now = store.0.clock.now();
                request::look(connection, now, &name).map_err(|error| store.failed(&error))
            });
            let (state, standing) = looked.await.map_err(StoreError::from)?.ok_or_else(|| missing(id))?;
            if !matches!(state, RequestState::Approved | RequestState::Expired) {
                return Ok(standing);
            }
            let name = id.to_owned();
            let taken = self.writing(move |turn| request::take(turn, &name)).await?;
            taken.ok_or_else(|| missing(id))
        }
        .boxed()
    }

    fn leave<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let (id, instance) = (id.to_owned(), self.own_instance()?);
            self.writing(move |turn| request::leave(turn, &id, &instance)).await
        }
        .boxed()
    }

    fn adopt<'a>(
        &'a self,
        personality: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<FiledRequest>, StoreError>> {
        async move {
            let (personality, instance) = (personality.map(str::to_owned), self.own_instance()?);
            let adopted =
                self.writing(move |turn| request::adopt(turn, personality.as_deref(), most, &instance));
            adopted.await?
        }
        .boxed()
    }

    fn requests<'a>(
        &'a self,
        filter: &'a RequestFilter,
    ) -> BoxFuture<'a, Result<Vec<FiledRequest>, StoreError>> {
        let filter = filter.clone();
        let listed = self.read(move |store, connection| {
            store.check_listed(connection, "request")?;
            request::list(connection, store.0.clock.now(), &filter).map_err(|error| store.failed(&error))
        });
        async move { Ok(listed.await?) }.boxed()
    }

    fn list_requests<'a>(
        &'a self,
        filter: &'a RequestFilter,
    ) -> BoxFuture<'a, Result<ListedRequests, StoreError>> {
        let filter = filter.clone();
        let listed = self.read(move |store, connection| {
            let listed = request::list_readable(connection, store.0.clock.now(), &filter);
            listed.map_err(|error| store.failed(&error))
        });
        async move { Ok(listed.await?) }.boxed()
    }

    fn request<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<FiledRequest>, StoreError>> {
        let id = id.to_owned();
        let found = self.read(move |store, connection| {
            request::find(connection, store.0.clock.now(), &id).map_err(|error| store.failed(&error))
        });
        async move { Ok(found.await?) }.boxed()
    }

    fn decide<'a>(
        &'a self,
        decision: &'a PersonDecision,
    ) -> BoxFuture<'a, Result<FiledRequest, ApprovalError>> {
        let decision = decision.clone();
        async move { self.writing(move |turn| person::decide(turn, &decision)).await? }.boxed()
    }

    fn principal<'a>(&'a self, proof: &'a Proof) -> BoxFuture<'a, Result<Option<Principal>, StoreError>> {
        let proof = proof.clone();
        let found = self.read(move |store, connection| {
            person::find(connection, &proof).map_err(|error| store.failed(&error))
        });
        async move { Ok(found.await?) }.boxed()
    }

    fn add_approver<'a>(
        &'a self,
        name: &'a ApproverName,
        token: TokenHash,
        role: Role,
    ) -> BoxFuture<'a, Result<(), ApprovalError>> {
        let name = name.clone();
        async move { self.writing(move |turn| person::add(turn, &name, token, role)).await? }.boxed()
    }

    fn revoke_approver<'a>(&'a self, name: &'a ApproverName) -> BoxFuture<'a, Result<bool, StoreError>> {
        let name = name.clone();
        self.writing(move |turn| person::revoke(turn, &name)).boxed()
    }

    fn approvers(&self) -> BoxFuture<'_, Result<Vec<ApproverEntry>, StoreError>> {
        let listed = self.read(|store, connection| {
            store.check_listed(connection, "approver")?;
            person::list(connection).map_err(|error| store.failed(&error))
        });
        async move { Ok(listed.await?) }.boxed()
    }

    fn notices<'a>(
        &'a self,
        channel: &'a str,
        pause: Duration,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Notice>, StoreError>> {
        async move {
            let name = channel.to_owned();
            let due = self.read(move |store, connection| {
                let due = request::due(connection, store.0.clock.now(), &name, 1);
                due.map(|due| !due.is_empty()).map_err(|error| store.failed(&error))
            });
            if !due.await? {
                return Ok(Vec::new());
            }
            let name = channel.to_owned();
            self.writing(move |turn| request::notices(turn, &name, pause, most)).await
        }
        .boxed()
    }

    fn told<'a>(&'a self, channel: &'a str, id: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let (channel, id) = (channel.to_owned(), id.to_owned());
        self.writing(move |turn| turn.sql(|transaction| request::told(transaction, &channel, &id))).boxed()
    }
}

/// Gives every row its digest.
pub(super) fn fill_digests(connection: &Connection) -> rusqlite::Result<()> {
    row::fill_digests(connection)?;
    person::fill_digests(connection)
}

impl SqliteStore {
    /// Has something written that is about as large as a request.
    async fn writing<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Turn<'_>) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, StoreError> {
        Ok(self.transact(16 << 10, work).await?)
    }
}

fn missing(id: &str) -> ApprovalError {
    ApprovalError::Request { id: id.to_owned() }
}
