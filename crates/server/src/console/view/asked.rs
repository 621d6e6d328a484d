//! Requests as they are listed, and one with everything that a person needs to decide.

use ringfence::{
    ApprovalStore, DamagedRequest, FiledRequest, ListedRequests, RequestFilter, RequestState, Role,
    StoreError, Word,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::port::ReachRow;
use super::diff::{DiffLine, Fate, diff};
use super::json;
use super::request::Request;
use super::shown::Argument;
use super::time::Moment;

/// How many open requests a page shows.
const OPEN: usize = 200;
/// How many decided requests a page shows.
const DECIDED: usize = 50;
/// How many unchanged lines are shown around a change.
const AROUND: usize = 3;
/// How many requests are looked at for the last one that people agreed to.
const LOOKED_AT: usize = 20;

/// Requests that wait, and what became of the last ones.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    /// Those that wait, newest first.
    pub(crate) open: Vec<Waiting>,
    /// How many wait, shown or not.
    pub(crate) waiting: usize,
    /// Those that do not wait any more, newest first.
    pub(crate) decided: Vec<Request>,
    /// Those that cannot be read.
    pub(crate) damaged: Vec<Damaged>,
}

/// A request whose row was damaged or forged.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Damaged {
    /// Its name, as far as it can be read.
    pub(crate) id: String,
    /// Why it cannot be read.
    pub(crate) why: String,
}

impl Damaged {
    /// Reads what a store says.
    pub(crate) fn of(damaged: &DamagedRequest) -> Self {
        Self { id: damaged.id.clone(), why: damaged.why.clone() }
    }
}

/// A request that waits, as the list shows it.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    /// The request.
    pub(crate) request: Request,
    /// Its arguments.
    pub(crate) shown: Vec<Argument>,
    /// Whether those are all of them.
    pub(crate) is_whole: bool,
    /// Why whoever looks cannot decide about it; absent where they can.
    pub(crate) hindrance: Option<String>,
}

impl Waiting {
    fn of(caller: &Caller, filed: &FiledRequest) -> Self {
        let request = Request::of(filed);
        let (shown, is_whole) = request.shown();
        Self { shown, is_whole, hindrance: hindrance(caller, filed), request }
    }

    /// Says whether it can be decided in the list.
    pub(crate) const fn can_pick(&self) -> bool {
        self.is_whole && self.hindrance.is_none()
    }
}

impl Requests {
    /// Reads what there is.
    pub(crate) async fn read(front: &Front, caller: &Caller) -> Result<Self, Fault> {
        let store = &*front.store.approvals;
        let open = listed(store, RequestState::Open, None, 0).await?;
        let mut damaged: Vec<Damaged> = open.damaged.iter().map(Damaged::of).collect();
        let open = open.requests;
        let mut decided = Vec::new();
        for state in RequestState::ALL.into_iter().filter(|state| *state != RequestState::Open) {
            let listed = listed(store, state, None, DECIDED).await?;
            decided.extend(listed.requests.iter().map(Request::of));
            damaged.extend(listed.damaged.iter().map(Damaged::of));
        }
        decided.sort_by_key(|request| std::cmp::Reverse(request.ended().ms()));
        decided.truncate(DECIDED);
        Ok(Self {
            waiting: open.len(),
            open: open.iter().take(OPEN).map(|filed| Waiting::of(caller, filed)).collect(),
            decided,
            damaged,
        })
    }

    /// Says whether any of them can be decided in the list.
    pub(crate) fn can_pick(&self) -> bool {
        self.open.iter().any(Waiting::can_pick)
    }

    /// Returns how many requests wait that are not shown.
    pub(crate) const fn left_out(&self) -> usize {
        self.waiting.saturating_sub(OPEN)
    }
}

async fn listed(
    store: &dyn ApprovalStore,
    state: RequestState,
    tool: Option<&str>,
    most: usize,
) -> Result<ListedRequests, StoreError> {
    let tool = tool.map(str::to_owned);
    store.list_requests(&RequestFilter { state: Some(state), tool, most, ..RequestFilter::default() }).await
}

/// A request with everything that a person needs to decide.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Asked {
    /// The request.
    #[serde(flatten)]
    pub(crate) request: Request,
    /// What the tool says of itself; absent where it is not known.
    pub(crate) description: Option<String>,
    /// Whether the tool is defined otherwise by now, so that the call would not run as it was asked.
    pub(crate) outdated: bool,
    /// What the call would be granted; absent where the tool is not known.
    pub(crate) grant: Option<Vec<ReachRow>>,
    /// Why the grant is not known, as one sentence.
    pub(crate) grant_unknown: Option<String>,
    /// What changed since people last agreed to a call of this tool; absent where they never did.
    pub(crate) since: Option<Since>,
    /// Why whoever asks cannot decide about it; absent where they can.
    pub(crate) hindrance: Option<String>,
    /// Whether whoever asks has approved it and can still withdraw that.
    pub(crate) can_withdraw: bool,
}

/// What changed since people last agreed to a call of a tool.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Since {
    /// The request that people agreed to.
    pub(crate) id: String,
    /// When it was asked, in milliseconds since 1970.
    pub(crate) asked_ms: u64,
    /// Whether the definition of the tool is the same.
    pub(crate) same_tool: bool,
    /// The arguments line by line, as far as they are near a change; nothing where they are the same.
    pub(crate) lines: Vec<DiffLine>,
    /// Whether the arguments differ in too much to be compared.
    pub(crate) too_much: bool,
}

impl Since {
    /// Returns when it was asked.
    pub(crate) const fn asked(&self) -> Moment {
        Moment(self.asked_ms)
    }

    /// Returns the address of that request.
    pub(crate) fn href(&self) -> String {
        format!("/approvals/{}", super::super::enter::encode(&self.id))
    }

    fn between(old: &FiledRequest, new: &FiledRequest) -> Self {
        let lines = diff(&json::pretty(&old.request.arguments), &json::pretty(&new.request.arguments));
        Self {
            id: old.id.clone(),
            asked_ms: u64::try_from(old.asked.as_millis()).unwrap_or(u64::MAX),
            same_tool: old.request.tool_digest == new.request.tool_digest,
            too_much: lines.is_none(),
            lines: lines.map(|lines| near(&lines)).unwrap_or_default(),
        }
    }
}

impl Asked {
    /// Reads a request.
    pub(crate) async fn read(front: &Front, caller: &Caller, id: &str) -> Result<Self, Fault> {
        let filed = find(front, id).await?;
        let tool = filed.request.tool.to_string();
        let asked = front.ask(move |desk| {
            let defined = desk.definitions()?.into_iter().find(|defined| defined.name == tool);
            Ok((desk.grant(&tool)?, defined))
        });
        let (grant, defined, grant_unknown) = match asked.await {
            Ok((grant, defined)) => (grant, defined, None),
            Err(fault) => (None, None, Some(fault.problem.error)),
        };
        // What a server sends has a digest of its own kind, which is not that of the request.
        let own = defined.as_ref().filter(|defined| defined.id.server.is_none());
        let outdated = own.is_some_and(|defined| defined.digest != *filed.request.tool_digest);
        let since = last_agreed(&*front.store.approvals, &filed).await?;
        Ok(Self {
            request: Request::of(&filed),
            description: defined.map(|defined| defined.description),
            outdated,
            grant,
            grant_unknown,
            since: since.map(|old| Since::between(&old, &filed)),
            hindrance: hindrance(caller, &filed),
            can_withdraw: can_withdraw(caller, &filed),
        })
    }
}

/// Finds a request by its name.
pub(crate) async fn find(front: &Front, id: &str) -> Result<FiledRequest, Fault> {
    let missing = || {
        Fault::missing(format!("there is no request `{id}`"))
            .hint("it is forgotten some time after it expires")
    };
    front.store.approvals.request(id).await?.filter(|filed| filed.id == id).ok_or_else(missing)
}

/// Says why somebody cannot decide about a request. The store refuses it too.
fn hindrance(caller: &Caller, filed: &FiledRequest) -> Option<String> {
    let name = caller.name();
    match () {
        () if filed.state != RequestState::Open => {
            Some(format!("It is {} and can no longer be decided.", filed.state.as_str()))
        }
        () if caller.at_least(Role::Approver).is_err() => {
            Some("A viewer looks and does not decide; this needs an approver.".to_owned())
        }
        () if filed.request.is_proposed_by(name) => {
            Some("You proposed this call, so that others must decide about it.".to_owned())
        }
        () if filed.decided.iter().any(|said| said.by == name) => {
            Some("You have agreed to this call. Somebody else must agree too.".to_owned())
        }
        () => None,
    }
}

/// Says whether somebody has approved a request that no call has taken yet. The store decides again.
fn can_withdraw(caller: &Caller, filed: &FiledRequest) -> bool {
    let said = filed.decided.iter().any(|said| said.by == caller.name());
    said && matches!(filed.state, RequestState::Approved | RequestState::Open)
        && caller.at_least(Role::Approver).is_ok()
}

/// Finds the last request for the same tool, before this one, that people agreed to as it was.
async fn last_agreed(
    store: &dyn ApprovalStore,
    filed: &FiledRequest,
) -> Result<Option<FiledRequest>, StoreError> {
    let mut all = Vec::new();
    for state in [RequestState::Approved, RequestState::Taken] {
        all.extend(listed(store, state, Some(filed.request.tool.as_str()), LOOKED_AT).await?.requests);
    }
    let is_earlier = |one: &FiledRequest| one.id != filed.id && one.asked <= filed.asked;
    all.retain(|one| is_earlier(one) && !was_replaced(one));
    Ok(all.into_iter().max_by_key(|one| one.asked))
}

/// Says whether people agreed to other arguments instead: each change but the one that a request began with.
fn was_replaced(filed: &FiledRequest) -> bool {
    let changes = filed.decided.iter().filter(|said| said.word == Word::Change).count();
    changes > usize::from(filed.replaces.is_some())
}

/// Keeps the lines that are near a change, and counts those that are not.
fn near(lines: &[DiffLine]) -> Vec<DiffLine> {
    if lines.iter().all(|line| line.fate == Fate::Same) {
        return Vec::new();
    }
    let is_near = |place: usize| {
        let first = place.saturating_sub(AROUND);
        lines.iter().skip(first).take(place - first + AROUND + 1).any(|line| line.fate != Fate::Same)
    };
    let (mut kept, mut skipped) = (Vec::new(), 0_usize);
    let gap = |count: usize| DiffLine { fate: Fate::Same, text: format!("⋯ {count} lines as before") };
    for (place, line) in lines.iter().enumerate() {
        if is_near(place) {
            if skipped > 0 {
                kept.push(gap(std::mem::take(&mut skipped)));
            }
            kept.push(line.clone());
        } else {
            skipped += 1;
        }
    }
    kept.extend((skipped > 0).then(|| gap(skipped)));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_near_a_change_is_shown() {
        let text = |skip: usize| {
            (0..20)
                .map(|line| if line == skip { "other".to_owned() } else { line.to_string() })
                .collect::<Vec<_>>()
        };
        let lines = near(&diff(&text(99).join("\n"), &text(10).join("\n")).unwrap());
        let shown: Vec<String> =
            lines.iter().map(|line| format!("{}{}", line.fate.sign(), line.text)).collect();
        let expected =
            ["⋯ 7 lines as before", "7", "8", "9", "−10", "+other", "11", "12", "13", "⋯ 6 lines as before"];
        assert_eq!(shown, expected);
        assert!(near(&diff("a\nb", "a\nb").unwrap()).is_empty());
    }

    #[tokio::test]
    async fn what_was_agreed_to_instead_is_told_from_what_was_not() {
        use ringfence::policy::{Decision, SafetyClass};
        use ringfence::{ApprovalRequest, ApproverToken, MemoryApprovals, PersonDecision, Proof};
        let store = MemoryApprovals::default();
        for name in ["ada", "bob"] {
            let token = ApproverToken::new(name).hash();
            store.add_approver(&name.parse().unwrap(), token, Role::Approver).await.unwrap();
        }
        let request = ApprovalRequest {
            digest: String::new(),
            tool: "pay".parse().unwrap(),
            tool_digest: "".into(),
            class: SafetyClass::Privileged,
            arguments: std::sync::Arc::default(),
            run: "run".into(),
            session: "session".into(),
            proposer: "agent".into(),
            needed: Decision::AskTwo,
            call: None,
        };
        let request = request.with_arguments(serde_json::json!(1)).unwrap();
        let first = store.file(&request, std::time::Duration::from_secs(60)).await.unwrap();
        // Both people change it, one after the other; only the last one is what was agreed to.
        let mut id = first.clone();
        let mut all = vec![first];
        for (name, arguments) in [("ada", 2), ("bob", 3)] {
            let by = Proof::Named(name.parse().unwrap());
            let changed = Some(request.with_arguments(serde_json::json!(arguments)).unwrap());
            let decision = PersonDecision { id, by, word: Word::Change, changed, reason: String::new() };
            id = store.decide(&decision).await.unwrap().id;
            all.push(id.clone());
        }
        let mut replaced = Vec::new();
        for id in &all {
            replaced.push(was_replaced(&store.request(id).await.unwrap().unwrap()));
        }
        assert_eq!(replaced, [true, true, false]);
    }
}
