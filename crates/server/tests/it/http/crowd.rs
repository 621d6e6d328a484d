//! Crowds that connect, send and never read: from one address, and from many.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use ringfence_server::http::EdgeLimits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};

use super::client::Client;
use super::house::{ALICE, House};
use crate::it::wait::PATIENCE;

/// How many strangers come, and how long honest clients wait at most.
struct Scale {
    strangers: usize,
    with_token: Duration,
    without_token: Duration,
}

#[expect(clippy::disallowed_methods, reason = "a test is told how much of it to run")]
fn scale() -> Scale {
    match std::env::var("RINGFENCE_TEST_TIER").as_deref() {
        Ok("all") => Scale {
            strangers: 2048,
            with_token: Duration::from_secs(2),
            without_token: Duration::from_secs(10),
        },
        // A machine that builds and tests everything at once answers late, and that is nobody's fault.
        _ => Scale { strangers: 192, with_token: PATIENCE, without_token: PATIENCE },
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

/// Fills the edge twice over, and asks with a token and without one all the while.
async fn crowd(address: impl Fn(usize) -> Ipv4Addr) {
    const HOUR: Duration = Duration::from_hours(1);
    let Scale { strangers, with_token, without_token } = scale();
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
    let ask = async |after: usize| {
        let known = time_request(&house.client(ALICE), "/nothing", 404, with_token, after).await;
        let unknown = house.client(ALICE).headers("-authorization");
        (known, time_request(&unknown, "/healthz", 200, without_token, after).await)
    };
    let (mut kept, mut times) = (Vec::new(), Vec::new());
    for place in 0..strangers {
        kept.push(come(address(place), house.address, flood.as_bytes()).await);
        if place % 32 == 31 {
            times.push(ask(place).await);
        }
    }
    // And while all of them stay.
    for _ in 0..8 {
        times.push(ask(strangers).await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let known = times.iter().map(|times| times.0).max();
    let unknown = times.iter().map(|times| times.1).max();
    println!(
        "{strangers} strangers; the slowest answer took {known:?} with a token, {unknown:?} without one"
    );
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

/// Asks on a connection of its own, and returns how long the answer took.
async fn time_request(client: &Client, path: &str, status: u16, most: Duration, after: usize) -> Duration {
    let begun = Instant::now();
    let reply = tokio::time::timeout(most, client.send("GET", path, "")).await;
    let reply = reply.unwrap_or_else(|_| panic!("no answer of {path} in {most:?} after {after}"));
    assert_eq!(reply.status, status, "{path} after {after}");
    begun.elapsed()
}
