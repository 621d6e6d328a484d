//! The same things are done to a store in memory and to PostgreSQL, in an order that chance decides, and the answers
//! compared: what is in memory is small enough to be believed.

use std::collections::BTreeMap;
use std::sync::Arc;

use ringfence::policy::{Decision, SafetyClass};
use ringfence::{
    ApprovalError, ApprovalRequest, ApprovalStore, ApproverName, ApproverToken, Claim, Clock as _, Fence,
    FiledRequest, IdempotencyStore, KeyClaim, KeyFilter, KeyFinding, KeyName, KeyState, ManualClock,
    MemoryApprovals, MemoryIdempotency, PersonDecision, Proof, RequestFilter, RequestState, Role, Settlement,
    Word,
};
use serde_json::json;

use super::*;

/// Numbers that look like chance, and are the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn settlement(chance: &mut Chance) -> Settlement {
    match chance.below(4) {
        0 => Settlement::Failed,
        1 => Settlement::Unknown,
        _ => Settlement::Committed {
            output: format!("\"\\u0000{}\"", chance.below(100)),
            keep: Duration::from_secs(chance.below(40)),
        },
    }
}

#[tokio::test]
async fn keys_behave_as_in_memory() {
    for seed in 0..3 {
        let mut chance = Chance(seed);
        let bench = Bench::new().await;
        let store = bench.open().await;
        let clock = Arc::new(ManualClock::default());
        let memory = MemoryIdempotency::new(clock.clone());
        bench.set_clock(Duration::ZERO).await;
        let mut granted = 1;
        for step in 0..150 {
            let name = KeyName {
                scope: format!("role/{}\0", chance.below(2)),
                key: format!("key-{}", chance.below(2)),
            };
            let digest = format!("digest-{}", u64::from(chance.below(4) == 0));
            let fence = Fence(granted - chance.below(3).min(granted - 1));
            let what = chance.below(10);
            match what {
                0..4 => {
                    let claim = KeyClaim {
                        name,
                        digest,
                        arguments: format!("[{step}]"),
                        run: format!("run-{step}"),
                        owner: format!("owner-{}", chance.below(8)),
                    };
                    let expected = memory.claim(&claim).await;
                    assert_eq!(store.claim(&claim).await, expected, "seed {seed}, step {step}: {claim:?}");
                    if let Ok(Claim::Granted(fence)) = expected {
                        granted = granted.max(fence.0);
                    }
                }
                4..7 => {
                    let settlement = settlement(&mut chance);
                    let expected = memory.settle(&name, fence, settlement.clone()).await;
                    assert_eq!(
                        store.settle(&name, fence, settlement).await,
                        expected,
                        "seed {seed}, step {step}"
                    );
                }
                7 => {
                    let settlement = settlement(&mut chance);
                    let (by, reason) = ("ada".to_owned(), "looked".to_owned());
                    let finding = KeyFinding { name, fence, settlement, by, reason };
                    let expected = memory.find_out(&finding).await;
                    assert_eq!(store.find_out(&finding).await, expected, "seed {seed}, step {step}");
                }
                8 => {
                    let expected = memory.find(&name, &digest).await;
                    assert_eq!(store.find(&name, &digest).await, expected, "seed {seed}, step {step}");
                }
                _ => {
                    clock.advance(Duration::from_secs(chance.below(20)));
                    bench.set_clock(clock.now()).await;
                }
            }
            let state = KeyState::ALL.into_iter().nth(usize::try_from(chance.below(5)).unwrap());
            let key = (chance.below(2) == 0).then(|| "key-1".to_owned());
            let filter = KeyFilter { state, key, most: usize::try_from(chance.below(4)).unwrap() };
            let listed = format!("{:?}", store.keys(&filter).await.unwrap());
            assert_eq!(
                listed,
                format!("{:?}", memory.keys(&filter).await.unwrap()),
                "seed {seed}, step {step}"
            );
        }
    }
}

/// The names that two stores have for the same requests.
#[derive(Default)]
struct Names(BTreeMap<String, String>);

impl Names {
    /// Writes a request with the name that memory has for it.
    fn show(&self, filed: &FiledRequest) -> String {
        let known = |id: &String| self.0.get(id).cloned().unwrap_or_else(|| id.clone());
        let filed = FiledRequest {
            id: known(&filed.id),
            replaces: filed.replaces.as_ref().map(known),
            ..filed.clone()
        };
        format!("{filed:?}")
    }

    fn show_all(&self, filed: &[FiledRequest]) -> Vec<String> {
        filed.iter().map(|filed| self.show(filed)).collect()
    }
}

fn request(number: u64, needed: Decision) -> ApprovalRequest {
    ApprovalRequest {
        digest: String::new(),
        tool: "pay".parse().unwrap(),
        tool_digest: "tool".into(),
        class: SafetyClass::Financial,
        arguments: Arc::new(json!({ "amount": number, "note": "\0" })),
        run: format!("run-{}", number % 2).into(),
        session: "session".into(),
        proposer: "eve".into(),
        needed,
        call: None,
    }
    .with_arguments(json!({ "amount": number, "note": "\0" }))
    .unwrap()
}

#[tokio::test]
async fn approvals_behave_as_in_memory() {
    for seed in 0..3 {
        let mut chance = Chance(seed);
        let bench = Bench::new().await;
        let store = bench.open().await;
        let clock = Arc::new(ManualClock::default());
        let memory = MemoryApprovals::new(clock.clone());
        bench.set_clock(Duration::ZERO).await;
        let people: Vec<ApproverName> = ["ada", "bob", "eve"].map(|name| name.parse().unwrap()).to_vec();
        let mut tokens: Vec<_> = people.iter().map(|_| ApproverToken::generate().unwrap().hash()).collect();
        for (name, token) in people.iter().zip(&tokens) {
            memory.add_approver(name, *token, Role::Approver).await.unwrap();
            store.add_approver(name, *token, Role::Approver).await.unwrap();
        }
        let mut names = Names::default();
        let mut ids = vec![("none".to_owned(), "none".to_owned())];
        for step in 0..120 {
            let at = format!("seed {seed}, step {step}");
            let one = usize::try_from(chance.below(ids.len() as u64)).unwrap();
            let (ours, theirs) = ids[one].clone();
            let person = usize::try_from(chance.below(3)).unwrap();
            match chance.below(12) {
                0..3 => {
                    let needed = if chance.below(2) == 0 { Decision::Ask } else { Decision::AskTwo };
                    let request = request(chance.below(3), needed);
                    let expires = Duration::from_secs(20 + chance.below(40));
                    let ours = memory.file(&request, expires).await.unwrap();
                    let theirs = store.file(&request, expires).await.unwrap();
                    names.0.insert(theirs.clone(), ours.clone());
                    ids.push((ours, theirs));
                }
                3..5 => {
                    let (ours, theirs) = (memory.take(&ours).await, store.take(&theirs).await);
                    assert_eq!(format!("{theirs:?}"), format!("{ours:?}"), "{at}");
                }
                5..9 => {
                    let word = [Word::Approve, Word::Approve, Word::Change, Word::Deny]
                        [usize::try_from(chance.below(4)).unwrap()];
                    let filed = memory.request(&ours).await.unwrap();
                    let changed =
                        filed.map(|filed| filed.request.with_arguments(json!(chance.below(3))).unwrap());
                    let mut decision = PersonDecision {
                        id: ours,
                        by: match chance.below(3) {
                            0 => Proof::Named(people[person].clone()),
                            _ => Proof::Token(tokens[person]),
                        },
                        word,
                        changed,
                        reason: at.clone(),
                    };
                    let expected = memory.decide(&decision).await;
                    decision.id = theirs;
                    let found = store.decide(&decision).await;
                    match (&expected, &found) {
                        (Ok(expected), Ok(found)) => {
                            names.0.insert(found.id.clone(), expected.id.clone());
                            ids.push((expected.id.clone(), found.id.clone()));
                            assert_eq!(names.show(found), names.show(expected), "{at}");
                        }
                        (Err(ApprovalError::Request { .. }), Err(ApprovalError::Request { .. })) => {}
                        (expected, found) => {
                            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{at}");
                        }
                    }
                }
                9 => {
                    let name = &people[person];
                    if chance.below(2) == 0 {
                        let expected = memory.revoke_approver(name).await.unwrap();
                        assert_eq!(store.revoke_approver(name).await.unwrap(), expected, "{at}");
                    } else {
                        let token = ApproverToken::generate().unwrap().hash();
                        let role = Role::ALL[usize::try_from(chance.below(3)).unwrap()];
                        let expected = memory.add_approver(name, token, role).await;
                        assert_eq!(store.add_approver(name, token, role).await, expected, "{at}");
                        if expected.is_ok() {
                            tokens[person] = token;
                        }
                    }
                }
                10 => {
                    let (channel, most) =
                        (format!("hook-{}", chance.below(2)), usize::try_from(chance.below(3)).unwrap());
                    let pause = Duration::from_secs(5);
                    let expected = memory.notices(&channel, pause, most).await.unwrap();
                    let found = store.notices(&channel, pause, most).await.unwrap();
                    let show = |notices: Vec<ringfence::Notice>| {
                        notices.iter().map(|one| (names.show(&one.filed), one.attempts)).collect::<Vec<_>>()
                    };
                    assert_eq!(show(found), show(expected), "{at}");
                    if chance.below(2) == 0 {
                        memory.told(&channel, &ours).await.unwrap();
                        store.told(&channel, &theirs).await.unwrap();
                    }
                }
                _ => {
                    clock.advance(Duration::from_secs(chance.below(20)));
                    bench.set_clock(clock.now()).await;
                }
            }
            for proof in [Proof::Named(people[person].clone()), Proof::Token(tokens[person])] {
                let expected = memory.principal(&proof).await.unwrap();
                assert_eq!(store.principal(&proof).await.unwrap(), expected, "{at}");
            }
            let state = RequestState::ALL.into_iter().nth(usize::try_from(chance.below(8)).unwrap());
            let run = (chance.below(2) == 0).then(|| "run-1".to_owned());
            let tool = [None, None, Some("pay"), Some("none")][usize::try_from(chance.below(4)).unwrap()];
            let tool = tool.map(str::to_owned);
            let filter = RequestFilter { state, run, tool, most: usize::try_from(chance.below(4)).unwrap() };
            let found = names.show_all(&store.requests(&filter).await.unwrap());
            assert_eq!(found, names.show_all(&memory.requests(&filter).await.unwrap()), "{at}");
        }
        let listed = format!("{:?}", store.approvers().await.unwrap());
        assert_eq!(listed, format!("{:?}", memory.approvers().await.unwrap()));
        let digest = request(1, Decision::Ask).digest;
        for id in ["", "none", "\0", digest.get(..8).unwrap(), digest.get(..7).unwrap()] {
            let found = store.request(id).await.unwrap().map(|filed| names.show(&filed));
            let expected = memory.request(id).await.unwrap().map(|filed| names.show(&filed));
            assert_eq!(found, expected, "{id:?}");
        }
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    }
}
