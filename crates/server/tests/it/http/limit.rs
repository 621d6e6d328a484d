//! How much is too much.

use std::time::{Duration, Instant};

use ringfence_server::http::{EdgeConfig, EdgeLimits};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::client::{legacy, modern};
use super::house::{ALICE, BOB, House};
use crate::it::wait::{PATIENCE, wait_for};

const HOUR: Duration = Duration::from_hours(1);

#[tokio::test]
async fn an_agent_that_asks_too_often_waits() {
    let limits = EdgeLimits { requests_per_minute: 5, ..EdgeLimits::default() };
    let house = House::with(limits).await;
    let client = house.client(ALICE);
    let start = Instant::now();
    let mut answered = 0;
    let reply = loop {
        let reply = client.post("{").await;
        if reply.status != 400 {
            break reply;
        }
        answered += 1;
        // A further one is let in every 12 seconds, which a slow machine may need.
        assert!(answered <= 5 + start.elapsed().as_secs() / 12, "{answered} in {:?}", start.elapsed());
    };
    assert!((reply.status, answered >= 5) == (429, true), "{} after {answered}", reply.status);
    let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    let least = 11_u64.saturating_sub(start.elapsed().as_secs());
    assert!((least.max(1)..=12).contains(&wait), "{wait}");
    assert_eq!(house.client(BOB).post("{").await.status, 400, "another agent does not wait");
    house.stop().await;
}

#[tokio::test]
async fn anonymous_clients_do_not_use_up_each_others_share() {
    let limits = EdgeLimits { requests_per_minute: 10, ..EdgeLimits::default() };
    let config = EdgeConfig { anonymous: true, limits, ..EdgeConfig::default() };
    let house = House::of(config).await;
    let (busy, other) = (house.session("", "2025-03-26").await, house.session("", "2025-03-26").await);
    let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    let mut answered = 0;
    while busy.post(note).await.status == 202 {
        answered += 1;
        assert!(answered < 100, "nothing is counted");
    }
    assert_eq!(other.post(note).await.status, 202, "another session has its own count");
    // A session that nobody opened is not a way around the count.
    let mut statuses = Vec::new();
    for number in 0..30 {
        let guess = house.client("").header("mcp-session-id", &format!("{number:032x}"));
        statuses.push(guess.post(note).await.status);
    }
    assert!(statuses.contains(&429), "{statuses:?}");
    house.stop().await;
}

#[test]
fn a_busy_agent_does_not_meet_the_usual_limit() {
    // A thousand messages each second, for a whole minute.
    assert!(EdgeLimits::default().requests_per_minute >= 60_000);
}

#[tokio::test]
async fn every_message_of_a_batch_counts() {
    let limits = EdgeLimits { requests_per_minute: 10, ..EdgeLimits::default() };
    let house = House::with(limits).await;
    let session = house.session(ALICE, "2025-03-26").await;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    let eight = format!("[{}]", [note; 8].join(","));
    assert_eq!(session.post(&eight).await.status, 202);
    assert_eq!(session.post(&eight).await.status, 429);
    house.stop().await;
}

#[tokio::test]
async fn guessing_is_slowed_down_and_keeps_nobody_out() {
    let house = House::new().await;
    let thief = house.client("rf_guess");
    let start = Instant::now();
    let mut guesses = 0;
    let reply = loop {
        let reply = thief.post("{").await;
        if reply.status != 401 {
            break reply;
        }
        guesses += 1;
        // A further one is let in every second, which a slow machine may need.
        assert!(guesses <= 60 + start.elapsed().as_secs(), "{guesses} in {:?}", start.elapsed());
    };
    assert!(guesses >= 60, "{guesses}");
    assert_eq!((reply.status, reply.header("retry-after").is_some()), (429, true));
    // Everybody on loopback has the same address.
    assert_eq!(house.client(ALICE).post("{").await.status, 400);
    house.stop().await;
}

#[tokio::test]
async fn there_are_only_so_many_sessions() {
    let limits = EdgeLimits { sessions: 3, sessions_per_agent: 2, ..EdgeLimits::default() };
    let house = House::with(limits).await;
    let init = legacy(1, "initialize", r#""protocolVersion":"2025-11-25""#);
    let first = house.session(ALICE, "2025-11-25").await;
    let second = house.session(ALICE, "2025-11-25").await;
    let _busy = first.start("POST", "/mcp", &legacy(1, "hang", "")).await;
    let _too = second.start("POST", "/mcp", &legacy(1, "hang", "")).await;
    house.seen.until(|seen| &seen.hung, 2).await;
    let reply = house.client(ALICE).post(&init).await;
    assert_eq!((reply.status, reply.header("retry-after").is_some()), (429, true), "both are busy");
    let third = house.session(BOB, "2025-11-25").await;
    let _three = third.start("POST", "/mcp", &legacy(1, "hang", "")).await;
    house.seen.until(|seen| &seen.hung, 3).await;
    assert_eq!(house.client(BOB).post(&init).await.status, 503);
    assert_eq!(first.send("DELETE", "/mcp", "").await.status, 200);
    house.session(ALICE, "2025-11-25").await;
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_was_left_gives_way() {
    let limits = EdgeLimits { sessions_per_agent: 2, ..EdgeLimits::default() };
    let house = House::with(limits).await;
    let first = house.session(ALICE, "2025-11-25").await;
    let second = house.session(ALICE, "2025-11-25").await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(second.post(&legacy(2, "echo", "")).await.status, 200);
    let _third = house.session(ALICE, "2025-11-25").await;
    assert_eq!(first.post(&legacy(2, "echo", "")).await.status, 404, "the one that was left first");
    assert_eq!(second.post(&legacy(3, "echo", "")).await.status, 200);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_so_many_requests_are_under_way() {
    let limits = EdgeLimits { in_flight: 2, ..EdgeLimits::default() };
    let house = House::with(limits).await;
    let session = house.session(ALICE, "2025-11-25").await;
    let other = house.session(ALICE, "2025-11-25").await;
    let _one = session.start("POST", "/mcp", &legacy(1, "hang", "")).await;
    let _two = session.start("POST", "/mcp", &legacy(2, "hang", "")).await;
    house.seen.until(|seen| &seen.hung, 2).await;
    let reply = session.post(&legacy(3, "echo", "")).await;
    assert_eq!((reply.status, reply.code(), reply.header("retry-after").is_some()), (429, -32000, true));
    let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    assert_eq!(session.post(note).await.status, 202, "what wants no answer comes through");
    assert_eq!(other.post(&legacy(3, "echo", "")).await.status, 200, "another session has places of its own");

    let single = house.client(ALICE).headers("mcp-protocol-version: 2026-07-28 | mcp-method: hang");
    let three = single.start("POST", "/mcp", &modern(1, "hang", "")).await;
    let _four = single.start("POST", "/mcp", &modern(2, "hang", "")).await;
    house.seen.until(|seen| &seen.hung, 4).await;
    assert_eq!(single.post(&modern(3, "hang", "")).await.status, 429);
    drop(three);
    house.seen.until(|seen| &seen.dropped, 1).await;
    let echo = house.client(ALICE).headers("mcp-protocol-version: 2026-07-28 | mcp-method: echo");
    assert_eq!(echo.post(&modern(3, "echo", "")).await.status, 200, "what was given up has left its place");
    house.stop().await;
}

#[tokio::test]
async fn a_body_that_grows_too_large_is_not_read_to_its_end() {
    let limits = EdgeLimits { body: 1000, ..EdgeLimits::default() };
    let house = House::with(limits).await;
    let client = house.client(ALICE).header("transfer-encoding", "chunked");
    let piece = format!("190\r\n{}\r\n", "a".repeat(400));
    // The end never comes.
    let reply = client.send("POST", "/mcp", &piece.repeat(3)).await;
    assert_eq!(reply.status, 413);
    house.stop().await;
}

#[tokio::test]
async fn slow_clients_are_let_go() {
    // Each house has one short timeout, so that a slow machine cannot run into the other.
    let short = Duration::from_millis(300);
    let limits = EdgeLimits { header_timeout: short, body_timeout: HOUR, ..EdgeLimits::default() };
    let house = House::with(limits).await;
    let client = house.client(ALICE);
    // A head that does not end, and no head at all.
    for text in ["POST /mcp HTTP/1.1\r\nhost: localhost\r\n", ""] {
        let start = Instant::now();
        let mut stream = client.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut read = Vec::new();
        tokio::time::timeout(PATIENCE, stream.read_to_end(&mut read)).await.unwrap().unwrap();
        assert!(start.elapsed() >= Duration::from_millis(250), "{text:?} {:?}", start.elapsed());
    }
    // A connection that is kept without a further request. A slow machine may not get to the first one in time.
    wait_for("a request is answered and its connection let go", async || {
        let mut stream = client.connect().await;
        let sent = stream.write_all(client.text("GET", "/healthz", "").as_bytes()).await;
        let mut read = Vec::new();
        let ended = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut read)).await.unwrap();
        (sent.is_ok() && ended.is_ok() && read.ends_with(b"ok")).then_some(())
    })
    .await;
    house.stop().await;

    // A body that does not end.
    let limits = EdgeLimits { header_timeout: HOUR, body_timeout: short, ..EdgeLimits::default() };
    let house = House::with(limits).await;
    let reply = house.client(ALICE).header("content-length", "100").send("POST", "/mcp", "{").await;
    assert_eq!(reply.status, 408);
    house.stop().await;
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let house = House::new().await;
    let client = house.client(ALICE).header("x-large", &"a".repeat(300 << 10));
    assert_eq!(client.post("{}").await.status, 431);
    house.stop().await;
}

/// Connections of agents are never ended for others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_beyond_those_of_agents_wait() {
    // Only what the test drops makes room: no connection is let go because it is silent.
    let limits = EdgeLimits { connections: 2, header_timeout: HOUR, ..EdgeLimits::default() };
    let house = House::with(limits).await;
    let mut kept = Vec::new();
    for name in [ALICE, BOB] {
        let client = house.client(name);
        let mut stream = client.start("GET", "/nothing", "").await;
        let mut byte = [0];
        tokio::time::timeout(PATIENCE, stream.read_exact(&mut byte)).await.unwrap().unwrap();
        kept.push(stream);
    }
    let mut third = house.client(ALICE).start("GET", "/healthz", "").await;
    let mut byte = [0];
    let early = tokio::time::timeout(Duration::from_millis(300), third.read(&mut byte)).await;
    assert!(early.is_err(), "it has to wait");
    drop(kept);
    let read = tokio::time::timeout(PATIENCE, third.read(&mut byte)).await.unwrap().unwrap();
    assert_eq!((read, byte), (1, *b"H"));
    house.stop().await;
}

/// Strangers that send and never read, more of them than there are places.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_never_read_keep_nobody_out() {
    let limits =
        EdgeLimits { connections: 32, header_timeout: HOUR, write_timeout: HOUR, ..EdgeLimits::default() };
    let house = House::with(limits).await;
    let stranger = house.client("nobody");
    let flood = stranger.text("GET", "/healthz", "").repeat(2000);
    let mut strangers = Vec::new();
    for _ in 0..128 {
        let mut stream = stranger.connect().await;
        // It stops taking more when nobody reads its answers.
        let _full = tokio::time::timeout(Duration::from_millis(20), stream.write_all(flood.as_bytes())).await;
        strangers.push(stream);
        if strangers.len() % 16 == 0 {
            let reply = tokio::time::timeout(PATIENCE, house.client(ALICE).send("GET", "/nothing", "")).await;
            assert_eq!(reply.unwrap().status, 404, "after {}", strangers.len());
        }
    }
    house.stop().await;
}

/// An agent that does not read is let go too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_never_reads_is_let_go() {
    let short = Duration::from_millis(300);
    let limits = EdgeLimits { header_timeout: HOUR, write_timeout: short, ..EdgeLimits::default() };
    let house = House::with(limits).await;
    let client = house.client(ALICE);
    let mut stream = client.connect().await;
    let flood = client.text("GET", "/nothing", "").repeat(500);
    let ended =
        tokio::time::timeout(PATIENCE, async { while stream.write_all(flood.as_bytes()).await.is_ok() {} });
    assert!(ended.await.is_ok(), "the connection ends though it has a token");
    house.stop().await;
}
