//! Granted hosts, through a network namespace that holds nothing but the gate's sockets.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use ringfence_policy::{HostSet, NetworkCeiling, NetworkGrant, Private};
use ringfence_sandbox::{Ending, Streams};

use crate::container::place::{all, out, place};

/// A grant of one literal address, which leads to the gate without a question of names.
fn grant() -> NetworkGrant {
    let hosts: HostSet = ["203.0.113.7:80"].iter().map(|host| host.parse().unwrap()).collect();
    NetworkGrant::meet(&hosts, &NetworkCeiling::new(hosts.clone(), Private::default()))
}

#[test]
fn a_granted_host_is_reached_through_the_gate_and_no_other_is() {
    let ask = |address: &str| format!("printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 3 {address} 80");
    let (granted, other) = (ask("203.0.113.7"), ask("203.0.113.8"));
    let script =
        format!("cat /etc/resolv.conf; {granted}; echo; {other} || echo refused; grep -c : /proc/net/dev");
    let streams = Streams::default().gate(|sockets| {
        for listener in sockets.listeners {
            let listener = TcpListener::from(listener);
            if listener.local_addr()?.port() == 80 {
                listener.set_nonblocking(false)?;
                std::thread::spawn(move || {
                    let (mut stream, _) = listener.accept().unwrap();
                    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
                    let mut request = [0; 1024];
                    let _length = stream.read(&mut request).unwrap();
                    stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 8\r\n\r\nby gate!").unwrap();
                });
            }
        }
        Ok(())
    });
    let report = place().sandbox().run(&place().shell(&script).network(&grant()), streams).unwrap();
    let shown = out(&report);
    assert!(shown.contains("by gate!\n"), "{}", all(&report));
    assert!(shown.ends_with("refused\n1\n"), "{}", all(&report));
    assert!(shown.contains("nameserver 127.0.0.1"), "{}", all(&report));
    assert_eq!(report.ending, Ending::Exited(0));
}

#[test]
fn a_gate_that_does_not_open_starts_nothing() {
    let streams = Streams::default().gate(|_| Err(std::io::Error::other("closed today")));
    let error = place().sandbox().run(&place().shell("echo ran").network(&grant()), streams).unwrap_err();
    assert!(error.to_string().contains("closed today"), "{error}");
    let error =
        place().sandbox().run(&place().shell("echo ran").network(&grant()), Streams::default()).unwrap_err();
    assert!(error.to_string().contains("egress gate"), "{error}");
}
