//! The system's own resolver against a name server that answers, in a network namespace of its own.

use std::io::Write;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::{Arc, Mutex};

use ringfence_egress::{Dialer, Resolver, SystemResolver};
use ringfence_policy::Target;

use crate::it::server::{Server, grant, ok};

/// Runs the test `inside` of this executable with a name server at 127.0.0.1, a `search` list and a file of hosts.
#[expect(clippy::disallowed_methods, reason = "the test needs name servers of its own")]
fn run_inside(inside: &str) {
    let folder = std::env::temp_dir().join(format!("ringfence-names-{}-{inside}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let resolv = write(
        "resolv.conf",
        "nameserver 127.0.0.1\nsearch corp.test evil.test\noptions timeout:1 attempts:1 ndots:5\n",
    );
    let hosts = write("hosts", "127.0.0.1 localhost\n127.0.0.7 listed.acme.test listed\n");
    let script = "ip link set lo up && mount --bind \"$1\" /etc/resolv.conf && mount --bind \"$2\" /etc/hosts && \
        shift 2 && exec \"$@\"";
    let own = std::env::current_exe().unwrap();
    let run = std::process::Command::new("unshare")
        .args(["--map-root-user", "--mount", "--net", "sh", "-c", script, "sh", &resolv, &hosts])
        .arg(own)
        .args(["--exact", &format!("it::name_server::{inside}"), "--ignored", "--nocapture"])
        .output();
    std::fs::remove_dir_all(&folder).unwrap();
    let Ok(run) = run else { return println!("skipped: there is no `unshare`") };
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    if !out.contains("running 1 test") {
        return println!("skipped: no namespace of its own: {err}");
    }
    assert!(run.status.success(), "{out}\n{err}");
}

/// A name server that knows a few names, each time the next of its addresses, and remembers what it was asked.
struct NameServer(Arc<Mutex<Vec<String>>>);

impl NameServer {
    fn start(known: &'static [(&'static str, &'static [Ipv4Addr])]) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:53").unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        std::thread::spawn(move || {
            let mut buffer = [0; 1_024];
            while let Ok((count, from)) = socket.recv_from(&mut buffer) {
                let (name, end) = question(&buffer[..count]);
                let wants_v4 = buffer[end..end + 2] == [0, 1];
                let times = {
                    let mut noted = noted.lock().unwrap();
                    if wants_v4 {
                        noted.push(name.clone());
                    }
                    noted.iter().filter(|one| **one == name).count()
                };
                let found = known.iter().find(|(own, _)| *own == name);
                let address = found.filter(|_| wants_v4).map(|(_, all)| all[(times - 1) % all.len()]);
                let code = if found.is_some() { 0 } else { 3 };
                let mut answer = buffer[..end + 4].to_vec();
                answer[2..12].copy_from_slice(&[
                    0x81,
                    0x80 | code,
                    0,
                    1,
                    0,
                    u8::from(address.is_some()),
                    0,
                    0,
                    0,
                    0,
                ]);
                if let Some(address) = address {
                    answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
                    answer.extend(address.octets());
                }
                socket.send_to(&answer, from).unwrap();
            }
        });
        Self(asked)
    }

    fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Returns the name that is asked for, and where it ends.
fn question(message: &[u8]) -> (String, usize) {
    let (mut at, mut labels) = (12, Vec::new());
    while message[at] != 0 {
        let length = usize::from(message[at]);
        labels.push(String::from_utf8_lossy(&message[at + 1..at + 1 + length]).to_lowercase());
        at += 1 + length;
    }
    (labels.join("."), at + 1)
}

#[test]
fn names_are_asked_for_as_they_are() {
    run_inside("only_absolute_names_are_asked_for");
}

#[tokio::test]
#[ignore = "run by another test, in a namespace of its own"]
async fn only_absolute_names_are_asked_for() {
    const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;
    let server = NameServer::start(&[
        ("one.acme.test.corp.test", &[HERE]),
        ("one.acme.test.evil.test", &[HERE]),
        ("short.corp.test", &[HERE]),
        ("two.acme.test", &[HERE]),
        ("single", &[HERE]),
    ]);
    let resolve = async |name: &str| SystemResolver.resolve(&name.parse().unwrap()).await;
    assert!(resolve("one.acme.test").await.is_err());
    assert!(resolve("short").await.is_err());
    assert_eq!(resolve("two.acme.test").await.unwrap(), [HERE]);
    assert_eq!(resolve("single").await.unwrap(), [HERE]);
    assert_eq!(resolve("listed.acme.test").await.unwrap(), [Ipv4Addr::new(127, 0, 0, 7)]);
    assert_eq!(resolve("listed").await.unwrap(), [Ipv4Addr::new(127, 0, 0, 7)]);
    let mut asked = server.asked();
    asked.dedup();
    assert_eq!(asked, ["one.acme.test", "short", "two.acme.test", "single"]);
}

#[test]
fn the_address_that_was_judged_is_dialled() {
    run_inside("a_name_that_changes_is_dialled_where_it_was_judged");
}

#[tokio::test]
#[ignore = "run by another test, in a namespace of its own"]
async fn a_name_that_changes_is_dialled_where_it_was_judged() {
    const JUDGED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
    const LATER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);
    let names = NameServer::start(&[("one.acme.test", &[JUDGED, LATER])]);
    let judged = Server::start("127.0.0.2", |_| ok("judged")).await;
    let dialer = Dialer::new(Arc::new(SystemResolver));
    let target = Target::from_authority(&format!("one.acme.test:{}", judged.port())).unwrap();
    let grant = grant(&["one.acme.test"], &["127.0.0.2"]);
    let pinned = dialer.dial(&grant, &target).await.unwrap();
    assert_eq!(pinned.stream.peer_addr().unwrap(), judged.address);
    assert_eq!(names.asked(), ["one.acme.test"]);
    // The next connection is judged by its own answer.
    let refused = dialer.dial(&grant, &target).await.unwrap_err().to_string();
    assert!(refused.contains("resolves to 127.0.0.9"), "{refused}");
    assert_eq!(names.asked().len(), 2);
}

#[test]
fn a_private_name_that_moves_never_leads_to_metadata() {
    run_inside("a_private_name_is_refused_when_it_moves_to_metadata");
}

#[tokio::test]
#[ignore = "run by another test, in a namespace of its own"]
async fn a_private_name_is_refused_when_it_moves_to_metadata() {
    const FIRST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
    const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);
    let names = NameServer::start(&[("one.acme.test", &[FIRST, METADATA])]);
    let server = Server::start("127.0.0.2", |_| ok("first")).await;
    let dialer = Dialer::new(Arc::new(SystemResolver));
    let target = Target::from_authority(&format!("one.acme.test:{}", server.port())).unwrap();
    // The name is granted, and may lie on any private address.
    let grant = grant(&["one.acme.test"], &["one.acme.test"]);
    let pinned = dialer.dial(&grant, &target).await.unwrap();
    assert_eq!(pinned.stream.peer_addr().unwrap(), server.address);
    let refused = dialer.dial(&grant, &target).await.unwrap_err().to_string();
    assert!(refused.contains("resolves to 169.254.169.254"), "{refused}");
    assert_eq!(names.asked().len(), 2);
}
