//! The server of the store dies, comes back and loses connections while the program pays.

use std::process::Child;
use std::time::Duration;

use crate::durable::payer::{Office, Said};
use crate::durable::postgres::Server;

const KEYS: u64 = 120;

/// Reads what the child says in the background, while something is done to the server.
fn disturb(child: Child, disturb: impl FnOnce()) -> Said {
    let (sender, ready) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || Said::heard(child, || sender.send(()).unwrap()));
    ready.recv_timeout(Duration::from_secs(120)).unwrap();
    disturb();
    reader.join().unwrap()
}

fn check(server: &Server, disturbed: impl Fn(&Server), case: &str) {
    let office = Office::with_store(server.url.clone(), &["lease=4000"]);
    let keys = format!("keys={KEYS}");
    let mut all = Vec::new();
    for seed in ["seed=1", "seed=2"] {
        let child = office.start(&[&keys, "tasks=8", "pause=30", "wait=20000", seed]);
        let said = disturb(child, || disturbed(server));
        assert!(said.ended, "{case}: the program does not go on");
        // What could not be done was refused or left in doubt, with these codes and no others.
        for line in &said.refused {
            let known = ["NOT_AVAILABLE", "AUDIT_FAILED", "IDEMPOTENCY_CONFLICT"]
                .iter()
                .any(|code| line.contains(code));
            assert!(known, "{case}: {line}");
        }
        all.push(said);
    }
    let last = office.run(&[&keys, "tasks=8", "wait=20000"]);
    assert!(last.ended && last.refused.is_empty(), "{case}: {last:?}");
    assert_eq!(u64::try_from(last.done.len() + last.unknown.len()).unwrap(), KEYS, "{case}");
    let doubtful = last.unknown.len();
    all.push(last);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(office.audit(&all, case));
    println!("{case}: {KEYS} keys, {} paid, {doubtful} in doubt, none twice", office.payments().len());
}

#[test]
fn a_server_that_is_killed_and_comes_back_loses_nothing() {
    let server = Server::start("killed");
    check(
        &server,
        |server| {
            for _ in 0..2 {
                std::thread::sleep(Duration::from_millis(250));
                server.kill();
                std::thread::sleep(Duration::from_millis(200));
                server.start_again();
            }
        },
        "PostgreSQL killed",
    );
}

#[test]
fn connections_that_are_cut_lose_nothing() {
    let server = Server::start("cut");
    check(
        &server,
        |server| {
            for _ in 0..8 {
                std::thread::sleep(Duration::from_millis(70));
                server.cut();
            }
        },
        "connections cut",
    );
}
