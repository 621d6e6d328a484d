//! Requests for approval: who waits for them, what people say to them, and who is told.
//!
//! INVARIANT: the rules are those of [`MemoryApprovals`](ringfence::MemoryApprovals); one suite of tests runs on both.
//! Each change has a writer's turn to itself, so that what it has read is still so when it writes.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ringfence::{
    Approval, ApprovalError, ApprovalRequest, ApprovalStore, ApproverEntry, ApproverName, AuditEntry,
    FiledRequest, ListedRequests, Notice, PersonDecision, Principal, Proof, RequestFilter, RequestState,
    Role, Standing, StoreError, TokenHash, notice_pause,
};

use super::PostgresStore;
use super::approver;
use super::audit::get;
use super::decision::{decided, standing};
use super::error::PostgresError;
use super::request::{self, limit, short_name};
use super::session::{Parameter, Session};
use super::turn::{Turn, micros};

/// Neither expired nor taken.
const ALIVE: &str = "r.state <> 'taken' AND r.expires_us > (SELECT ringfence.moment_us())";

/// The conditions of a [`RequestFilter`]: its state, run, limit and tool.
const FILTERED: &str = "($1::text IS NULL OR $1 = CASE
        WHEN r.state <> 'taken' AND r.expires_us <= (SELECT ringfence.moment_us()) THEN 'expired'
        ELSE r.state END)
    AND ($2::bytea IS NULL OR sha256(r.run) = sha256($2))
    AND ($4::bytea IS NULL OR sha256(r.tool) = sha256($4)) ORDER BY r.ordinal DESC LIMIT $3";

fn filtered(filter: &RequestFilter) -> (Option<&'static str>, Option<&[u8]>, Option<&[u8]>) {
    let (run, tool) = (filter.run.as_deref(), filter.tool.as_deref());
    (filter.state.map(RequestState::as_str), run.map(str::as_bytes), tool.map(str::as_bytes))
}

impl ApprovalStore for PostgresStore {
    fn file<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        expires: Duration,
    ) -> BoxFuture<'a, Result<String, StoreError>> {
        async move {
            let waiter = match &request.call {
                Some(_) => Some(self.lease().await?.current()?.id),
                None => None,
            };
            let waiter = waiter.as_ref().map(<[u8; 16]>::as_slice);
            let work = |turn: Turn| async move {
                let session = turn.session();
                let same = format!("r.digest = $1 AND {ALIVE} ORDER BY r.ordinal DESC LIMIT 1");
                let found = request::select(&session, &same, &[&request.digest.as_bytes()]).await?.pop();
                if let Some(found) = found {
                    if waiter.is_some() {
                        let sql = "UPDATE ringfence.request SET waiter = $2,
                            waiting = CASE WHEN waiter = $2 THEN waiting + 1 ELSE 1 END WHERE id = $1";
                        session.execute(sql, &[&found.id, &waiter]).await?;
                    }
                    return Ok((turn, Ok(found.id)));
                }
                let id = match short_name() {
                    Ok(id) => id,
                    Err(error) => return Ok((turn, Err(error))),
                };
                let filed = FiledRequest {
                    id: id.clone(),
                    request: request.clone(),
                    state: RequestState::Open,
                    asked: turn.now(),
                    expires: turn.now().saturating_add(expires),
                    decided: Vec::new(),
                    replaces: None,
                };
                request::insert(&session, &filed, waiter).await?;
                Ok((turn, Ok(id)))
            };
            self.exclusively(work).await
        }
        .boxed()
    }

    fn take<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Standing, ApprovalError>> {
        async move {
            let missing = || ApprovalError::Request { id: id.to_owned() };
            // Those who wait look often, and only what is approved can be taken.
            let look = |session: Arc<Session>| async move { standing(&session, id).await };
            let seen = self.readers().read(look).await.map_err(StoreError::from)?;
            if let (_, Some(standing)) = seen.ok_or_else(missing)? {
                return Ok(standing);
            }
            let work = |turn: Turn| async move {
                let session = turn.session();
                let Some((mut filed, standing)) = standing(&session, id).await? else {
                    return Ok((turn, Err(missing())));
                };
                if let Some(standing) = standing {
                    return Ok((turn, Ok(standing)));
                }
                filed.state = RequestState::Taken;
                request::update(&session, &filed).await?;
                if let Some(other) = &filed.replaces {
                    let sql = "UPDATE ringfence.request SET state = 'taken' WHERE id = $1";
                    session.execute(sql, &[other]).await?;
                }
                let digest = &filed.request.digest;
                let people = filed.decided.iter();
                let people = people.map(|one| Approval { by: one.by.clone(), digest: digest.clone() });
                Ok((turn, Ok(Standing::Approved(people.collect()))))
            };
            self.exclusively(work).await
        }
        .boxed()
    }

    fn leave<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            // Whoever has no lease waits for nothing, and what another waits for now is not for us to leave.
            let Some(lease) = self.0.lease.get() else { return Ok(()) };
            let waiter = lease.current()?.id;
            let waiter = waiter.as_slice();
            let work = |turn: Turn| async move {
                let sql = "UPDATE ringfence.request SET waiting = waiting - 1,
                    waiter = CASE WHEN waiting > 1 THEN waiter END WHERE id = $1 AND waiter = $2";
                if !id.contains('\0') {
                    turn.session().execute(sql, &[&id, &waiter]).await?;
                }
                Ok((turn, Ok(())))
            };
            self.exclusively(work).await
        }
        .boxed()
    }

    fn adopt<'a>(
        &'a self,
        personality: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<FiledRequest>, StoreError>> {
        async move {
            let waiter = self.lease().await?.current()?.id;
            let waiter = waiter.as_slice();
            let is_ours = |filed: &FiledRequest| {
                filed.request.call.as_ref().is_some_and(|call| call.personality.as_deref() == personality)
            };
            let look = |session: Arc<Session>| async move { orphans(&session).await };
            // Most of the time nobody has died.
            let found = self.readers().read(look).await?;
            if !found.iter().any(is_ours) {
                return Ok(Vec::new());
            }
            let work = |turn: Turn| async move {
                let session = turn.session();
                let mut found = orphans(&session).await?;
                found.retain(is_ours);
                found.truncate(most);
                let ids: Vec<&str> = found.iter().map(|filed| filed.id.as_str()).collect();
                let sql = "UPDATE ringfence.request SET waiter = $2, waiting = 0 WHERE id = ANY ($1)";
                session.execute(sql, &[&ids, &waiter]).await?;
                Ok((turn, Ok(found)))
            };
            self.exclusively(work).await
        }
        .boxed()
    }

    fn requests<'a>(
        &'a self,
        filter: &'a RequestFilter,
    ) -> BoxFuture<'a, Result<Vec<FiledRequest>, StoreError>> {
        async move {
            let read = |session: Arc<Session>| async move {
                let (state, run, tool) = filtered(filter);
                let parameters: [Parameter<'_>; 4] = [&state, &run, &limit(filter.most), &tool];
                request::select(&session, FILTERED, &parameters).await
            };
            Ok(self.readers().read(read).await?)
        }
        .boxed()
    }

    fn list_requests<'a>(
        &'a self,
        filter: &'a RequestFilter,
    ) -> BoxFuture<'a, Result<ListedRequests, StoreError>> {
        async move {
            let read = |session: Arc<Session>| async move {
                let (state, run, tool) = filtered(filter);
                let parameters: [Parameter<'_>; 4] = [&state, &run, &limit(filter.most), &tool];
                request::select_readable(&session, FILTERED, &parameters).await
            };
            Ok(self.readers().read(read).await?)
        }
        .boxed()
    }

    fn request<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<FiledRequest>, StoreError>> {
        async move {
            let read = |session: Arc<Session>| async move {
                if let Some(found) = request::find(&session, id).await? {
                    return Ok(Some(found));
                }
                let conditions = "r.digest = $1 ORDER BY r.ordinal DESC LIMIT 1";
                Ok(request::select(&session, conditions, &[&id.as_bytes()]).await?.pop())
            };
            Ok(self.readers().read(read).await?)
        }
        .boxed()
    }

    fn decide<'a>(
        &'a self,
        decision: &'a PersonDecision,
    ) -> BoxFuture<'a, Result<FiledRequest, ApprovalError>> {
        let work = move |mut turn: Turn| async move {
            let session = turn.session();
            let principal = approver::find(&session, &decision.by).await?;
            let by = match principal.ok_or_else(|| decision.by.refused()).and_then(Principal::deciding) {
                Ok(by) => by,
                Err(refused) => return Ok((turn, Err(refused))),
            };
            let Some(filed) = request::find(&session, &decision.id).await? else {
                return Ok((turn, Err(ApprovalError::Request { id: decision.id.clone() })));
            };
            let (before, next) = match decided(filed.clone(), decision, &by, turn.now()) {
                Ok(decided) => decided,
                Err(refused) => return Ok((turn, Err(refused))),
            };
            request::update(&session, &before).await?;
            if let Some(next) = &next {
                // Whoever waits for the one that was changed is told so, and asks for this one.
                request::insert(&session, next, None).await?;
            }
            let step = filed.step(decision.word, &by, &decision.reason, turn.now());
            turn.append(&AuditEntry::Approval(&step))?;
            Ok((turn, Ok(next.unwrap_or(before))))
        };
        self.exclusively(work).boxed()
    }

    fn principal<'a>(&'a self, proof: &'a Proof) -> BoxFuture<'a, Result<Option<Principal>, StoreError>> {
        async move {
            let read = |session: Arc<Session>| async move { approver::find(&session, proof).await };
            Ok(self.readers().read(read).await?)
        }
        .boxed()
    }

    fn add_approver<'a>(
        &'a self,
        name: &'a ApproverName,
        token: TokenHash,
        role: Role,
    ) -> BoxFuture<'a, Result<(), ApprovalError>> {
        self.exclusively(move |turn| approver::add(turn, name, token, role)).boxed()
    }

    fn revoke_approver<'a>(&'a self, name: &'a ApproverName) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.exclusively(move |turn| approver::revoke(turn, name)).boxed()
    }

    fn approvers(&self) -> BoxFuture<'_, Result<Vec<ApproverEntry>, StoreError>> {
        async move {
            let read = |session: Arc<Session>| async move { approver::list(&session).await };
            Ok(self.readers().read(read).await?)
        }
        .boxed()
    }

    fn notices<'a>(
        &'a self,
        channel: &'a str,
        pause: Duration,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Notice>, StoreError>> {
        async move {
            let channel = channel.as_bytes();
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let look = |session: Arc<Session>| async move { due(&session, channel, most).await };
            if self.readers().read(look).await?.is_empty() {
                return Ok(Vec::new());
            }
            let work = |turn: Turn| async move {
                let session = turn.session();
                let mut notices = Vec::new();
                for filed in due(&session, channel, most).await? {
                    let sql =
                        "SELECT attempts FROM ringfence.notice WHERE request = $1 AND channel = sha256($2)";
                    let row = session.row(sql, &[&filed.id, &channel]).await?;
                    let attempts = row.map(|row| get::<i32>(&session, &row, 0)).transpose()?.unwrap_or(0);
                    let attempts = u32::try_from(attempts).unwrap_or(u32::MAX);
                    let next = micros(turn.now().saturating_add(notice_pause(pause, attempts)));
                    let sql = "INSERT INTO ringfence.notice VALUES ($1, sha256($2), $3, 1, false)
                        ON CONFLICT (request, channel) DO UPDATE
                        SET next_us = excluded.next_us, attempts = notice.attempts + 1";
                    session.execute(sql, &[&filed.id, &channel, &next]).await?;
                    notices.push(Notice { filed, attempts });
                }
                Ok((turn, Ok(notices)))
            };
            self.exclusively(work).await
        }
        .boxed()
    }

    fn told<'a>(&'a self, channel: &'a str, id: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let work = move |turn: Turn| async move {
            let sql = "INSERT INTO ringfence.notice
                SELECT r.id, sha256($2), 0, 1, true FROM ringfence.request AS r WHERE r.id = $1
                ON CONFLICT (request, channel) DO UPDATE SET is_told = true";
            if !id.contains('\0') {
                turn.session().execute(sql, &[&id, &channel.as_bytes()]).await?;
            }
            Ok((turn, Ok(())))
        };
        self.exclusively(work).boxed()
    }
}

/// Reads the requests whose waiting process has died, oldest first.
async fn orphans(session: &Session) -> Result<Vec<FiledRequest>, PostgresError> {
    let conditions =
        format!("r.waiter IS NOT NULL AND {ALIVE} AND NOT ringfence.is_alive(r.waiter) ORDER BY r.ordinal");
    request::select(session, &conditions, &[]).await
}

/// Reads the open requests that a channel is to be told of now, oldest first.
async fn due(session: &Session, channel: &[u8], most: i64) -> Result<Vec<FiledRequest>, PostgresError> {
    let conditions = format!(
        "r.state = 'open' AND {ALIVE} AND NOT EXISTS (
             SELECT 1 FROM ringfence.notice AS n WHERE n.request = r.id AND n.channel = sha256($1)
             AND (n.is_told OR n.next_us > (SELECT ringfence.moment_us()))
         ) ORDER BY r.ordinal LIMIT $2"
    );
    let parameters: [Parameter<'_>; 2] = [&channel, &most];
    request::select(session, &conditions, &parameters).await
}
