use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringfence_egress::{Client, Dialer, EgressError, Request, Resolver, Resolving};
use ringfence_policy::{Code, HostName, Target};

use crate::it::server::{Server, grant, ok, resolver, scope};

#[tokio::test]
async fn answers_are_judged_all_or_nothing() {
    #[rustfmt::skip]
    let cases: &[(&[&str], &[&str], bool)] = &[
        // answers                          private             admitted
        (&["93.184.216.34"],                &[],                true),
        (&["93.184.216.34", "2a00::1"],     &[],                true),
        (&["192.168.7.7"],                  &[],                false),
        (&["93.184.216.34", "10.1.2.3"],    &[],                false),
        (&["10.1.2.3", "93.184.216.34"],    &[],                false),
        (&["127.0.0.1"],                    &[],                false),
        (&["0.0.0.0"],                      &[],                false),
        (&["100.64.3.2"],                   &[],                false),
        (&["::1"],                          &[],                false),
        (&["fd00::5"],                      &[],                false),
        (&["::ffff:93.184.216.34"],         &[],                false),
        (&["64:ff9b::5db8:d822"],           &[],                false),
        (&["2002:a9fe:a9fe::1"],            &[],                false),
        (&[],                               &[],                false),
        (&[],                               &["*.acme.io"],     false),
        (&["10.1.2.3"],                     &["10.1.0.0/16"],   true),
        (&["10.1.2.3"],                     &["one.acme.io"],   true),
        (&["10.1.2.3", "127.0.0.1"],        &["10.1.0.0/16"],   false),
        // Where clouds hand out credentials: only by that very address.
        (&["169.254.169.254"],              &["one.acme.io"],   false),
        (&["169.254.169.254"],              &["*.acme.io"],     false),
        (&["169.254.169.254"],              &["169.254.0.0/16"], false),
        (&["10.1.2.3", "169.254.169.254"],  &["one.acme.io"],   false),
        (&["::ffff:169.254.169.254"],       &["one.acme.io"],   false),
        (&["fd00:ec2::254"],                &["one.acme.io"],   false),
        (&["168.63.129.16"],                &["one.acme.io"],   false),
        (&["169.254.169.254"],              &["169.254.169.254"], true),
    ];
    let target = Target::from_authority("one.acme.io:443").unwrap();
    for (answers, private, admitted) in cases {
        let dialer = Dialer::new(Arc::new(resolver(&[("one.acme.io", answers)])));
        let pinned = dialer.pin(&grant(&["one.acme.io"], private), &target).await;
        assert_eq!(pinned.is_ok(), *admitted, "{answers:?} {private:?}: {pinned:?}");
        match pinned {
            Ok(pinned) => assert_eq!(pinned.len(), answers.len()),
            // Nobody refused a name without an address.
            Err(error) if answers.is_empty() => assert_eq!(error.code(), Code::HostNotFound),
            Err(error) => assert_eq!(error.code(), Code::HostNotAllowed),
        }
    }
}

#[tokio::test]
async fn names_outside_the_grant_are_not_even_looked_up() {
    let table = Arc::new(resolver(&[("one.acme.io", &["93.184.216.34"])]));
    let dialer = Dialer::new(Arc::clone(&table) as Arc<dyn Resolver>);
    for authority in ["one.acme.io:80", "127.0.0.1:443", "[::1]:443", "evil.net:443"] {
        let target = Target::from_authority(authority).unwrap();
        let error = dialer.dial(&grant(&["one.acme.io:443"], &[]), &target).await.unwrap_err();
        assert_eq!(error.code(), Code::HostNotAllowed, "{authority}");
    }
    assert_eq!(table.asked(), 0);
}

/// Gives another answer at each lookup, and remembers that it was asked.
#[derive(Debug)]
struct Rebinding(Mutex<VecDeque<IpAddr>>);

impl Resolver for Rebinding {
    fn resolve<'a>(&'a self, _: &'a HostName) -> Resolving<'a> {
        let answer = self.0.lock().unwrap().pop_front();
        Box::pin(async move { Ok(answer.into_iter().collect()) })
    }
}

#[tokio::test]
async fn a_name_is_resolved_once_and_its_address_is_pinned() {
    let server = Server::start("127.0.0.1", |_| ok("first")).await;
    let other = [127, 0, 0, 9].into();
    let rebinding = Arc::new(Rebinding(Mutex::new([server.address.ip(), other].into())));
    let client = Client::builder().dialer(Dialer::new(Arc::clone(&rebinding) as Arc<dyn Resolver>)).build();
    let scope = scope(&["one.acme.io"], &["127.0.0.1"]);

    let url = format!("http://one.acme.io:{}/", server.port());
    let response = client.send(&scope, Request::get(&url).unwrap()).await.unwrap();
    assert_eq!(response.address(), server.address);
    assert_eq!(response.text().await.unwrap(), "first");
    assert_eq!(rebinding.0.lock().unwrap().len(), 1); // one answer was never asked for

    let again = client.send(&scope, Request::get(&url).unwrap()).await.unwrap_err();
    assert_eq!(
        again.to_string(),
        "HOST_NOT_ALLOWED: one.acme.io resolves to 127.0.0.9, a loopback address, \
         and the personality's `private` does not list it"
    );
}

#[tokio::test]
async fn a_dead_address_gives_way_to_the_next_judged_one() {
    let server = Server::start("127.0.0.2", |_| ok("alive")).await;
    let dialer = Dialer::new(Arc::new(resolver(&[("one.acme.io", &["127.0.0.1", "127.0.0.2"])])));
    let target = Target::from_authority(&format!("one.acme.io:{}", server.port())).unwrap();
    let pinned = dialer.dial(&grant(&["one.acme.io"], &["127.0.0.0/8"]), &target).await.unwrap();
    assert_eq!(pinned.address, server.address);
    assert_eq!(pinned.stream.peer_addr().unwrap(), server.address);
}

/// A resolver that never answers.
#[derive(Debug)]
struct Silent;

impl Resolver for Silent {
    fn resolve<'a>(&'a self, _: &'a HostName) -> Resolving<'a> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_lookup_that_fails_or_hangs_is_a_refusal() {
    let target = Target::from_authority("one.acme.io:443").unwrap();
    let silent = Dialer::new(Arc::new(Silent)).resolve_timeout(Duration::from_millis(10));
    let failing = Dialer::new(Arc::new(resolver(&[])));
    for dialer in [silent, failing] {
        let error = dialer.dial(&grant(&["*"], &[]), &target).await.unwrap_err();
        assert!(matches!(error, EgressError::Refused(_)), "{error}");
        assert!(error.to_string().starts_with("HOST_NOT_FOUND: one.acme.io does not resolve: "));
    }
}

#[tokio::test]
async fn literal_addresses_need_no_lookup() {
    let server = Server::start("127.0.0.1", |_| ok("literal")).await;
    let url = format!("http://2130706433:{}/", server.port());
    let send = async |allow: &[&str]| {
        let client = Client::builder().dialer(Dialer::new(Arc::new(Silent))).build();
        client.send(&scope(allow, &[]), Request::get(&url).unwrap()).await
    };
    assert_eq!(send(&["127.0.0.1"]).await.unwrap().text().await.unwrap(), "literal");
    assert_eq!(send(&["*"]).await.unwrap_err().code(), Code::HostNotAllowed);
    assert!(server.seen()[0].contains(&format!("host: 127.0.0.1:{}\r\n", server.port())));
}

#[test]
fn exchanges_may_move_between_threads() {
    fn movable<T: Send>(_: &T) {}
    let (client, scope) = (Client::builder().build(), scope(&[], &[]));
    movable(&async { client.send(&scope, Request::get("https://one.acme.io/")?).await?.text().await });
}
