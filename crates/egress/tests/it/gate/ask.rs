use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ringfence_egress::{Asker, Verdict};
use ringfence_policy::{Code, OnUnknown, Refusal, Target};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::house::{Answer, House, Kind, Plan, code, echo, rest};
use crate::it::wait::{PATIENCE, wait_until};

/// Answers once the test lets it, and counts how often it was asked.
struct Person {
    asked: AtomicUsize,
    says: Option<bool>,
    may_answer: Semaphore,
}

impl Asker for Person {
    fn ask<'a>(&'a self, _: &'a Target) -> Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send + 'a>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            let _answers = self.may_answer.acquire().await;
            match self.says {
                Some(true) => Ok(()),
                Some(false) => Err(Refusal::new(Code::ApprovalDenied, "rather not")),
                None => std::future::pending().await,
            }
        })
    }
}

async fn house(says: Option<bool>, patience: Duration) -> (House, Arc<Person>) {
    let person = Arc::new(Person { asked: AtomicUsize::new(0), says, may_answer: Semaphore::new(0) });
    let plan = Plan {
        on_unknown: OnUnknown::Ask,
        asker: Some(Arc::clone(&person) as Arc<dyn Asker>),
        patience,
        ..Plan::default()
    };
    (House::open(Kind::Opaque, plan).await, person)
}

#[tokio::test]
async fn a_yes_lets_everyone_through_who_waited() {
    let (house, person) = house(Some(true), PATIENCE).await;
    let mut clients = Vec::new();
    for _ in 0..5 {
        clients.push(house.connect("new.acme.io").await);
    }
    wait_until("all of them wait", || house.scope.tally().open == 5).await;
    sleep(Duration::from_millis(50)).await;
    assert_eq!(house.far.accepted(), 0);
    person.may_answer.add_permits(1);
    for client in &mut clients {
        assert_eq!(echo(client, b"x").await, b"x");
    }
    drop(clients);
    assert!(house.told(5).await.iter().all(|evidence| evidence.verdict == Verdict::Done));
    echo(&mut house.connect("new.acme.io").await, b"again").await;
    assert_eq!(person.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_no_is_remembered_and_so_is_no_answer() {
    for (says, patience, expected) in
        [(Some(false), PATIENCE, "APPROVAL_DENIED"), (None, Duration::from_millis(400), "APPROVAL_REQUIRED")]
    {
        let (house, person) = house(says, patience).await;
        person.may_answer.add_permits(1);
        let mut clients = [house.connect("new.acme.io").await, house.connect("new.acme.io").await];
        for client in &mut clients {
            assert!(!rest(client).await.1);
        }
        let mut third = house.connect("new.acme.io").await;
        assert!(!rest(&mut third).await.1);
        let told = house.told(3).await;
        assert!(told.iter().all(|evidence| code(&evidence.verdict) == expected), "{told:#?}");
        assert_eq!((person.asked.load(Ordering::SeqCst), house.far.accepted()), (1, 0));
    }
}

#[tokio::test]
async fn nobody_is_asked_about_what_is_never_let_through() {
    let (house, person) = house(Some(true), PATIENCE).await;
    for name in ["localhost", "nas.lan", "metadata.google.internal", "10.0.0.5"] {
        assert_eq!(house.ask(name, 1).await, Answer::Error(3), "{name}");
    }
    let mut literal = house.connect_to(super::house::NOBODY).await;
    assert!(!rest(&mut literal).await.1);
    assert_eq!((person.asked.load(Ordering::SeqCst), house.far.accepted()), (0, 0));
}

#[tokio::test]
async fn what_is_revoked_is_no_longer_asked_about() {
    let (mut house, person) = house(None, PATIENCE).await;
    let mut client = house.connect("new.acme.io").await;
    while person.asked.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    house.scope.revoke();
    assert!(!rest(&mut client).await.1);
    assert_eq!(code(&house.verdict().await), "HOST_NOT_ALLOWED");
    assert_eq!(house.close().await.len(), 1);
}
