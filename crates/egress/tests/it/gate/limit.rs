use std::time::Duration;

use ringfence_egress::Verdict;
use ringfence_policy::{Limits, Size, Span};
use tokio::io::AsyncWriteExt;
use tokio::time::advance;

use super::house::{Habit, House, Kind, Plan, code, echo, rest};
use crate::it::wait::{StoppedClock, rest_a_moment};

async fn house(kind: Kind, habit: Habit, limits: Limits) -> House {
    House::open(kind, Plan { limits, habit, ..Plan::default() }).await
}

fn message(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Cut { message } | Verdict::Failed { message } | Verdict::Refused { message, .. } => message,
        Verdict::Done => "",
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn not_one_byte_more_is_sent_than_may_be() {
    for (limit, bulk) in [(1_000, 5_000), (700_000, 2_000_000)] {
        let limits = Limits { sent: Some(Size::new(limit)), ..Limits::default() };
        let house = house(Kind::Opaque, Habit::Listens, limits).await;
        let mut clients = [house.connect("one.acme.io").await, house.connect("two.acme.io").await];
        for client in &mut clients {
            let _cut = client.write_all(&vec![7; bulk]).await;
        }
        let told = house.told(2).await;
        assert!(told.iter().all(|evidence| code(&evidence.verdict) == "cut"), "{told:#?}");
        assert!(message(&told[0].verdict).contains("bytes that may be sent"), "{told:#?}");
        assert_eq!(told.iter().map(|evidence| evidence.sent).sum::<u64>(), limit);
        assert_eq!(house.far.heard().len() as u64, limit);
        assert_eq!(house.scope.tally().sent, limit);
    }
}

#[tokio::test]
async fn not_one_byte_more_is_received_than_may_be() {
    let limits = Limits { received: Some(Size::new(10)), ..Limits::default() };
    // Exactly as much as may be received, and its end, is fine.
    let exact = house(Kind::Opaque, Habit::Greets(b"0123456789"), limits).await;
    let mut client = exact.connect("one.acme.io").await;
    assert_eq!(rest(&mut client).await, (b"0123456789".to_vec(), true));
    drop(client);
    assert_eq!(exact.verdict().await, Verdict::Done);

    let house = house(Kind::Opaque, Habit::Greets(b"0123456789a"), limits).await;
    let mut client = house.connect("one.acme.io").await;
    assert_eq!(rest(&mut client).await.0, b"0123456789");
    drop(client);
    assert_eq!(code(&house.verdict().await), "cut");
    assert_eq!(house.scope.tally().received, 10);
}

#[tokio::test]
async fn silence_and_age_end_a_connection() {
    let span = |millis| Some(Span::new(Duration::from_millis(millis)));
    let idle = Limits { idle: span(300), ..Limits::default() };
    let aged = Limits { connection_time: span(300), ..Limits::default() };
    let _clock = StoppedClock::new();
    // The last byte passes after 100 ms, so silence ends its connection after 400 ms and age after 300 ms.
    for (limits, sentence, left) in [(idle, "nothing passed", 200), (aged, "lasted as long as it may", 100)] {
        let house = house(Kind::Opaque, Habit::Echo, limits).await;
        let mut client = house.connect("one.acme.io").await;
        for _ in 0..2 {
            assert_eq!(echo(&mut client, b"x").await, b"x");
            advance(Duration::from_millis(100)).await;
        }
        advance(Duration::from_millis(left - 10)).await;
        rest_a_moment(Duration::from_millis(10)).await;
        assert_eq!(house.scope.tally().open, 1, "{sentence}: not yet");
        advance(Duration::from_millis(20)).await;
        rest(&mut client).await;
        assert!(message(&house.verdict().await).contains(sentence));
    }
}

#[tokio::test]
async fn a_flood_of_half_open_connections_is_bounded() {
    // Nobody is let go for being slow while the flood comes.
    let _clock = StoppedClock::new();
    let house = house(Kind::Tls, Habit::Listens, Limits { connections: Some(50), ..Limits::default() }).await;
    let mut clients = Vec::new();
    let first = house.connect("one.acme.io").await.peer_addr().unwrap().ip().to_string();
    house.told(1).await;
    for _ in 0..500 {
        // One that is too many may be reset before it knows that it is connected.
        clients.push(tokio::net::TcpStream::connect((first.as_str(), house.port)).await.ok());
    }
    let told = house.told(451).await;
    assert_eq!(told.iter().filter(|evidence| code(&evidence.verdict) == "LIMIT_EXCEEDED").count(), 450);
    assert_eq!((house.scope.tally().open, house.far.accepted()), (50, 0));
    drop(clients);
    house.told(501).await;
    assert_eq!(house.scope.tally().open, 0);
    drop(house.connect("two.acme.io").await); // and the gate lives
    house.told(502).await;
}
