//! A gate that runs out of descriptors.

use std::process::Command;
use std::time::{Duration, Instant};

use super::house::{House, Kind, Plan, echo};
use crate::it::wait;

#[test]
#[expect(clippy::disallowed_methods, reason = "the test starts itself as another process")]
fn a_shortage_of_descriptors_passes() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "it::gate::shortage::runs_out_of_descriptors"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[tokio::test]
#[ignore = "takes the descriptors of its whole process: `a_shortage_of_descriptors_passes` starts it in one of its own"]
async fn runs_out_of_descriptors() {
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
