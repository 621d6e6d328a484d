//! The client under a scope: every hop is a connection that is judged, counted, told of and cut.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringfence_egress::{
    Asker, Client, EgressError, Evidence, Request, Response, Scope, ScopeBuilder, Verdict, Via, Witness,
};
use ringfence_policy::{
    Code, Limits, NetworkCeiling, NetworkGrant, OnUnknown, Private, Refusal, Size, Span, Target,
};

use crate::it::server::{HOLD, Server, client, grant, ok, redirect, set};
use crate::it::wait::{StoppedClock, wait_until};

#[derive(Default)]
struct Notes(Mutex<Vec<Evidence>>);

impl Witness for Notes {
    fn saw(&self, evidence: &Evidence) {
        self.0.lock().unwrap().push(evidence.clone());
    }
}

impl Notes {
    fn verdicts(&self) -> Vec<Verdict> {
        self.0.lock().unwrap().iter().map(|evidence| evidence.verdict.clone()).collect()
    }
}

fn noted(grant: NetworkGrant, change: impl FnOnce(ScopeBuilder) -> ScopeBuilder) -> (Scope, Arc<Notes>) {
    let notes = Arc::new(Notes::default());
    let builder = Scope::builder(grant).witness(Arc::clone(&notes) as Arc<dyn Witness>);
    (change(builder).build(), notes)
}

fn acme() -> NetworkGrant {
    grant(&["*.acme.io"], &["127.0.0.0/8"])
}

async fn get(client: &Client, scope: &Scope, server: &Server) -> Result<Response, EgressError> {
    client.send(scope, Request::get(&format!("http://one.acme.io:{}/", server.port())).unwrap()).await
}

#[tokio::test]
async fn each_hop_leaves_its_evidence() {
    let last = Server::start("127.0.0.2", |_| ok("here")).await;
    let url = format!("http://two.acme.io:{}/", last.port());
    let first = Server::start("127.0.0.1", move |_| redirect("302 Found", &url)).await;
    let (scope, notes) =
        noted(acme(), |scope| scope.limits(Limits { connections: Some(1), ..Limits::default() }));
    let response = get(&client(), &scope, &first).await.unwrap();
    assert_eq!(notes.verdicts(), [Verdict::Done]); // the hop that was left
    assert_eq!(scope.tally().open, 1);
    assert_eq!(response.text().await.unwrap(), "here");
    assert_eq!(notes.verdicts(), [Verdict::Done, Verdict::Done]);
    let told = notes.0.lock().unwrap().clone();
    assert!(
        told.iter()
            .all(|evidence| evidence.via == Via::Fetch && evidence.sent > 50 && evidence.received > 20)
    );
    assert_eq!((told[1].host.as_str(), told[1].address), ("two.acme.io", Some(last.address)));
    let tally = scope.tally();
    assert_eq!((tally.opened, tally.open, tally.names_wild), (2, 0, 2));
    assert_eq!(tally.sent, told.iter().map(|evidence| evidence.sent).sum::<u64>());
}

#[tokio::test]
async fn refusals_and_failures_are_told_of_too() {
    let server = Server::start("127.0.0.1", |_| ok("")).await;
    let (scope, notes) = noted(grant(&["two.acme.io"], &[]), |scope| scope);
    assert_eq!(get(&client(), &scope, &server).await.unwrap_err().code(), Code::HostNotAllowed);
    assert!(matches!(notes.verdicts()[..], [Verdict::Refused { code: Code::HostNotAllowed, .. }]));

    let (scope, notes) = noted(acme(), |scope| scope);
    let nobody = Request::get("http://one.acme.io:1/").unwrap();
    assert_eq!(client().send(&scope, nobody).await.unwrap_err().code(), Code::ExecutionFailed);
    assert!(matches!(notes.verdicts()[..], [Verdict::Failed { .. }]));

    let silent = Server::start("127.0.0.1", |_| [b"HTTP/1.1 200 OK\r\n", HOLD].concat()).await;
    let (scope, notes) = noted(acme(), |scope| scope);
    let request = Request::get(&format!("http://one.acme.io:{}/", silent.port())).unwrap();
    let clock = StoppedClock::new();
    let late = async {
        // Only an exchange that is under way is cut.
        wait_until("the server is asked", || !silent.seen().is_empty()).await;
        tokio::time::advance(Duration::from_millis(60)).await;
    };
    let client = client();
    let (sent, ()) = tokio::join!(client.send(&scope, request.deadline(Duration::from_millis(50))), late);
    let error = sent.unwrap_err();
    drop(clock);
    assert_eq!(error.code(), Code::DeadlineExceeded);
    assert!(matches!(notes.verdicts()[..], [Verdict::Cut { .. }]));
    assert_eq!((server.seen().len(), scope.tally().open), (0, 0));
}

#[tokio::test]
async fn limits_hold_for_the_client() {
    let server = Server::start("127.0.0.1", |_| ok(&"x".repeat(100_000))).await;
    let size = |bytes| Some(Size::new(bytes));
    #[rustfmt::skip]
    let cases = [
        Limits { sent: size(40), ..Limits::default() },
        Limits { received: size(1_000), ..Limits::default() },
        Limits { connections: Some(0), ..Limits::default() },
        Limits { requests_per_minute: Some(0), ..Limits::default() },
        Limits { names_per_minute: Some(0), ..Limits::default() },
    ];
    for limits in cases {
        let (scope, notes) = noted(acme(), |scope| scope.limits(limits));
        let client = client();
        let fetched = async { get(&client, &scope, &server).await?.bytes().await };
        assert_eq!(fetched.await.unwrap_err().code(), Code::LimitExceeded, "{limits:?}");
        assert_eq!(notes.verdicts().len(), 1, "{limits:?}");
        let tally = scope.tally();
        assert!(limits.sent.is_none_or(|most| tally.sent == most.bytes()), "{limits:?}");
        assert!(limits.received.is_none_or(|most| tally.received == most.bytes()), "{limits:?}");
    }
}

#[tokio::test]
async fn a_response_may_end_exactly_at_the_limit() {
    let server = Server::start("127.0.0.1", |_| b"HTTP/1.1 200 OK\r\n\r\nuntil the end".to_vec()).await;
    let limits = Limits { received: Some(Size::new(32)), ..Limits::default() };
    let (scope, notes) = noted(acme(), |scope| scope.limits(limits));
    let response = get(&client(), &scope, &server).await.unwrap();
    assert_eq!(response.text().await.unwrap(), "until the end");
    assert_eq!((notes.verdicts(), scope.tally().received), (vec![Verdict::Done], 32));
}

/// A name, limits, and what ends the connection.
type Case = (&'static str, Limits, fn(&Scope));

#[tokio::test]
async fn an_open_response_is_cut_with_its_scope() {
    let _clock = StoppedClock::new();
    let idle = Limits { idle: Some(Span::new(Duration::from_millis(50))), ..Limits::default() };
    let cases: [Case; 3] = [
        ("revoked", Limits::default(), Scope::revoke),
        ("narrowed", Limits::default(), |scope| scope.narrow(&grant(&["two.acme.io"], &["127.0.0.0/8"]))),
        ("silent", idle, |_| {}),
    ];
    for (what, limits, cut) in cases {
        // The body is announced and never comes.
        let head = [b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n", HOLD, b"\r\n"].concat();
        let server = Server::start("127.0.0.1", move |_| head.clone()).await;
        let (scope, notes) = noted(acme(), |scope| scope.limits(limits));
        let response = get(&client(), &scope, &server).await.unwrap();
        cut(&scope);
        if what == "silent" {
            tokio::time::advance(Duration::from_millis(60)).await;
        }
        let error = response.bytes().await.unwrap_err();
        assert!(matches!(error, EgressError::Refused(_)), "{what}: {error}");
        assert!(matches!(notes.verdicts()[..], [Verdict::Cut { .. }]), "{what}");
        assert_eq!(scope.tally().open, 0);
    }
}

/// Says yes.
struct Agreeable;

impl Asker for Agreeable {
    fn ask<'a>(&'a self, _: &'a Target) -> Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send + 'a>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test]
async fn the_client_asks_as_the_gate_does() {
    let server = Server::start("127.0.0.1", |_| ok("asked")).await;
    let private = Private::parse(["127.0.0.0/8"]).unwrap();
    let ceiling = NetworkCeiling::new(set(&[]), private).with_on_unknown(OnUnknown::Ask);
    let grant = NetworkGrant::meet(&set(&["*"]), &ceiling);
    let (scope, _) = noted(grant.clone(), |scope| scope.asker(Arc::new(Agreeable)));
    assert_eq!(get(&client(), &scope, &server).await.unwrap().text().await.unwrap(), "asked");
    let (scope, _) = noted(grant, |scope| scope);
    assert_eq!(get(&client(), &scope, &server).await.unwrap_err().code(), Code::HostNotAllowed);
}

/// Cannot bear what it sees.
struct Frail;

impl Witness for Frail {
    fn saw(&self, _: &Evidence) {
        panic!("what have I seen");
    }
}

#[tokio::test]
async fn a_witness_that_panics_harms_nobody() {
    let server = Server::start("127.0.0.1", |_| ok("fine")).await;
    let scope = Scope::builder(acme()).witness(Arc::new(Frail)).build();
    assert_eq!(get(&client(), &scope, &server).await.unwrap().text().await.unwrap(), "fine");
    assert_eq!(scope.tally().open, 0);
}
