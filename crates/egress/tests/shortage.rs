//! A gate that runs out of descriptors. A process of its own, since they are taken away from all of it.

#![cfg(test)]
#![allow(dead_code, reason = "the house has more rooms than are needed here")]

#[path = "it/gate/house.rs"]
mod house;
#[path = "it/server.rs"]
mod server;

use std::time::Duration;

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
    let client = tokio::net::TcpStream::connect(address).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let unaccepted = house.scope.tally().unaccepted;
    assert!((1..20).contains(&unaccepted), "{unaccepted}");
    setrlimit(Resource::Nofile, usual).unwrap();
    drop(client);
    let mut again = tokio::net::TcpStream::connect(address).await.unwrap();
    assert_eq!(echo(&mut again, b"x").await, b"x");
}
