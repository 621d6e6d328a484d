//! Streams that go on after a connection was lost.

use super::client::{Client, Event, legacy};
use super::house::{ALICE, House};
use crate::it::wait::wait_for;

async fn resume(session: &Client, last: &str) -> super::client::Live {
    session.clone().header("last-event-id", last).open("GET", "/mcp", "").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_lost_its_connection_gets_the_rest() {
    let house = House::new().await;
    let session = house.session(ALICE, "2025-11-25").await;
    let mut first = session.open("POST", "/mcp", &legacy(1, "stream/gated", r#""count":3"#)).await;
    let primed = first.event().await.unwrap().id.unwrap();
    let seen = first.event().await.unwrap();
    assert!(seen.data.contains("\"progress\":0"));
    drop(first);

    // While it is away something else happens, on another stream.
    assert_eq!(session.post(&legacy(2, "stream", r#""count":2"#)).await.events().len(), 4);

    let mut second = resume(&session, seen.id.as_deref().unwrap()).await;
    assert_eq!(second.status, 200);
    house.seen.gate.notify_waiters();
    for number in 1..=3 {
        assert_eq!(second.message().await["params"]["progress"], number);
    }
    let answer = second.message().await;
    assert_eq!((&answer["id"], answer["result"].is_object()), (&1.into(), true));
    assert_eq!(second.event().await, None, "the stream ends with the answer");

    // Afterwards all of it can still be had, from any place, and from no other stream.
    for (last, left) in [(primed.as_str(), 5), (seen.id.as_deref().unwrap(), 4)] {
        let mut again = resume(&session, last).await;
        let mut events: Vec<Event> = Vec::new();
        while let Some(event) = again.event().await {
            events.push(event);
        }
        assert_eq!(events.len(), left, "{events:?}");
        assert!(events.last().unwrap().data.contains("\"id\":1"), "{events:?}");
    }
    house.stop().await;
}

#[tokio::test]
async fn what_comes_while_nobody_reads_is_kept() {
    let house = House::new().await;
    let session = house.session(ALICE, "2025-11-25").await;
    let mut first = session.open("POST", "/mcp", &legacy(1, "stream/gated", r#""count":40"#)).await;
    let primed = first.event().await.unwrap().id.unwrap();
    first.event().await.unwrap();
    drop(first);
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    house.seen.gate.notify_waiters();
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    let mut rest = resume(&session, &primed).await;
    for number in 0..=40 {
        assert_eq!(rest.message().await["params"]["progress"], number);
    }
    assert_eq!(rest.message().await["id"], 1);
    assert_eq!(rest.event().await, None);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_stuck_does_not_hold_up_the_next() {
    let house = House::new().await;
    let session = house.session(ALICE, "2025-11-25").await;
    let stuck = session.start_narrow("POST", "/mcp", &legacy(1, "stream/large", r#""count":150"#)).await;
    let mut stuck = super::client::Live::read(stuck).await;
    let primed = stuck.event().await.unwrap().id.unwrap();
    // It is not closed, but nobody reads it: what comes fills all the room there is.
    assert!(house.seen.until_stuck().await < 150);
    let mut next = resume(&session, &primed).await;
    let mut last = next.message().await;
    assert!(last["params"]["progress"].as_i64().unwrap() > 0, "the first are not kept any more");
    while last["id"] != 1 {
        let message = next.message().await;
        if let (Some(one), Some(other)) =
            (last["params"]["progress"].as_i64(), message["params"]["progress"].as_i64())
        {
            assert_eq!(one + 1, other, "nothing is left out, and nothing comes twice");
        }
        last = message;
    }
    assert_eq!(next.event().await, None);
    house.stop().await;
}

#[tokio::test]
async fn another_agent_cannot_read_it() {
    let house = House::new().await;
    let session = house.session(ALICE, "2025-11-25").await;
    let events = session.post(&legacy(1, "stream", "")).await.events();
    let thief = session.clone().headers("authorization: Bearer rf_bob");
    assert_eq!(resume(&thief, events[0].id.as_deref().unwrap()).await.status, 404);
    assert_eq!(resume(&session, events[0].id.as_deref().unwrap()).await.status, 200);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_is_one_stream_that_belongs_to_no_request() {
    let house = House::new().await;
    let session = house.session(ALICE, "2025-11-25").await;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    let mut first = session.open("GET", "/mcp", "").await;
    assert_eq!(first.event().await.unwrap().id.as_deref(), Some("0-0"));
    assert_eq!(session.open("GET", "/mcp", "").await.status, 409);
    assert_eq!(session.post(note).await.status, 202);
    let heard = first.event().await.unwrap();
    assert!(heard.data.contains("notifications/heard"), "{heard:?}");

    // Whoever had it may have it again, even where the edge does not know yet that the old connection is gone.
    assert_eq!(session.post(note).await.status, 202);
    let second = first.event().await.unwrap();
    let mut again = resume(&session, heard.id.as_deref().unwrap()).await;
    assert_eq!(again.event().await.unwrap(), second);
    assert_eq!(first.event().await, None, "the old connection ends");
    assert_eq!(session.post(note).await.status, 202);
    assert!(again.event().await.unwrap().data.contains("notifications/heard"));

    // After it is closed there may be another.
    drop(again);
    wait_for("the stream can be had again", async || {
        (session.open("GET", "/mcp", "").await.status == 200).then_some(())
    })
    .await;
    house.stop().await;
}
