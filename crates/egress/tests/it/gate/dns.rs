use std::time::Duration;

use ringfence_egress::Via;
use ringfence_policy::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::house::{Answer, House, Kind, Plan, code, question, rest};
use crate::it::wait::{StoppedClock, rest_a_moment, wait_until};

const NO_SUCH_NAME: Answer = Answer::Error(3);

#[tokio::test]
async fn only_granted_names_have_addresses() {
    let house = House::open(Kind::Opaque, Plan::default()).await;
    let address = |last| Answer::Address([127, 77, 0, last].into());
    #[rustfmt::skip]
    let cases = [
        // name                    type  answer
        ("one.acme.io",            1,    address(2)),
        ("ONE.acme.io",            1,    address(2)),
        ("two.acme.io",            1,    address(3)),
        ("one.acme.io",            28,   Answer::Empty),
        ("one.acme.io",            65,   Answer::Empty),
        ("one.acme.io",            16,   Answer::Empty),
        ("a.b.wild.io",            1,    address(4)),
        ("wild.io",                1,    NO_SUCH_NAME),
        ("acme.io",                1,    NO_SUCH_NAME),
        ("evil.net",               1,    NO_SUCH_NAME),
        ("evil.net",               28,   NO_SUCH_NAME),
        ("one.acme.io.evil.net",   1,    NO_SUCH_NAME),
        ("127.0.0.1",              1,    NO_SUCH_NAME),
        ("one%2eacme.io",          1,    NO_SUCH_NAME),
    ];
    for (name, kind, answer) in cases {
        assert_eq!(house.ask(name, kind).await, answer, "{name} {kind}");
    }
    let told = house.told(6).await;
    assert!(told.iter().all(|evidence| evidence.via == Via::Dns && evidence.port.is_none()));
    assert!(told.iter().all(|evidence| code(&evidence.verdict) == "HOST_NOT_ALLOWED"), "{told:#?}");
    let tally = house.scope.tally();
    assert_eq!((tally.names_refused, tally.names_wild, house.far.accepted()), (7, 1, 0));
}

#[tokio::test]
async fn names_below_a_wildcard_are_rationed() {
    let limits = Limits { names_per_minute: Some(3), ..Limits::default() };
    let house = House::open(Kind::Opaque, Plan { limits, ..Plan::default() }).await;
    let mut given = 0;
    for index in 0..10 {
        given += usize::from(house.ask(&format!("secret{index}.wild.io"), 1).await != NO_SUCH_NAME);
    }
    assert_eq!(given, 3);
    // A name that has its address keeps it, and a name that is granted as such is not rationed.
    assert_ne!(house.ask("secret0.wild.io", 1).await, NO_SUCH_NAME);
    assert_ne!(house.ask("one.acme.io", 1).await, NO_SUCH_NAME);
    let told = house.told(7).await;
    assert!(told.iter().all(|evidence| code(&evidence.verdict) == "LIMIT_EXCEEDED"));
}

#[tokio::test]
async fn names_are_answered_over_tcp_too() {
    let house = House::open(Kind::Opaque, Plan::default()).await;
    let mut client = TcpStream::connect(house.dns).await.unwrap();
    for (name, answer) in
        [("one.acme.io", Answer::Address([127, 77, 0, 2].into())), ("evil.net", NO_SUCH_NAME)]
    {
        let question = question(name, 1);
        client.write_u16(u16::try_from(question.len()).unwrap()).await.unwrap();
        client.write_all(&question).await.unwrap();
        let length = usize::from(client.read_u16().await.unwrap());
        let mut message = vec![0; length];
        client.read_exact(&mut message).await.unwrap();
        assert_eq!(Answer::read(&message), answer);
    }
    // What is too long, or no question, ends the connection.
    client.write_u16(4_097).await.unwrap();
    assert_eq!(rest(&mut client).await.0, b"");
    let mut client = TcpStream::connect(house.dns).await.unwrap();
    client.write_all(&[0, 3, 1, 2, 3]).await.unwrap();
    assert_eq!(rest(&mut client).await.0, b"");
}

#[tokio::test]
async fn only_so_many_talk_dns_over_tcp() {
    // Nobody is let go for being silent.
    let _clock = StoppedClock::new();
    let house = House::open(Kind::Opaque, Plan::default()).await;
    let mut clients = Vec::new();
    for _ in 0..40 {
        clients.push(TcpStream::connect(house.dns).await.unwrap());
    }
    let closed = || clients.iter().filter(|client| matches!(client.try_read(&mut [0]), Ok(0))).count();
    wait_until("those beyond the limit are closed", || closed() >= 8).await;
    rest_a_moment(Duration::from_millis(20)).await;
    assert_eq!(closed(), 8);
}

#[tokio::test]
async fn garbage_is_not_answered_and_harms_nobody() {
    let house = House::open(Kind::Opaque, Plan::default()).await;
    let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for garbage in [&[][..], &[0; 11], &[0xff; 500], &[0xc0; 12]] {
        socket.send_to(garbage, house.dns).await.unwrap();
    }
    assert_ne!(house.ask("one.acme.io", 1).await, NO_SUCH_NAME);
}
