use std::time::Duration;

use ringfence_egress::Verdict;
use ringfence_policy::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

use super::house::{Habit, House, Kind, Plan, code, rest};
use crate::it::server::resolver;
use crate::it::wait::{StoppedClock, rest_a_moment, wait_until};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn get(host: &str) -> Vec<u8> {
    format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes()
}

async fn house(habit: Habit) -> House {
    House::open(Kind::Http, Plan { habit, ..Plan::default() }).await
}

#[tokio::test]
async fn requests_for_the_host_pass_and_are_answered() {
    let house = house(Habit::Replies(OK)).await;
    let mut client = house.connect("one.acme.io").await;
    let request = get(&format!("one.acme.io:{}", house.port));
    for _ in 0..3 {
        client.write_all(&request).await.unwrap();
        let mut answer = vec![0; OK.len()];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, OK);
    }
    client.shutdown().await.unwrap();
    rest(&mut client).await;
    assert_eq!(house.verdict().await, Verdict::Done);
    assert_eq!(house.far.heard(), request.repeat(3));
}

#[tokio::test]
async fn what_does_not_name_the_host_is_answered_with_the_reason() {
    let bodies: &[&[u8]] = &[
        b"GET / HTTP/1.1\r\nHost: evil.net\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"CONNECT one.acme.io:443 HTTP/1.1\r\nHost: one.acme.io\r\n\r\n",
        b"GET http://evil.net/ HTTP/1.1\r\nHost: one.acme.io\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"\x05\x01\x00\r\n\r\n",
    ];
    for words in bodies {
        let house = house(Habit::Listens).await;
        let mut client = house.connect("one.acme.io").await;
        client.write_all(words).await.unwrap();
        client.shutdown().await.unwrap();
        let (answer, whole) = rest(&mut client).await;
        let shown = String::from_utf8_lossy(words);
        let answer = String::from_utf8(answer).unwrap();
        if words.len() > 10 {
            assert!(whole && answer.starts_with("HTTP/1.1 403 "), "{shown}: {answer}");
            assert!(answer.contains("HOST_NOT_ALLOWED: "), "{shown}: {answer}");
        }
        drop(client);
        house.told(1).await;
        assert_eq!(house.far.accepted(), 0, "{shown}");
    }
}

#[tokio::test]
async fn a_later_request_for_another_host_is_not_passed() {
    for at_once in [true, false] {
        let house = house(Habit::Replies(OK)).await;
        let mut client = house.connect("one.acme.io").await;
        let first = get(&format!("one.acme.io:{}", house.port));
        let second = get("evil.net");
        if at_once {
            client.write_all(&[first.as_slice(), &second].concat()).await.unwrap();
        } else {
            client.write_all(&first).await.unwrap();
            client.read_exact(&mut vec![0; OK.len()]).await.unwrap();
            client.write_all(&second).await.unwrap();
        }
        assert!(!rest(&mut client).await.1);
        assert_eq!(code(&house.verdict().await), "HOST_NOT_ALLOWED");
        assert_eq!(house.far.heard(), first);
    }
}

#[tokio::test]
async fn a_body_is_passed_as_it_comes() {
    let house = house(Habit::Replies(OK)).await;
    let mut client = house.connect("one.acme.io").await;
    let host = format!("one.acme.io:{}", house.port);
    let body = vec![b'x'; 3_000_000];
    let head = format!("POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: {}\r\n\r\n", body.len());
    let (mut read, mut write) = client.split();
    let writing = async {
        write.write_all(head.as_bytes()).await.unwrap();
        write.write_all(&body).await.unwrap();
        write.write_all(&get(&host)).await.unwrap();
        write.shutdown().await.unwrap();
    };
    let mut answers = Vec::new();
    let (_, read) = tokio::join!(writing, read.read_to_end(&mut answers));
    read.unwrap();
    assert_eq!(house.far.heard().len(), head.len() + body.len() + get(&host).len());
    assert_eq!(house.verdict().await, Verdict::Done);
}

#[tokio::test]
async fn an_upgrade_waits_for_the_answer() {
    const YES: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
    for (habit, agreed) in [(Habit::Replies(YES), true), (Habit::Replies(OK), false)] {
        let house = house(habit).await;
        let mut client = house.connect("one.acme.io").await;
        let host = format!("one.acme.io:{}", house.port);
        let upgrade = format!(
            "GET /chat HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        );
        // What follows is no request: after an upgrade it passes, and otherwise it does not.
        let frame = b"\x81\x05hello to evil.net\r\n\r\n";
        client.write_all(&[upgrade.as_bytes(), frame].concat()).await.unwrap();
        let mut answer = [0; 12];
        client.read_exact(&mut answer).await.unwrap();
        if agreed {
            let whole = upgrade.len() + frame.len();
            wait_until("the frame is heard", || house.far.heard().len() >= whole).await;
            assert!(house.far.heard().ends_with(frame));
            client.shutdown().await.unwrap();
            rest(&mut client).await;
            assert_eq!(house.verdict().await, Verdict::Done);
        } else {
            rest(&mut client).await;
            assert_eq!(code(&house.verdict().await), "HOST_NOT_ALLOWED");
            assert_eq!(house.far.heard(), upgrade.as_bytes());
        }
    }
}

#[tokio::test]
async fn a_far_side_that_is_not_there_is_a_bad_gateway() {
    let table = resolver(&[("one.acme.io", &["127.9.9.9"])]);
    let plan = Plan { resolver: std::sync::Arc::new(table), ..Plan::default() };
    let house = House::open(Kind::Http, plan).await;
    let mut client = house.connect("one.acme.io").await;
    client.write_all(&get(&format!("one.acme.io:{}", house.port))).await.unwrap();
    let (answer, _) = rest(&mut client).await;
    assert!(answer.starts_with(b"HTTP/1.1 502 "));
    assert_eq!(code(&house.verdict().await), "failed");
}

#[tokio::test]
async fn each_request_counts() {
    let limits = Limits { requests_per_minute: Some(3), ..Limits::default() };
    let house = House::open(Kind::Http, Plan { limits, habit: Habit::Listens, ..Plan::default() }).await;
    let mut client = house.connect("one.acme.io").await;
    let request = get(&format!("one.acme.io:{}", house.port));
    for count in 1..=3 {
        client.write_all(&request).await.unwrap();
        wait_until("the request is heard", || house.far.heard().len() >= request.len() * count).await;
    }
    assert_eq!(house.far.heard(), request.repeat(3));
    client.write_all(&request).await.unwrap();
    assert!(!rest(&mut client).await.1);
    // And so does each connection.
    let mut client = house.connect("one.acme.io").await;
    let (answer, _) = rest(&mut client).await;
    assert!(answer.starts_with(b"HTTP/1.1 403 "));
    drop(client);
    let told = house.told(2).await;
    assert!(told.iter().all(|evidence| code(&evidence.verdict) == "LIMIT_EXCEEDED"));
    assert_eq!((house.far.heard(), house.far.accepted()), (request.repeat(3), 1));
}

#[tokio::test]
async fn a_client_that_hangs_up_while_it_waits_for_an_upgrade_is_gone() {
    let house = house(Habit::Listens).await; // never answers, and hangs up when the client has
    let mut client = house.connect("one.acme.io").await;
    let host = format!("one.acme.io:{}", house.port);
    let ask = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    client.write_all(ask.as_bytes()).await.unwrap();
    while house.far.heard().len() < ask.len() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(house.scope.tally().open, 1);
    drop(client);
    house.told(1).await;
    assert_eq!(house.scope.tally().open, 0);
}

#[tokio::test]
async fn a_head_that_drips_is_not_waited_for() {
    let house = house(Habit::Replies(OK)).await;
    let mut client = house.connect("one.acme.io").await;
    let clock = StoppedClock::new();
    let begun = Instant::now();
    let (mut read, mut write) = client.split();
    // One more header every moment, and never the empty line.
    let dripping = async {
        let mut words = b"GET / HTTP/1.1\r\n".to_vec();
        for _ in 0..1_000 {
            if write.write_all(&words).await.is_err() {
                break;
            }
            words = b"X-A: b\r\n".to_vec();
            tokio::time::advance(Duration::from_millis(200)).await;
            rest_a_moment(Duration::from_millis(2)).await;
        }
    };
    let mut answer = Vec::new();
    tokio::select! {
        () = dripping => panic!("the head was awaited"),
        _read = read.read_to_end(&mut answer) => {}
    }
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    drop((client, clock));
    assert_ne!(house.verdict().await, Verdict::Done);
    assert_eq!(house.far.heard(), b"");
}
