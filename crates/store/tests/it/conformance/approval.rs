//! Requests for approval, and the people who decide them.

use ringfence::audit::Progress;
use std::sync::Arc;
use std::time::Duration;

use ringfence::policy::{Decision, SafetyClass};
use ringfence::{
    Approval, ApprovalError, ApprovalRequest, ApprovalStore, ApproverName, ApproverToken, FiledRequest,
    PersonDecision, Proof, RequestFilter, RequestState, Role, Standing, TokenHash, WaitingCall, Word,
};
use ringfence_store::Filter;
use serde_json::{Value, json};

use super::{Made, on_each, on_each_database, on_each_pair};
use crate::it::sample::{ORIGIN, key, log};

pub(super) const HOUR: Duration = Duration::from_hours(1);

/// A request of the run `run-1`, whose arguments tell it from others.
pub(crate) fn request(arguments: Value, needed: Decision) -> ApprovalRequest {
    let request = ApprovalRequest {
        digest: String::new(),
        tool: "pay".parse().unwrap(),
        tool_digest: "00".into(),
        class: SafetyClass::Financial,
        arguments: Arc::new(Value::Null),
        run: "run-1".into(),
        session: "session-1".into(),
        proposer: "agent".into(),
        needed,
        call: None,
    };
    request.with_arguments(arguments).unwrap()
}

pub(super) fn person(name: &str) -> ApproverName {
    name.parse().unwrap()
}

/// A token for each name, the same whenever it is asked for.
pub(super) fn token(name: &str) -> TokenHash {
    ApproverToken::new(&format!("token of {name}")).hash()
}

pub(super) async fn people(approvals: &dyn ApprovalStore) {
    for name in ["ada", "bob", "cyd"] {
        approvals.add_approver(&person(name), token(name), Role::Approver).await.unwrap();
    }
}

pub(super) fn decision(id: &str, name: &str, word: Word) -> PersonDecision {
    PersonDecision {
        id: id.into(),
        by: Proof::Token(token(name)),
        word,
        changed: None,
        reason: format!("says {name}"),
    }
}

pub(super) async fn say(
    approvals: &dyn ApprovalStore,
    id: &str,
    name: &str,
    word: Word,
) -> Result<FiledRequest, ApprovalError> {
    approvals.decide(&decision(id, name, word)).await
}

pub(super) fn approved(request: &ApprovalRequest, people: &[&str]) -> Standing {
    let approval = |by: &&str| Approval { by: (*by).into(), digest: request.digest.clone() };
    Standing::Approved(people.iter().map(approval).collect())
}

fn ids(found: &[FiledRequest]) -> Vec<&str> {
    found.iter().map(|filed| filed.id.as_str()).collect()
}

#[tokio::test]
async fn one_person_agrees_and_one_call_runs() {
    on_each(async |made| {
        let approvals = made.approvals();
        people(approvals).await;
        let asked = request(json!({"amount": 1}), Decision::Ask);
        let id = approvals.file(&asked, HOUR).await.unwrap();
        assert_eq!(approvals.file(&asked, HOUR).await.unwrap(), id, "the same is asked once");
        let other = approvals.file(&request(json!({"amount": 2}), Decision::Ask), HOUR).await.unwrap();
        assert_ne!(other, id);
        assert_eq!(approvals.take(&id).await.unwrap(), Standing::Open);
        let filed = say(approvals, &id, "ada", Word::Approve).await.unwrap();
        assert_eq!((filed.state, filed.request.clone()), (RequestState::Approved, asked.clone()));
        assert_eq!(filed.decided[0].by, "ada");
        assert_eq!(approvals.file(&asked, HOUR).await.unwrap(), id, "it waits to be taken");
        assert_eq!(approvals.take(&id).await.unwrap(), approved(&asked, &["ada"]));
        assert_eq!(approvals.take(&id).await.unwrap(), Standing::Taken);
        assert_eq!(approvals.take(&other).await.unwrap(), Standing::Open);
        assert_ne!(approvals.file(&asked, HOUR).await.unwrap(), id, "an approval is good once");
        assert_eq!(approvals.take("none").await, Err(ApprovalError::Request { id: "none".into() }));
    })
    .await;
}

#[tokio::test]
async fn two_different_people_and_not_the_proposer() {
    on_each(async |made| {
        let approvals = made.approvals();
        people(approvals).await;
        approvals.add_approver(&person("agent"), token("agent"), Role::Approver).await.unwrap();
        let asked = request(json!(1), Decision::AskTwo);
        let id = approvals.file(&asked, HOUR).await.unwrap();
        let refused = |by: &str| ApprovalError::Proposer { by: person(by) };
        assert_eq!(say(approvals, &id, "agent", Word::Approve).await.unwrap_err(), refused("agent"));
        assert_eq!(say(approvals, &id, "ada", Word::Approve).await.unwrap().state, RequestState::Open);
        let again = ApprovalError::Already { by: person("ada") };
        for word in [Word::Approve, Word::Deny, Word::Change] {
            assert_eq!(say(approvals, &id, "ada", word).await.unwrap_err(), again);
        }
        assert_eq!(say(approvals, &id, "nobody", Word::Approve).await.unwrap_err(), ApprovalError::Token);
        let missing = ApprovalError::Request { id: "none".into() };
        assert_eq!(say(approvals, "none", "bob", Word::Approve).await.unwrap_err(), missing);
        assert_eq!(approvals.take(&id).await.unwrap(), Standing::Open);
        assert_eq!(say(approvals, &id, "bob", Word::Approve).await.unwrap().state, RequestState::Approved);
        let late = ApprovalError::NotOpen { state: RequestState::Approved };
        assert_eq!(say(approvals, &id, "cyd", Word::Deny).await.unwrap_err(), late);
        assert_eq!(approvals.take(&id).await.unwrap(), approved(&asked, &["ada", "bob"]));
    })
    .await;
}

#[tokio::test]
async fn one_who_refuses_is_enough_until_it_expires() {
    on_each(async |made| {
        let approvals = made.approvals();
        people(approvals).await;
        let asked = request(json!(1), Decision::AskTwo);
        let id = approvals.file(&asked, HOUR).await.unwrap();
        say(approvals, &id, "ada", Word::Approve).await.unwrap();
        assert_eq!(say(approvals, &id, "bob", Word::Deny).await.unwrap().state, RequestState::Denied);
        let denied = Standing::Denied { by: "bob".into(), reason: "says bob".into() };
        assert_eq!(approvals.take(&id).await.unwrap(), denied);
        assert_eq!(approvals.file(&asked, HOUR).await.unwrap(), id, "asking again wears nobody down");
        assert_eq!(approvals.take(&id).await.unwrap(), denied);
        made.advance(HOUR).await;
        assert_eq!(approvals.take(&id).await.unwrap(), Standing::Expired);
        assert_ne!(approvals.file(&asked, HOUR).await.unwrap(), id);
    })
    .await;
}

#[tokio::test]
async fn nothing_outlives_its_time() {
    on_each(async |made| {
        let approvals = made.approvals();
        people(approvals).await;
        let (open, agreed) = (request(json!(1), Decision::Ask), request(json!(2), Decision::Ask));
        let open = approvals.file(&open, HOUR).await.unwrap();
        let agreed = approvals.file(&agreed, HOUR).await.unwrap();
        say(approvals, &agreed, "ada", Word::Approve).await.unwrap();
        made.advance(HOUR - Duration::from_millis(1)).await;
        assert_eq!(approvals.take(&open).await.unwrap(), Standing::Open);
        made.advance(Duration::from_millis(1)).await;
        for id in [&open, &agreed] {
            assert_eq!(say(approvals, id, "bob", Word::Approve).await.unwrap_err(), ApprovalError::Expired);
            assert_eq!(approvals.take(id).await.unwrap(), Standing::Expired);
            assert_eq!(approvals.request(id).await.unwrap().unwrap().state, RequestState::Expired);
        }
    })
    .await;
}

#[tokio::test]
async fn somebody_agrees_to_other_arguments() {
    on_each(async |made| {
        for (needed, state) in
            [(Decision::Ask, RequestState::Approved), (Decision::AskTwo, RequestState::Open)]
        {
            change(made, needed, state).await;
        }
    })
    .await;
}

async fn change(made: &Made, needed: Decision, state: RequestState) {
    let approvals = made.approvals();
    let _known = approvals.add_approver(&person("ada"), token("ada"), Role::Approver).await;
    let _known = approvals.add_approver(&person("bob"), token("bob"), Role::Approver).await;
    let asked = request(json!({"amount": 100, "needed": needed.approvals()}), needed);
    let changed = asked.with_arguments(json!({"amount": 10, "needed": needed.approvals()})).unwrap();
    let id = approvals.file(&asked, HOUR).await.unwrap();
    let other_run = ApprovalRequest { run: "run-2".into(), ..changed.clone() };
    let other_digest = ApprovalRequest { digest: asked.digest.clone(), ..changed.clone() };
    for wrong in [None, Some(asked.clone()), Some(other_run), Some(other_digest)] {
        let decision = PersonDecision { changed: wrong, ..decision(&id, "ada", Word::Change) };
        assert_eq!(approvals.decide(&decision).await.unwrap_err(), ApprovalError::Changed);
    }
    assert_eq!(approvals.take(&id).await.unwrap(), Standing::Open);
    let decision = PersonDecision { changed: Some(changed.clone()), ..decision(&id, "ada", Word::Change) };
    made.advance(HOUR / 2).await;
    let next = approvals.decide(&decision).await.unwrap();
    assert_eq!((next.state, next.replaces.as_deref()), (state, Some(id.as_str())));
    assert_ne!(next.id, id);
    let before = approvals.request(&id).await.unwrap().unwrap();
    assert_eq!((before.state, before.expires), (RequestState::Replaced, next.expires));
    assert_eq!(
        approvals.take(&id).await.unwrap(),
        Standing::Changed {
            arguments: (*changed.arguments).clone(),
            by: "ada".into(),
            reason: "says ada".into()
        }
    );
    assert_eq!(approvals.file(&changed, HOUR).await.unwrap(), next.id);
    if state == RequestState::Open {
        let again = ApprovalError::Already { by: person("ada") };
        assert_eq!(say(approvals, &next.id, "ada", Word::Approve).await.unwrap_err(), again);
        say(approvals, &next.id, "bob", Word::Approve).await.unwrap();
        assert_eq!(approvals.take(&next.id).await.unwrap(), approved(&changed, &["ada", "bob"]));
    } else {
        assert_eq!(approvals.take(&next.id).await.unwrap(), approved(&changed, &["ada"]));
    }
    assert_eq!(approvals.take(&id).await.unwrap(), Standing::Taken);
    made.advance(HOUR).await;
}

#[tokio::test]
async fn people_come_and_go_with_what_they_agreed_to() {
    on_each(async |made| {
        let approvals = made.approvals();
        people(approvals).await;
        let taken = ApprovalError::NameTaken(person("ada"));
        assert_eq!(
            approvals.add_approver(&person("ada"), token("x"), Role::Approver).await.unwrap_err(),
            taken
        );
        let ids = [Decision::Ask, Decision::AskTwo, Decision::Ask, Decision::Ask];
        let mut filed = Vec::new();
        for (number, needed) in ids.into_iter().enumerate() {
            filed.push(approvals.file(&request(json!(number), needed), HOUR).await.unwrap());
        }
        for (id, name, word) in [
            (&filed[0], "ada", Word::Approve),
            (&filed[1], "bob", Word::Approve),
            (&filed[1], "ada", Word::Approve),
            (&filed[2], "bob", Word::Approve),
            (&filed[3], "ada", Word::Approve),
        ] {
            say(approvals, id, name, word).await.unwrap();
        }
        approvals.take(&filed[3]).await.unwrap();
        made.advance(Duration::from_secs(1)).await;
        assert!(approvals.revoke_approver(&person("ada")).await.unwrap());
        for name in ["ada", "nobody"] {
            assert!(!approvals.revoke_approver(&person(name)).await.unwrap());
        }
        #[rustfmt::skip]
        let expected = [
            (RequestState::Open,     vec![]),
            (RequestState::Open,     vec!["bob"]),
            (RequestState::Approved, vec!["bob"]),
            (RequestState::Taken,    vec!["ada"]),
        ];
        for (id, (state, by)) in filed.iter().zip(expected) {
            let found = approvals.request(id).await.unwrap().unwrap();
            let people: Vec<_> = found.decided.iter().map(|decided| decided.by.as_str()).collect();
            assert_eq!((found.state, people), (state, by));
        }
        assert_eq!(say(approvals, &filed[0], "ada", Word::Approve).await.unwrap_err(), ApprovalError::Token);

        let listed = approvals.approvers().await.unwrap();
        let names: Vec<_> = listed.iter().map(|entry| (entry.name.as_str(), entry.revoked)).collect();
        assert_eq!(names, [("ada", Some(Duration::from_secs(1))), ("bob", None), ("cyd", None)]);
        approvals.add_approver(&person("ada"), token("new"), Role::Approver).await.unwrap();
        assert_eq!(say(approvals, &filed[0], "ada", Word::Approve).await.unwrap_err(), ApprovalError::Token);
        assert_eq!(say(approvals, &filed[0], "new", Word::Approve).await.unwrap().decided[0].by, "ada");
        assert_eq!(approvals.approvers().await.unwrap()[0].revoked, None);
    })
    .await;
}

#[tokio::test]
async fn lists_and_finds_requests() {
    on_each(async |made| {
        let approvals = made.approvals();
        people(approvals).await;
        let mut filed = Vec::new();
        for number in 0..5 {
            let mut asked = request(json!(number), Decision::Ask);
            if number == 4 {
                asked =
                    ApprovalRequest { run: "run-2".into(), ..asked }.with_arguments(json!(number)).unwrap();
            }
            let expires = if number == 0 { Duration::from_secs(1) } else { HOUR };
            filed.push((approvals.file(&asked, expires).await.unwrap(), asked));
        }
        say(approvals, &filed[1].0, "ada", Word::Approve).await.unwrap();
        approvals.take(&filed[1].0).await.unwrap();
        say(approvals, &filed[2].0, "ada", Word::Approve).await.unwrap();
        made.advance(Duration::from_secs(1)).await;
        let all = RequestFilter::default();
        let of = |state| RequestFilter { state: Some(state), ..RequestFilter::default() };
        #[rustfmt::skip]
        let cases = [
            (all.clone(),                                                 vec![4, 3, 2, 1, 0]),
            (RequestFilter { most: 2, ..all.clone() },                    vec![4, 3]),
            (RequestFilter { run: Some("run-2".into()), ..all.clone() },  vec![4]),
            (RequestFilter { tool: Some("pay".into()), most: 2, ..all.clone() }, vec![4, 3]),
            (RequestFilter { tool: Some("pa".into()), ..all.clone() },    vec![]),
            (RequestFilter { run: Some("run-1".into()), most: 1, ..of(RequestState::Open) }, vec![3]),
            (of(RequestState::Open),                                      vec![4, 3]),
            (of(RequestState::Expired),                                   vec![0]),
            (of(RequestState::Taken),                                     vec![1]),
            (of(RequestState::Approved),                                  vec![2]),
            (of(RequestState::Denied),                                    vec![]),
        ];
        for (filter, expected) in cases {
            let found = approvals.requests(&filter).await.unwrap();
            let expected: Vec<_> =
                expected.into_iter().map(|number: usize| filed[number].0.as_str()).collect();
            assert_eq!(ids(&found), expected, "{filter:?}");
        }
        for (id, asked) in &filed {
            let found = approvals.request(id).await.unwrap().unwrap();
            assert_eq!((&found.id, &found.request), (id, asked));
            assert_eq!(&approvals.request(&asked.digest).await.unwrap().unwrap().id, id);
            // Of a part of a digest somebody could make a second request that has the same.
            for length in [8, 12, 63] {
                let part = asked.digest.get(..length).unwrap();
                assert!(approvals.request(part).await.unwrap().is_none(), "{length}");
            }
        }
        for id in ["", "none", "gggggggg", "%%%%%%%%", "________"] {
            assert!(approvals.request(id).await.unwrap().is_none(), "{id}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_was_asked_comes_back_exactly() {
    on_each(async |made| {
        // Numbers of every size, which a careless reader rounds: an approval would be for another digest.
        let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
        let mut numbers = Vec::new();
        for _ in 0..2_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = f64::from_bits(bits);
            numbers.extend(number.is_finite().then_some(number));
        }
        let arguments =
            json!({"numbers": numbers, "z": "\u{0}\u{10ffff}é\u{2028}", "a": [null, true, {}], "": -9_007_199_254_740_991_i64});
        let call = WaitingCall {
            personality: Some("role".into()),
            key: Some("k\"é".into()),
            deadline_ms: Some(u64::MAX),
            directory: Some("/srv/a b".into()),
            counts: [("pay".parse().unwrap(), ringfence::RunCount { started: 2, completed: 1 })].into(),
            ..WaitingCall::default()
        };
        let asked = ApprovalRequest { call: Some(call), ..request(Value::Null, Decision::AskTwo) };
        let asked = asked.with_arguments(arguments).unwrap();
        let id = made.approvals().file(&asked, Duration::MAX).await.unwrap();
        let found = made.approvals().request(&id).await.unwrap().unwrap();
        assert!(found.request == asked, "what was asked is not what is found");
        assert_eq!(
            found.request.with_arguments((*found.request.arguments).clone()).unwrap().digest,
            asked.digest
        );
        assert_eq!(made.approvals().take(&id).await.unwrap(), Standing::Open);
    })
    .await;
}

#[tokio::test]
async fn each_channel_is_told_until_it_says_so() {
    on_each(async |made| {
        let approvals = made.approvals();
        people(approvals).await;
        let mut filed = Vec::new();
        for number in 0..3 {
            filed.push(approvals.file(&request(json!(number), Decision::Ask), HOUR * 10).await.unwrap());
        }
        let minute = Duration::from_secs(60);
        let due = async |channel: &str, most: usize| {
            let notices = approvals.notices(channel, minute, most).await.unwrap();
            let name = |id: &String| filed.iter().position(|other| other == id).unwrap();
            notices.iter().map(|notice| (name(&notice.filed.id), notice.attempts)).collect::<Vec<_>>()
        };
        assert_eq!(due("hook", 2).await, [(0, 0), (1, 0)]);
        assert_eq!(due("hook", 2).await, [(2, 0)]);
        assert_eq!(due("hook", 2).await, []);
        assert_eq!(due("mail", 9).await, [(0, 0), (1, 0), (2, 0)]);
        approvals.told("hook", &filed[1]).await.unwrap();
        approvals.told("hook", "none").await.unwrap();
        made.advance(minute - Duration::from_millis(1)).await;
        assert_eq!(due("hook", 9).await, []);
        made.advance(Duration::from_millis(1)).await;
        assert_eq!(due("hook", 9).await, [(0, 1), (2, 1)]);
        made.advance(minute).await;
        assert_eq!(due("hook", 9).await, [], "the pause has doubled");
        say(approvals, &filed[2], "ada", Word::Deny).await.unwrap();
        made.advance(minute).await;
        assert_eq!(due("hook", 9).await, [(0, 2)], "what is decided needs nobody");
        made.advance(HOUR * 10).await;
        assert_eq!(due("hook", 9).await, [], "nor does what has expired");
    })
    .await;
}

#[tokio::test]
async fn what_people_do_is_in_the_audit() {
    on_each_database(async |database| {
        people(&**database).await;
        let asked = request(json!(1), Decision::AskTwo);
        let id = database.file(&asked, HOUR).await.unwrap();
        say(&**database, &id, "ada", Word::Approve).await.unwrap();
        say(&**database, &id, "ada", Word::Approve).await.unwrap_err();
        let changed = Some(asked.with_arguments(json!(2)).unwrap());
        database.decide(&PersonDecision { changed, ..decision(&id, "bob", Word::Change) }).await.unwrap();
        let other = database.file(&request(json!(3), Decision::Ask), HOUR).await.unwrap();
        say(&**database, &other, "cyd", Word::Deny).await.unwrap();
        database.revoke_approver(&person("cyd")).await.unwrap();
        let told = database.entries(&Filter::default(), 0, 100).await.unwrap();
        let told: Vec<_> = told
            .iter()
            .map(|stored| {
                let record: Value = serde_json::from_str(&stored.record).unwrap();
                let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
                let by = record["by"][0].as_str().unwrap_or_default();
                format!("{} {}{}{}{by}", stored.kind, text("step"), text("change"), text("name"))
            })
            .collect();
        assert_eq!(
            told,
            [
                "approver addedada",
                "approver addedbob",
                "approver addedcyd",
                "approval agreedada",
                "approval changedbob",
                "approval refusedcyd",
                "approver revokedcyd",
            ]
        );
        database.sign(&key(), ORIGIN, None).await.unwrap();
        assert!(database.verify(&log(), 0, None, &Progress::default()).await.unwrap().is_intact());
        assert_eq!(database.check().await.unwrap(), [""; 0]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_wait_one_takes_it() {
    on_each(async |made| {
        people(made.approvals()).await;
        let id = made.approvals().file(&request(json!(1), Decision::Ask), HOUR).await.unwrap();
        say(made.approvals(), &id, "ada", Word::Approve).await.unwrap();
        let tasks: Vec<_> = (0..32)
            .map(|_| {
                let (approvals, id) = (Arc::clone(&made.approvals), id.clone());
                tokio::spawn(async move { approvals.take(&id).await.unwrap() })
            })
            .collect();
        let mut taken = 0;
        for task in tasks {
            match task.await.unwrap() {
                Standing::Approved(_) => taken += 1,
                other => assert_eq!(other, Standing::Taken),
            }
        }
        assert_eq!(taken, 1);
    })
    .await;
}

#[tokio::test]
async fn goes_on_with_what_a_process_left_waiting() {
    on_each_pair(async |made, database, second| {
        people(&**database).await;
        let call = |personality: &str| {
            Some(WaitingCall { personality: Some(personality.into()), ..WaitingCall::default() })
        };
        let mut filed = Vec::new();
        // One of another role, one that cannot be gone on with, one that is left, one that is taken, and two others.
        for (number, call) in [call("clerk"), None, call("role"), call("role"), call("role"), call("role")]
            .into_iter()
            .enumerate()
        {
            let asked = ApprovalRequest { call, ..request(json!(number), Decision::Ask) };
            filed.push(second.file(&asked, HOUR).await.unwrap());
        }
        second.leave(&filed[2]).await.unwrap();
        say(&**database, &filed[3], "ada", Word::Approve).await.unwrap();
        second.take(&filed[3]).await.unwrap();
        // Two calls wait for this one, and one of them is given up.
        second.file(&second.request(&filed[4]).await.unwrap().unwrap().request, HOUR).await.unwrap();
        second.leave(&filed[4]).await.unwrap();
        assert!(database.adopt(Some("role"), 9).await.unwrap().is_empty(), "it lives");

        made.end(second).await;
        assert!(database.adopt(None, 9).await.unwrap().is_empty());
        // Another goes on with one, gives up and ends: that was the end of its call.
        let third = made.again.as_ref().unwrap()().await;
        assert_eq!(ids(&third.adopt(Some("role"), 1).await.unwrap()), [&filed[4]]);
        let again = third.request(&filed[4]).await.unwrap().unwrap().request;
        assert_eq!(third.file(&again, HOUR).await.unwrap(), filed[4]);
        third.leave(&filed[4]).await.unwrap();
        made.end(third).await;
        assert_eq!(ids(&database.adopt(Some("role"), 9).await.unwrap()), [&filed[5]]);
        assert!(database.adopt(Some("role"), 9).await.unwrap().is_empty(), "each once");
        // What goes on files again, and may then give up.
        let again = database.request(&filed[5]).await.unwrap().unwrap().request;
        assert_eq!(database.file(&again, HOUR).await.unwrap(), filed[5]);
        database.leave(&filed[5]).await.unwrap();
        made.advance(HOUR).await;
        assert!(database.adopt(Some("clerk"), 9).await.unwrap().is_empty(), "it has expired");
    })
    .await;
}
