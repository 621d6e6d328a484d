//! Crowds that connect, send and never read: from one address, and from many.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use ringfence_server::http::EdgeLimits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};

use super::house::{ALICE, House};
use crate::it::wait::PATIENCE;

/// How many strangers come, and how long an honest client with a token waits at most.
#[expect(clippy::disallowed_methods, reason = "a test is told how much of it to run")]
fn scale() -> (usize, Duration) {
    match std::env::var("RINGFENCE_TEST_TIER").as_deref() {
        Ok("all") => (2048, Duration::from_secs(2)),
        // A machine that builds and tests everything at once answers late, and that is nobody's fault.
        _ => (192, PATIENCE),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_of_one_address_keeps_nobody_out() {
    crowd(|_| Ipv4Addr::LOCALHOST).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_of_many_addresses_keeps_nobody_out() {
    crowd(|place| {
        let [.., high, low] = u32::try_from(place).unwrap().to_be_bytes();
        Ipv4Addr::new(127, 7, high, low)
    })
    .await;
}

/// Fills the edge twice over, and asks with a token all the while.
async fn crowd(address: impl Fn(usize) -> Ipv4Addr) {
    const HOUR: Duration = Duration::from_hours(1);
    let (strangers, most) = scale();
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    // Nobody is let go because of the time: only the places count.
    let limits = EdgeLimits {
        connections: strangers / 2,
        header_timeout: HOUR,
        write_timeout: HOUR,
        ..EdgeLimits::default()
    };
    let house = House::with(limits).await;
    let stranger = house.client("nobody");
    let flood = stranger.text("GET", "/healthz", "").repeat(500);
    let (mut kept, mut slowest) = (Vec::new(), Duration::ZERO);
    for place in 0..strangers {
        kept.push(come(address(place), house.address, flood.as_bytes()).await);
        if place % 32 == 31 {
            slowest = slowest.max(ask(&house, most, place).await);
        }
    }
    // And while all of them stay.
    for _ in 0..8 {
        slowest = slowest.max(ask(&house, most, strangers).await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    println!("{strangers} strangers; the slowest answer took {slowest:?}");
    drop(kept);
    house.stop().await;
}

/// Connects, sends what it can, and reads nothing.
#[expect(clippy::disallowed_methods, reason = "a test is a client")]
async fn come(from: Ipv4Addr, to: SocketAddr, flood: &[u8]) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(2048).unwrap();
    socket.bind(SocketAddr::new(IpAddr::V4(from), 0)).unwrap();
    let mut stream = tokio::time::timeout(PATIENCE, socket.connect(to)).await.unwrap().unwrap();
    // It stops taking more when nobody reads its answers.
    let _full = tokio::time::timeout(Duration::from_millis(5), stream.write_all(flood)).await;
    stream
}

/// Asks as an agent with a token would, and returns how long that took.
async fn ask(house: &House, most: Duration, after: usize) -> Duration {
    let begun = Instant::now();
    let reply = tokio::time::timeout(most, house.client(ALICE).send("GET", "/nothing", "")).await;
    assert_eq!(reply.unwrap_or_else(|_| panic!("no answer after {after}")).status, 404, "after {after}");
    begun.elapsed()
}
