//! A gate that runs out of descriptors. A process of its own, since they are taken away from all of it.

#![cfg(test)]
#![allow(dead_code, reason = "the house has more rooms than are needed here")]

#[path = "it/gate/house.rs"]
mod house;
#[path = "it/server.rs"]
mod server;
#[path = "it/wait.rs"]
mod wait;

use std::time::{Duration, Instant};

use house::{House, Kind, Plan, echo};

#[tokio::test]
async fn a_shortage_of_descriptors_passes() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let house = House::open(Kind::Opaque, Plan::default()).await;
    let address = house.connect("one.acme.io").await.peer_addr().unwrap();
    house.told(1).await;
    // One descriptor more is enough for the client and for nobody else.
    let next =
        std::os::fd::AsRawFd::as_raw_fd(&tokio::net::TcpStream::connect(house.far.address).await.unwrap());
    let usual = getrlimit(Resource::Nofile);
    let scarce = u64::try_from(next).unwrap() + 1;
    setrlimit(Resource::Nofile, rustix::process::Rlimit { current: Some(scarce), ..usual }).unwrap();
    let start = Instant::now();
    let client = tokio::net::TcpStream::connect(address).await.unwrap();
    wait::wait_until("nobody is accepted", || house.scope.tally().unaccepted > 0).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    // It rests for 50 ms after each failure, however slow the machine is.
    let unaccepted = u128::from(house.scope.tally().unaccepted);
    let most = start.elapsed().as_millis() / 50 + 2;
    assert!(unaccepted <= most, "{unaccepted} of {most}");
    setrlimit(Resource::Nofile, usual).unwrap();
    drop(client);
    let mut again = tokio::net::TcpStream::connect(address).await.unwrap();
    assert_eq!(echo(&mut again, b"x").await, b"x");
}
