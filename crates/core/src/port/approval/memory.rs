//! Requests that are forgotten when the process ends. This is what the other stores are held against.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, ready};

use super::{
    Approval, ApprovalError, ApprovalRequest, ApprovalStore, ApproverEntry, ApproverName, Decided,
    FiledRequest, Notice, PersonDecision, Principal, Proof, RequestFilter, RequestState, Role, Standing,
    TokenHash, Word, notice_pause,
};
use crate::port::clock::{Clock, SystemClock};
use crate::port::store::StoreError;
use crate::random;

/// Requests and people that are forgotten when the process ends.
pub struct MemoryApprovals {
    clock: Arc<dyn Clock>,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    /// In the order they were filed.
    requests: Vec<FiledRequest>,
    people: BTreeMap<ApproverName, Person>,
    /// When a channel may be told of a request again, and how often it was.
    notices: HashMap<(String, String), (Duration, u32)>,
    told: HashSet<(String, String)>,
}

struct Person {
    token: TokenHash,
    role: Role,
    added: Duration,
    revoked: Option<Duration>,
}

impl Default for MemoryApprovals {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock))
    }
}

impl MemoryApprovals {
    /// Makes an empty store whose requests expire by `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, book: Mutex::default() }
    }

    /// Returns the book with what has expired marked so, and the time.
    fn book(&self) -> (MutexGuard<'_, Book>, Duration) {
        let now = self.clock.now();
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        for filed in &mut book.requests {
            if filed.state != RequestState::Taken && filed.expires <= now {
                filed.state = RequestState::Expired;
            }
        }
        (book, now)
    }
}

impl Book {
    fn find(&self, id: &str) -> Option<&FiledRequest> {
        self.requests.iter().find(|filed| filed.id == id)
    }

    fn find_mut(&mut self, id: &str) -> Option<&mut FiledRequest> {
        self.requests.iter_mut().find(|filed| filed.id == id)
    }

    fn file(
        &mut self,
        request: &ApprovalRequest,
        asked: Duration,
        expires: Duration,
    ) -> Result<String, StoreError> {
        let alive = |filed: &&FiledRequest| {
            filed.request.digest == request.digest
                && !matches!(filed.state, RequestState::Expired | RequestState::Taken)
        };
        if let Some(found) = self.requests.iter().rev().find(alive) {
            return Ok(found.id.clone());
        }
        let id = short_name()?;
        self.requests.push(FiledRequest {
            id: id.clone(),
            request: request.clone(),
            state: RequestState::Open,
            asked,
            expires,
            decided: Vec::new(),
            replaces: None,
        });
        Ok(id)
    }

    fn take(&mut self, id: &str) -> Result<Standing, ApprovalError> {
        let replacing = self.requests.iter().find(|filed| filed.replaces.as_deref() == Some(id)).cloned();
        let filed = self.find_mut(id).ok_or_else(|| ApprovalError::Request { id: id.to_owned() })?;
        let last = filed.decided.last().cloned();
        let said = |word: Word| last.filter(|last| last.word == word).map(|last| (last.by, last.reason));
        Ok(match filed.state {
            RequestState::Approved => {
                filed.state = RequestState::Taken;
                let digest = filed.request.digest.clone();
                let people = filed.decided.iter();
                let people =
                    people.map(|one| Approval { by: one.by.clone(), digest: digest.clone() }).collect();
                if let Some(other) = filed.replaces.clone().and_then(|other| self.find_mut(&other)) {
                    other.state = RequestState::Taken;
                }
                Standing::Approved(people)
            }
            RequestState::Denied => {
                let (by, reason) = said(Word::Deny).unwrap_or_default();
                Standing::Denied { by, reason }
            }
            RequestState::Expired => Standing::Expired,
            RequestState::Open => Standing::Open,
            RequestState::Replaced => match (replacing, said(Word::Change)) {
                (Some(replacing), Some((by, reason))) => {
                    Standing::Changed { arguments: (*replacing.request.arguments).clone(), by, reason }
                }
                _ => Standing::Expired,
            },
            RequestState::Taken => Standing::Taken,
        })
    }

    fn principal(&self, proof: &Proof) -> Option<Principal> {
        let holds = |(name, person): &(&ApproverName, &Person)| match proof {
            _ if person.revoked.is_some() => false,
            Proof::Named(named) => named == *name,
            Proof::Token(token) => *token == person.token,
        };
        let found = self.people.iter().find(holds);
        found.map(|(name, person)| Principal { name: name.clone(), role: person.role, since: person.added })
    }

    fn decide(&mut self, decision: &PersonDecision, now: Duration) -> Result<FiledRequest, ApprovalError> {
        let by = self.principal(&decision.by).ok_or_else(|| decision.by.refused())?.deciding()?;
        let missing = || ApprovalError::Request { id: decision.id.clone() };
        let filed = self.find_mut(&decision.id).ok_or_else(missing)?;
        if decision.word == Word::Withdraw {
            filed.withdraw(&by)?;
            return Ok(filed.clone());
        }
        match filed.state {
            RequestState::Open => {}
            RequestState::Expired => return Err(ApprovalError::Expired),
            state => return Err(ApprovalError::NotOpen { state }),
        }
        if filed.request.is_proposed_by(by.as_str()) {
            return Err(ApprovalError::Proposer { by });
        }
        if filed.decided.iter().any(|decided| decided.by == by.as_str()) {
            return Err(ApprovalError::Already { by });
        }
        let decided = Decided {
            by: by.to_string(),
            word: decision.word,
            reason: decision.reason.clone(),
            at_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        };
        match decision.word {
            Word::Approve | Word::Withdraw => {
                filed.decided.push(decided);
                if filed.decided.len() >= filed.request.needed.approvals() {
                    filed.state = RequestState::Approved;
                }
                Ok(filed.clone())
            }
            Word::Deny => {
                filed.decided.push(decided);
                filed.state = RequestState::Denied;
                Ok(filed.clone())
            }
            Word::Change => {
                let changed = decision.changed.clone().ok_or(ApprovalError::Changed)?;
                if !filed.request.is_changed_by(&changed) {
                    return Err(ApprovalError::Changed);
                }
                let expires = filed.expires;
                filed.decided.push(decided.clone());
                filed.state = RequestState::Replaced;
                let (id, replaced) = (short_name()?, filed.id.clone());
                let state =
                    if changed.needed.approvals() <= 1 { RequestState::Approved } else { RequestState::Open };
                let next = FiledRequest {
                    id,
                    request: changed,
                    state,
                    asked: now,
                    expires,
                    decided: vec![decided],
                    replaces: Some(replaced),
                };
                self.requests.push(next.clone());
                Ok(next)
            }
        }
    }

    fn revoke(&mut self, name: &ApproverName, now: Duration) -> bool {
        let Some(person) = self.people.get_mut(name).filter(|person| person.revoked.is_none()) else {
            return false;
        };
        person.revoked = Some(now);
        for filed in &mut self.requests {
            if matches!(filed.state, RequestState::Approved | RequestState::Open) {
                filed.decided.retain(|decided| decided.by != name.as_str());
                if filed.decided.len() < filed.request.needed.approvals() {
                    filed.state = RequestState::Open;
                }
            }
        }
        true
    }
}

/// Makes the name of a request, short enough to be typed.
fn short_name() -> Result<String, StoreError> {
    let name = random::name().map_err(StoreError::Unreachable)?;
    Ok(name.chars().take(12).collect())
}

impl ApprovalStore for MemoryApprovals {
    fn file<'a>(
        &'a self,
        request: &'a ApprovalRequest,
        expires: Duration,
    ) -> BoxFuture<'a, Result<String, StoreError>> {
        let (mut book, now) = self.book();
        ready(book.file(request, now, now.saturating_add(expires))).boxed()
    }

    fn take<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Standing, ApprovalError>> {
        ready(self.book().0.take(id)).boxed()
    }

    fn leave<'a>(&'a self, _id: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        // Nobody outlives this process to go on with its calls.
        ready(Ok(())).boxed()
    }

    fn adopt<'a>(
        &'a self,
        _personality: Option<&'a str>,
        _most: usize,
    ) -> BoxFuture<'a, Result<Vec<FiledRequest>, StoreError>> {
        ready(Ok(Vec::new())).boxed()
    }

    fn requests<'a>(
        &'a self,
        filter: &'a RequestFilter,
    ) -> BoxFuture<'a, Result<Vec<FiledRequest>, StoreError>> {
        let wanted = |filed: &&FiledRequest| {
            filter.state.is_none_or(|state| state == filed.state)
                && filter.run.as_ref().is_none_or(|run| **run == *filed.request.run)
                && filter.tool.as_ref().is_none_or(|tool| tool == filed.request.tool.as_str())
        };
        let most = if filter.most == 0 { usize::MAX } else { filter.most };
        let found = self.book().0.requests.iter().rev().filter(wanted).take(most).cloned().collect();
        ready(Ok(found)).boxed()
    }

    fn request<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<FiledRequest>, StoreError>> {
        let (book, _) = self.book();
        let by_digest = |filed: &&FiledRequest| filed.request.digest == id;
        let found = book.find(id).or_else(|| book.requests.iter().rev().find(by_digest)).cloned();
        ready(Ok(found)).boxed()
    }

    fn decide<'a>(
        &'a self,
        decision: &'a PersonDecision,
    ) -> BoxFuture<'a, Result<FiledRequest, ApprovalError>> {
        let (mut book, now) = self.book();
        ready(book.decide(decision, now)).boxed()
    }

    fn principal<'a>(&'a self, proof: &'a Proof) -> BoxFuture<'a, Result<Option<Principal>, StoreError>> {
        ready(Ok(self.book().0.principal(proof))).boxed()
    }

    fn add_approver<'a>(
        &'a self,
        name: &'a ApproverName,
        token: TokenHash,
        role: Role,
    ) -> BoxFuture<'a, Result<(), ApprovalError>> {
        let (mut book, now) = self.book();
        if book.people.get(name).is_some_and(|person| person.revoked.is_none()) {
            return ready(Err(ApprovalError::NameTaken(name.clone()))).boxed();
        }
        book.people.insert(name.clone(), Person { token, role, added: now, revoked: None });
        ready(Ok(())).boxed()
    }

    fn revoke_approver<'a>(&'a self, name: &'a ApproverName) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (mut book, now) = self.book();
        ready(Ok(book.revoke(name, now))).boxed()
    }

    fn approvers(&self) -> BoxFuture<'_, Result<Vec<ApproverEntry>, StoreError>> {
        let (book, _) = self.book();
        let entry = |(name, person): (&ApproverName, &Person)| ApproverEntry {
            name: name.clone(),
            role: person.role,
            added: person.added,
            revoked: person.revoked,
        };
        ready(Ok(book.people.iter().map(entry).collect())).boxed()
    }

    fn notices<'a>(
        &'a self,
        channel: &'a str,
        pause: Duration,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Notice>, StoreError>> {
        let (mut book, now) = self.book();
        let name = |filed: &FiledRequest| (channel.to_owned(), filed.id.clone());
        let due = |filed: &&FiledRequest| {
            filed.state == RequestState::Open
                && !book.told.contains(&name(filed))
                && book.notices.get(&name(filed)).is_none_or(|(next, _)| *next <= now)
        };
        let due: Vec<FiledRequest> = book.requests.iter().filter(due).take(most).cloned().collect();
        let notices = due.into_iter().map(|filed| {
            let entry = book.notices.entry(name(&filed)).or_default();
            let attempts = entry.1;
            *entry = (now.saturating_add(notice_pause(pause, attempts)), attempts.saturating_add(1));
            Notice { filed, attempts }
        });
        ready(Ok(notices.collect())).boxed()
    }

    fn told<'a>(&'a self, channel: &'a str, id: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.book().0.told.insert((channel.to_owned(), id.to_owned()));
        ready(Ok(())).boxed()
    }
}

impl std::fmt::Debug for MemoryApprovals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MemoryApprovals({} requests)", self.book().0.requests.len())
    }
}
