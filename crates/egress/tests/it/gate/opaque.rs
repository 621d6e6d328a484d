use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringfence_egress::{Resolver, Resolving, Verdict, Via};
use ringfence_policy::HostName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

use super::house::{Habit, House, Kind, LITERAL, NOBODY, Plan, code, echo, rest};
use crate::it::server::resolver;
use crate::it::wait::{PATIENCE, StoppedClock, wait_until};

#[tokio::test]
async fn bytes_pass_both_ways_and_are_counted() {
    let house = House::open(Kind::Opaque, Plan::default()).await;
    let mut client = house.connect("one.acme.io").await;
    assert_eq!(echo(&mut client, b"hello").await, b"hello");
    client.shutdown().await.unwrap(); // the half-close reaches the far side, which ends in turn
    assert_eq!(rest(&mut client).await, (Vec::new(), true));
    let evidence = house.told(1).await.remove(0);
    assert_eq!((evidence.host.as_str(), evidence.port), ("one.acme.io", Some(house.port)));
    assert_eq!((evidence.address, evidence.via), (Some(house.far.address), Via::Gate));
    assert_eq!((evidence.sent, evidence.received, evidence.verdict), (5, 5, Verdict::Done));
    let tally = house.scope.tally();
    assert_eq!((tally.opened, tally.open, tally.sent, tally.received), (1, 0, 5, 5));
}

#[tokio::test]
async fn the_far_side_may_speak_first() {
    let house =
        House::open(Kind::Opaque, Plan { habit: Habit::Greets(b"SSH-2.0-x\r\n"), ..Plan::default() }).await;
    let mut client = house.connect("one.acme.io").await;
    assert_eq!(rest(&mut client).await, (b"SSH-2.0-x\r\n".to_vec(), true));
    drop(client);
    assert_eq!(house.verdict().await, Verdict::Done);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bulk_of_bytes_arrives_whole() {
    let house = House::open(Kind::Opaque, Plan::default()).await;
    let client = house.connect("one.acme.io").await;
    let (mut read, mut write) = client.into_split();
    let sent: Vec<u8> =
        (0..12_000_000_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let words = sent.clone();
    let writing = tokio::spawn(async move {
        for piece in words.chunks(70_001) {
            write.write_all(piece).await.unwrap();
        }
        write.shutdown().await.unwrap();
    });
    let mut back = Vec::new();
    read.read_to_end(&mut back).await.unwrap();
    writing.await.unwrap();
    assert!(back == sent);
    let evidence = house.told(1).await.remove(0);
    assert_eq!((evidence.sent, evidence.received), (12_000_000, 12_000_000));
}

#[tokio::test]
async fn what_is_not_granted_reaches_nobody() {
    let granted = format!("one.acme.io:{}", 9);
    let granted: &'static str = Box::leak(granted.into_boxed_str());
    let plan = Plan { allow: vec![granted, "two.acme.io"], ..Plan::default() };
    let house = House::open(Kind::Opaque, plan).await;
    // A granted name on another port, an address that stands for nothing, and an address nobody granted.
    let addresses =
        [house.connect("one.acme.io").await, house.connect_to(NOBODY).await, house.connect_to(LITERAL).await];
    for mut client in addresses {
        assert_eq!(rest(&mut client).await, (Vec::new(), false));
    }
    let told = house.told(3).await;
    assert!(told.iter().all(|evidence| code(&evidence.verdict) == "HOST_NOT_ALLOWED"), "{told:#?}");
    assert!(told.iter().all(|evidence| evidence.address.is_none() && evidence.sent == 0));
    assert_eq!((house.far.accepted(), house.scope.tally().refused), (0, 3));
}

#[tokio::test]
async fn a_granted_literal_is_dialled_as_itself() {
    // Without a namespace the literal leads back into the gate, which is full by then.
    let limits = ringfence_policy::Limits { connections: Some(1), ..Default::default() };
    let house = House::open(Kind::Opaque, Plan { allow: vec![LITERAL], limits, ..Plan::default() }).await;
    let mut client = house.connect_to(LITERAL).await;
    assert!(rest(&mut client).await.0.is_empty());
    let told = house.told(2).await;
    assert_eq!(code(&told[0].verdict), "LIMIT_EXCEEDED");
    // It is reset either while it connects or right after.
    assert_eq!((told[1].host.as_str(), code(&told[1].verdict)), (LITERAL, "failed"));
}

/// Gives another answer at each lookup.
#[derive(Debug)]
struct Rebinding(Mutex<VecDeque<&'static str>>);

impl Resolver for Rebinding {
    fn resolve<'a>(&'a self, _: &'a HostName) -> Resolving<'a> {
        let answer = self.0.lock().unwrap().pop_front();
        let answer: Vec<IpAddr> = answer.into_iter().map(|text| text.parse().unwrap()).collect();
        Box::pin(async move { Ok(answer) })
    }
}

#[tokio::test]
async fn a_name_that_moves_is_judged_anew_each_time() {
    let answers = ["127.0.0.1", "10.0.0.5", "169.254.169.254", "127.0.0.1"];
    let resolver = Arc::new(Rebinding(Mutex::new(answers.into())));
    let plan = Plan { private: vec!["127.0.0.1"], resolver: Arc::clone(&resolver) as _, ..Plan::default() };
    let house = House::open(Kind::Opaque, plan).await;
    for passes in [true, false, false, true] {
        let left = resolver.0.lock().unwrap().len();
        let mut client = house.connect("one.acme.io").await;
        assert_eq!(resolver.0.lock().unwrap().len(), left, "a question for a name looks nothing up");
        client.write_all(b"x").await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(rest(&mut client).await.0, if passes { b"x".to_vec() } else { Vec::new() });
    }
    let codes: Vec<_> = house.told(4).await.iter().map(|evidence| code(&evidence.verdict)).collect();
    assert_eq!(codes, ["done", "HOST_NOT_ALLOWED", "HOST_NOT_ALLOWED", "done"]);
    assert_eq!(house.far.accepted(), 2);
}

#[tokio::test]
async fn one_private_answer_spoils_all() {
    let table = resolver(&[("one.acme.io", &["127.0.0.1", "10.0.0.5"]), ("two.acme.io", &[])]);
    let plan = Plan { private: vec!["127.0.0.1"], resolver: Arc::new(table), ..Plan::default() };
    let house = House::open(Kind::Opaque, plan).await;
    for name in ["one.acme.io", "two.acme.io"] {
        let mut client = house.connect(name).await;
        assert_eq!(rest(&mut client).await, (Vec::new(), false), "{name}");
    }
    let told = house.told(2).await;
    let mut codes: Vec<_> = told.iter().map(|evidence| code(&evidence.verdict)).collect();
    codes.sort_unstable();
    assert_eq!(codes, ["HOST_NOT_ALLOWED", "HOST_NOT_FOUND"]);
    assert_eq!(house.far.accepted(), 0);
}

#[tokio::test]
async fn a_far_side_that_is_not_there_is_a_failure() {
    let table = resolver(&[("one.acme.io", &["127.9.9.9"])]);
    let house = House::open(Kind::Opaque, Plan { resolver: Arc::new(table), ..Plan::default() }).await;
    let mut client = house.connect("one.acme.io").await;
    assert_eq!(rest(&mut client).await, (Vec::new(), false));
    assert_eq!(code(&house.verdict().await), "failed");
}

#[tokio::test]
async fn closing_delivers_what_was_said() {
    let mut house = House::open(Kind::Opaque, Plan { habit: Habit::Listens, ..Plan::default() }).await;
    let mut said = Vec::new();
    for index in 0..20_u8 {
        let mut client = house.connect("one.acme.io").await;
        client.write_all(&[index; 5_000]).await.unwrap();
        said.extend_from_slice(&[index; 5_000]);
    }
    // Whatever the gate waited for in vain would need time, and none passes.
    let clock = StoppedClock::new();
    let begun = Instant::now();
    let told = house.close().await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
    drop(clock);
    assert_eq!(told.len(), 20);
    assert!(
        told.iter().all(|evidence| evidence.verdict == Verdict::Done && evidence.sent == 5_000),
        "{told:#?}"
    );
    wait_until("everything is heard", || house.far.heard().len() >= said.len()).await;
    assert_eq!(house.far.heard().len(), said.len());
}

#[tokio::test]
async fn closing_and_dropping_cut_what_does_not_end() {
    for closes in [true, false] {
        let mut house = House::open(Kind::Opaque, Plan::default()).await;
        let mut client = house.connect("one.acme.io").await;
        assert_eq!(echo(&mut client, b"x").await, b"x");
        if closes {
            // It ends at all: neither side of this connection would ever hang up by itself.
            tokio::time::timeout(PATIENCE, house.close()).await.unwrap();
        } else {
            house.drop_gate();
        }
        assert!(rest(&mut client).await.0.is_empty());
        assert_eq!(code(&house.verdict().await), "cut");
        assert!(tokio::net::TcpStream::connect(("127.77.0.2", house.port)).await.is_err());
    }
}

#[tokio::test]
async fn urgent_data_does_not_stop_a_bulk() {
    let house = House::open(Kind::Opaque, Plan { habit: Habit::Listens, ..Plan::default() }).await;
    let mut client = house.connect("one.acme.io").await;
    client.write_all(&vec![b'a'; 600_000]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    rustix::net::send(&client, b"!", rustix::net::SendFlags::OOB).unwrap();
    client.write_all(&[b'b'; 2_000]).await.unwrap();
    client.shutdown().await.unwrap();
    let evidence = house.told(1).await.remove(0);
    assert!(evidence.sent >= 602_000, "{evidence:?}"); // the urgent byte itself belongs to no stream
}
