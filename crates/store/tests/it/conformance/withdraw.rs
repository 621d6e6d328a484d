//! Approvals that are withdrawn before a call takes them.

use std::sync::Arc;

use ringfence::policy::Decision;
use ringfence::{ApprovalError, RequestState, Standing, Word};
use ringfence_store::Filter;
use serde_json::{Value, json};

use super::approval::{HOUR, approved, decision, people, person, request, say};
use super::{on_each, on_each_database};

#[tokio::test]
async fn a_withdrawn_vote_does_not_count() {
    on_each(async |made| {
        let approvals = made.approvals();
        people(approvals).await;
        let asked = request(json!(1), Decision::AskTwo);
        let id = approvals.file(&asked, HOUR).await.unwrap();
        say(approvals, &id, "ada", Word::Approve).await.unwrap();
        let not_approved = ApprovalError::NotApproved { by: person("bob") };
        assert_eq!(say(approvals, &id, "bob", Word::Withdraw).await.unwrap_err(), not_approved);
        assert_eq!(say(approvals, &id, "bob", Word::Approve).await.unwrap().state, RequestState::Approved);
        let open = say(approvals, &id, "ada", Word::Withdraw).await.unwrap();
        let left: Vec<_> = open.decided.iter().map(|decided| decided.by.as_str()).collect();
        assert_eq!((open.state, left), (RequestState::Open, vec!["bob"]));
        assert_eq!(approvals.take(&id).await.unwrap(), Standing::Open);
        say(approvals, &id, "ada", Word::Approve).await.unwrap();
        assert_eq!(approvals.take(&id).await.unwrap(), approved(&asked, &["bob", "ada"]));
        let taken = ApprovalError::NotOpen { state: RequestState::Taken };
        assert_eq!(say(approvals, &id, "ada", Word::Withdraw).await.unwrap_err(), taken);
        assert_eq!(approvals.request(&id).await.unwrap().unwrap().decided.len(), 2);

        let denied = approvals.file(&request(json!(2), Decision::Ask), HOUR).await.unwrap();
        say(approvals, &denied, "ada", Word::Deny).await.unwrap();
        let refused = ApprovalError::NotOpen { state: RequestState::Denied };
        assert_eq!(say(approvals, &denied, "ada", Word::Withdraw).await.unwrap_err(), refused);

        let late = approvals.file(&request(json!(3), Decision::Ask), HOUR).await.unwrap();
        say(approvals, &late, "ada", Word::Approve).await.unwrap();
        made.advance(HOUR).await;
        assert_eq!(say(approvals, &late, "ada", Word::Withdraw).await.unwrap_err(), ApprovalError::Expired);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_call_and_a_withdrawal_exactly_one_wins() {
    on_each(async |made| {
        people(made.approvals()).await;
        let mut withdrawn = 0;
        for round in 0..24 {
            let asked = request(json!(round), Decision::Ask);
            let id = made.approvals().file(&asked, HOUR).await.unwrap();
            say(made.approvals(), &id, "ada", Word::Approve).await.unwrap();
            let (one, other) = (Arc::clone(&made.approvals), Arc::clone(&made.approvals));
            let (own, same) = (id.clone(), id.clone());
            let take = async move { one.take(&own).await.unwrap() };
            let withdraw = async move { other.decide(&decision(&same, "ada", Word::Withdraw)).await };
            // Each goes first in every other round.
            let (took, withdrew) = if round % 2 == 0 {
                let (took, withdrew) = (tokio::spawn(take), tokio::spawn(withdraw));
                (took.await.unwrap(), withdrew.await.unwrap())
            } else {
                let (withdrew, took) = (tokio::spawn(withdraw), tokio::spawn(take));
                (took.await.unwrap(), withdrew.await.unwrap())
            };
            let state = made.approvals().request(&id).await.unwrap().unwrap().state;
            match withdrew {
                Ok(open) => {
                    assert_eq!((open.state, state), (RequestState::Open, RequestState::Open));
                    assert_eq!(took, Standing::Open);
                    withdrawn += 1;
                }
                Err(error) => {
                    assert_eq!(error, ApprovalError::NotOpen { state: RequestState::Taken });
                    assert_eq!((took, state), (approved(&asked, &["ada"]), RequestState::Taken));
                }
            }
        }
        println!("withdrawn in {withdrawn} of 24 rounds");
    })
    .await;
}

#[tokio::test]
async fn a_withdrawal_is_in_the_audit() {
    on_each_database(async |database| {
        people(&**database).await;
        let id = database.file(&request(json!(1), Decision::Ask), HOUR).await.unwrap();
        say(&**database, &id, "ada", Word::Approve).await.unwrap();
        say(&**database, &id, "ada", Word::Withdraw).await.unwrap();
        say(&**database, &id, "ada", Word::Withdraw).await.unwrap_err();
        let approvals = Filter { kind: Some("approval".to_owned()), ..Filter::default() };
        let told = database.entries(&approvals, 0, 100).await.unwrap();
        let told: Vec<_> = told
            .iter()
            .map(|stored| {
                let record: Value = serde_json::from_str(&stored.record).unwrap();
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                (text(&record["step"]), text(&record["by"][0]), text(&record["reason"]))
            })
            .collect();
        let expected = [("agreed", "ada", "says ada"), ("withdrawn", "ada", "says ada")];
        assert_eq!(told, expected.map(|(step, by, why)| (step.to_owned(), by.to_owned(), why.to_owned())));
        assert_eq!(database.check().await.unwrap(), [""; 0]);
    })
    .await;
}
