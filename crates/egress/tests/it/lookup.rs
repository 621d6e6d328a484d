//! Lookups that hang: they hold up their own scope and nobody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ringfence_egress::{CachedResolver, Client, Dialer, Request, Resolver, Resolving, SystemResolver};
use ringfence_policy::HostName;
use tokio::time::timeout;

use crate::it::server::{Server, ok, scope};
use crate::it::wait::{PATIENCE, rest_a_moment};

/// Finds `one.acme.io`, and never ends looking for any other name.
#[derive(Clone, Debug, Default)]
struct Silent {
    stuck: Arc<AtomicUsize>,
}

impl Resolver for Silent {
    fn resolve<'a>(&'a self, name: &'a HostName) -> Resolving<'a> {
        if name.as_str() == "one.acme.io" {
            return Box::pin(async { Ok(vec![[127, 0, 0, 1].into()]) });
        }
        self.stuck.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn stuck_lookups_of_one_scope_are_few_and_hold_up_no_other() {
    let server = Server::start("127.0.0.1", |_| ok("here")).await;
    let silent = Silent::default();
    let dialer = Dialer::new(Arc::new(CachedResolver::new(silent.clone())));
    // A dial gives up before its lookup does.
    let dialer = dialer.resolve_timeout(Duration::from_millis(200));
    let client = Client::builder().dialer(dialer).build();
    let stalling = scope(&["*.silent.io", "one.acme.io"], &["127.0.0.0/8"]);
    let other = scope(&["one.acme.io"], &["127.0.0.0/8"]);

    let dials = (0..40).map(|index| {
        let (client, stalling) = (client.clone(), stalling.clone());
        let url = format!("http://n{}.silent.io/", index % 20);
        tokio::spawn(async move { client.send(&stalling, Request::get(&url).unwrap()).await.is_err() })
    });
    let dials: Vec<_> = dials.collect();
    rest_a_moment(Duration::from_millis(50)).await;
    let url = format!("http://one.acme.io:{}/", server.port());
    let answer = timeout(PATIENCE, client.send(&other, Request::get(&url).unwrap())).await.unwrap();
    assert_eq!(answer.unwrap().text().await.unwrap(), "here");
    for dial in dials {
        assert!(timeout(PATIENCE, dial).await.unwrap().unwrap());
    }
    assert_eq!(silent.stuck.load(Ordering::SeqCst), 2, "two lookups of a scope run at the same time");
    // What is known needs no lookup, and its own lookups wait.
    let again = client.send(&stalling, Request::get(&url).unwrap()).await;
    assert!(again.is_ok(), "{again:?}");
    let again = client.send(&stalling, Request::get("http://n19.silent.io/").unwrap()).await;
    assert!(again.unwrap_err().to_string().ends_with("the lookup took too long"));
    assert_eq!(silent.stuck.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_lookup_that_takes_too_long_fails_at_once_for_the_next() {
    let silent = Silent::default();
    let cached = CachedResolver::new(silent.clone());
    let name = "n.silent.io".parse().unwrap();
    let began = tokio::time::Instant::now();
    for _ in 0..3 {
        assert_eq!(cached.resolve(&name).await.unwrap_err().kind(), std::io::ErrorKind::TimedOut);
    }
    assert_eq!(began.elapsed().as_secs(), 5);
    assert_eq!(silent.stuck.load(Ordering::SeqCst), 1);
}

#[test]
fn the_system_resolver_takes_no_blocking_thread_of_the_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    let runtime = runtime.unwrap();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    runtime.block_on(async {
        tokio::task::spawn_blocking(move || ended.recv().is_ok());
        for name in ["localhost", "nothing.invalid"] {
            let name = name.parse().unwrap();
            let looked = timeout(PATIENCE, SystemResolver.resolve(&name)).await;
            assert!(looked.is_ok(), "{name} waits for a thread");
        }
    });
    drop(end);
}
