//! How sessions and the edge end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ringfence_server::http::EdgeLimits;

use super::client::{legacy, modern};
use super::house::{ALICE, House};
use crate::it::wait::StoppedClock;

#[tokio::test]
async fn a_session_ends_when_its_client_says_so() {
    let house = House::new().await;
    let session = house.session(ALICE, "2025-11-25").await;
    let mut stream = session.open("GET", "/mcp", "").await;
    assert!(stream.event().await.is_some());
    assert_eq!(session.send("DELETE", "/mcp", "").await.status, 200);
    assert_eq!(house.seen.closed.load(Ordering::SeqCst), 1);
    assert_eq!(session.post(&legacy(1, "echo", "")).await.status, 404);
    assert_eq!(session.send("DELETE", "/mcp", "").await.status, 404);
    assert_eq!(stream.event().await, None, "its stream ends");
    house.stop().await;
}

#[tokio::test]
async fn a_client_that_is_refused_has_no_session() {
    let limits = EdgeLimits { sessions_per_agent: 1, ..EdgeLimits::default() };
    let house = House::with(limits).await;
    for _ in 0..3 {
        let reply = house.client(ALICE).post(&legacy(1, "initialize", r#""fail":true"#)).await;
        assert_eq!((reply.status, reply.code(), reply.header("mcp-session-id")), (200, -32602, None));
    }
    house.seen.until(|seen| &seen.closed, 3).await;
    house.session(ALICE, "2025-11-25").await;
    house.stop().await;
}

#[tokio::test]
async fn idle_sessions_end_and_others_do_not() {
    let _clock = StoppedClock::new();
    let limits = EdgeLimits { idle: Duration::from_millis(400), ..EdgeLimits::default() };
    let house = House::with(limits).await;
    let idle = house.session(ALICE, "2025-11-25").await;
    let reading = house.session(ALICE, "2025-11-25").await;
    let mut stream = reading.open("GET", "/mcp", "").await;
    assert!(stream.event().await.is_some());
    let busy = house.session(ALICE, "2025-11-25").await;
    // Nobody waits for this one, but it is under way.
    let lost = busy.start("POST", "/mcp", &legacy(1, "gated", "")).await;
    house.seen.until(|seen| &seen.hung, 1).await;
    drop(lost);
    let single = house.client(ALICE).headers("mcp-protocol-version: 2026-07-28 | mcp-method: echo");
    assert_eq!(single.post(&modern(1, "echo", "")).await.status, 200);

    assert_eq!(house.seen.closed.load(Ordering::SeqCst), 0, "no time has passed");
    for _ in 0..10 {
        tokio::time::advance(Duration::from_millis(100)).await;
    }
    house.seen.until(|seen| &seen.closed, 2).await;
    assert_eq!(house.seen.closed.load(Ordering::SeqCst), 2, "the idle one, and the one without a name");
    assert_eq!(idle.post(&legacy(1, "echo", "")).await.status, 404);
    assert_eq!(reading.post(&legacy(1, "echo", "")).await.status, 200);
    assert_eq!(busy.post(&legacy(2, "echo", "")).await.status, 200);
    assert_eq!(single.post(&modern(1, "echo", "")).await.status, 200, "another room is opened");
    assert_eq!(house.seen.opened.load(Ordering::SeqCst), 5);
    house.stop().await;
}

#[tokio::test]
async fn the_edge_stops_with_everything_in_it() {
    let house = House::new().await;
    let session = house.session(ALICE, "2025-11-25").await;
    let mut stream = session.open("GET", "/mcp", "").await;
    assert!(stream.event().await.is_some());
    let hanging = session.start("POST", "/mcp", &legacy(1, "hang", "")).await;
    let single = house.client(ALICE).headers("mcp-protocol-version: 2026-07-28 | mcp-method: hang");
    let waiting = single.start("POST", "/mcp", &modern(2, "hang", "")).await;
    house.seen.until(|seen| &seen.hung, 2).await;
    let kept = session.connect().await;
    let seen = std::sync::Arc::clone(&house.seen);

    // Whatever had to be ended by force would need time, and none passes.
    let clock = StoppedClock::new();
    let took = house.stop().await;
    assert_eq!(took, Duration::ZERO);
    drop(clock);
    assert_eq!(seen.closed.load(Ordering::SeqCst), 2, "every room is closed");
    assert_eq!(seen.dropped.load(Ordering::SeqCst), 2, "nothing goes on");
    assert_eq!(stream.event().await, None);
    assert_eq!(super::client::Live::read(waiting).await.whole().await.code(), -32603);
    drop((hanging, kept));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_end_by_itself_is_ended() {
    let house = House::new().await;
    let session = house.session(ALICE, "2025-11-25").await;
    // It does not hear that its room is closed.
    let _loud = session.open("POST", "/mcp", &legacy(1, "hang/loud", "")).await;
    house.seen.until(|seen| &seen.hung, 1).await;
    let seen = std::sync::Arc::clone(&house.seen);
    // It ends at all: without being ended it would go on for ever.
    house.stop().await;
    assert_eq!(seen.dropped.load(Ordering::SeqCst), 1);
}
