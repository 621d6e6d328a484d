use std::time::Duration;

use ringfence_egress::Verdict;
use rustls::pki_types::ServerName;
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;

use super::house::{House, Kind, LITERAL, Plan, code, rest};
use crate::it::wait::{StoppedClock, rest_a_moment};

/// A fatal alert, in a record of its own.
const ALERT: u8 = 0x15;

/// The hello that a client for this name would send.
fn hello(name: &str) -> Vec<u8> {
    let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut session = rustls::ClientConnection::new(std::sync::Arc::new(config), name).unwrap();
    let mut bytes = Vec::new();
    while session.wants_write() {
        session.write_tls(&mut bytes).unwrap();
    }
    bytes
}

#[tokio::test]
async fn a_hello_for_the_name_passes_untouched() {
    let house = House::open(Kind::Tls, Plan::default()).await;
    let mut client = house.connect("one.acme.io").await;
    let mut words = hello("one.acme.io");
    words.extend_from_slice(b"and early data behind it");
    client.write_all(&words).await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(rest(&mut client).await, (words.clone(), true));
    assert_eq!(house.far.heard(), words);
    assert_eq!(house.verdict().await, Verdict::Done);
}

#[tokio::test]
async fn a_hello_may_come_byte_by_byte() {
    let house = House::open(Kind::Tls, Plan::default()).await;
    let mut client = house.connect("one.acme.io").await;
    client.set_nodelay(true).unwrap();
    let words = hello("one.acme.io");
    for byte in &words {
        assert_eq!(house.far.accepted(), 0);
        client.write_all(&[*byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    client.shutdown().await.unwrap();
    assert_eq!(rest(&mut client).await, (words, true));
}

#[tokio::test]
async fn what_does_not_name_the_host_is_refused_before_anybody_is_dialled() {
    #[rustfmt::skip]
    let cases: &[(&str, Vec<u8>)] = &[
        ("another name",     hello("two.acme.io")),
        ("a suffix",         hello("acme.io")),
        ("no name",          hello("127.0.0.1")),
        ("plain HTTP",       b"GET / HTTP/1.1\r\nHost: one.acme.io\r\n\r\n".to_vec()),
        ("SSH",              b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()),
        ("zeros",            vec![0; 100]),
    ];
    for (what, words) in cases {
        let house = House::open(Kind::Tls, Plan::default()).await;
        let mut client = house.connect("one.acme.io").await;
        client.write_all(words).await.unwrap();
        let (answer, whole) = rest(&mut client).await;
        assert!(whole && answer.first() == Some(&ALERT), "{what}: {answer:?}");
        drop(client);
        assert_eq!(code(&house.verdict().await), "HOST_NOT_ALLOWED", "{what}");
        assert_eq!(house.far.accepted(), 0, "{what}");
    }
}

#[tokio::test]
async fn a_refused_name_is_alerted_too() {
    let house = House::open(Kind::Tls, Plan { allow: vec!["one.acme.io:1"], ..Plan::default() }).await;
    let mut client = house.connect("one.acme.io").await;
    client.write_all(&hello("one.acme.io")).await.unwrap();
    assert_eq!(rest(&mut client).await.0.first(), Some(&ALERT));
    drop(client);
    assert_eq!(code(&house.verdict().await), "HOST_NOT_ALLOWED");
    assert_eq!(house.far.accepted(), 0);
}

#[tokio::test]
async fn a_literal_is_reached_by_a_hello_without_a_name() {
    // Without a namespace the literal leads back into the gate, which is full by then.
    let limits = ringfence_policy::Limits { connections: Some(1), ..Default::default() };
    for (name, dialled) in [("127.0.0.1", true), ("one.acme.io", false)] {
        let plan = Plan { allow: vec![LITERAL, "one.acme.io"], limits, ..Plan::default() };
        let house = House::open(Kind::Tls, plan).await;
        let mut client = house.connect_to(LITERAL).await;
        client.write_all(&hello(name)).await.unwrap();
        let _answer = rest(&mut client).await;
        drop(client);
        let told = house.told(if dialled { 2 } else { 1 }).await;
        let expected = if dialled { "failed" } else { "HOST_NOT_ALLOWED" };
        assert_eq!(code(&told.last().unwrap().verdict), expected, "{name}: {told:#?}");
    }
}

#[tokio::test]
async fn a_client_that_hangs_up_early_has_done_nothing() {
    let house = House::open(Kind::Tls, Plan::default()).await;
    drop(house.connect("one.acme.io").await);
    let mut client = house.connect("one.acme.io").await;
    client.write_all(&hello("one.acme.io")[..50]).await.unwrap();
    drop(client);
    let told = house.told(2).await;
    assert!(told.iter().all(|evidence| evidence.verdict == Verdict::Done && evidence.sent == 0));
    assert_eq!(house.far.accepted(), 0);
}

#[tokio::test]
async fn a_hello_that_drips_is_not_waited_for() {
    let house = House::open(Kind::Tls, Plan::default()).await;
    let mut client = house.connect("one.acme.io").await;
    let clock = StoppedClock::new();
    let begun = Instant::now();
    let words = hello("one.acme.io");
    let (mut read, mut write) = client.split();
    let dripping = async {
        for byte in &words {
            if write.write_all(&[*byte]).await.is_err() {
                break;
            }
            tokio::time::advance(Duration::from_millis(200)).await;
            rest_a_moment(Duration::from_millis(5)).await;
        }
    };
    let mut answer = Vec::new();
    tokio::select! {
        () = dripping => panic!("the hello was awaited"),
        _read = tokio::io::AsyncReadExt::read_to_end(&mut read, &mut answer) => {}
    }
    assert!((10..20).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    drop((client, clock));
    assert_eq!(code(&house.verdict().await), "DEADLINE_EXCEEDED");
    assert_eq!(house.far.accepted(), 0);
}
