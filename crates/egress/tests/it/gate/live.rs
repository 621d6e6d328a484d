use ringfence_egress::Verdict;
use ringfence_policy::NetworkGrant;

use super::house::{Answer, House, Kind, Plan, code, echo, rest};

#[tokio::test]
async fn narrowing_cuts_what_is_beyond_and_leaves_the_rest() {
    let house = House::open(Kind::Opaque, Plan::default()).await;
    let mut one = house.connect("one.acme.io").await;
    let mut two = house.connect("two.acme.io").await;
    echo(&mut one, b"x").await;
    echo(&mut two, b"x").await;
    house.scope.narrow(&Plan { allow: vec!["two.acme.io"], ..Plan::default() }.grant());
    assert!(!rest(&mut one).await.1);
    assert_eq!(echo(&mut two, b"still here").await, b"still here");
    let evidence = house.told(1).await.remove(0);
    assert_eq!((evidence.host.as_str(), code(&evidence.verdict)), ("one.acme.io", "cut"));
    // The name is gone, and the address that stood for it leads nowhere.
    assert_eq!(house.ask("one.acme.io", 1).await, Answer::Error(3));
    let mut again = house.connect_to("127.77.0.2").await;
    assert!(rest(&mut again).await.0.is_empty());
    assert_eq!(house.far.accepted(), 2);
}

#[tokio::test]
async fn narrowing_the_floor_cuts_by_address() {
    let house = House::open(Kind::Opaque, Plan::default()).await;
    let mut client = house.connect("one.acme.io").await;
    echo(&mut client, b"x").await;
    house.scope.narrow(&Plan { private: vec!["10.0.0.0/8"], ..Plan::default() }.grant());
    assert!(!rest(&mut client).await.1);
    assert_eq!(code(&house.verdict().await), "cut");
}

#[tokio::test]
async fn revoking_cuts_everything_for_good() {
    let house = House::open(Kind::Tls, Plan::default()).await;
    let mut waiting = house.connect("one.acme.io").await; // has not said hello yet
    while house.scope.tally().open == 0 {
        tokio::task::yield_now().await;
    }
    house.scope.revoke();
    assert!(!rest(&mut waiting).await.1);
    assert_eq!(house.ask("one.acme.io", 1).await, Answer::Error(3));
    let mut again = house.connect_to("127.77.0.2").await;
    assert!(!rest(&mut again).await.0.is_empty()); // an alert
    drop(again);
    let told = house.told(3).await;
    let codes: Vec<_> = told.iter().map(|evidence| code(&evidence.verdict)).collect();
    assert_eq!(codes, ["cut", "HOST_NOT_ALLOWED", "HOST_NOT_ALLOWED"]);
    assert_eq!((house.far.accepted(), house.scope.grant().as_ref()), (0, &NetworkGrant::default()));
}

#[tokio::test]
async fn the_ends_of_both_sides_are_done() {
    let house = House::open(Kind::Opaque, Plan::default()).await;
    for _ in 0..50 {
        let mut client = house.connect("one.acme.io").await;
        echo(&mut client, b"x").await;
    }
    assert!(house.told(50).await.iter().all(|evidence| evidence.verdict == Verdict::Done));
}
