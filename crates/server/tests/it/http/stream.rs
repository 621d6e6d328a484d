//! Answers that come alone, answers that come with something before them, and requests that are given up.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ringfence_server::http::EdgeLimits;

use super::client::{Client, Live, legacy, modern};
use super::house::{ALICE, House};
use crate::it::wait::wait_until;

fn single(house: &House, method: &str) -> Client {
    house.client(ALICE).headers(&format!("mcp-protocol-version: 2026-07-28 | mcp-method: {method}"))
}

#[tokio::test]
async fn an_answer_alone_is_json_and_with_more_a_stream() {
    let house = House::new().await;
    let session = house.session(ALICE, "2025-06-18").await;
    let alone = session.post(&legacy(1, "echo", "")).await;
    assert_eq!(alone.header("content-type"), Some("application/json"));
    let more = session.post(&legacy(2, "stream", r#""count":40"#)).await;
    assert_eq!(more.header("content-type"), Some("text/event-stream"));
    let events = more.events();
    assert_eq!(events.len(), 41, "{events:?}");
    assert!(events[0].data.contains("notifications/progress") && events[0].id.is_some());
    assert!(events[40].data.contains("\"id\":2"), "the answer is the last");

    let alone = single(&house, "echo").post(&modern(1, "echo", "")).await;
    assert_eq!(alone.header("content-type"), Some("application/json"));
    let more = single(&house, "stream").post(&modern(2, "stream", r#""count":40"#)).await;
    assert_eq!(more.header("content-type"), Some("text/event-stream"));
    assert_eq!(more.events().len(), 41);
    assert!(more.events().iter().all(|event| event.id.is_none()), "nothing can be gone on from");
    house.stop().await;
}

#[tokio::test]
async fn a_stream_begins_with_its_number_from_2025_11_25_on() {
    let house = House::new().await;
    for (version, primed) in [("2025-03-26", false), ("2025-06-18", false), ("2025-11-25", true)] {
        let session = house.session(ALICE, version).await;
        let events = session.post(&legacy(1, "stream", "")).await.events();
        let first = events.first().unwrap();
        assert_eq!(first.data.is_empty(), primed, "{version} {first:?}");
        assert_eq!(first.id.as_deref().is_some_and(|id| id.ends_with("-0")), primed, "{version}");
    }
    house.stop().await;
}

#[tokio::test]
async fn a_message_of_several_lines_is_one_event() {
    let house = House::new().await;
    let session = house.session(ALICE, "2025-06-18").await;
    let events = session.post(&legacy(7, "lines", "")).await.events();
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(events[1].data, r#"{"jsonrpc":"2.0", "id":7, "result":{}}"#);
    house.stop().await;
}

#[tokio::test]
async fn a_question_is_answered_by_another_request() {
    let house = House::new().await;
    let session = house.session(ALICE, "2025-06-18").await;
    let mut asking = session.open("POST", "/mcp", &legacy(1, "ask", "")).await;
    assert_eq!(asking.message().await["method"], "roots/list");
    let told = session.post(r#"{"jsonrpc":"2.0","id":"q1","result":{"roots":[]}}"#).await;
    assert_eq!((told.status, told.body.as_str()), (202, ""));
    assert_eq!(asking.message().await["result"]["roots"], serde_json::json!([]));
    assert_eq!(asking.event().await, None);
    house.stop().await;
}

#[tokio::test]
async fn several_at_once_are_answered_one_by_one() {
    let house = House::new().await;
    let session = house.session(ALICE, "2025-03-26").await;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    let all = format!("[{},{note},{}]", legacy(1, "echo", ""), legacy(2, "stream", r#""count":3"#));
    let events = session.post(&all).await.events();
    let answers = events.iter().filter(|event| event.data.contains("\"result\"")).count();
    assert_eq!((events.len(), answers), (5, 2), "{events:?}");
    assert_eq!(*house.seen.notified.lock().unwrap(), ["notifications/x"]);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_connection_gives_up_what_speaks_for_itself() {
    let house = House::new().await;
    // Before anything came, while a stream is open, and while somebody listens.
    let silent = single(&house, "hang").start("POST", "/mcp", &modern(1, "hang", "")).await;
    house.seen.until(|seen| &seen.hung, 1).await;
    assert_eq!(house.seen.dropped.load(Ordering::SeqCst), 0);
    drop(silent);
    house.seen.until(|seen| &seen.dropped, 1).await;

    let mut loud = single(&house, "hang/loud").open("POST", "/mcp", &modern(2, "hang/loud", "")).await;
    assert_eq!(loud.message().await["method"], "notifications/progress");
    drop(loud);
    house.seen.until(|seen| &seen.dropped, 2).await;

    let body = modern(3, "subscriptions/listen", "");
    let mut listening = single(&house, "subscriptions/listen").open("POST", "/mcp", &body).await;
    assert_eq!(listening.header("content-type"), Some("text/event-stream"));
    assert_eq!(listening.message().await["method"], "notifications/subscriptions/acknowledged");
    drop(listening);
    house.seen.until(|seen| &seen.dropped, 3).await;
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_connection_gives_up_nothing_of_a_session() {
    let house = House::new().await;
    let session = house.session(ALICE, "2025-11-25").await;
    let lost = session.start("POST", "/mcp", &legacy(1, "gated", "")).await;
    house.seen.until(|seen| &seen.hung, 1).await;
    drop(lost);
    // The next answer shows that the edge has had time to see the connection go.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(session.post(&legacy(2, "echo", "")).await.status, 200);
    house.seen.gate.notify_waiters();
    wait_until("it goes on", || !house.seen.notified.lock().unwrap().is_empty()).await;
    assert_eq!(*house.seen.notified.lock().unwrap(), ["gated"], "it went on to its end");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_one_agent_may_use_the_same_ids() {
    let house = House::new().await;
    let asking = single(&house, "gated");
    let one = asking.start("POST", "/mcp", &modern(1, "gated", "")).await;
    let two = asking.start("POST", "/mcp", &modern(1, "gated", "")).await;
    house.seen.until(|seen| &seen.hung, 2).await;
    house.seen.gate.notify_waiters();
    for stream in [one, two] {
        let reply = Live::read(stream).await.whole().await;
        assert_eq!((reply.json()["id"].as_i64(), reply.code()), (Some(1), 0), "{}", reply.body);
    }
    let body = modern(7, "subscriptions/listen", "");
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut listening = single(&house, "subscriptions/listen").open("POST", "/mcp", &body).await;
        let told = listening.message().await;
        assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7, "{told}");
        open.push(listening);
    }
    assert_eq!(house.seen.opened.load(Ordering::SeqCst), 1, "it is one room");
    house.stop().await;
}

#[tokio::test]
async fn a_silent_stream_shows_that_it_is_alive() {
    let limits = EdgeLimits { keep_alive: Duration::from_millis(50), ..EdgeLimits::default() };
    let house = House::with(limits).await;
    // A request that takes long becomes a stream, so that nobody between takes the connection for dead.
    let mut slow = single(&house, "hang").open("POST", "/mcp", &modern(1, "hang", "")).await;
    assert_eq!(slow.header("content-type"), Some("text/event-stream"));
    assert!(slow.more().await);
    assert_eq!(slow.rest(), ": ping\n\n");
    drop(slow);

    let session = house.session(ALICE, "2025-11-25").await;
    let mut quiet: Live = session.open("GET", "/mcp", "").await;
    for _ in 0..3 {
        assert!(quiet.more().await);
    }
    assert!(quiet.rest().ends_with(": ping\n\n: ping\n\n"), "{:?}", quiet.rest());
    house.stop().await;
}

#[tokio::test]
async fn a_listener_that_is_refused_gets_the_status_of_the_error() {
    let house = House::new().await;
    let refused = single(&house, "unknown").post(&modern(1, "unknown", "")).await;
    assert_eq!((refused.status, refused.header("content-type")), (404, Some("application/json")));
    house.stop().await;
}
